//! Words that people try, and the commands that do it here.

/// What an unknown command was meant to be. `next` is the word after it.
pub(super) fn meant_by_word(group: &str, word: &str, next: Option<&str>) -> Option<String> {
    let is_plan = |word: &str| std::path::Path::new(word).extension().is_some_and(|end| end.eq_ignore_ascii_case("md"));
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
    Some(match (group, word.to_lowercase().as_str()) {
        ("", "run" | "start" | "exec" | "work") => {
            format!("`maestro loop {plan}` works through a plan, `maestro do \"TASK\"` does one task")
        }
        ("", "serve" | "server" | "daemon" | "ui" | "dashboard" | "web") => "did you mean `maestro up`?".to_owned(),
        ("", "login" | "auth" | "logout") => {
            "Maestro has no login: agents use their own; `maestro agents --check` starts each of them".to_owned()
        }
        ("", "self-update" | "selfupdate") => "did you mean `maestro upgrade`?".to_owned(),
        ("", "setup" | "new" | "create") => "did you mean `maestro init`?".to_owned(),
        ("", "settings" | "set" | "get") => "did you mean `maestro config show`?".to_owned(),
        ("", "ps" | "top" | "jobs") => "did you mean `maestro session list` or `maestro loop status`?".to_owned(),
        ("", "log" | "logs" | "history") => "did you mean `maestro loop log` or `maestro events`?".to_owned(),
        ("", "stop" | "kill" | "abort") => "did you mean `maestro loop cancel` or `maestro session cancel`?".to_owned(),
        ("", "answer" | "approve") => "did you mean `maestro session answer`?".to_owned(),
        ("plan", "create" | "add" | "write" | "init") => "did you mean `maestro plan new \"GOAL\"`?".to_owned(),
        ("", "plan-next" | "next") => "did you mean `maestro plan next PLAN.md`?".to_owned(),
        ("" | "skills", "install" | "add") => {
            "did you mean `maestro skills add SOURCE`? SOURCE is a folder, an archive, a git address or OWNER/REPO"
                .to_owned()
        }
        ("", "quickstart" | "tutorial" | "tour" | "guide" | "docs" | "examples") => {
            "`maestro demo` shows how it works, `maestro help guide` has the guides".to_owned()
        }
        ("", "recipe" | "recipes") => {
            "did you mean `maestro plan new \"GOAL\" --recipe upgrade|coverage|lint`?".to_owned()
        }
        ("", "migrate" | "convert") => "did you mean `maestro import`?".to_owned(),
        ("", "purge" | "clean" | "reset") => "did you mean `maestro uninstall --dry-run`?".to_owned(),
        ("" | "skills", "remove" | "uninstall" | "rm" | "delete") => {
            "did you mean `maestro skills remove NAME`?".to_owned()
        }
        ("skills", "create" | "init") => "did you mean `maestro skills new NAME \"DESCRIPTION\"`?".to_owned(),
        ("skills", "search" | "find" | "match" | "suggest") => "did you mean `maestro skills try \"TASK\"`?".to_owned(),
        ("skills", "check" | "lint") => "did you mean `maestro skills validate`?".to_owned(),
        ("skills", "ls") => "did you mean `maestro skills list`?".to_owned(),
        ("config", "edit" | "add") => "`maestro config set KEY VALUE` writes a setting".to_owned(),
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
    Some(match (command, name) {
        ("maestro doctor", "--fix") => "each problem has a hint with the command that fixes it".to_owned(),
        ("maestro import", "--from" | "--source") => {
            "name the source itself: `maestro import maestro|loop|openskills|site-nine|scripts`".to_owned()
        }
        ("maestro", "--demo") => "did you mean `maestro demo`?".to_owned(),
        ("maestro loop", "--plan" | "--file") => "name the plan itself: `maestro loop PLAN.md`".to_owned(),
        (_, "--yolo" | "--dangerously-skip-permissions" | "--auto" | "--full-auto") => {
            "`--permission all` asks nothing; the sandbox still confines the agent".to_owned()
        }
        ("maestro do" | "maestro loop", "--worktree") => {
            "a worktree is the default; `--in-place` works without one".to_owned()
        }
        ("maestro do" | "maestro loop", "--parallel" | "--concurrency" | "--workers") => {
            "did you mean `-j N` (of `maestro loop`)?".to_owned()
        }
        ("maestro do" | "maestro loop", "--budget" | "--max-cost") => "did you mean `--task-cost USD`?".to_owned(),
        (_, "--verbose" | "-v" | "--debug") => "set `MAESTRO_LOG=debug` to see the log".to_owned(),
        (_, "--format" | "-o" | "--output") => "`--json` prints JSON".to_owned(),
        (_, "--force" | "-f") => "`--yes` skips questions, where a command has any".to_owned(),
        _ => return None,
    })
}

/// An example of a command that lacks an argument.
pub(super) fn example_of(command: &str) -> Option<&'static str> {
    Some(match command {
        "maestro do" => "`maestro do \"Fix the typo in the README\"`",
        "maestro prompt" => "`maestro prompt \"Fix the login\"` or `maestro prompt PLAN.md`",
        "maestro diff" | "maestro pr" | "maestro discard" | "maestro revise" | "maestro show" | "maestro share" => {
            "`maestro loop status` lists the runs; name one by its short ID"
        }
        "maestro say" => "`maestro say ID \"Leave the tests alone\"`; `maestro session list` has the IDs",
        "maestro attach" => "`maestro session list` has the IDs",
        "maestro connect" => "`maestro connect claude-code`, or `all`; `--dry-run` shows what would change",
        "maestro disconnect" => "`maestro disconnect all`",
        "maestro completions" => "`maestro completions bash > maestro.bash`",
        "maestro skills read" | "maestro skills show" => {
            "`maestro skills read planner`; `maestro skills list` has the names"
        }
        "maestro skills try" | "maestro skills select" => "`maestro skills try \"Merge the PDFs\"`",
        "maestro skills new" => "`maestro skills new price-lists \"Write price lists. Use when a task adds prices.\"`",
        "maestro skills add" => {
            "`maestro skills add ../our-skills`, or OWNER/REPO; it shows everything before it writes"
        }
        "maestro skills remove" => "`maestro skills outdated` lists the added ones",
        "maestro skills why" => "`maestro skills why pdf \"Merge the PDFs\"`",
        "maestro config set" => "`maestro config set agent claude`; `maestro config show` lists the settings",
        "maestro config get" => "`maestro config get agent`; `maestro config show` lists the settings",
        "maestro plan list" | "maestro plan next" => "`maestro plan list PLAN.md`",
        "maestro plan new" => "`maestro plan new \"Users can log in by e-mail\"`, or `--recipe upgrade|coverage|lint`",
        "maestro task create" => "`maestro task create \"Fix the login\"`",
        "maestro workflow start" | "maestro workflow run" => {
            "`maestro workflow start planner --param task=\"Add a login\"`; `maestro workflow list` has the names"
        }
        "maestro workflow show" | "maestro workflow graph" | "maestro workflow simulate" => {
            "`maestro workflow show planner`; `maestro workflow list` has the names"
        }
        "maestro workflow report" => {
            "copy the command from the end of the step; `maestro workflow next RUN` prints it again"
        }
        "maestro workflow next" | "maestro workflow log" | "maestro workflow cancel" | "maestro workflow pause" => {
            "`maestro workflow runs` has the IDs"
        }
        "maestro token revoke" => "`maestro token list` has the IDs",
        "maestro db restore" => "`maestro db restore FILE`; automatic backups are in `backups/` beside the database",
        _ => return None,
    })
}
