//! `maestro completions`: a script that teaches a shell the command line.

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

#[test]
fn every_common_shell_has_a_script_that_knows_the_commands() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox.maestro(&format!("completions {shell}"));
        assert_eq!((script.code, script.stderr().as_str()), (0, ""), "{shell}");
        for word in ["maestro", "skills", "plan", "--json", "--dir"] {
            let text = script.stdout().replace("-l json", "--json").replace("-l dir", "--dir");
            assert!(text.contains(word), "the {shell} script does not know {word}");
        }
    }
}

#[test]
fn the_bash_script_is_accepted_by_bash() {
    let script = Sandbox::new().maestro("completions bash").stdout();
    let Ok(checked) = std::process::Command::new("bash").args(["-n", "-c", &script]).output() else {
        return; // no bash on this machine
    };
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

#[test]
fn an_unknown_shell_is_refused_with_the_known_ones() {
    assert_snapshot!(Sandbox::new().maestro("completions tcsh"), @"
    $ maestro completions tcsh
    --- stderr
    error: invalid value `tcsh` for `SHELL`
    hint: possible: bash, elvish, fish, powershell, zsh
    --- exit 1
    ");
}
