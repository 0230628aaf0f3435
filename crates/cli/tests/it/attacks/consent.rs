//! Attacks on consent: the same words in another project, changed scripts, and scripts that are swapped in between.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::sandbox::Sandbox;

/// What an attack leaves behind.
const MARK: &str = "evil.txt";
/// How often a script is run while it is swapped.
const RUNS: usize = 20;

/// A workflow that runs the project's checks.
const CHECKS: &str = "name: checks\ndescription: Run the checks. Use when they are to run.\nsteps:\n  \
                      - {id: run, type: command, command: {builtin: verify}}\n";

fn place() -> Sandbox {
    Sandbox::new().with_variable("PATH", &std::env::var("PATH").unwrap())
}

/// A project whose checks are these, allowed by its user.
fn checked(verify: &str, files: &[(&str, &str)]) -> Sandbox {
    let sandbox = place();
    sandbox.write(".maestro/config.toml", format!("verify = [\"{verify}\"]\n"));
    sandbox.write(".claude/skills/checks/workflow.yaml", CHECKS);
    for (name, text) in files {
        sandbox.write(name, text);
        set_executable(&sandbox.path(name));
    }
    for words in ["trust checks --yes", "trust --config --yes"] {
        let allowed = sandbox.maestro(words);
        assert_eq!(allowed.code, 0, "{allowed}");
    }
    sandbox
}

fn set_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Swaps a file for another one and back, as fast as it can, until it is stopped.
struct Swapper {
    stop: Arc<AtomicBool>,
    work: Option<JoinHandle<()>>,
}

impl Swapper {
    fn start(file: &Path, good: &str, evil: &str) -> Self {
        let (stop, file) = (Arc::new(AtomicBool::new(false)), file.to_owned());
        let (stopped, texts) = (Arc::clone(&stop), [good.to_owned(), evil.to_owned()]);
        let work = thread::spawn(move || {
            let next = file.with_extension("next");
            for text in texts.iter().cycle().take_while(|_| !stopped.load(Ordering::Relaxed)) {
                fs::write(&next, text).unwrap();
                set_executable(&next);
                fs::rename(&next, &file).unwrap();
            }
        });
        Self { stop, work: Some(work) }
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(work) = self.work.take() {
            work.join().unwrap();
        }
    }
}

#[test]
fn words_that_are_allowed_in_one_project_are_not_in_another() {
    let sandbox = checked("make test", &[("Makefile", "test:\n\ttouch good.txt\n")]);
    let done = sandbox.maestro("workflow run checks");
    assert_eq!(done.code, 0, "{done}");
    assert!(sandbox.path("good.txt").exists());
    // The same words, and the same workflow byte for byte, in a project that somebody else wrote.
    sandbox.write("~/other/.git/HEAD", "ref: refs/heads/main\n");
    sandbox.write("~/other/.maestro/config.toml", "verify = [\"make test\"]\n");
    sandbox.write("~/other/Makefile", "test:\n\ttouch evil.txt\n");
    sandbox.write("~/other/.claude/skills/checks/workflow.yaml", CHECKS);
    let refused = sandbox.maestro_in("~/other", &["workflow", "run", "checks"]);
    assert_ne!(refused.code, 0, "{refused}");
    let allowed = sandbox.maestro_in("~/other", &["trust", "checks", "--yes"]);
    assert_eq!(allowed.code, 0, "{allowed}");
    let refused = sandbox.maestro_in("~/other", &["workflow", "run", "checks"]);
    assert!(refused.to_string().contains("are not trusted yet"), "{refused}");
    assert!(!sandbox.path("~/other/evil.txt").exists());
}

#[test]
fn a_script_that_the_words_name_is_covered() {
    let script = ("scripts/check.sh", "#!/bin/sh\ntouch good.txt\n");
    let makefile = ("Makefile", "test:\n\ttouch good.txt\n");
    let package = ("package.json", r#"{"scripts": {"test": "true"}}"#);
    for (verify, file) in [
        ("./scripts/check.sh", script),
        ("sh scripts/check.sh", script),
        ("env A=1 scripts/check.sh", script),
        ("make test", makefile),
        ("npm test", package),
    ] {
        let sandbox = checked(verify, &[file]);
        let evil = match file.0 {
            "Makefile" => "test:\n\ttouch evil.txt\n",
            "package.json" => r#"{"scripts": {"test": "touch evil.txt"}}"#,
            _ => "#!/bin/sh\ntouch evil.txt\n",
        };
        sandbox.write(file.0, evil);
        set_executable(&sandbox.path(file.0));
        let refused = sandbox.maestro("workflow run checks");
        assert_ne!(refused.code, 0, "{verify}: {refused}");
        let said = format!("{} changed since the checks of", file.0);
        assert!(refused.to_string().contains(&said), "{verify}: {refused}");
        assert!(!sandbox.path(MARK).exists(), "{verify}");
    }
}

#[test]
fn a_script_that_is_swapped_between_check_and_start_does_not_run() {
    let (good, evil) = ("#!/bin/sh\ntouch good.txt\n", "#!/bin/sh\ntouch evil.txt\n");
    for verify in ["./check.sh", "sh check.sh"] {
        let sandbox = checked(verify, &[("check.sh", good)]);
        let swapper = Swapper::start(&sandbox.path("check.sh"), good, evil);
        for _ in 0..RUNS {
            sandbox.maestro("workflow run checks");
        }
        drop(swapper);
        assert!(!sandbox.path(MARK).exists(), "{verify}");
    }
    let make = ["test:\n\ttouch good.txt\n", "test:\n\ttouch evil.txt\n"];
    let sandbox = checked("make test", &[("Makefile", make[0])]);
    let swapper = Swapper::start(&sandbox.path("Makefile"), make[0], make[1]);
    for _ in 0..RUNS {
        sandbox.maestro("workflow run checks");
    }
    drop(swapper);
    assert!(!sandbox.path(MARK).exists());
}

#[test]
fn a_file_of_a_skill_that_is_swapped_between_check_and_start_does_not_run() {
    let sandbox = place();
    let steps = "steps:\n- {id: go, type: command, command: \"sh {skill_dir}/go.sh\"}\n";
    let head = "name: deploy\ndescription: Deploy what is here. Use when it is ready.\n";
    sandbox.write(".claude/skills/deploy/workflow.yaml", format!("{head}{steps}"));
    sandbox.write(".claude/skills/deploy/go.sh", ". \"${0%/*}/lib.sh\"\n");
    let (good, evil) = ("touch good.txt\n", "touch evil.txt\n");
    sandbox.write(".claude/skills/deploy/lib.sh", good);
    set_executable(&sandbox.path(".claude/skills/deploy/lib.sh"));
    assert_eq!(sandbox.maestro("trust deploy --yes").code, 0);
    let done = sandbox.maestro("workflow run deploy");
    assert!(done.code == 0 && sandbox.path("good.txt").exists(), "{done}");
    // Beside the folder, so that only the contents of one file change.
    let file = sandbox.path(".claude/skills/deploy/lib.sh");
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, path) = (Arc::clone(&stop), file.clone());
    let next = sandbox.path("next.sh");
    let swapper = thread::spawn(move || {
        for text in [evil, good].iter().cycle().take_while(|_| !stopped.load(Ordering::Relaxed)) {
            fs::write(&next, text).unwrap();
            set_executable(&next);
            fs::rename(&next, &path).unwrap();
        }
    });
    for _ in 0..RUNS {
        sandbox.maestro("workflow run deploy");
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(!sandbox.path(MARK).exists());
}

#[test]
fn a_sealed_script_finds_its_neighbors() {
    let script = "#!/bin/sh\nset -e\ncd \"$(dirname \"$0\")/..\"\n. scripts/lib.sh\nwork\n";
    let sandbox = checked("./scripts/check.sh", &[("scripts/check.sh", script)]);
    sandbox.write("scripts/lib.sh", "work() { cat data/in.txt > data/out.txt; }\n");
    sandbox.write("data/in.txt", "seen\n");
    let done = sandbox.maestro("workflow run checks");
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(fs::read_to_string(sandbox.path("data/out.txt")).unwrap(), "seen\n");
    let left = sandbox.path("~/.maestro/sealed").read_dir().unwrap().count();
    assert_eq!(left, 0, "no copy stays");
}

#[test]
fn consents_of_an_earlier_version_are_asked_for_again() {
    let sandbox = place();
    sandbox.write(".maestro/config.toml", "verify = [\"make test\"]\n");
    let old =
        r#"{"version": 1, "consents": [{"kind": "config", "name": "shop", "hash": "00", "path": "/c", "at": 1}]}"#;
    sandbox.write("~/.maestro/trust.json", old);
    let listed = sandbox.maestro("trust");
    assert!(listed.stdout().contains("1 consent of an earlier version no longer count"), "{listed}");
    let refused = sandbox.maestro("do x --agent demo");
    assert!(refused.stderr().contains("checks are not trusted yet"), "{refused}");
    assert!(refused.stderr().contains("earlier version no longer count"), "{refused}");
}

#[test]
fn the_consent_says_what_it_covers_and_what_not() {
    let sandbox = place();
    sandbox.write(".maestro/config.toml", "verify = [\"make test\"]\n");
    sandbox.write("Makefile", "test:\n\ttrue\n");
    let shown = sandbox.maestro("trust --config").stdout();
    assert!(shown.contains("executes Makefile: 12 bytes; any change needs new consent"), "{shown}");
    assert!(shown.contains("not covered: programs on PATH, and what these commands and files load further"), "{shown}");
}
