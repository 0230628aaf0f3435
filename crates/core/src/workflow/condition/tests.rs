use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::workflow::name::Name;
use crate::workflow::value_type::{ResultField, ValueLimits, ValueType};

fn values(reference: &ValueReference) -> Cow<'static, Json> {
    Cow::Owned(match reference.to_string().as_str() {
        "n" => json!(3),
        "word" | "params.word" => json!("high"),
        "list" => json!(["a", "b"]),
        "found" => json!([{"id": "x", "severity": "high", "n": 2}, {"id": "y", "severity": "low", "n": 5}]),
        "flag" => json!(true),
        _ => json!(""),
    })
}

fn types(reference: &ValueReference) -> Option<ValueType> {
    match reference.to_string().as_str() {
        "n" => Some(ValueType::Int),
        "word" => Some(ValueType::Enum(vec!["low".into(), "high".into()])),
        "text" => Some(ValueType::Text),
        "list" => Some(ValueType::List(Vec::new())),
        "found" => {
            let severity = ValueType::Enum(vec!["low".into(), "high".into()]);
            let field = |name: &str, kind| {
                let (name, limits) = (Name::parse(name).unwrap(), ValueLimits::default());
                ResultField { name, kind, append: false, max_length: 99, limits, default: None, description: None }
            };
            Some(ValueType::List(vec![field("severity", severity), field("n", ValueType::Int)]))
        }
        "flag" => Some(ValueType::Bool),
        _ => None,
    }
}

#[test]
fn conditions_hold_as_they_read() {
    for (text, expected) in [
        ("n == 3", true),
        ("n < 3 or n >= 3", true),
        ("not n == 3 and true", false),
        ("not (n == 3 and false)", true),
        ("word in ['low', \"high\"]", true),
        ("word not in ['low']", true),
        ("params.word == 'high'", true),
        ("'a' in list and length(list) == 2", true),
        ("text is empty and list is not empty", true),
        ("flag", true),
        ("false or flag and false", false),
        ("word == 'it\\'s'", false),
        ("n > -1", true),
        ("truth == ''", true),
        ("found[0].id == 'x' and found[-1].id == 'y'", true),
        ("found[7].id == 'x'", false),
        ("first(found).n + last(found).n * 2 == 12", true),
        ("n - 1 == 2 and n % 2 == 1 and n / 2 == 1", true),
        ("n / 0 == 0 or n / 0 != n / 0", false),
        ("count(found, severity, 'high') == 1", true),
        ("count(found, severity, 'high') < length(found)", true),
        ("list[1] == 'b' and list[1] in ['b']", true),
        ("n * 9223372036854775807 > 0", false),
    ] {
        assert_eq!(Condition::parse(text).unwrap().holds(&values), expected, "{text}");
    }
}

#[test]
fn what_is_no_condition_is_refused_where_it_stands() {
    for (text, at) in [
        ("", 0),
        ("n ==", 4),
        ("n = 3", 2),
        ("(n == 3", 7),
        ("n is 3", 5),
        ("n == 'x", 5),
        ("a b", 2),
        ("n == 99999999999999999999", 5),
        ("and", 0),
        ("x == [1", 7),
        ("n == 3; rm", 6),
        ("params.a.b == 1", 0),
        ("list[x] == 1", 5),
        ("list[1 == 1", 7),
        ("n + == 1", 4),
        ("count(found) > 1", 11),
    ] {
        assert_eq!(Condition::parse(text).unwrap_err().at, at, "{text}");
    }
    assert!(Condition::parse(&"(".repeat(1000)).is_err());
    assert!(Condition::parse(&"not ".repeat(400)).is_err());
}

#[test]
fn types_that_do_not_fit_are_told_with_their_places() {
    let faults = |text: &str| -> Vec<String> {
        let condition = Condition::parse(text).unwrap();
        check_types(&condition, &types).into_iter().map(|f| format!("{} {} / {}", f.at, f.message, f.help)).collect()
    };
    assert_eq!(faults("n == 3 and word == 'high' and 'a' in list and flag and unknown == 3"), [""; 0]);
    assert_eq!(faults("word == 'hihg'"), ["8 'hihg' is none of the values / did you mean 'high'?"]);
    assert_eq!(faults("word in ['low', 'x']"), ["16 'x' is none of the values / it can be low, high"]);
    assert_eq!(faults("n == 'x'"), ["5 an int never equals a string / compare values of one type"]);
    assert_eq!(faults("text < 'b'").len(), 1);
    assert_eq!(faults("text"), ["0 a string is not a condition by itself / compare it, or ask `is empty`"]);
    assert_eq!(faults("n is empty or length(flag) > 1 or 1 in text").len(), 3);
    assert_eq!(faults("found[0].severity == 'high' and list[0] == 1 and n + 1 > length(list)"), [""; 0]);
    assert_eq!(faults("found[0].severty == 'high'"), ["0 there is no field `severty` / did you mean `severity`?"]);
    assert_eq!(faults("first(text) == 'a'"), ["6 a string has no items / only a list has items"]);
    assert_eq!(faults("count(found, severity, 'hgh') > 0"), ["0 'hgh' is none of the values / did you mean 'high'?"]);
    assert_eq!(faults("n + text > 1").len(), 1);
    assert_eq!(faults("count(found, n, 'x') > 0").len(), 1);
}

fn reference() -> impl Strategy<Value = ValueReference> {
    let name = |text: &str| Name::parse(text).unwrap();
    prop_oneof![
        Just(ValueReference::Named(name("n"), None)),
        Just(ValueReference::Named(name("a-b"), Some(name("f")))),
        Just(ValueReference::Param(name("word"))),
    ]
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        "[a'\\\\\" ]{0,4}".prop_map(Literal::Text),
        any::<i64>().prop_map(Literal::Int),
        any::<bool>().prop_map(Literal::Bool),
    ]
}

fn operand() -> impl Strategy<Value = Operand> {
    let item = literal().prop_map(|literal| (literal, ByteOffset(0)));
    prop_oneof![
        reference().prop_map(|reference| Operand::Value(reference, ByteOffset(0))),
        literal().prop_map(|literal| Operand::Literal(literal, ByteOffset(0))),
        proptest::collection::vec(item, 0..3).prop_map(|items| Operand::List(items, ByteOffset(0))),
        reference().prop_map(|of| Operand::Length(Box::new(Operand::Value(of, ByteOffset(0))), ByteOffset(0))),
        (reference(), any::<i64>(), any::<bool>()).prop_map(|(of, index, field)| {
            let item = Operand::Item(Box::new(Operand::Value(of, ByteOffset(0))), index, ByteOffset(0));
            let name = Name::parse("f").unwrap();
            if field { Operand::Field(Box::new(item), name, ByteOffset(0)) } else { item }
        }),
        (reference(), literal()).prop_map(|(of, wanted)| {
            let (of, name) = (Box::new(Operand::Value(of, ByteOffset(0))), Name::parse("f").unwrap());
            Operand::Count(of, name, wanted, ByteOffset(0))
        }),
        (literal(), literal(), reference()).prop_map(|(a, b, c)| {
            let literal = |literal| Box::new(Operand::Literal(literal, ByteOffset(0)));
            let product = Operand::Arithmetic(literal(a), ArithmeticOp::Multiply, literal(b));
            let c = Box::new(Operand::Value(c, ByteOffset(0)));
            Operand::Arithmetic(Box::new(product), ArithmeticOp::Subtract, c)
        }),
    ]
}

fn json_value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        "[a-c]{0,3}".prop_map(Json::from)
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Json::Array),
            inner.prop_map(|value| json!({ "f": value })),
        ]
    })
}

fn condition() -> impl Strategy<Value = Condition> {
    let relations = [CompareOp::Equal, CompareOp::Unequal, CompareOp::Less, CompareOp::AtMost, CompareOp::Greater];
    let leaf = prop_oneof![
        (operand(), proptest::sample::select(relations.to_vec()), operand())
            .prop_map(|(a, relation, b)| Condition::Compare(a, relation, b)),
        (operand(), operand()).prop_map(|(a, b)| Condition::In(a, b)),
        operand().prop_map(Condition::Empty),
        operand().prop_map(Condition::Truth),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Condition::Or(Box::new(a), Box::new(b))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Condition::And(Box::new(a), Box::new(b))),
            inner.prop_map(|a| Condition::Not(Box::new(a))),
        ]
    })
}

proptest! {
    #[test]
    fn printing_and_parsing_again_is_the_same(condition in condition()) {
        prop_assert_eq!(Condition::parse(&condition.to_string()).unwrap(), condition);
    }

    #[test]
    fn any_text_is_a_condition_or_is_refused_inside_itself(text in "[a-z0-9'\"()\\[\\],. =<>!-]{0,30}") {
        if let Err(bad) = Condition::parse(&text) {
            prop_assert!(bad.at <= text.len());
        }
    }

    #[test]
    fn every_condition_holds_or_does_not_whatever_the_values_are(condition in condition(), value in json_value()) {
        let _ = condition.holds(&|_| Cow::Owned(value.clone()));
        let _ = check_types(&condition, &types);
    }
}
