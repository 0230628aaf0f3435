//! A small project under git, and plans for it: sound ones, and ones that only look so.

use std::fmt::Write as _;
use std::process::Command;

use crate::sandbox::Sandbox;

const COUNT: &str = "def count(text):\n    return len(text.split(' '))\n\n\ndef main():\n    print(count(input()))\n";
const TEST: &str = "from count import count\n\n\ndef test_two():\n    assert count('a b') == 2\n";

/// A project whose one check is this program.
pub(crate) struct PlannedProject {
    pub(crate) sandbox: Sandbox,
    base: String,
}

impl PlannedProject {
    pub(crate) fn checked_by(program: &str) -> Self {
        let sandbox = Sandbox::new().with_variable("PATH", "/usr/bin:/bin");
        sandbox.write(".maestro/config.toml", format!("verify = [\"{program}\"]\n"));
        sandbox.write(".gitignore", ".maestro/\nhome/\n");
        sandbox.write("count.py", COUNT);
        sandbox.write("test_count.py", TEST);
        let trusted = sandbox.maestro("trust --config --yes");
        assert_eq!(trusted.code, 0, "{trusted}");
        git(&sandbox, &["init", "-q", "-b", "main"]);
        git(&sandbox, &["add", "count.py", "test_count.py", ".gitignore"]);
        git(&sandbox, &["-c", "user.name=n", "-c", "user.email=n@example.com", "commit", "-qm", "Begin"]);
        let base = git(&sandbox, &["rev-parse", "HEAD"]);
        Self { sandbox, base: base.trim().to_owned() }
    }

    /// A sound plan with a milestone for each of the two files, or one for both.
    pub(crate) fn plan(&self, milestones: &[&[&str]]) -> String {
        let mut plan = format!(
            "# Lines are counted\n\n- Base: {}\n- Kind: code\n\n## Task\nCount lines.\nR1 a new line separates words.\n\n## Milestones\n",
            self.base
        );
        for (index, files) in milestones.iter().enumerate() {
            let number = index + 1;
            let after = if index == 0 { "–".to_owned() } else { format!("M{index}") };
            let _ = write!(
                plan,
                "### M{number} Step {number} works\n- Depends on: {after}\n- Kind: code\n- Requirements: R1\n- Acceptance:\n  - A{number} it prints {number}\n\n#### Files\n| File | Intent |\n|---|---|\n"
            );
            plan.extend(files.iter().map(|file| format!("| `{file}` | counts |\n")));
            plan += "\n#### Changes\n";
            plan.extend(files.iter().map(|file| format!("```diff\n{}```\n\n", diff(file))));
        }
        plan
    }

    /// The same without its diffs.
    pub(crate) fn intent(&self, milestones: &[&[&str]]) -> String {
        let plan = self.plan(milestones);
        let mut inside = false;
        let keep = |line: &&str| {
            let fence = line.starts_with("```");
            inside ^= fence;
            !inside && !fence
        };
        plan.lines().filter(keep).fold(String::new(), |text, line| text + line + "\n")
    }

    /// What the plan says, done.
    pub(crate) fn change(&self, file: &str) {
        let text = if file == "count.py" {
            COUNT.replace("split(' ')", "split()")
        } else {
            format!("{TEST}\n\ndef test_line():\n    assert count('a\\nb') == 2\n")
        };
        self.sandbox.write(file, text);
    }
}

fn diff(file: &str) -> &'static str {
    match file {
        "count.py" => {
            "--- a/count.py\n+++ b/count.py\n@@ -1,5 +1,5 @@\n def count(text):\n-    return len(text.split(' '))\n+    return len(text.split())\n \n \n def main():\n"
        }
        _ => {
            "--- a/test_count.py\n+++ b/test_count.py\n@@ -3,3 +3,7 @@\n \n def test_two():\n     assert count('a b') == 2\n+\n+\n+def test_line():\n+    assert count('a\\nb') == 2\n"
        }
    }
}

pub(crate) fn git(sandbox: &Sandbox, words: &[&str]) -> String {
    let output = Command::new("git").args(words).current_dir(sandbox.project()).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
