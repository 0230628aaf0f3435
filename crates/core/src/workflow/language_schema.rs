//! JSON Schema of the workflow language, made from the keys that the loader knows.
//!
//! A key without an entry in the tables below is still allowed, so that the schema never refuses what the loader takes.

mod key_texts;

use serde_json::{Map, Value as Json, json};

use super::definition::{BuiltinCommand, EndStatus};
use super::load::{LanguageKeys, language_keys};
use super::value_type::ValueType;
use key_texts::key_text;

/// The schema, as an editor reads it.
pub fn language_schema() -> Json {
    let keys = language_keys();
    let steps: Vec<Json> = keys.steps.iter().map(|(word, _)| step_rule(word)).collect();
    let mut defs = shared(&keys);
    for (word, own) in &keys.steps {
        let known = [keys.common, own].concat();
        defs.insert(format!("step-{word}"), mapping(word, &known, &["id", "type"]));
    }
    let words: Vec<&str> = keys.steps.iter().map(|(word, _)| *word).collect();
    defs.insert(
        "step".to_owned(),
        json!({
            "type": "object",
            "required": ["id", "type"],
            "properties": {"type": {"enum": words, "description": "Who does it, or what it is"}},
            "allOf": steps,
        }),
    );
    let mut root = mapping("workflow", keys.root, &["steps"]);
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Maestro workflow");
    root["$defs"] = Json::Object(defs);
    root
}

/// A step of this type has the keys of that type.
fn step_rule(word: &str) -> Json {
    json!({
        "if": {"properties": {"type": {"const": word}}, "required": ["type"]},
        "then": {"$ref": format!("#/$defs/step-{word}")},
    })
}

/// A mapping with these keys and no others.
fn mapping(place: &str, keys: &[&str], required: &[&str]) -> Json {
    let property = |key: &&str| ((*key).to_owned(), key_schema(place, key));
    let properties: Map<String, Json> = keys.iter().map(property).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// What stands at a key, with a sentence on what it means.
fn key_schema(place: &str, key: &str) -> Json {
    let Some(said) = key_text(place, key) else { return json!({}) };
    let mut schema = shape(place, key);
    schema["description"] = json!(said);
    schema
}

/// The form of what stands at a key; anything, where the loader takes many.
fn shape(place: &str, key: &str) -> Json {
    let of = |name: &str| json!({"$ref": format!("#/$defs/{name}")});
    let map_of = |name: &str| json!({"type": "object", "additionalProperties": {"$ref": format!("#/$defs/{name}")}});
    match (place, key) {
        ("workflow", "steps") => json!({"type": "array", "minItems": 1, "items": of("step")}),
        ("workflow", "params" | "variables") | (_, "result" | "fields") => map_of("declaration"),
        ("workflow", "reviews") => map_of("review"),
        ("workflow", "roles") => map_of("role"),
        ("workflow", "resources") => map_of("resource"),
        ("workflow", "validators") => map_of("validator"),
        ("workflow", "requires") => of("requires"),
        ("workflow", "limits") => of("limits"),
        ("workflow", "templates" | "outputs") | ("command", "env") => map_of("text"),
        ("workflow", "aliases" | "compatibility") | ("requires", _) | ("command", "secrets") | ("retry", "on") => {
            of("texts")
        }
        ("workflow", "workflow") => json!({"const": 1}),
        ("end", "status") => json!({"enum": EndStatus::ALL.map(EndStatus::as_str)}),
        ("gate", "checks") => json!({"type": "array", "items": {"anyOf": [of("text"), of("check")]}}),
        ("declaration", "type") => json!({"enum": ValueType::WORDS}),
        ("agent" | "dispatch", "review") => of("review-part"),
        ("agent", "session") => of("session"),
        ("agent", "expected_output") => json!({"anyOf": [of("texts"), of("expected")]}),
        ("agent", "outcome_from") => json!({"type": "array", "items": of("rule")}),
        ("agent", "actions" | "forbidden" | "resources" | "skills" | "outcomes") | (_, "values" | "categories")
            if place != "set" =>
        {
            of("texts")
        }
        ("dispatch", "mode") => json!({"enum": ["single", "template", "roster"]}),
        ("command" | "call", "for_each") => json!({"anyOf": [of("text"), {"type": "array", "minItems": 1}]}),
        ("dispatch", "for_each") => json!({"anyOf": [of("text"), {"type": "array", "items": of("entry")}]}),
        ("command" | "validator" | "options", "command") => of("command"),
        ("command", "shell") => of("shell"),
        ("command", "retry") => json!({"anyOf": [{"type": "integer", "minimum": 1}, of("command-retry")]}),
        ("agent" | "dispatch" | "call", "retry") => json!({"anyOf": [{"type": "integer", "minimum": 1}, of("retry")]}),
        ("retry" | "command-retry", "max") => json!({"type": "integer", "minimum": 1}),
        ("question", "options") => json!({"anyOf": [options_list(), of("options")]}),
        ("options", "type") => json!({"enum": ["command", "variable"]}),
        ("options", "list") => options_list(),
        ("question", "validate") => json!({"anyOf": [of("text"), of("answer-check")]}),
        ("answer-check", "type") => json!({"const": "enum"}),
        ("command", "parse") => json!({"enum": ["text", "lines", "json"]}),
        ("command", "effect") => json!({"enum": ["read", "write"]}),
        ("conditional", "cases") => json!({"type": "array", "items": of("case")}),
        (_, "next") if place != "case" => json!({"anyOf": [of("text"), map_of("text")]}),
        (_, "type" | "data" | "with" | "values" | "blocking" | "env" | "default") => json!({}),
        (
            _,
            "optional" | "idempotent" | "multiple" | "free_form" | "self_fix" | "listed" | "required" | "append"
            | "exists" | "allow_leading_dash",
        ) => {
            json!({"type": "boolean"})
        }
        (
            _,
            "max_visits" | "max_rounds" | "max_parallel" | "group" | "max_items" | "max_length" | "max_transitions",
        ) => {
            json!({"type": "integer", "minimum": 1})
        }
        _ => of("text"),
    }
}

/// Options as they are written: texts, or values with what people read.
fn options_list() -> Json {
    json!({"type": "array", "minItems": 1, "items": {"anyOf": [{"$ref": "#/$defs/text"}, {"$ref": "#/$defs/option"}]}})
}

/// What is used in several places.
fn shared(keys: &LanguageKeys) -> Map<String, Json> {
    let mut defs = Map::new();
    let mut add = |name: &str, schema: Json| defs.insert(name.to_owned(), schema);
    // YAML takes `1.0` and `true` for no texts; the loader reads them as they are written.
    add("text", json!({"type": ["string", "number", "boolean"]}));
    let text = json!({"$ref": "#/$defs/text"});
    add("texts", json!({"anyOf": [text, {"type": "array", "items": text}]}));
    let declared = mapping("declaration", keys.declaration, &["type"]);
    add("declaration", json!({"anyOf": [{"enum": ValueType::WORDS}, declared]}));
    add("session", mapping("session", keys.session, &[]));
    let nullable = |schema: Json| json!({"anyOf": [{"type": "null"}, schema]});
    for (name, known, required) in keys.small {
        let schema = mapping(name, known, required);
        add(name, if matches!(*name, "review" | "role") { nullable(schema) } else { schema });
    }
    let declared = json!({"type": "object", "additionalProperties": {"$ref": "#/$defs/declaration"}});
    let described = |mut schema: Json, key: &str| {
        schema["description"] = json!(key_text("entry", key));
        schema
    };
    let own = json!({
        "role": described(text.clone(), "role"),
        "agent": described(text.clone(), "agent"),
        "result": described(json!({"anyOf": [text, declared]}), "result"),
    });
    add("entry", json!({"type": "object", "properties": own, "additionalProperties": text}));
    let spread = json!({"$ref": "#/$defs/spread"});
    let builtins: Vec<Json> = BuiltinCommand::ALL.iter().map(|builtin| builtin_schema(*builtin)).collect();
    let words = json!({"type": "array", "minItems": 1, "items": {"anyOf": [text, spread]}});
    add("builtin", json!({"anyOf": builtins}));
    add("command", json!({"anyOf": [text, words, {"$ref": "#/$defs/builtin"}]}));
    defs
}

fn builtin_schema(builtin: BuiltinCommand) -> Json {
    let argument = |name: &&str| ((*name).to_owned(), json!({"$ref": "#/$defs/text"}));
    let mut properties: Map<String, Json> = builtin.arguments().iter().map(argument).collect();
    properties.insert("builtin".to_owned(), json!({"const": builtin.word()}));
    json!({"type": "object", "properties": properties, "required": ["builtin"], "additionalProperties": false})
}

#[cfg(test)]
mod tests;
