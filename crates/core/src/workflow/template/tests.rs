use proptest::prelude::*;
use serde_json::json;

use super::*;

fn shown(text: &str, values: &Json) -> String {
    let template = Template::parse(text).unwrap();
    let lookup = |reference: &ValueReference| {
        let path = reference.to_string();
        let found = path.split('.').try_fold(values, |value, key| value.get(key));
        Cow::Owned(found.cloned().unwrap_or(Json::Null))
    };
    template.fill_text(&lookup).text
}

#[test]
fn a_loop_repeats_its_part_and_a_choice_takes_one() {
    let values = json!({"found": [{"id": "a", "files": ["x", "y"]}, {"id": "b", "files": []}], "n": 2, "none": []});
    let text = "Found:\n{for f in found}\n- {f.id}{if f.files is empty} (nothing){else}: {for p in f.files}[{p}]{end}{end}\n{end}\nEnd.";
    assert_eq!(shown(text, &values), "Found:\n- a: [x][y]\n- b (nothing)\nEnd.");
    assert_eq!(shown("{if n > 1 and length(found) == 2}many{end}{if n == 1}one{end}", &values), "many");
    assert_eq!(shown("{for x in none}never{end}.", &values), ".");
    assert_eq!(shown("{if n == '}'}a{else}b{end}", &values), "b");
}

#[test]
fn a_list_alone_on_its_line_is_shown_as_a_list() {
    let values = json!({"files": ["a.rs", "b.rs"], "found": [{"id": 1, "text": "no"}]});
    assert_eq!(shown("Files:\n\n{files}\n\nIn {files}.", &values), "Files:\n\n- a.rs\n- b.rs\n\nIn a.rs, b.rs.");
    assert_eq!(shown("  {found}", &values), "  - id: 1, text: no");
    let template = Template::parse("{files}").unwrap();
    assert_eq!(template.fill(&|_| Cow::Owned(json!(["a", "b"]))), "a, b", "a command gets no list of lines");
}

#[test]
fn names_of_a_loop_are_its_own() {
    let template = Template::parse("{x} {for x in list}{x.f} {y}{end}").unwrap();
    let outer: Vec<String> = template.references().map(|(reference, _)| reference.to_string()).collect();
    assert_eq!(outer, ["x", "list", "y"]);
    let inner: Vec<String> = template.loop_uses().iter().map(|used| used.reference.to_string()).collect();
    assert_eq!(inner, ["x.f"]);
    assert!(!template.is_literal() && template.sole().is_none());
}

#[test]
fn a_block_that_does_not_fit_is_refused_where_it_stands() {
    for (text, at) in [
        ("a {for x in y}b", 2),
        ("{if n >}a{end}", 7),
        ("{for x of y}a{end}", 0),
        ("{for x in y}a{else}b{end}", 13),
        ("{if n == 1}a{else}b{else}c{end}", 19),
        ("{for x in y.z.w}a{end}", 0),
    ] {
        assert_eq!(Template::parse(text).unwrap_err().at, at, "{text}");
    }
    assert!(Template::parse(&"{for x in y}".repeat(20)).is_err());
    assert_eq!(Template::parse("{end} {else}").unwrap().references().count(), 2, "they are names outside of a block");
}

#[test]
fn placeholders_are_found_with_their_places_and_doubled_braces_are_braces() {
    let template = Template::parse("a {x} {{y}} {steps.s-1.result.f} {params.p} {o.f}").unwrap();
    let found: Vec<_> = template.references().map(|(reference, at)| (reference.to_string(), at.0)).collect();
    let expected = [("x", 2), ("steps.s-1.result.f", 12), ("params.p", 33), ("o.f", 44)];
    assert_eq!(found, expected.map(|(name, at)| (name.to_owned(), at)));
    let filled = template.fill(&|reference| Cow::Owned(json!(format!("<{reference}>"))));
    assert_eq!(filled, "a <x> {y} <steps.s-1.result.f> <params.p> <o.f>");
}

#[test]
fn what_is_no_placeholder_is_refused_where_it_stands() {
    for (text, at) in [("a } b", 2), ("x {", 2), ("{a b}", 0), ("{}", 0), ("{params.}", 0), ("{a.b.c}", 0)] {
        assert_eq!(Template::parse(text).unwrap_err().at, at, "{text}");
    }
}

#[test]
fn a_sole_placeholder_keeps_the_type_of_its_value() {
    let sole = Template::parse("{n}").unwrap();
    assert_eq!(sole.value(&|_| Cow::Owned(json!([1, 2]))), json!([1, 2]));
    assert_eq!(Template::parse("n {n}").unwrap().value(&|_| Cow::Owned(json!(3))), json!("n 3"));
}

proptest! {
    #[test]
    fn printing_and_parsing_again_is_the_same(text in "[a-c{}. ]{0,24}") {
        if let Ok(template) = Template::parse(&text) {
            prop_assert_eq!(&Template::parse(&template.to_string()).unwrap(), &template);
        }
    }

    #[test]
    fn blocks_are_printed_as_they_are_parsed_and_nothing_panics(text in "(\\{for x in l\\}|\\{if x == 1\\}|\\{if l is empty\\}|\\{else\\}|\\{end\\}|\\{x\\}|\\{x.f\\}|[ab]|\\{\\{){0,12}") {
        if let Ok(template) = Template::parse(&text) {
            prop_assert_eq!(&Template::parse(&template.to_string()).unwrap(), &template);
            let _ = template.fill_text(&|_| Cow::Owned(json!([1, {"f": "g"}])));
        }
    }

    #[test]
    fn what_a_value_holds_is_never_expanded(value in "[a-c{}.$ ]{0,24}") {
        let template = Template::parse("<{a}|{a}>").unwrap();
        let filled = template.fill(&|_| Cow::Owned(Json::String(value.clone())));
        prop_assert_eq!(filled, format!("<{value}|{value}>"));
    }

    #[test]
    fn a_literal_says_exactly_its_text(text in any::<String>()) {
        let template = Template::literal(text.clone());
        prop_assert_eq!(template.fill(&|_| Cow::Owned(Json::Null)), text);
        prop_assert_eq!(Template::parse(&template.to_string()).unwrap(), template);
    }
}
