//! What goes wrong, and how it is told: exit codes, hints, and nothing that could harm a terminal.

use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::Value as Json;

use crate::sandbox::Sandbox;

#[test]
fn a_command_line_that_makes_no_sense_fails_with_a_hint() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.maestro("skils list"), @"
    $ maestro skils list
    --- stderr
    error: unknown command `maestro skils`
    hint: did you mean `maestro skills`?
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("skills list --jsno"), @"
    $ maestro skills list --jsno
    --- stderr
    error: `maestro skills list` has no option `--jsno`
    hint: did you mean `--json`?
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("plan next"), @"
    $ maestro plan next
    --- stderr
    error: missing argument: PLAN.md
    hint: for example: `maestro plan next PLAN.md`
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("--color sometimes"), @"
    $ maestro --color sometimes
    --- stderr
    error: invalid value `sometimes` for `--color <WHEN>`
    hint: possible: auto, always, never
    --- exit 1
    ");
}

#[test]
fn with_json_an_error_is_one_object_on_standard_output() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.maestro("skills read maestro-clo --json"), @r#"
    $ maestro skills read maestro-clo --json
    {
      "success": false,
      "error": "resource_not_found",
      "message": "unknown skill `maestro-clo`",
      "details": {
        "causes": []
      },
      "suggestion": "did you mean `maestro-cli`?"
    }
    --- exit 2
    "#);
}

#[test]
fn every_kind_of_error_has_the_same_shape_for_programs() {
    let sandbox = Sandbox::new();
    sandbox.write("bad/.maestro/config.toml", "nonsense\n");
    sandbox.write("occupied/.maestro", "a file, not a directory\n");
    let errors = [
        (sandbox.maestro("plan next missing.md --json"), 2, "resource_not_found"),
        (sandbox.maestro("skills list --dir missing --json"), 2, "resource_not_found"),
        (sandbox.maestro("help nonsense --json"), 2, "resource_not_found"),
        (sandbox.maestro("init --json"), 1, "invalid_request"),
        (sandbox.maestro("skills roles boss --json"), 1, "invalid_request"),
        (sandbox.maestro("skills list --json --frob"), 1, "invalid_request"),
        (sandbox.maestro("--json skils"), 1, "invalid_request"),
        (sandbox.maestro_in("bad", &["skills", "list", "--json"]), 1, "invalid_config"),
        (sandbox.maestro("plan next bad --json"), 1, "invalid_request"),
        (sandbox.maestro("--json skills"), 1, "invalid_request"),
        (sandbox.maestro("completions tcsh --json"), 1, "invalid_request"),
        (sandbox.maestro("skills read , --json"), 1, "invalid_request"),
        (sandbox.maestro_in("occupied", &["init", "--yes", "--json"]), 1, "io_error"),
    ];
    for (output, code, kind) in errors {
        assert_eq!((output.code, output.stderr().as_str()), (code, ""), "{output}");
        let Json::Object(error) = output.json() else { panic!("{output}") };
        let keys: Vec<&str> = error.keys().map(String::as_str).collect();
        assert_eq!(keys, ["success", "error", "message", "details", "suggestion"], "{output}");
        assert_eq!(error["success"], false);
        assert_eq!(error["error"], kind, "{output}");
        for key in ["message", "suggestion"] {
            assert!(error[key].as_str().is_some_and(|text| !text.is_empty()), "no {key}: {output}");
        }
    }
}

#[test]
fn a_usage_error_for_programs_names_the_argument_and_the_help() {
    assert_snapshot!(Sandbox::new().maestro("skills list --json --frob"), @r#"
    $ maestro skills list --json --frob
    {
      "success": false,
      "error": "invalid_request",
      "message": "`maestro skills list` has no option `--frob`",
      "details": {
        "causes": []
      },
      "suggestion": "run `maestro skills list --help` for its arguments and options"
    }
    --- exit 1
    "#);
}

#[test]
fn nothing_from_a_file_steers_the_terminal() {
    let sandbox = Sandbox::new();
    let evil = "---\nname: \"evil\\e[2J\"\ndescription: \"red \\e[31m bell \\a back \\u202Etxt.exe \\u009b1m\"\nauthor: \"\\e]0;title\\a\"\n---\n";
    sandbox.write(".claude/skills/evil\u{1b}[2J/SKILL.md", evil);
    sandbox.write(".claude/skills/\u{1b}[1mbroken/SKILL.md", "---\nname: \"\\e[5mblink\"\n---\n");
    sandbox.write("PLAN.md", "# \u{1b}[7mPlan\n\n- [ ] Wipe \u{1b}[2J it\n- [] \u{7}\n");
    sandbox.write("\u{1b}[3m.md", "- [ ] Dig\n- [] Plant\n");
    sandbox.write(".loop/config", "bana\u{1b}na=1\n");
    let commands: [&[&str]; 11] = [
        &[],
        &["skills", "list"],
        &["skills", "show", "evil\u{1b}[2J"],
        &["skills", "show", "\u{1b}[1mbroken"],
        &["skills", "read", "\u{1b}[1mbroken"],
        &["skills", "read", "nothing\u{1b}[2J"],
        &["doctor"],
        &["plan", "list", "PLAN.md"],
        &["plan", "next", "\u{1b}[3m.md"],
        &["config", "show", "--origin", "--set", "skills_dirs=\u{1b}[2J"],
        &["skills", "list", "--dir", "\u{1b}[2J"],
    ];
    for args in commands {
        let output = sandbox.maestro_with(args);
        let shown = output.stdout() + &output.stderr();
        let raw = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!shown.contains(raw), "{args:?} printed {:?}:\n{shown:?}", shown.chars().find(|&c| raw(c)));
    }
    assert_snapshot!(sandbox.maestro("skills list --set skills_builtin=false"), @r"
    $ maestro skills list --set skills_builtin=false
    evil\u{1b}[2J  project    claude-code  red \u{1b}[31m bell \u{7} back \u{202e}txt.exe \u{9b}1m

    1 skill, 1 not loaded, 4 warnings (maestro doctor)
    --- stderr
    error[description-missing]: there is no description
      --> [PROJECT]/.claude/skills/\u{1b}[1mbroken/SKILL.md:2:1
      hint: add `description:` with what the skill does and when to use it
    ");
}

#[test]
fn programs_get_strange_names_escaped_and_whole() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/skills/script/SKILL.md", "---\nname: <script>\ndescription: \"a \\e b\"\n---\n");
    let listed = sandbox.maestro("skills list --json --set skills_builtin=false");
    assert!(!listed.stdout().contains('\u{1b}'));
    assert_eq!(listed.json()["skills"][0]["name"], "<script>");
    assert_eq!(listed.json()["skills"][0]["description"], "a \u{1b} b");
}

#[test]
fn colour_is_for_terminals_unless_asked_for() {
    let sandbox = Sandbox::new().with_variable("NO_COLOR", "");
    assert!(!sandbox.maestro("skills list").stdout().contains('\u{1b}'), "a pipe is no terminal");
    assert!(sandbox.maestro("skills list --color always").stdout().contains('\u{1b}'));
    assert!(!sandbox.maestro("skills list --color never").stdout().contains('\u{1b}'));
    assert!(sandbox.maestro("skills read nothing --color always").stderr().contains('\u{1b}'));
    assert!(!sandbox.maestro("skills read nothing").stderr().contains('\u{1b}'));
}

#[test]
fn a_reader_that_has_gone_away_is_no_failure() {
    let sandbox = Sandbox::new();
    for args in [vec!["skills", "list"], vec!["completions", "bash"], vec!["skills", "read", "nothing", "--json"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = sandbox.command().args(&args).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
        let expected = if args.contains(&"nothing") { 2 } else { 0 };
        assert_eq!(output.status.code(), Some(expected), "{args:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Sandbox::new().command().args(["skills", "list"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_snapshot!(String::from_utf8_lossy(&output.stderr), @"
    error: cannot write the output
      because No space left on device (os error 28)
    hint: free disk space and try again
    ");
}

#[test]
fn a_working_directory_that_is_gone_is_explained() {
    let sandbox = Sandbox::new();
    let script = "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" skills list";
    let program = env!("CARGO_BIN_EXE_maestro");
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", script, program]).current_dir(sandbox.project());
    let output = command.env_clear().env("HOME", sandbox.home()).env("PATH", "/bin:/usr/bin").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_snapshot!(String::from_utf8_lossy(&output.stderr), @"
    error: cannot find the current directory
      because No such file or directory (os error 2)
    hint: change to one that exists
    ");
}
