//! The proofs in `docs/origins.md`: every test and file that a row names exists.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The names of all functions in the Rust files below a directory.
fn functions(dir: &Path, found: &mut HashSet<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() && name != "target" && !name.starts_with('.') {
            functions(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let after = text.split("fn ").skip(1);
            let names = after.filter_map(|rest| rest.split_once('(')).map(|(name, _)| name);
            found.extend(names.filter(|name| is_identifier(name)).map(str::to_owned));
        }
    }
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The cells of a table's row; a `\|` inside a cell parts nothing.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim().trim_start_matches('|').trim_end_matches('|').replace("\\|", "\u{0}");
    row.split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect()
}

/// What is wrong with the rows of a text, given the functions that exist.
fn faults(text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| line.starts_with('|')) {
        let cells = cells(line);
        let is_rule = cells.iter().all(|cell| cell.chars().all(|c| matches!(c, '-' | ':' | ' ')));
        let proof = cells.last().map(String::as_str).unwrap_or_default();
        if is_rule || proof == "proof" || proof.starts_with("differs:") {
            continue;
        }
        let number = index + 1;
        let tests: Vec<&str> = proof.split('`').skip(1).step_by(2).collect();
        if cells.len() != 3 {
            faults
                .push(format!("docs/origins.md:{number}: {} cells instead of requirement, where, proof", cells.len()));
        }
        if tests.is_empty() {
            faults.push(format!("docs/origins.md:{number}: names no test, and no `differs:` says why"));
        }
        let missing = tests.iter().filter(|name| !exists(name));
        faults.extend(missing.map(|name| format!("docs/origins.md:{number}: there is no test `{name}`")));
    }
    faults
}

#[test]
fn every_test_that_a_requirement_names_exists() {
    let text = fs::read_to_string(Path::new(REPOSITORY).join("docs/origins.md")).unwrap();
    let mut known = HashSet::new();
    functions(Path::new(REPOSITORY), &mut known);
    let faults = faults(&text, |name| known.contains(name));
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn a_requirement_without_proof_is_noticed() {
    let table = "\
| requirement | where | proof |
|---|---|---|
| one | `core::plan` | `a_test`, `b_test` |
| two \\| too | `core` | `gone` |
| three | `core` | surely |
| four | `core` | differs: nobody needs it |
| six | `a_test` |
";
    let found = faults(table, |name| matches!(name, "a_test" | "b_test"));
    assert_eq!(
        found,
        [
            "docs/origins.md:4: there is no test `gone`",
            "docs/origins.md:5: names no test, and no `differs:` says why",
            "docs/origins.md:7: 2 cells instead of requirement, where, proof",
        ]
    );
}

/// Where a path of the `where` column lies: `skills/` is the built-in pack, or the crate of that name.
fn exists(path: &str) -> bool {
    let Some((crate_name, rest)) = path.split_once('/') else { return false };
    let repository = Path::new(REPOSITORY);
    repository.join(path).exists() || repository.join("crates").join(crate_name).join("src").join(rest).exists()
}

#[test]
fn every_file_that_a_requirement_names_exists() {
    let text = fs::read_to_string(Path::new(REPOSITORY).join("docs/origins.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with('|')).map(cells);
    let named: Vec<String> = rows.filter_map(|row| row.get(1).cloned()).collect();
    let paths = named.iter().flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let missing: Vec<&str> = paths.filter(|path| !exists(path)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
