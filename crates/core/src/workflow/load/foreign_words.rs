//! Words of other workflow languages, and what is written here instead.

/// Keys, and the keys that may be meant; the first that a place has is named.
const KEYS: &[(&[&str], &[&str])] = &[
    (&["if", "condition", "only_if"], &["when"]),
    (&["run", "cmd", "exec", "bash"], &["command"]),
    (&["script"], &["shell", "command"]),
    (&["uses", "subworkflow"], &["workflow"]),
    (&["prompt", "instructions", "instruction", "system_prompt", "goal"], &["actions"]),
    (&["question", "text", "ask"], &["prompt", "template"]),
    (&["label"], &["title"]),
    (&["name"], &["title", "id"]),
    (&["loop", "foreach", "forEach", "with_items", "matrix"], &["for_each"]),
    (&["parallelism", "concurrency", "max-parallel", "maxParallel"], &["max_parallel"]),
    (&["needs", "depends_on", "dependencies", "goto", "then", "transitions", "edges", "on_success"], &["next"]),
    (&["on_fail", "on_failure", "on_error", "onError", "continue_on_error", "continue-on-error"], &["next"]),
    (&["timeout-minutes", "timeout_minutes", "timeout_seconds"], &["timeout"]),
    (&["working_directory", "working-directory", "workdir", "dir"], &["cwd"]),
    (&["environment"], &["env"]),
    (&["inputs", "arguments", "parameters", "args"], &["params", "with"]),
    (&["vars", "state"], &["variables"]),
    (&["nodes", "jobs", "tasks", "states"], &["steps"]),
    (&["outputs", "output", "returns", "output_schema", "response_format"], &["result"]),
    (&["items", "properties", "schema"], &["fields"]),
    (&["enum", "choices"], &["values", "options"]),
    (&["minimum", "minLength", "minItems", "min_length", "min_items"], &["min"]),
    (&["maximum", "maxLength", "maxItems", "max_items"], &["max"]),
    (&["attempts", "max_attempts", "times", "limit", "maxAttempts"], &["max"]),
    (&["always", "on_exit", "onExit"], &["finally"]),
];

/// Words for a type, a status or an outcome, and the words that may be meant.
const WORDS: &[(&[&str], &[&str])] = &[
    (&["shell", "script", "bash", "run", "exec"], &["command"]),
    (&["llm", "prompt", "task", "node"], &["agent"]),
    (&["parallel", "map", "fanout", "foreach"], &["dispatch"]),
    (&["switch", "if", "branch", "condition", "choice", "router"], &["conditional"]),
    (&["input", "human", "approval", "ask", "interrupt"], &["question"]),
    (&["print", "echo", "message", "show"], &["output"]),
    (&["assign", "variable"], &["set"]),
    (&["subworkflow", "workflow", "subgraph"], &["call"]),
    (&["stop", "finish", "return", "terminate"], &["end"]),
    (&["array"], &["list"]),
    (&["str", "text"], &["string"]),
    (&["integer"], &["int"]),
    (&["boolean"], &["bool"]),
    (&["float", "double", "decimal"], &["number"]),
    (&["dict", "map", "mapping"], &["object"]),
    (&["file", "directory"], &["path"]),
    (&["success", "succeeded", "done", "completed", "complete", "passed"], &["ok", "pass", "success"]),
    (&["failed", "failure", "error", "errored"], &["fail", "failure"]),
    (&["ok"], &["pass", "success"]),
];

/// What is said where a key of another language stands.
pub(super) fn help_with_key(typed: &str, known: &[&str]) -> Option<String> {
    let meant = meant(KEYS, typed, known)?;
    let how = match meant {
        "next" if typed.starts_with("on_") || typed.starts_with("onE") || typed.starts_with("continue") => {
            ": say where a failure leads, as in `next: {ok: STEP, fail: STEP}`"
        }
        "next" => ": each step says which one follows, as in `next: STEP`",
        "actions" => ": a list of what to do; `description` says what it is about",
        _ => "",
    };
    Some(format!("this is called `{meant}` here{how}"))
}

/// What is said where a word of another language stands.
pub(super) fn help_with_word(typed: &str, known: &[&str]) -> Option<String> {
    Some(format!("this is called `{}` here", meant(WORDS, typed, known)?))
}

fn meant<'k>(table: &[(&[&str], &'k [&'k str])], typed: &str, known: &[&str]) -> Option<&'k str> {
    let rows = table.iter().filter(|(words, _)| words.contains(&typed));
    rows.flat_map(|(_, here)| here.iter()).find(|word| known.contains(word)).copied()
}

/// What is said where a condition breaks off, by what stands there.
pub(super) fn help_with_condition(rest: &str) -> &'static str {
    const SIGNS: [(&str, &str); 6] = [
        ("&&", "write `and`"),
        ("||", "write `or`"),
        ("!", "write `not`, or `!=` between two values"),
        ("=", "write `==` between two values"),
        ("{", "names stand without braces in a condition"),
        ("$", "names stand alone in a condition, without `$`"),
    ];
    let sign = SIGNS.into_iter().find(|(sign, _)| rest.starts_with(sign));
    sign.map_or("conditions look like `count > 3 and mode == 'full'`", |(_, help)| help)
}

/// What is said where a text with names and blocks cannot be read, by what stands there and in all of it.
pub(super) fn help_with_template(rest: &str, text: &str, is_block: bool) -> &'static str {
    if ["{elif", "{elseif", "{else if"].iter().any(|sign| rest.starts_with(sign)) {
        return "write `{else}{if CONDITION}…{end}{end}`";
    }
    if ["{endfor", "{endif", "{/for", "{/if"].iter().any(|sign| text.contains(sign)) {
        return "every block ends with `{end}`";
    }
    if is_block {
        return "blocks look like `{for x in list}…{end}` and `{if CONDITION}…{else}…{end}`";
    }
    "names stand between braces, as in `{name}`"
}

/// Words that begin a shell's own commands, which no program has: what is written instead.
pub(super) fn help_with_program(program: &str) -> Option<&'static str> {
    let is_assignment = program.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    });
    match program {
        "cd" | "pushd" => Some("write `cwd: DIRECTORY` beside `command`"),
        "export" | "set" | "unset" => Some("write `env: {NAME: VALUE}` beside `command`"),
        "source" | "." => Some("begin with `sh` and the script's path"),
        "alias" | "exit" | "eval" => Some("a command is one program with its arguments; `next` says what follows"),
        _ if is_assignment => Some("write `env: {NAME: VALUE}` beside `command`"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_another_language_is_explained_where_the_place_has_such_a_thing() {
        let command = ["id", "when", "command", "next"];
        assert_eq!(help_with_key("if", &command).as_deref(), Some("this is called `when` here"));
        assert_eq!(help_with_key("run", &command).as_deref(), Some("this is called `command` here"));
        assert_eq!(help_with_key("run", &["id", "next"]), None);
        assert!(help_with_key("on_failure", &command).unwrap().ends_with("`next: {ok: STEP, fail: STEP}`"));
        assert_eq!(help_with_word("failed", &["success", "failure"]).as_deref(), Some("this is called `failure` here"));
        assert_eq!(help_with_word("success", &["pass", "fail"]).as_deref(), Some("this is called `pass` here"));
        assert_eq!(help_with_program("FOO=1"), Some("write `env: {NAME: VALUE}` beside `command`"));
        assert_eq!(help_with_program("./run=it"), None);
    }
}
