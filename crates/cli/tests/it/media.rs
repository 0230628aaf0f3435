//! Is the recording in the README what the program shows now? `docs/media/page --check` asks the same of the picture, in
//! a browser.

use std::path::Path;
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");

#[test]
fn the_recording_of_the_demo_is_what_the_demo_prints() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: python3 is not installed");
        return;
    }
    let script = Path::new(ROOT).join("docs/media/make");
    let checked =
        Command::new("python3").arg(script).args(["--check", env!("CARGO_BIN_EXE_maestro")]).output().unwrap();
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(checked.status.success(), "{said}");
}

#[test]
fn the_readme_shows_the_recording_and_the_picture() {
    let readme = std::fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    for file in ["docs/media/demo.svg", "docs/media/page.png"] {
        assert!(readme.contains(&format!("]({file})")), "{file}");
        assert!(Path::new(ROOT).join(file).is_file(), "{file}");
    }
}
