//! Words that people try, and the commands that do it here.

use maestro_core::settings::SettingKey;

/// Whether a word names a Markdown file.
pub(super) fn is_plan(word: &str) -> bool {
    std::path::Path::new(word).extension().is_some_and(|end| end.eq_ignore_ascii_case("md"))
}

/// What an unknown command was meant to be. `next` is the word after it.
pub(super) fn meant_by_word(group: &str, word: &str, next: Option<&str>) -> Option<String> {
    if word.contains(char::is_whitespace) {
        return match group {
            "" => Some(format!(
                "`maestro do \"{word}\"` does a task, `maestro skills try \"{word}\"` chooses skills for it"
            )),
            "task" => Some(format!("did you mean `maestro task create \"{word}\"`?")),
            "plan" => Some(format!("did you mean `maestro plan new \"{word}\"`?")),
            _ => None,
        };
    }
    if is_plan(word) {
        return match group {
            "" => Some(format!("did you mean `maestro loop {word}`?")),
            "plan" => Some(format!("did you mean `maestro plan list {word}`?")),
            _ => None,
        };
    }
    if let Some(next) = next.filter(|next| group.is_empty() && is_group(next)) {
        return Some(format!("did you mean `maestro {next} {word}`?"));
    }
    let plan = next.filter(|next| is_plan(next)).unwrap_or("PLAN.md");
    let word = word.to_lowercase();
    match group {
        "" => meant_command(&word, plan),
        "skills" => meant_skills_command(&word),
        _ => meant_in_group(group, &word, plan),
    }
}

/// Whether a word begins a request to an agent.
fn is_request(word: &str) -> bool {
    ["fix", "implement", "ask", "chat", "write", "refactor", "review"].contains(&word.to_lowercase().as_str())
}

/// Whether words are a request, though the first of them may be a command's.
pub(super) fn are_request(words: &[&str]) -> bool {
    let verbs = ["add", "build", "create", "delete", "install", "make", "remove", "test"];
    words
        .first()
        .is_some_and(|first| is_request(first) || (words.len() > 3 && verbs.contains(&first.to_lowercase().as_str())))
}

/// A word that may be the name of something of the group's.
pub(super) fn meant_by_name(group: &str, word: &str) -> Option<String> {
    Some(match group {
        "skills" => format!("if it is a skill's name: `maestro skills show {word}`, `maestro skills read {word}`"),
        "workflow" => {
            format!("if it is a workflow's name: `maestro workflow show {word}`, `maestro workflow start {word}`")
        }
        "task" => format!("if it is a task's ID: `maestro task get {word}`"),
        "session" => format!("if it is a session's ID: `maestro show {word}`"),
        "loop" => format!("if it is a run's ID: `maestro show {word}`"),
        _ => return None,
    })
}

/// A task that was typed without `do` and without quotes; `words` are all of them.
pub(super) fn meant_sentence(words: &[&str]) -> Option<String> {
    let [first, second, rest @ ..] = words else { return None };
    let is_sentence = is_request(first) || !rest.is_empty();
    let is_plain = !is_plan(second) && !is_group(second) && words.iter().all(|word| !word.starts_with('-'));
    (is_sentence && is_plain).then(|| format!("did you mean `maestro do \"{}\"`?", words.join(" ")))
}

/// A command that is not at the top.
fn meant_command(word: &str, plan: &str) -> Option<String> {
    Some(match word {
        "run" | "start" | "exec" | "work" => {
            format!("`maestro loop {plan}` works through a plan, `maestro do \"TASK\"` does one task")
        }
        "serve" | "server" | "daemon" | "ui" | "dashboard" | "web" => "did you mean `maestro up`?".to_owned(),
        "login" | "auth" | "logout" => {
            "Maestro has no login: agents use their own; `maestro agents --check` starts each of them".to_owned()
        }
        "self-update" | "selfupdate" => "did you mean `maestro upgrade`?".to_owned(),
        "setup" => "did you mean `maestro init`?".to_owned(),
        "ls" => "did you mean `maestro skills list`, `maestro task list` or `maestro loop status`?".to_owned(),
        "watch" | "follow" | "tail" => "did you mean `maestro events --follow`?".to_owned(),
        "new" | "create" => {
            "did you mean `maestro init`, `maestro plan new`, `maestro skills new` or `maestro workflow new`?"
                .to_owned()
        }
        "check" | "test" | "verify" => "did you mean `maestro doctor` or `maestro skills validate`?".to_owned(),
        "untrust" | "revoke" => "did you mean `maestro trust --revoke NAME`?".to_owned(),
        "prune" | "archive" => "did you mean `maestro db prune`?".to_owned(),
        "export" => "did you mean `maestro share RUN` or `maestro db backup`?".to_owned(),
        "down" | "shutdown" | "quit" => {
            "Ctrl-C where `maestro up` runs ends the server; runs continue when it starts again".to_owned()
        }
        "restart" | "reload" => {
            "press Ctrl-C where `maestro up` runs, and run it again; runs continue".to_owned()
        }
        "build" | "deploy" | "lint" | "format" => {
            format!("`maestro do \"TASK\"` has an agent do it; as a check of all work: `maestro config set --project verify '[\"COMMAND\"]'` with your {word} command")
        }
        "undo" | "revert" | "rollback" => {
            "`maestro discard RUN` drops work that is not merged; git reverts what is: `git revert`".to_owned()
        }
        "push" => "did you mean `maestro merge RUN` or `maestro pr RUN`?".to_owned(),
        "chat" | "ask" | "tui" | "fix" | "implement" => {
            "`maestro do \"TASK\"` gives an agent a task, `maestro up` serves a page on which you see it".to_owned()
        }
        agent @ ("claude" | "codex" | "opencode" | "gemini" | "goose" | "aider" | "copilot" | "cursor" | "qwen"
        | "cline" | "kiro" | "amp") => format!("did you mean `maestro do \"TASK\" --agent {agent}`?"),
        "settings" | "set" | "get" => "did you mean `maestro config show`?".to_owned(),
        "ps" | "top" | "jobs" => "did you mean `maestro session list` or `maestro loop status`?".to_owned(),
        "log" | "logs" | "history" => "did you mean `maestro loop log` or `maestro events`?".to_owned(),
        "stop" | "kill" | "abort" => "did you mean `maestro loop cancel` or `maestro session cancel`?".to_owned(),
        "answer" | "approve" => "did you mean `maestro session answer`?".to_owned(),
        "plan-next" | "next" => "did you mean `maestro plan next PLAN.md`?".to_owned(),
        "install" | "add" => {
            "did you mean `maestro skills add SOURCE`? SOURCE is a folder, an archive, a git address or OWNER/REPO"
                .to_owned()
        }
        "quickstart" | "tutorial" | "tour" | "guide" | "docs" | "examples" => {
            "`maestro demo` shows how it works, `maestro help tutorial` explains it, `maestro help guide` lists all guides".to_owned()
        }
        "recipe" | "recipes" => "did you mean `maestro plan new \"GOAL\" --recipe upgrade|coverage|lint`?".to_owned(),
        "migrate" | "convert" => "did you mean `maestro import`?".to_owned(),
        "purge" | "clean" | "reset" => "did you mean `maestro uninstall --dry-run`?".to_owned(),
        "remove" | "uninstall" | "rm" | "delete" => "did you mean `maestro skills remove NAME`?".to_owned(),
        _ => return None,
    })
}

fn meant_skills_command(word: &str) -> Option<String> {
    Some(match word {
        "install" | "add" => {
            "did you mean `maestro skills add SOURCE`? SOURCE is a folder, an archive, a git address or OWNER/REPO"
                .to_owned()
        }
        "remove" | "uninstall" | "rm" | "delete" => "did you mean `maestro skills remove NAME`?".to_owned(),
        "create" | "init" => "did you mean `maestro skills new NAME \"DESCRIPTION\"`?".to_owned(),
        "search" | "find" | "match" | "suggest" => "did you mean `maestro skills try \"TASK\"`?".to_owned(),
        "check" | "lint" => "did you mean `maestro skills validate`?".to_owned(),
        "ls" => "did you mean `maestro skills list`?".to_owned(),
        _ => return None,
    })
}

/// A command that its group calls otherwise.
fn meant_in_group(group: &str, word: &str, plan: &str) -> Option<String> {
    Some(match (group, word) {
        ("plan", "show" | "check" | "validate" | "status" | "ls") => {
            format!("did you mean `maestro plan list {plan}`?")
        }
        ("plan" | "loop", "run" | "start" | "exec" | "begin") => format!("did you mean `maestro loop {plan}`?"),
        ("task", "add" | "new") => "did you mean `maestro task create \"TITLE\"`?".to_owned(),
        ("task", "done" | "finish" | "close") => "did you mean `maestro task complete ID`?".to_owned(),
        ("task", "show" | "info") => "did you mean `maestro task get ID`?".to_owned(),
        ("task", "rm" | "remove") => "did you mean `maestro task delete ID`?".to_owned(),
        ("session", "kill" | "stop" | "end" | "abort" | "rm" | "delete") => {
            "did you mean `maestro session cancel ID`?".to_owned()
        }
        ("session", "start" | "new" | "create" | "run") => "did you mean `maestro session spawn --task ID`?".to_owned(),
        ("session", "show" | "view" | "log" | "logs") => "did you mean `maestro show ID`?".to_owned(),
        ("session" | "task" | "workflow" | "project" | "token" | "roles" | "handoff", "ls") => {
            format!("did you mean `maestro {group} list`?")
        }
        ("workflow", "create" | "add" | "init") => "did you mean `maestro workflow new NAME`?".to_owned(),
        ("workflow", "validate" | "lint") => "did you mean `maestro workflow check`?".to_owned(),
        ("workflow", "stop" | "kill" | "abort") => "did you mean `maestro workflow cancel RUN`?".to_owned(),
        ("workflow", "status" | "ps") => "did you mean `maestro workflow runs`?".to_owned(),
        ("worker", "start" | "up") => "did you mean `maestro worker run`?".to_owned(),
        ("db", "reset" | "clear" | "drop") => {
            "`maestro uninstall --dry-run` shows what can be removed; `maestro db restore FILE` takes an older copy"
                .to_owned()
        }
        ("token", "new" | "add") => "did you mean `maestro token create NAME`?".to_owned(),
        ("token", "delete" | "rm" | "remove") => "did you mean `maestro token revoke ID`?".to_owned(),
        ("plan", "create" | "add" | "write" | "init") => "did you mean `maestro plan new \"GOAL\"`?".to_owned(),
        ("config", setting) if SettingKey::from_word(setting).is_some() => {
            format!("did you mean `maestro config set {setting} VALUE`?")
        }
        ("config", "edit" | "add") => "`maestro config set KEY VALUE` writes a setting".to_owned(),
        ("config", "path" | "file" | "files" | "where") => "`maestro config show --origin` names the files".to_owned(),
        ("config", "unset" | "remove" | "reset") => {
            "delete its line from the file that `maestro config show --origin` names".to_owned()
        }
        _ => return None,
    })
}

fn is_group(word: &str) -> bool {
    ["skills", "skill", "task", "session", "workflow", "plan", "config", "roles", "project", "token", "db"]
        .contains(&word)
}

/// What an unknown option was meant to be.
pub(super) fn meant_by_option(command: &str, option: &str) -> Option<String> {
    let name = option.split('=').next().unwrap_or(option);
    let of_work = || meant_by_work_option(command, name);
    of_work().or_else(|| meant_by_own_option(command, name)).or_else(|| meant_by_usual_option(name))
}

/// An option of the commands that have agents do work.
fn meant_by_work_option(command: &str, name: &str) -> Option<String> {
    Some(match (command, name) {
        ("maestro do" | "maestro loop" | "maestro revise", "-m") => "did you mean `--model NAME`?".to_owned(),
        ("maestro do", "--file" | "--prompt" | "--task" | "-p" | "-f") => {
            "the task itself stands in quotes: `maestro do \"TASK\"`; `maestro loop FILE.md` works through a checklist"
                .to_owned()
        }
        ("maestro do" | "maestro loop", "--no-sandbox") => {
            "the sandbox cannot be turned off; `maestro help guide security` says what it lets through".to_owned()
        }
        ("maestro loop", "--plan" | "--file") => "name the plan itself: `maestro loop PLAN.md`".to_owned(),
        ("maestro do" | "maestro loop", "--worktree") => {
            "a worktree is the default; `--in-place` works without one".to_owned()
        }
        ("maestro loop", "--parallel" | "--concurrency" | "--workers") => "did you mean `-j N`?".to_owned(),
        ("maestro do", "--parallel" | "--concurrency" | "--workers" | "-j" | "--jobs") => {
            "a task has one agent; `maestro loop PLAN.md -j N` does N tasks of a plan at once".to_owned()
        }
        ("maestro do", "--budget" | "--max-cost" | "--cost") => "did you mean `--task-cost USD`?".to_owned(),
        ("maestro loop", "--budget" | "--max-cost" | "--cost") => {
            "did you mean `--plan-cost USD`, for all tasks, or `--task-cost USD`, for each?".to_owned()
        }
        ("maestro do" | "maestro loop", "--timeout" | "--time-limit" | "--max-time") => {
            "did you mean `--task-minutes N`?".to_owned()
        }
        ("maestro do" | "maestro loop", "--branch" | "-b") => {
            "every run gets a branch of its own; `maestro merge RUN` merges it into the one you have checked out"
                .to_owned()
        }
        ("maestro do" | "maestro loop", "--follow" | "--watch" | "--wait") => {
            "it is followed unless you pass `--detach`".to_owned()
        }
        ("maestro do" | "maestro loop" | "maestro session spawn", "-a") => "did you mean `--agent NAME`?".to_owned(),
        _ => return None,
    })
}

/// An option of a single command.
fn meant_by_own_option(command: &str, name: &str) -> Option<String> {
    Some(match (command, name) {
        ("maestro doctor", "--fix") => "each problem has a hint with the command that fixes it".to_owned(),
        ("maestro import", "--from" | "--source") => {
            "name the source itself: `maestro import maestro|loop|openskills|site-nine|scripts`".to_owned()
        }
        ("maestro demo", "--agent") => {
            "the demo has an agent of its own; `maestro do \"TASK\" --agent NAME` starts yours".to_owned()
        }
        ("maestro init", "--agent") => "`maestro config set agent NAME` chooses the agent".to_owned(),
        ("maestro skills update", "--all" | "-a") => "without a name it updates all".to_owned(),
        ("maestro skills remove", "--all" | "-a") => {
            "name them: `maestro skills outdated` lists the added ones".to_owned()
        }
        ("maestro connect" | "maestro disconnect", "--global" | "--user" | "-g") => {
            "leave it out: your own settings are the default".to_owned()
        }
        ("maestro connect" | "maestro disconnect", "--local" | "--workspace") => {
            "did you mean `--scope project`?".to_owned()
        }
        ("maestro agents", "--install" | "--add") => {
            "Maestro installs no agents: install one as its maker says, and it is found on PATH".to_owned()
        }
        ("maestro status" | "maestro task list" | "maestro session list", "--watch" | "--follow" | "-f") => {
            "did you mean `maestro events --follow`?".to_owned()
        }
        ("maestro merge", "--yes" | "-y" | "--force") => "it asks nothing: leave the option out".to_owned(),
        ("maestro upgrade", "--yes" | "-y") => "it changes nothing: run the command that it prints".to_owned(),
        ("maestro up", "-d" | "--detach" | "--daemon" | "--background") => {
            "it runs until Ctrl-C: use another terminal, or a service of your system".to_owned()
        }
        ("maestro up", "-p") => "did you mean `--port PORT`?".to_owned(),
        ("maestro events", "--limit" | "--last" | "--tail" | "-n") => {
            "it shows the last hundred; `--since SEQ` shows all after that number".to_owned()
        }
        ("maestro db prune", "--older" | "--older-than" | "--days" | "--before") => {
            "did you mean `--keep-days N`?".to_owned()
        }
        ("maestro", "--demo") => "did you mean `maestro demo`?".to_owned(),
        _ => return None,
    })
}

/// An option that many programs have.
fn meant_by_usual_option(name: &str) -> Option<String> {
    Some(match name {
        "-q" | "--quiet" | "--silent" => "send its output elsewhere: `> /dev/null`; errors still appear".to_owned(),
        "-C" | "--cwd" | "--directory" => "change to that directory first".to_owned(),
        "--yolo" | "--dangerously-skip-permissions" | "--auto" | "--full-auto" => {
            "`--permission all` asks nothing; the sandbox still confines the agent".to_owned()
        }
        "--no-color" | "--no-colour" => "did you mean `--color never`?".to_owned(),
        "--verbose" | "-v" | "--debug" => "set `MAESTRO_LOG=debug` to see the log".to_owned(),
        "--format" | "-o" | "--output" => "`--json` prints JSON".to_owned(),
        "--force" | "-f" => "`--yes` skips questions, where a command has any".to_owned(),
        _ => return None,
    })
}

/// An unknown option of a command that takes parameters of a workflow.
pub(super) fn option_as_parameter(command: &str, option: &str) -> Option<String> {
    let name = option.strip_prefix("--")?.split('=').next()?;
    ["maestro workflow start", "maestro workflow run", "maestro workflow simulate"]
        .contains(&command)
        .then(|| format!("a parameter of the workflow is passed as `--param {name}=…`"))
}

/// What a word too many was meant to be. `words` are all that the command was given.
pub(super) fn meant_by_extra_word(command: &str, words: &[&str]) -> Option<String> {
    let first = words.first()?;
    let last = words.last()?;
    Some(match command {
        "maestro agents" => "`maestro agents NAME` shows one; agents.toml adds more (docs/agents.md)".to_owned(),
        "maestro init" if [".", "./"].contains(first) => "`maestro init` sets up this directory".to_owned(),
        "maestro init" => format!("it sets up the current directory: `cd {first} && maestro init`"),
        "maestro up" if first.parse::<u16>().is_ok() => format!("did you mean `maestro up --port {first}`?"),
        "maestro workflow start" | "maestro workflow run" if last.contains('=') => {
            format!("did you mean `--param {last}`?")
        }
        "maestro workflow report" => format!("did you mean `--outcome {last}`?"),
        "maestro config set" if words.len() > 2 => {
            format!("put the value in quotes: `maestro config set {first} \"{}\"`", words.get(1..)?.join(" "))
        }
        _ => return None,
    })
}

/// An example of a command that lacks an argument, after what was typed so far.
pub(super) fn example_of(command: &str, rest: &[String]) -> Option<String> {
    match command {
        "maestro config set" if rest.first().is_some_and(|word| word.contains('=')) => {
            let (key, value) = rest.first()?.split_once('=')?;
            return Some(format!("`maestro config set {key} {value}`"));
        }
        "maestro plan new" if rest.iter().any(|word| word.starts_with("--recipe")) => {
            return Some("`maestro plan new \"clippy\" --recipe lint`; the goal says what it is about".to_owned());
        }
        "maestro discard" | "maestro share" => {
            return Some(format!("`{command} ID`; `maestro loop status` has the IDs"));
        }
        "maestro workflow next"
        | "maestro workflow log"
        | "maestro workflow cancel"
        | "maestro workflow pause"
        | "maestro workflow resume"
        | "maestro workflow reopen" => {
            return Some(format!("`{command} RUN`; `maestro workflow runs` has the IDs"));
        }
        "maestro plan list" | "maestro plan next" => return Some(format!("`{command} PLAN.md`")),
        _ => {}
    }
    fixed_example(command).map(str::to_owned)
}

fn fixed_example(command: &str) -> Option<&'static str> {
    Some(match command {
        "maestro do" => "`maestro do \"Fix the typo in the README\"`",
        "maestro prompt" => "`maestro prompt \"Fix the login\"` or `maestro prompt PLAN.md`",
        "maestro revise" => "`maestro revise ID \"Write the prices in cents\"`; `maestro loop status` has the IDs",
        "maestro show" => "`maestro show ID`; `maestro loop status` and `maestro session list` have the IDs",
        "maestro say" => "`maestro say ID \"Leave the tests alone\"`; `maestro session list` has the IDs",
        "maestro attach" => "`maestro attach ID`; `maestro session list` has the IDs",
        "maestro connect" => "`maestro connect claude-code`, or `all`; `--dry-run` shows what would change",
        "maestro disconnect" => "`maestro disconnect all`",
        "maestro completions" => "`maestro completions bash > maestro.bash`",
        "maestro skills read" => "`maestro skills read planner`; `maestro skills list` has the names",
        "maestro skills show" => "`maestro skills show planner`; `maestro skills list` has the names",
        "maestro skills try" | "maestro skills select" => "`maestro skills try \"Merge the PDFs\"`",
        "maestro skills new" => "`maestro skills new price-lists \"Write price lists. Use when a task adds prices.\"`",
        "maestro skills add" => {
            "`maestro skills add ../our-skills`, or OWNER/REPO; it shows everything before it writes"
        }
        "maestro skills remove" => "`maestro skills remove pdf`; `maestro skills outdated` lists the added ones",
        "maestro skills why" => "`maestro skills why pdf \"Merge the PDFs\"`",
        "maestro config set" => "`maestro config set agent claude`; `maestro config show` lists the settings",
        "maestro config get" => "`maestro config get agent`; `maestro config show` lists the settings",
        "maestro plan new" => "`maestro plan new \"Users can log in by e-mail\"`, or `--recipe upgrade|coverage|lint`",
        "maestro task create" => "`maestro task create \"Fix the login\"`",
        "maestro task update" => "`maestro task update ID --priority high`; `maestro task list` has the IDs",
        "maestro task delete" => "`maestro task delete ID`; `maestro task list` has the IDs",
        "maestro workflow start" | "maestro workflow run" => {
            "`maestro workflow start planner --param task=\"Add a login\"`; `maestro workflow list` has the names"
        }
        "maestro workflow show" | "maestro workflow graph" | "maestro workflow simulate" => {
            "`maestro workflow show planner`; `maestro workflow list` has the names"
        }
        "maestro workflow report" => {
            "copy the command from the end of the step; `maestro workflow next RUN` prints it again"
        }
        "maestro session spawn" => "`maestro session spawn --task ID --agent claude`; `maestro task list` has the IDs",
        "maestro token create" => "`maestro token create ci --read --days 30`",
        "maestro token revoke" => "`maestro token revoke ID`; `maestro token list` has the IDs",
        "maestro project create" => {
            "`maestro project create shop --dir ../shop`; `maestro init` does it for this directory"
        }
        "maestro project delete" => "`maestro project delete ID`; `maestro project list` has the IDs",
        "maestro db restore" => "`maestro db restore FILE`; automatic backups are in `backups/` beside the database",
        _ => return None,
    })
}
