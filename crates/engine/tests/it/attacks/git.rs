//! Git as a way out: does a repository, a worktree or an agent in it get a program of its own started, or reach what is
//! the user's?

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use maestro_core::workflow::definition::BuiltinCommand;
use maestro_core::workflow::run::{CommandExit, CommandSpec, Ticket};
use maestro_engine::git_changes::tree_hash;
use maestro_engine::sandbox::SandboxLayer;
use maestro_engine::{CommitHooks, ExecutionEnv, GitPrograms, Host, HostError, Limits};
use serde_json::{Value as Json, json};

use crate::execute::{Place, confined, executor, runtime, shell};

/// A repository, and a program that leaves a mark if it is ever started.
struct Victim {
    place: Place,
}

impl Victim {
    fn new() -> Self {
        let place = Place::new();
        place.repository();
        let victim = Self { place };
        let script = format!("#!/bin/sh\ntouch {}\ncat 2>/dev/null\n", victim.mark().display());
        fs::write(victim.program(), script).unwrap();
        fs::set_permissions(victim.program(), fs::Permissions::from_mode(0o755)).unwrap();
        victim
    }

    fn mark(&self) -> PathBuf {
        self.place.path("home/ran")
    }

    fn program(&self) -> PathBuf {
        self.place.path("home/evil")
    }

    fn repository(&self) -> PathBuf {
        self.place.workspace().join(".git")
    }

    /// A config that names the program wherever git would start one.
    fn config(&self) -> String {
        let evil = self.program().display().to_string();
        format!(
            "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {evil}\n\tpager = {evil}\n\teditor = {evil}\n\
             \tsshCommand = {evil}\n\talternateRefsCommand = {evil}\n\thooksPath = {hooks}\n\
             [filter \"own\"]\n\tclean = {evil}\n\tsmudge = {evil}\n\tprocess = {evil}\n\trequired = true\n\
             [diff]\n\texternal = {evil}\n[diff \"own\"]\n\ttextconv = {evil}\n\tcommand = {evil}\n\
             [merge \"own\"]\n\tdriver = {evil}\n[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = {evil}\n\
             [credential]\n\thelper = {evil}\n[submodule]\n\trecurse = true\n[log]\n\tshowSignature = true\n\
             [include]\n\tpath = {included}\n",
            hooks = self.place.path("home/hooks").display(),
            included = self.place.path("home/included").display(),
        )
    }

    /// Opens a worktree, and returns where it is.
    fn worktree(&self) -> PathBuf {
        self.place.done(BuiltinCommand::WorktreeOpen, &[("name", "task-1")], "o#1.a");
        self.place.workspace().join(".maestro/worktrees/task-1")
    }

    /// Everything that we ask git about a directory, and a commit of what is there.
    fn use_git(&self, tree: &Path, ticket: &str) -> CommandExit {
        assert!(tree_hash(tree).is_some());
        let there = [("in", tree.to_str().unwrap())];
        let _ = self.place.builtin(BuiltinCommand::GitDiff, &there, "d#1.a", &[]);
        let arguments = [("message", "x"), there[0]];
        self.place.builtin(BuiltinCommand::GitCommit, &arguments, ticket, &[])
    }

    fn assert_unharmed(&self, what: &str) {
        assert!(!self.mark().exists(), "{what}: a program of the attacker's was started");
    }

    /// Runs a script as an agent does in a directory.
    fn as_agent(&self, tree: &Path, script: &str) -> CommandExit {
        let env = ExecutionEnv { workspace: tree.to_owned(), ..self.place.env() };
        let order = shell(script, &[]);
        runtime().block_on(executor(env).execute(&order, &Ticket::quoted("s#1.a"), Limits::default())).finish
    }
}

/// Git, called by the attacker.
fn git(directory: &Path, words: &[&str]) {
    let identity = ["-c", "user.name=e", "-c", "user.email=e@e", "-c", "init.defaultBranch=main"];
    let done = Command::new("git").args(identity).args(words).current_dir(directory).output().unwrap();
    assert!(done.status.success(), "{words:?}: {done:?}");
}

fn is_committed(exit: &CommandExit) -> bool {
    matches!(exit, CommandExit::Exited { code: 0, output } if output.contains("\"changed\":true"))
}

#[test]
fn nothing_that_the_config_of_a_checkout_names_is_run() {
    let victim = Victim::new();
    let work = victim.place.workspace();
    fs::create_dir_all(victim.place.path("home/hooks")).unwrap();
    for hook in ["pre-commit", "post-commit", "post-checkout", "reference-transaction", "post-index-change"] {
        fs::copy(victim.program(), victim.place.path("home/hooks").join(hook)).unwrap();
        fs::create_dir_all(victim.repository().join("hooks")).unwrap();
        fs::copy(victim.program(), victim.repository().join("hooks").join(hook)).unwrap();
    }
    fs::write(victim.place.path("home/included"), format!("[core]\n\tfsmonitor = {}\n", victim.program().display()))
        .unwrap();
    fs::write(work.join(".gitattributes"), "* diff=own merge=own\n").unwrap();
    victim.place.git(&["add", "--all"]);
    victim.place.git(&["commit", "--quiet", "-m", "attributes"]);
    let _ = fs::remove_file(victim.mark());
    fs::write(victim.repository().join("config"), victim.config()).unwrap();

    // In place.
    fs::write(work.join("new"), "work\n").unwrap();
    let commit = victim.use_git(&work, "c#1.a");
    assert!(is_committed(&commit), "{commit:?}");
    victim.assert_unharmed("in place");
    // In a worktree, from its making to the merge of its branch and its removal.
    let tree = victim.worktree();
    fs::write(tree.join("new"), "theirs\n").unwrap();
    fs::write(work.join("other"), "mine\n").unwrap();
    assert!(is_committed(&victim.use_git(&tree, "c#2.a")));
    assert!(is_committed(&victim.use_git(&work, "c#3.a")));
    let merged = victim.place.builtin(BuiltinCommand::GitMerge, &[("branch", "maestro/task-1")], "m#1.a", &[]);
    assert!(is_committed(&merged), "{merged:?}");
    victim.place.done(BuiltinCommand::WorktreeClose, &[("name", "task-1")], "x#1.a");
    victim.assert_unharmed("in a worktree");
    assert_eq!(fs::read_to_string(work.join("new")).unwrap(), "theirs\n");
}

#[test]
fn files_that_a_filter_of_the_checkouts_config_would_pass_are_refused() {
    let victim = Victim::new();
    let work = victim.place.workspace();
    fs::write(victim.repository().join("config"), victim.config()).unwrap();
    fs::write(work.join(".gitattributes"), "secret filter=own\n").unwrap();
    fs::write(work.join("secret"), "in plain text\n").unwrap();
    let refused = victim.use_git(&work, "c#1.a");
    assert!(
        matches!(&refused, CommandExit::Failed(why) if why.contains("the filter `own` is defined only")),
        "{refused:?}"
    );
    let said = victim.place.failed(BuiltinCommand::WorktreeOpen, &[("name", "task-1")]);
    assert!(said.contains("the filter `own` is defined only"), "{said}");
    victim.assert_unharmed("a filter");
    // The user's own config may define it.
    let global = victim.place.path("home/.gitconfig");
    let more = "[filter \"own\"]\n\tclean = tr a-z A-Z\n";
    fs::write(&global, fs::read_to_string(&global).unwrap() + more).unwrap();
    let open = victim.place.builtin(BuiltinCommand::GitDiff, &[], "d#1.a", &[]);
    assert!(matches!(open, CommandExit::Exited { code: 0, .. }), "{open:?}");
    victim.assert_unharmed("a filter that the user defines, too");
}

#[test]
fn a_worktree_that_points_elsewhere_is_not_believed() {
    let victim = Victim::new();
    let tree = victim.worktree();
    // A copy of the repository with another config, which the worktree claims to belong to.
    let copy = victim.place.path("tmp/copy.git");
    assert!(Command::new("cp").arg("-r").arg(victim.repository()).arg(&copy).status().unwrap().success());
    fs::write(copy.join("config"), victim.config()).unwrap();
    fs::write(tree.join(".gitattributes"), "* diff=own\n").unwrap();
    let own = victim.place.path("tmp/own");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(own.join("commondir"), format!("{}\n", copy.display())).unwrap();
    fs::remove_dir_all(tree.join(".git")).unwrap();
    fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
    fs::write(victim.repository().join("worktrees/task-1/commondir"), format!("{}\n", copy.display())).unwrap();
    fs::write(tree.join("new"), "work\n").unwrap();
    let commit = victim.use_git(&tree, "c#1.a");
    assert!(is_committed(&commit), "{commit:?}");
    victim.assert_unharmed("commondir");
    assert_eq!(victim.place.git(&["show", "maestro/task-1:new"]), "work");
    assert_eq!(victim.place.git(&["log", "--format=%s", "main"]), "first");
}

#[test]
fn a_repository_among_the_files_is_not_entered_and_its_files_are_plain_files() {
    let victim = Victim::new();
    let work = victim.place.workspace();
    // One that was there as a submodule, two nested ones that are new, and one in place of a file.
    let commit = victim.place.git(&["rev-parse", "HEAD"]);
    fs::create_dir(work.join("part")).unwrap();
    victim.place.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},part")]);
    victim.place.git(&["commit", "--quiet", "-m", "a part"]);
    let tree = victim.worktree();
    fs::remove_file(tree.join("a")).unwrap();
    for nested in ["part", "nested", "nested/deeper", "a"] {
        let nested = tree.join(nested);
        fs::create_dir_all(&nested).unwrap();
        git(&nested, &["init", "--quiet"]);
        fs::write(nested.join("file"), "work\n").unwrap();
        fs::write(nested.join(".gitignore"), "ignored\n").unwrap();
        fs::write(nested.join("ignored"), "").unwrap();
        fs::write(nested.join(".gitattributes"), "* filter=own diff=own\n").unwrap();
        git(&nested, &["add", "file"]);
        git(&nested, &["commit", "--quiet", "-m", "nested"]);
        fs::write(nested.join(".git/config"), victim.config()).unwrap();
    }
    let commit = victim.use_git(&tree, "c#1.a");
    assert!(is_committed(&commit), "{commit:?}");
    victim.assert_unharmed("nested repositories");
    let files = victim.place.git(&["ls-tree", "-r", "--name-only", "maestro/task-1"]);
    let plain = |name: &str| [".gitattributes", ".gitignore", "file"].map(|file| format!("{name}/{file}"));
    let expected = [&plain("a")[..], &plain("nested")[..2], &plain("nested/deeper"), &plain("nested")[2..]].concat();
    assert_eq!(files.lines().collect::<Vec<_>>(), [&expected[..], &["part".to_owned()]].concat());
    assert!(victim.place.git(&["ls-tree", "maestro/task-1", "part"]).starts_with("160000 commit"));
    fs::write(tree.join("nested/file"), "more\n").unwrap();
    assert!(is_committed(&victim.use_git(&tree, "c#2.a")));
    assert_eq!(victim.place.git(&["show", "maestro/task-1:nested/file"]), "more");
    victim.assert_unharmed("nested repositories, again");
}

#[test]
fn no_link_in_a_repository_is_written_through() {
    let victim = Victim::new();
    let outside = victim.place.path("home/.bashrc");
    fs::write(&outside, "mine\n").unwrap();
    let exclude = victim.repository().join("info/exclude");
    let _ = fs::remove_file(&exclude);
    fs::create_dir_all(exclude.parent().unwrap()).unwrap();
    symlink(&outside, &exclude).unwrap();
    fs::write(victim.place.workspace().join("new"), "work\n").unwrap();
    for (builtin, arguments) in
        [(BuiltinCommand::WorktreeOpen, [("name", "task-1")]), (BuiltinCommand::GitCommit, [("message", "x")])]
    {
        let said = victim.place.failed(builtin, &arguments);
        assert!(said.contains("info/exclude` is a link"), "{said}");
    }
    assert_eq!(fs::read_to_string(&outside).unwrap(), "mine\n");
    // Nor is one in the project, where a clone may have it.
    fs::remove_file(&exclude).unwrap();
    let elsewhere = victim.place.path("outside");
    symlink(&elsewhere, victim.place.workspace().join(".maestro")).unwrap();
    victim.place.failed(BuiltinCommand::WorktreeOpen, &[("name", "task-1")]);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn an_agent_uses_git_as_it_likes_and_the_users_repository_stays_as_it_is() {
    let victim = Victim::new();
    let tree = victim.worktree();
    let state = || {
        let refs = victim.place.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
        (refs, victim.place.git(&["count-objects"]), fs::read_to_string(victim.repository().join("HEAD")).unwrap())
    };
    let before = state();
    let works = "set -e; git log --oneline | grep -q first; echo b >> a; git diff HEAD | grep -q '^+b'; git add --all\n\
                 git commit -qm mine; git branch other; echo c >> a; git stash -q; git stash pop -q; git switch -q other\n\
                 git show main:a; git status --short";
    let done = victim.as_agent(&tree, works);
    assert!(matches!(&done, CommandExit::Exited { code: 0, output } if output == "first\n M a\n"), "{done:?}");
    assert_eq!(state(), before);
    let commit = victim.use_git(&tree, "c#1.a");
    assert!(is_committed(&commit), "{commit:?}");
    assert_eq!(victim.place.git(&["show", "maestro/task-1:a"]), "first\nb\nc");
    assert_eq!(victim.place.git(&["log", "--format=%s", "maestro/task-1"]), "x\nfirst", "its own commit is not there");
    // Git in the worktree is on that commit now.
    let seen = victim.as_agent(&tree, "git log -1 --format=%s; git status --short; git rev-parse --abbrev-ref HEAD");
    assert_eq!(seen, CommandExit::Exited { code: 0, output: "x\nmaestro/task-1\n".to_owned() });

    if !confined(&victim.place) {
        return;
    }
    let before = state();
    let git_dir = victim.repository().display().to_string();
    for attempt in [
        "git --git-dir=GIT update-ref refs/heads/main HEAD~1 || git --git-dir=GIT update-ref refs/heads/evil main",
        "git --git-dir=GIT symbolic-ref HEAD refs/heads/evil",
        "git --git-dir=GIT config core.fsmonitor evil",
        "git --git-dir=GIT hash-object -w --stdin < /dev/null && echo x | git --git-dir=GIT hash-object -w --stdin",
        "echo x > GIT/refs/heads/evil",
        "echo x > GIT/hooks/pre-commit",
        "echo x >> GIT/info/exclude",
        "echo x > GIT/worktrees/task-1/commondir",
        "echo x >> GIT/maestro/git/tree-task-1/config",
        "rm -f GIT/objects/??/*",
        "mv GIT GIT-moved",
    ] {
        let done = victim.as_agent(&tree, &attempt.replace("GIT", &git_dir));
        assert!(!matches!(done, CommandExit::Exited { code: 0, .. }), "{attempt}: {done:?}");
    }
    assert_eq!(state(), before);
    assert_eq!(victim.place.git(&["fsck", "--strict"]), "");
}

#[test]
fn an_agent_in_place_commits_and_changes_no_settings_of_the_repository() {
    let victim = Victim::new();
    let work = victim.place.workspace();
    fs::create_dir_all(work.join(".git/hooks")).unwrap();
    let env = ExecutionEnv { workspace: work.clone(), ..victim.place.env() };
    let order = shell("echo x > new && git log --format=%s && git status --short", &[]);
    let done = runtime().block_on(executor(env).execute(&order, &Ticket::quoted("s#1.a"), Limits::default()));
    assert_eq!(done.finish, CommandExit::Exited { code: 0, output: "first\n?? new\n".to_owned() });
    // Landlock alone cannot do it.
    if done.sandbox.is_none_or(|report| report.layer != SandboxLayer::Namespaces) {
        return;
    }
    for attempt in [
        "git config core.fsmonitor evil",
        "echo x > .git/hooks/pre-commit",
        "mv .git/hooks elsewhere",
        "mv .git elsewhere",
        "rm .git/config",
    ] {
        let done = victim.as_agent(&work, attempt);
        assert!(!matches!(done, CommandExit::Exited { code: 0, .. }), "{attempt}: {done:?}");
    }
    let done =
        victim.as_agent(&work, "git add new && git -c user.name=a -c user.email=a@b commit -qm x && git branch other");
    assert!(matches!(done, CommandExit::Exited { code: 0, .. }), "{done:?}");
    // Where there is no directory for hooks, one could be made: nothing of the repository can be changed then.
    fs::remove_dir_all(work.join(".git/hooks")).unwrap();
    for attempt in ["mkdir .git/hooks", "git branch third"] {
        let done = victim.as_agent(&work, attempt);
        assert!(!matches!(done, CommandExit::Exited { code: 0, .. }), "{attempt}: {done:?}");
    }
    fs::write(work.join("later"), "x").unwrap();
    assert!(is_committed(&victim.use_git(&work, "c#1.a")), "our own git does");
}

/// A host whose user turned hooks on.
struct HookedHost;

impl Host for HookedHost {
    fn git_programs(&self, _: &Path) -> Result<GitPrograms, HostError> {
        Ok(GitPrograms { hooks: CommitHooks::Run, ..GitPrograms::default() })
    }
}

#[test]
fn hooks_run_only_by_the_users_setting_and_only_those_outside_of_the_files() {
    let victim = Victim::new();
    let tree = victim.worktree();
    let hooks = victim.repository().join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    let write = |path: PathBuf, text: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    write(hooks.join("pre-commit"), "#!/bin/sh\ngit diff --cached --name-only > staged\n");
    write(hooks.join("commit-msg"), "#!/bin/sh\necho 'checked by a hook' >> \"$1\"\n");
    write(tree.join(".husky/pre-commit"), "#!/bin/sh\ntouch husky\n");
    victim.place.git(&["config", "core.hooksPath", ".husky"]);
    let commit = |host: Option<HookedHost>, ticket: &str| {
        let machine = match host {
            Some(host) => Arc::new(victim.place.machine(host)),
            None => victim.place.env().machine,
        };
        let env = ExecutionEnv { machine, workspace: tree.clone(), ..victim.place.env() };
        let arguments = [("message".to_owned(), "x".to_owned())].into();
        let order = CommandSpec::Builtin { builtin: BuiltinCommand::GitCommit, arguments };
        let done = runtime().block_on(executor(env).execute(&order, &Ticket::quoted(ticket), Limits::default())).finish;
        assert!(is_committed(&done), "{done:?}");
        victim.place.git(&["log", "-1", "--format=%B", "maestro/task-1"])
    };
    assert_eq!(commit(None, "c#1.a"), "x\n\nMaestro-Task: run-1/c#1.a");
    assert!(!tree.join("staged").exists());
    fs::write(tree.join("new"), "work\n").unwrap();
    assert_eq!(commit(Some(HookedHost), "c#2.a"), "x\nchecked by a hook\n\nMaestro-Task: run-1/c#2.a");
    assert_eq!(victim.place.git(&["show", "maestro/task-1:staged"]), "new");
    assert!(!tree.join("husky").exists(), "an agent could have written that hook");
    write(hooks.join("pre-commit"), "#!/bin/sh\necho no; exit 3\n");
    fs::write(tree.join("new"), "more\n").unwrap();
    let env = ExecutionEnv {
        machine: Arc::new(victim.place.machine(HookedHost)),
        workspace: tree.clone(),
        ..victim.place.env()
    };
    let arguments = [("message".to_owned(), "x".to_owned())].into();
    let order = CommandSpec::Builtin { builtin: BuiltinCommand::GitCommit, arguments };
    let done = runtime().block_on(executor(env).execute(&order, &Ticket::quoted("c#3.a"), Limits::default())).finish;
    let CommandExit::Exited { code: 0, output } = done else { panic!("{done:?}") };
    let said: Json = serde_json::from_str(&output).unwrap();
    assert_eq!((&said["commit"], &said["left"]), (&Json::Null, &json!("the hook `pre-commit` exited with 3: no")));
    assert_eq!(json!(victim.place.git(&["rev-list", "--count", "maestro/task-1"])), json!("3"));
}

#[test]
fn other_formats_of_repositories_are_worked_in_all_the_same() {
    for format in [&["--object-format=sha256"][..], &["--ref-format=reftable"]] {
        let place = Place::new();
        place.repository();
        fs::remove_dir_all(place.workspace().join(".git")).unwrap();
        place.git(&[&["init", "--quiet"][..], format].concat());
        place.git(&["add", "--all"]);
        place.git(&["commit", "--quiet", "-m", "first"]);
        place.done(BuiltinCommand::WorktreeOpen, &[("name", "task-1")], "o#1.a");
        let tree = place.workspace().join(".maestro/worktrees/task-1");
        fs::write(tree.join("new"), "work\n").unwrap();
        let arguments = [("message", "x"), ("in", tree.to_str().unwrap())];
        assert_eq!(place.done(BuiltinCommand::GitCommit, &arguments, "c#1.a")["changed"], json!(true), "{format:?}");
        place.done(BuiltinCommand::GitMerge, &[("branch", "maestro/task-1")], "m#1.a");
        place.done(BuiltinCommand::WorktreeClose, &[("name", "task-1")], "x#1.a");
        assert_eq!(place.git(&["show", "main:new"]), "work", "{format:?}");
        assert_eq!(place.git(&["status", "--porcelain"]), "", "{format:?}");
    }
}
