//! Do dependencies point one way? The table has room for the crates that are yet to come.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value as Json;

/// Each crate of the workspace and the crates it may know.
const MAY_USE: &[(&str, &[&str])] = &[
    ("maestro-core", &[]),
    ("maestro-api", &["maestro-core"]),
    ("maestro-encoder", &[]),
    ("maestro-skills", &["maestro-core", "maestro-encoder"]),
    ("maestro-store", &["maestro-core"]),
    ("maestro-engine", &["maestro-store", "maestro-skills", "maestro-core"]),
    ("maestro-server", &["maestro-api", "maestro-engine", "maestro-store", "maestro-skills", "maestro-core"]),
    (
        "maestro",
        &["maestro-server", "maestro-api", "maestro-engine", "maestro-store", "maestro-skills", "maestro-core"],
    ),
    (MODEL, &[]),
];

/// The scripted model is there for tests, of whichever crate, and for nothing else.
const MODEL: &str = "maestro-test-model";

/// What the core may use of others: nothing that opens a file, asks a clock, starts a process or awaits.
const PURE: &[&str] =
    &["granit-parser", "jsonc-parser", "pulldown-cmark", "serde", "serde_json", "strsim", "thiserror", "toml", "uuid"];

struct Package {
    name: String,
    /// Names of the packages it depends on, with the kind of the dependency: `dev`, `build`, or nothing.
    dependencies: Vec<(String, Option<String>)>,
}

fn packages() -> Vec<Package> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let args = ["metadata", "--no-deps", "--format-version", "1", "--offline", "--manifest-path", manifest];
    let output = Command::new(env!("CARGO")).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Json = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    let dependency = |value: &Json| (text(&value["name"]), value["kind"].as_str().map(str::to_owned));
    let package = |value: &Json| Package {
        name: text(&value["name"]),
        dependencies: value["dependencies"].as_array().unwrap().iter().map(dependency).collect(),
    };
    metadata["packages"].as_array().unwrap().iter().map(package).collect()
}

#[test]
fn crates_depend_only_on_crates_below_them() {
    let packages = packages();
    let ours: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    for package in &packages {
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == package.name) else {
            panic!("{} is new: say in this test which crates it may use", package.name);
        };
        for (used, kind) in package.dependencies.iter().filter(|(used, _)| ours.contains(used.as_str())) {
            if used == MODEL && kind.as_deref() == Some("dev") {
                continue;
            }
            assert!(allowed.contains(&used.as_str()), "{} must not use {used}", package.name);
        }
    }
}

#[test]
fn the_core_uses_nothing_that_touches_the_world() {
    let packages = packages();
    let core = packages.iter().find(|package| package.name == "maestro-core").unwrap();
    for (used, _) in core.dependencies.iter().filter(|(_, kind)| kind.as_deref() != Some("dev")) {
        assert!(PURE.contains(&used.as_str()), "maestro-core must stay pure, and uses {used}");
    }
}
