//! Does every value stay inside the one argument it was put into?

use std::fs;

use maestro_core::workflow::run::{CommandExit, CommandSpec, GivenArgument, ProgramContext};
use maestro_engine::Limits;

use super::{Place, executor, exited, program, runtime, shell, ticket};

/// Values that would do something if anybody took them for more than values.
const VALUES: [&str; 16] = [
    "; touch owned",
    "$(touch owned)",
    "`touch owned`",
    "a\ntouch owned",
    "&& touch owned",
    "| touch owned",
    "> owned",
    "-rf",
    "--output=owned",
    "{name}",
    "{{braces}}",
    "* ? [a-z] ~",
    "' \" \\ '",
    "",
    " blank ",
    "%s%n",
];

#[test]
fn a_value_is_one_argument_whatever_it_says() {
    let place = Place::new();
    for value in VALUES {
        let finish = place.execute(&program("printf", &["<%s>", value, "next"]), Limits::default()).finish;
        assert_eq!(finish, exited(0, &format!("<{value}><next>")), "{value:?}");
    }
    assert!(!place.workspace().join("owned").exists());
}

#[test]
fn a_script_is_given_values_by_its_environment() {
    let place = Place::new();
    for value in VALUES {
        let finish = place.execute(&shell("printf '<%s>' \"$VALUE\"", &[("VALUE", value)]), Limits::default()).finish;
        assert_eq!(finish, exited(0, &format!("<{value}>")), "{value:?}");
    }
    assert!(!place.workspace().join("owned").exists());
}

#[test]
fn a_value_that_no_program_can_be_given_is_refused() {
    let place = Place::new();
    // Never started with half a value: the system itself refuses both.
    let nul = place.execute(&program("printf", &["%s", "a\0b"]), Limits::default()).finish;
    assert!(matches!(&nul, CommandExit::Failed(reason) if reason.contains("nul byte")), "{nul:?}");
    let large = "x".repeat(1024 * 1024);
    let finish = place.execute(&program("printf", &["%s", &large]), Limits::default()).finish;
    assert!(matches!(&finish, CommandExit::Failed(reason) if reason.contains("too long")), "{finish:?}");
    let finish = place.execute(&shell("printf %s \"$X\"", &[("X", &large)]), Limits::default()).finish;
    assert!(matches!(&finish, CommandExit::Failed(reason) if reason.contains("too long")), "{finish:?}");
}

#[test]
fn a_pattern_is_the_files_that_match_and_no_options() {
    let place = Place::new();
    for name in ["b.md", "a b.md", "-rf.md", "$(touch owned).md"] {
        fs::write(place.workspace().join(name), "").unwrap();
    }
    let print = |pattern: &str| CommandSpec::Program {
        program: "printf".to_owned(),
        arguments: vec![GivenArgument::Text("<%s>".to_owned()), GivenArgument::Glob(pattern.to_owned())],
    };
    let finish = place.execute(&print("*.md"), Limits::default()).finish;
    assert_eq!(finish, exited(0, "<$(touch owned).md><./-rf.md><a b.md><b.md>"));
    let finish = place.execute(&print("*.rs"), Limits::default()).finish;
    assert_eq!(finish, CommandExit::Failed("nothing matches `*.rs`".to_owned()));
    assert!(!place.workspace().join("owned").exists());
}

#[test]
fn a_program_is_told_where_it_is_and_no_secrets() {
    let place = Place::new();
    let seen = place.shell("pwd; echo $MAESTRO_RUN_ID; echo \"[$SECRET_TOKEN]\"; cat; command -v maestro");
    let bin = place.home().join("bin/maestro");
    let expected = format!("{}\nrun-1\n[]\n{}\n", place.workspace().display(), bin.display());
    assert_eq!(seen, exited(0, &expected));
    assert_eq!(place.execute(&program("maestro", &["write", "own"]), Limits::default()).finish, exited(0, ""));
    assert!(place.workspace().join("own").exists(), "our own program runs");
}

#[test]
fn what_cannot_be_started_says_why() {
    let place = Place::new();
    let failed = |name: &str| place.execute(&program(name, &[]), Limits::default()).finish;
    assert_eq!(failed("no-such-program"), CommandExit::Failed("`no-such-program` not found on PATH".into()));
    fs::write(place.workspace().join("plain"), "").unwrap();
    let reason = "`./plain` is not executable; run `chmod +x` on it";
    assert_eq!(failed("./plain"), CommandExit::Failed(reason.to_owned()));
}

/// A script in the context that a step gives it.
fn in_context(place: &Place, context: &ProgramContext, script: &str) -> CommandExit {
    let executor = executor(place.env());
    runtime().block_on(async {
        match executor.with_context(context).await {
            Ok(executor) => executor.execute(&shell(script, &[]), &ticket(), Limits::default()).await.finish,
            Err(reason) => CommandExit::Failed(reason),
        }
    })
}

#[test]
fn a_program_works_where_its_step_says_and_its_secrets_stay_secret() {
    let place = Place::new();
    fs::create_dir(place.workspace().join("sub")).unwrap();
    let context = ProgramContext {
        env: [("GREETING".to_owned(), "hello".to_owned())].into(),
        cwd: Some("sub".to_owned()),
        secrets: vec!["SECRET_TOKEN".to_owned()],
    };
    let script = "basename \"$PWD\"; echo \"$GREETING $SECRET_TOKEN\"; echo \"$SECRET_TOKEN\" > kept; echo x$SECRET_TOKEN >&2; exit 3";
    assert_eq!(in_context(&place, &context, script), exited(3, "sub\nhello (secret)\nx(secret)"));
    assert_eq!(fs::read_to_string(place.workspace().join("sub/kept")).unwrap(), "hidden\n", "the program has it");
    assert_eq!(place.shell("echo \"<$SECRET_TOKEN>\""), exited(0, "<>\n"), "without a name there is none");
}

#[test]
fn a_secret_that_is_not_there_and_a_directory_outside_start_nothing() {
    let place = Place::new();
    let secrets = ProgramContext { secrets: vec!["NO_SUCH".to_owned()], ..ProgramContext::default() };
    let refused = in_context(&place, &secrets, "touch started");
    assert!(matches!(&refused, CommandExit::Failed(reason) if reason.contains("`NO_SUCH` is not set")), "{refused:?}");
    std::os::unix::fs::symlink(place.path("outside"), place.workspace().join("out")).unwrap();
    for cwd in ["..", "out", "absent", "/"] {
        let context = ProgramContext { cwd: Some(cwd.to_owned()), ..ProgramContext::default() };
        let refused = in_context(&place, &context, "touch started");
        assert!(matches!(refused, CommandExit::Failed(_)), "{cwd}: {refused:?}");
    }
    assert!(!place.workspace().join("started").exists());
}
