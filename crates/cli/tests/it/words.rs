//! Plain words in the sources: names that are unique, module docs that read in a list, no quaint English.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Words and phrases that the sources do without, in names as well as in sentences. `GLOSSARY.md` has the words to use.
const BANNED: &[&str] = &[
    "whoever",
    "nobody",
    "somebody",
    "mend",
    "mends",
    "mended",
    "heed",
    "heeds",
    "heeded",
    "anew",
    "what came of",
    "is told",
    "are told",
    "was told",
    "hear",
    "hears",
    "heard",
    "begun",
];

/// Old public names, which stay readable: aliases of events and keys, and names in the description of the API.
const OLD_NAMES: &[&str] = &["run:heard", "\"mends\"", "`mends`", "rename = \"heard\"", "as = Heard"];

/// Words that name a folder for things without a place.
const ROOMS_WITHOUT_A_PURPOSE: &[&str] =
    &["utils", "util", "common", "helpers", "helper", "misc", "manager", "service"];

struct Source {
    path: String,
    /// The text without the tests at its end.
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every source of every crate, tests aside.
fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        collect(&entry.unwrap().path().join("src"), &mut found);
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 300, "the sources were not found: {}", found.len());
    found
}

fn collect(folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if name == "tests" {
            continue;
        }
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
            let path = path.strip_prefix(root()).unwrap().display().to_string();
            found.push(Source { path, text });
        }
    }
}

/// The type that a line declares.
fn declared(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    let kind = words.next()?;
    let name = words.next().filter(|_| ["struct", "enum", "trait", "union"].contains(&kind))?;
    let end = name.find(|c: char| !c.is_alphanumeric()).unwrap_or(name.len());
    Some(&name[..end])
}

#[test]
fn no_two_types_share_a_name() {
    let sources = sources();
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for source in &sources {
        for name in source.text.lines().filter_map(declared).filter(|name| !name.is_empty()) {
            places.entry(name).or_default().push(&source.path);
        }
    }
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "a name is for one type of the workspace: {places:#?}");
}

/// The names under which types are described to others, each with its file.
fn schemas(source: &Source) -> Vec<(&str, &str)> {
    let (mut found, mut derived, mut named) = (Vec::new(), false, None);
    for line in source.text.lines() {
        if let Some((_, name)) = line.split_once("#[schema(as = ") {
            named = name.split([',', ')']).next();
        } else if let Some(name) = declared(line) {
            if derived {
                found.push((named.unwrap_or(name), source.path.as_str()));
            }
            (derived, named) = (false, None);
        }
        derived |= line.starts_with("#[derive(") && line.contains("ToSchema");
    }
    found
}

#[test]
fn no_two_schemas_share_a_name() {
    let sources = sources();
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, place) in sources.iter().flat_map(schemas) {
        places.entry(name).or_default().push(place);
    }
    assert!(places.len() > 50, "the schemas were not found: {}", places.len());
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "a name is for one schema of the API: {places:#?}");
}

#[test]
fn the_first_line_of_a_module_is_a_noun_phrase() {
    let questions: Vec<String> = sources()
        .iter()
        .filter_map(|source| {
            let first = source.text.lines().next().unwrap_or_default();
            let fits = first.starts_with("//! ") && !first.contains('?');
            (!fits).then(|| format!("{}: {first}", source.path))
        })
        .collect();
    assert!(questions.is_empty(), "say what the module is, not what it asks: {questions:#?}");
}

#[test]
fn the_sources_speak_plain_english() {
    let mut found = Vec::new();
    for source in sources() {
        for (number, line) in source.text.lines().enumerate() {
            if OLD_NAMES.iter().any(|name| line.contains(name)) {
                continue;
            }
            let plain: String = line
                .chars()
                .map(|c| if c.is_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { ' ' })
                .collect();
            let plain = format!(" {} ", plain.split_whitespace().collect::<Vec<_>>().join(" "));
            for word in BANNED.iter().filter(|word| plain.contains(&format!(" {word} "))) {
                found.push(format!("{}:{}: {word}", source.path, number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{} quaint words: {found:#?}", found.len());
}

#[test]
fn no_folder_is_for_things_without_a_place() {
    for source in sources() {
        let named = source.path.split(['/', '.']).find(|part| ROOMS_WITHOUT_A_PURPOSE.contains(part));
        assert_eq!(named, None, "{} does not say what is inside", source.path);
    }
}
