use proptest::prelude::*;
use serde_json::{Value as Json, json as value};

use super::*;

fn split(text: &str) -> Result<(&str, &str), HeaderError> {
    find(text.as_bytes()).map(|header| (&text[header.yaml], &text[header.body_at..]))
}

fn json(tree: &YamlNode<'_>) -> Json {
    tree.to_json()
}

fn header(text: &str) -> Json {
    let (yaml, _) = split(text).unwrap();
    parse(yaml, json).unwrap().value
}

fn repaired(yaml: &str) -> (Json, Vec<(usize, String)>) {
    let parsed = parse(yaml, json).unwrap();
    (parsed.value, parsed.repairs.into_iter().map(|repair| (repair.place.line, repair.replacement)).collect())
}

#[test]
fn fences_are_whole_lines() {
    let text = "---\nname: a\ndescription: before --- after\n---\nbody\n---\n";
    assert_eq!(split(text), Ok(("name: a\ndescription: before --- after\n", "body\n---\n")));
    assert_eq!(split("----\nname: a\n----\n"), Err(HeaderError::Missing));
    assert_eq!(split("---\nname: a\n---x\n"), Err(HeaderError::Unclosed));
}

#[test]
fn bom_crlf_blank_lines_comments_and_dots_are_tolerated() {
    assert_eq!(header("\u{feff}---\r\nname: a\r\n---\r\nbody"), value!({"name": "a"}));
    assert_eq!(header("\n\n--- # head\nname: a\n--- # end\n"), value!({"name": "a"}));
    assert_eq!(header("---\nname: a\n...\nbody"), value!({"name": "a"}));
    assert_eq!(header("---\n---\n"), value!({}));
    assert_eq!(find(b"\n\n---\nname: a\n---\n").unwrap().lines_above, 3);
    assert_eq!(split("---\nname: a\n---"), Ok(("name: a\n", "")));
}

#[test]
fn an_unquoted_colon_is_repaired_and_told() {
    let (value, repairs) = repaired("name: a\ndescription: Use when: the user's PDF is broken\nlicense: MIT\n");
    assert_eq!(value["description"], "Use when: the user's PDF is broken");
    assert_eq!(value["license"], "MIT");
    assert_eq!(repairs, [(2, "description: 'Use when: the user''s PDF is broken'".to_owned())]);
}

#[test]
fn continuation_lines_of_a_repaired_value_are_folded_and_lines_keep_their_numbers() {
    let (value, _) = repaired("description: Use when: one\n  two: three\n  four\nname: a\nbroken: [x] y\n");
    assert_eq!(value["description"], "Use when: one two: three four");
    assert_eq!(value["name"], "a");
    let (_, repairs) = repaired("description: Use when: one\n  two\nname: a\nbroken: [x] y\n");
    assert_eq!(repairs[1].0, 4);
}

#[test]
fn the_kin_of_the_unquoted_colon_are_repaired() {
    let cases = [
        ("d: [WIP] does things\n", "[WIP] does things"),
        ("d: {curly} start\n", "{curly} start"),
        ("d: @mention first\n", "@mention first"),
        ("d: `code` first\n", "`code` first"),
        ("d: *bold* text\n", "*bold* text"),
        ("d: \"quoted\" then more\n", "\"quoted\" then more"),
        ("d: 'single' then more\n", "'single' then more"),
        ("d: %percent\n", "%percent"),
        ("d: 'It's here'\n", "It's here"),
        ("d: > text on the same line\n", "> text on the same line"),
        ("d: \"a \\d+ pattern\"\n", "a \\d+ pattern"),
        ("d: first line\nsecond line at the margin\n", "first line second line at the margin"),
        ("d: - dash first\n", "- dash first"),
    ];
    for (yaml, expected) in cases {
        let (value, repairs) = repaired(yaml);
        assert_eq!(value["d"], expected, "{yaml}");
        assert_eq!(repairs.len(), 1, "{yaml}");
    }
}

#[test]
fn only_the_broken_entry_of_a_nested_block_is_touched() {
    let (value, repairs) = repaired("name: a\nmetadata:\n  author: me\n  note: see: here\n  tags: [x, y]\n");
    assert_eq!(value["metadata"], value!({"author": "me", "note": "see: here", "tags": ["x", "y"]}));
    assert_eq!(repairs.len(), 1);
    assert_eq!(repairs[0].0, 4);
}

#[test]
fn block_scalars_are_never_rewritten() {
    let (value, _) = repaired("description: |\n  key: value: more\n  [x] y\nother: a: b\n");
    assert_eq!(value["description"], "key: value: more\n[x] y\n");
    assert_eq!(value["other"], "a: b");
}

#[test]
fn valid_yaml_is_never_repaired() {
    let yaml = "a: \"x: y\"\nb: 'it''s'\nc: >-\n  folded: text\nd: {x: 1}\ne: [a, b]\n";
    let parsed = parse(yaml, json).unwrap();
    assert_eq!(parsed.repairs, []);
    assert_eq!(parsed.value["c"], "folded: text");
}

#[test]
fn what_cannot_be_repaired_keeps_the_first_error() {
    let error = parse("[never\nclosed\n", json).unwrap_err();
    assert!(error.place.line >= 1);
    assert!(!error.reason.is_empty());
}

#[test]
fn a_missing_header_says_what_to_do() {
    let cases = [
        ("", "the file is empty"),
        ("# Title\n", "the file does not begin with frontmatter"),
        ("```yaml\n---\nname: a\n---\n```\n", "the frontmatter is inside a code fence"),
        ("---\nname: a\n", "the frontmatter is opened by `---` but never closed"),
    ];
    for (text, expected) in cases {
        let (_, place, message, help) = explain_missing(text, split(text).unwrap_err());
        assert_eq!(message, expected);
        assert!(!help.is_empty() && place.line == 1);
    }
}

/// Pieces that headers are made of, in an order no author would choose.
fn header_like() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "---\n",
        "name: ",
        "description: ",
        "a",
        ": ",
        "\n",
        "  ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "'",
        "|\n",
        ">-\n",
        "\t",
        "#",
        "&a ",
        "*a",
        "!t ",
        "\\",
        "...\n",
        "\r\n",
        "é",
        "\u{feff}",
        "? ",
        "%",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn reading_any_header_never_panics_and_places_lie_inside(text in prop_oneof![header_like(), ".{0,200}"]) {
        if let Ok((yaml, _)) = split(&text) {
            match parse(yaml, json) {
                Ok(parsed) => for repair in parsed.repairs {
                    prop_assert!(repair.place.line >= 1);
                },
                Err(error) => prop_assert!(!error.reason.is_empty()),
            }
        }
    }

    #[test]
    fn any_text_survives_as_a_repaired_value(words in "[a-z:#\\[\\]{}'\"*&!%@` ]{1,60}") {
        let yaml = format!("name: a\ndescription: x {words}\n");
        if let Ok(parsed) = parse(&yaml, json) {
            prop_assert_eq!(&parsed.value["name"], "a");
            if !parsed.repairs.is_empty() {
                let expected = format!("x {words}");
                prop_assert_eq!(parsed.value["description"].as_str(), Some(expected.trim()));
            }
        }
    }
}
