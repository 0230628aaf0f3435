//! Items go into a file and come out again, and the rest of the file stays as it was.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::workflow::tool::ToolTable;

const PROGRAM: &str = "/opt/my tools/maestro";

fn changed(text: &str, format: SettingsFormat, item: &SettingsItem) -> Option<String> {
    match put(text, format, item) {
        Ok(PutResult::Changed(after)) => Some(after),
        Ok(PutResult::Same) | Err(_) => None,
    }
}

/// Everything that must hold of a text that an item can be put into.
fn comes_out_again(text: &str, format: SettingsFormat, item: &SettingsItem) {
    let Some(after) = changed(text, format, item) else { return };
    assert_eq!(put(&after, format, item), Ok(PutResult::Same), "{after}");
    assert_eq!(FileUndo::of(Some(text), &after).apply(&after), Some(PriorContent::Text(text.to_owned())), "{after}");
    let Ok(RemoveResult::Changed(without)) = take_out(&after, format, item) else { panic!("it stays in\n{after}") };
    assert_eq!(take_out(&without, format, item), Ok(RemoveResult::NotThere));
    // It goes in once more, into what is left without it.
    assert!(changed(&without, format, item).is_some(), "{without}");
    // Without what was made around it, it is as if it had never been.
    let made = missing_parents(text, format, std::slice::from_ref(item)).unwrap();
    let mut before = edit::read(text, format).unwrap();
    // A key with nothing behind it became a mapping with nothing in it.
    if let Some(nothing) = before.get_mut(item.path[0]).filter(|value| value.is_null()) {
        *nothing = json!({});
    }
    // What a file that was made for it begins with stays where the file does.
    if let (Some((key, value)), true) = (&item.opening, text.trim().is_empty()) {
        before[*key] = value.clone();
    }
    assert_eq!(edit::read(&take_out_empty(&without, format, &made), format), Ok(before), "{without}");
}

/// Blanks and comments, as they may stand between any two words of JSON.
fn space() -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(vec!["", " ", "\n", "\n  ", "\r\n\t", " // a, note }\n  ", "/* , { */", "\n\n    "])
}

fn scalar() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["1", "-2.5e3", "true", "null", "\"a // \\\"b\\\" ,\"", "\"ü\""]).prop_map(str::to_owned)
}

fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "mcpServers", "hooks", "UserPromptSubmit", "b", "other", "ä"])
}

fn json_text() -> impl Strategy<Value = String> {
    let value = scalar().prop_recursive(4, 24, 4, |inner| {
        let member = (space(), key(), space(), space(), inner.clone(), space())
            .prop_map(|(a, key, b, c, value, d)| format!("{a}\"{key}\"{b}:{c}{value}{d}"));
        let element = (space(), inner, space()).prop_map(|(a, value, b)| format!("{a}{value}{b}"));
        let end = (prop::sample::select(vec!["", ","]), space());
        prop_oneof![
            3 => (prop::collection::vec(member, 0..4), end.clone()).prop_map(|(all, end)| listed('{', &all, end, '}')),
            1 => (prop::collection::vec(element, 0..3), end).prop_map(|(all, end)| listed('[', &all, end, ']')),
        ]
    });
    (prop::sample::select(vec!["", "\u{feff}"]), space(), value, space())
        .prop_map(|(mark, a, value, b)| format!("{mark}{a}{value}{b}"))
}

fn listed(open: char, all: &[String], (comma, space): (&str, &str), close: char) -> String {
    let comma = if all.is_empty() { "" } else { comma };
    format!("{open}{}{comma}{space}{close}", all.join(","))
}

fn hook() -> SettingsItem {
    hooks(ConnectableTool::ClaudeCode, PROGRAM).remove(1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn json_is_as_it_was_once_maestro_is_gone(text in json_text()) {
        comes_out_again(&text, SettingsFormat::Json, &server(ConnectableTool::ClaudeCode, SettingsScope::User, PROGRAM, Some(&text)));
        comes_out_again(&text, SettingsFormat::Json, &hook());
    }

    #[test]
    fn toml_is_as_it_was_once_maestro_is_gone(parts in prop::collection::vec(toml_part(), 0..6)) {
        let text = parts.concat();
        let item = server(ConnectableTool::Codex, SettingsScope::User, PROGRAM, None);
        prop_assert!(toml::value(&text).is_err() || changed(&text, SettingsFormat::Toml, &item).is_some(), "{text}");
        comes_out_again(&text, SettingsFormat::Toml, &item);
    }

    #[test]
    fn yaml_is_as_it_was_once_maestro_is_gone(parts in prop::collection::vec(yaml_part(), 0..6)) {
        let text = parts.concat();
        comes_out_again(&text, SettingsFormat::Yaml, &server(ConnectableTool::Goose, SettingsScope::User, PROGRAM, None));
    }
}

fn toml_part() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "# settings\n",
        "\n",
        "model = \"o\"\n",
        "[mcp_servers.other]\ncommand = \"x\" # why\n",
        "[mcp_servers.other.env]\r\nA = \"1\"\r\n",
        "text = \"\"\"\n[mcp_servers.maestro]\n\"\"\"\n",
        "[features]\nhooks = true\n\n# about the next one\n",
        "[[profiles]]\nname = 'a'\n",
        "last = 1",
    ])
}

fn yaml_part() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "# settings\n",
        "\n",
        "GOOSE_MODEL: gpt-4o\n",
        "extensions:\n  # a comment of the first one\n  developer:\n    enabled: true\n\n",
        "extensions:\n    todo: {name: todo, args: []}\n    # the last word\n",
        "extensions: {}\n",
        "extensions: {a: {b: 1}} # in a line\n",
        "extensions:\n",
        "list:\n- 1\n- 2\r\n",
        "last: |\n  extensions:\n    maestro: 1\n",
        "end: 1",
    ])
}

#[test]
fn most_texts_of_the_property_tests_can_be_added_to() {
    for text in ["{}", "{\"mcpServers\": {}}", "{\n  \"a\": 1, // why\n}\n", ""] {
        assert!(
            changed(
                text,
                SettingsFormat::Json,
                &server(ConnectableTool::Cursor, SettingsScope::User, PROGRAM, Some(text))
            )
            .is_some(),
            "{text}"
        );
    }
    for text in ["[mcp_servers.other]\ncommand = \"x\" # why\n", "[[profiles]]\nname = 'a'\n", "last = 1", ""] {
        assert!(
            changed(text, SettingsFormat::Toml, &server(ConnectableTool::Codex, SettingsScope::User, PROGRAM, None))
                .is_some(),
            "{text}"
        );
    }
    for text in ["extensions: {}\n", "extensions:\n", "a: 1\n", ""] {
        assert!(
            changed(text, SettingsFormat::Yaml, &server(ConnectableTool::Goose, SettingsScope::User, PROGRAM, None))
                .is_some(),
            "{text}"
        );
    }
}

#[test]
fn json_is_added_to_as_a_person_would() {
    let gemini = |text: &str| {
        let item = server(ConnectableTool::Gemini, SettingsScope::User, "maestro", Some(text));
        changed(text, SettingsFormat::Json, &item).unwrap()
    };
    insta::assert_snapshot!(gemini("{\n    // mine\n    \"mcpServers\": {\n        \"x\": {\"url\": \"y\"} // keep\n    }\n}\n"), @r#"
    {
        // mine
        "mcpServers": {
            "x": {"url": "y"}, // keep
            "maestro": {
                "command": "maestro",
                "args": [
                    "mcp"
                ]
            }
        }
    }
    "#);
    insta::assert_snapshot!(gemini("{\"a\": 1}"), @r#"{"a": 1, "mcpServers": {"maestro":{"command":"maestro","args":["mcp"]}}}"#);
}

/// Texts of every shape in which an entry names a program that has moved.
const MOVED: [(ConnectableTool, SettingsFormat, &str); 9] = [
    (
        ConnectableTool::Cursor,
        SettingsFormat::Json,
        "{\"mcpServers\": {\"maestro\": { // my comment\n  \"command\" : \"/old/maestro\", /* x */ \"args\": [\"mcp\"],\n\"env\": {\"A\": \"b\"}}, \"z\": {}}}",
    ),
    (
        ConnectableTool::Cursor,
        SettingsFormat::Json,
        r#"{"mcpServers": {"maestro": {"args": ["mcp", "--json"], "command": "/old/maestro"}}}"#,
    ),
    (
        ConnectableTool::OpenCode,
        SettingsFormat::Json,
        r#"{"mcp": {"maestro": {"type": "local", "enabled": false, "command": [ "/old/maestro" , "mcp", "--json"]}}}"#,
    ),
    (
        ConnectableTool::Codex,
        SettingsFormat::Toml,
        "[mcp_servers.maestro] # c1\n# c2\ncommand = '/old/maestro' # c3\nargs = [\n  \"mcp\",\n]\nenv = { A = \"b\" }\n\n# next\n[x]\ny = 1\n",
    ),
    (
        ConnectableTool::Codex,
        SettingsFormat::Toml,
        "[ mcp_servers . \"maestro\" ]\r\ncommand = \"/old/maestro\"\r\nargs = [\"mcp\"]\r\n\r\n[mcp_servers.maestro.env] # mine\r\nA = \"b\"\r\n",
    ),
    (
        ConnectableTool::Codex,
        SettingsFormat::Toml,
        "[mcp_servers]\nmaestro = { args = [\"mcp\"], command = \"/old/maestro\" }\n",
    ),
    (
        ConnectableTool::Goose,
        SettingsFormat::Yaml,
        "extensions:\n  a: 1\n  maestro: # c1\n    # c2\n    enabled: false\n    cmd: /old/maestro # c3\n    args:\n      - mcp\n    envs: {A: b}\n  z: 1\n",
    ),
    (ConnectableTool::Goose, SettingsFormat::Yaml, "extensions: {maestro: {cmd: '/old/maestro', args: [mcp]}, z: 1}\n"),
    (
        ConnectableTool::Goose,
        SettingsFormat::Yaml,
        "extensions:\n  maestro: {\"cmd\":\"/old/maestro\",\"args\":[\"mcp\"]}\n",
    ),
];

#[test]
fn of_an_entry_that_names_a_program_elsewhere_only_the_program_changes() {
    for (client, format, text) in MOVED {
        let after = changed(text, format, &server(client, SettingsScope::User, PROGRAM, Some(text)));
        let old = ["\"/old/maestro\"", "'/old/maestro'", "/old/maestro"].into_iter().find(|old| text.contains(old));
        let wanted = text.replace(old.unwrap(), &format!("\"{PROGRAM}\""));
        assert_eq!(after.as_deref(), Some(wanted.as_str()), "{text}");
        assert_eq!(
            put(&wanted, format, &server(client, SettingsScope::User, PROGRAM, Some(text))),
            Ok(PutResult::Same)
        );
    }
}

#[test]
fn the_entry_of_a_copy_under_another_name_goes_as_well() {
    for copy in ["/opt/maestro-nightly", "/opt/maestro-0.2.0", "C:/maestro.exe"] {
        let item = server(ConnectableTool::Cursor, SettingsScope::User, copy, None);
        let after = changed("{}", SettingsFormat::Json, &item).unwrap();
        let known = server(ConnectableTool::Cursor, SettingsScope::User, PROGRAM, None);
        assert!(matches!(take_out(&after, SettingsFormat::Json, &known), Ok(RemoveResult::Changed(_))), "{after}");
    }
    let other = "{\"mcpServers\": {\"maestro\": {\"command\": \"maestros\", \"args\": [\"mcp\"]}}}";
    let item = server(ConnectableTool::Cursor, SettingsScope::User, PROGRAM, None);
    assert_eq!(take_out(other, SettingsFormat::Json, &item), Ok(RemoveResult::NotOurs));
}

#[test]
fn a_table_goes_although_its_header_is_written_in_a_way_of_its_own() {
    let rests = ["# next\n[x]\ny = 1\n", ""];
    let tables = MOVED.iter().filter(|(client, _, text)| *client == ConnectableTool::Codex && !text.contains("{ args"));
    for ((client, format, text), rest) in tables.zip(rests) {
        let Ok(RemoveResult::Changed(without)) =
            take_out(text, *format, &server(*client, SettingsScope::User, PROGRAM, None))
        else {
            panic!("it stays in\n{text}")
        };
        assert_eq!(without.trim_start(), rest);
    }
}

#[test]
fn what_cannot_be_changed_in_its_place_is_left_alone() {
    let text = "x: &p /old/maestro\nextensions:\n  maestro:\n    cmd: *p\n    args: [mcp]\n";
    assert!(matches!(
        put(text, SettingsFormat::Yaml, &server(ConnectableTool::Goose, SettingsScope::User, PROGRAM, None)),
        Err(EditError::Shape { .. })
    ));
}

#[test]
fn what_is_somebody_elses_is_neither_changed_nor_removed() {
    let text = r#"{"mcpServers": {"maestro": {"command": "python", "args": ["-m", "midi"]}}}"#;
    let item = server(ConnectableTool::Cursor, SettingsScope::User, "maestro", Some(text));
    assert_eq!(put(text, SettingsFormat::Json, &item), Err(EditError::Taken { path: "mcpServers.maestro".into() }));
    assert_eq!(take_out(text, SettingsFormat::Json, &item), Ok(RemoveResult::NotOurs));
}

#[test]
fn what_cannot_be_read_or_added_to_is_left_alone() {
    let at = |text: &str, format, client| {
        put(text, format, &server(client, SettingsScope::User, "maestro", Some(text))).unwrap_err().to_string()
    };
    insta::assert_snapshot!(at("{\n  \"a\": [1\n}", SettingsFormat::Json, ConnectableTool::Cursor), @"line 3, column 1: Unexpected close brace");
    insta::assert_snapshot!(at("[]", SettingsFormat::Json, ConnectableTool::Cursor), @"line 1, column 1: the file holds no object");
    insta::assert_snapshot!(at("{\"mcpServers\": null}", SettingsFormat::Json, ConnectableTool::Cursor), @"`mcpServers` is written in a way that cannot be added to or taken from");
    insta::assert_snapshot!(at("a = 1\nb = [\n", SettingsFormat::Toml, ConnectableTool::Codex), @"line 2, column 6: unclosed array, expected `]`");
    insta::assert_snapshot!(at("mcp_servers = { x = 1 }\n", SettingsFormat::Toml, ConnectableTool::Codex), @"`mcp_servers.maestro` is written in a way that cannot be added to or taken from");
    insta::assert_snapshot!(at("a: 1\n b: 2\n", SettingsFormat::Yaml, ConnectableTool::Goose), @"line 2, column 3: mapping values are not allowed in this context");
    insta::assert_snapshot!(at("extensions: [1]\n", SettingsFormat::Yaml, ConnectableTool::Goose), @"`extensions` is written in a way that cannot be added to or taken from");
}

#[test]
fn a_hook_is_one_more_of_those_that_are_there() {
    let text = "{\n  \"hooks\": {\n    \"UserPromptSubmit\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}\n    ]\n  }\n}\n";
    insta::assert_snapshot!(changed(text, SettingsFormat::Json, &hook()).unwrap(), @r#"
    {
      "hooks": {
        "UserPromptSubmit": [
          {"hooks": [{"type": "command", "command": "x"}]},
          {
            "hooks": [
              {
                "type": "command",
                "command": "'/opt/my tools/maestro' hook claude-code",
                "timeout": 5
              }
            ]
          }
        ]
      }
    }
    "#);
}

/// The files of tools as people have them: nothing, something of others in one line and in many, with notes, with marks,
/// with other line ends, without a last one, with an empty place for servers.
fn files_of(place: &str) -> Vec<String> {
    let other = format!("{{\n  // mine\n  \"{place}\": {{\n    \"x\": {{ \"command\": \"y\" }}, // why\n  }},\n}}\n");
    vec![
        String::new(),
        "\n".to_owned(),
        "{}".to_owned(),
        "{\n}\n".to_owned(),
        "{\"a\": 1}".to_owned(),
        "{\"a\": [1, 2], \"b\": {\"c\": null}}\n".to_owned(),
        "{\n\t\"a\": \"\\u00fc // no note\"\n}".to_owned(),
        format!("{{\"{place}\": {{}}}}"),
        format!("{{\n  \"{place}\": {{\n  }}\n}}\n"),
        format!("{{\n  \"{place}\": {{ /* none yet */ }}\n}}\n"),
        format!("{{\"{place}\": {{\"x\": {{\"url\": \"y\"}}}}, \"z\": true}}"),
        format!("\u{feff}{other}"),
        other.replace('\n', "\r\n"),
        other.replace("  ", "\t"),
        other.trim_end().to_owned(),
        format!("// a note\n{other}/* the end */"),
        "   ".to_owned(),
        "{ }\n\n".to_owned(),
        "{\r\n  \"a\": 1,\r\n  \"b\": 2\n}\n".to_owned(),
        "{\n    \"a\": {\n        \"b\": 12345678901234567890.10e5\n    }\n}".to_owned(),
        format!("{}1{}", "{\"a\":".repeat(40), "}".repeat(40)),
        format!("{{\"z\":1,\n\n\n\"{place}\":\n{{}}\n}}"),
        format!("{{\n  // nothing yet\n  \"{place}\": {{}}, // here\n  // the last word\n}}"),
        format!("{{\"{place}\":{{\"x\":{{\"args\":[\"maestro\",\"mcp\"]}},}},}}"),
        format!("{{\"a\":\"{place}\",\"b\":[{{\"{place}\":{{}}}}]}}"),
        other,
    ]
}

#[test]
fn every_tools_file_is_as_it_was_once_maestro_is_gone() {
    for client in ConnectableTool::ALL {
        for scope in [SettingsScope::User, SettingsScope::Project] {
            let Some(file) = client.servers_file(scope).filter(|file| file.format == SettingsFormat::Json) else {
                continue;
            };
            let place = server(client, scope, PROGRAM, None).path[0];
            for text in files_of(place) {
                let item = server(client, scope, PROGRAM, Some(&text));
                assert!(changed(&text, file.format, &item).is_some(), "{client} cannot be added to\n{text}");
                comes_out_again(&text, file.format, &item);
            }
            for text in files_of(HOOKS_KEY) {
                for item in hooks(client, PROGRAM) {
                    comes_out_again(&text, SettingsFormat::Json, &item);
                }
            }
        }
    }
}

const HOOKS_KEY: &str = "hooks";

#[test]
fn every_tools_entry_starts_maestro_and_is_found_again() {
    for client in ConnectableTool::ALL {
        let file = client.servers_file(SettingsScope::User).unwrap();
        let text = changed("", file.format, &server(client, SettingsScope::User, PROGRAM, None)).unwrap();
        let found = find_server_command(&text, file.format, client).unwrap();
        assert_eq!(found.command[..2], [PROGRAM, "mcp"], "{client}");
        assert_eq!(ConnectableTool::from_name(client.program()), Some(client));
    }
}

#[test]
fn an_entry_that_is_exactly_as_it_was_written_once_is_brought_up_to_date() {
    let ours = |program: &str| {
        format!(
            "{{\n  \"mcpServers\": {{\n    \"maestro\": {{\n      \"command\": \"{program}\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }}\n  }}\n}}\n"
        )
    };
    let item = server(ConnectableTool::Cursor, SettingsScope::User, PROGRAM, None);
    for program in [PROGRAM, "/old/maestro"] {
        let after = changed(&ours(program), SettingsFormat::Json, &item).unwrap();
        assert_eq!(json::value(&after).unwrap()["mcpServers"]["maestro"], item.value);
        assert_eq!(put(&after, SettingsFormat::Json, &item), Ok(PutResult::Same));
    }
    let theirs = ours(PROGRAM).replace("\"mcp\"", "\"mcp\", \"--json\"");
    assert_eq!(put(&theirs, SettingsFormat::Json, &item), Ok(PutResult::Same), "somebody changed it");
    let more = ours(PROGRAM).replace("\"args\"", "\"env\": {\"A\": \"b\"}, \"args\"");
    assert_eq!(put(&more, SettingsFormat::Json, &item), Ok(PutResult::Same), "somebody added to it");
}

#[test]
fn the_folder_that_is_open_is_named_where_the_editor_has_a_word_for_it() {
    let args = |client, scope| server(client, scope, PROGRAM, None).value["args"].clone();
    let with = json!(["mcp", "--directory", "${workspaceFolder}"]);
    assert_eq!(args(ConnectableTool::Cursor, SettingsScope::User), with);
    assert_eq!(args(ConnectableTool::Cursor, SettingsScope::Project), with);
    assert_eq!(args(ConnectableTool::VsCode, SettingsScope::Project), with);
    assert_eq!(args(ConnectableTool::VsCode, SettingsScope::User), json!(["mcp"]), "it fails where no folder is open");
}

#[test]
fn a_file_that_is_made_for_the_hooks_of_cursor_says_its_version() {
    let text = hooks(ConnectableTool::Cursor, "maestro")
        .iter()
        .fold(String::new(), |text, item| changed(&text, SettingsFormat::Json, item).unwrap());
    let said = json::value(&text).unwrap();
    assert_eq!(said["version"], 1);
    assert_eq!(said["hooks"]["stop"], json!([{ "command": "maestro hook cursor", "timeout": 5 }]));
}

/// Settings in which a list of entries is this.
fn submitted(entries: &Json) -> String {
    format!("{:#}\n", json!({ "hooks": { "UserPromptSubmit": entries } }))
}

fn entries(text: &str) -> Json {
    json::value(text).unwrap()["hooks"]["UserPromptSubmit"].clone()
}

fn without(text: &str) -> String {
    let Ok(RemoveResult::Changed(without)) = take_out(text, SettingsFormat::Json, &hook()) else {
        panic!("it stays in\n{text}")
    };
    without
}

#[test]
fn a_hook_that_somebody_added_beside_maestros_stays_when_it_goes() {
    let (ours, mine) = (hook().value, json!({ "type": "command", "command": "my-lint" }));
    let second = json!({ "type": "command", "command": "my-test" });
    for hooks in [json!([ours, mine, second]), json!([mine, ours, second]), json!([mine, second, ours])] {
        let text = submitted(&json!([{ "matcher": "x", "hooks": hooks }]));
        assert_eq!(put(&text, SettingsFormat::Json, &hook()), Ok(PutResult::Same), "it is there\n{text}");
        assert_eq!(entries(&without(&text)), json!([{ "matcher": "x", "hooks": [mine, second] }]));
    }
    let twice = submitted(&json!([{ "hooks": [mine, ours] }, { "hooks": [ours, ours] }, { "hooks": [] }]));
    assert_eq!(entries(&without(&twice)), json!([{ "hooks": [mine] }, { "hooks": [] }]));
}

#[test]
fn a_hook_of_an_older_program_is_brought_up_to_date_beside_those_of_others() {
    let mine = json!({ "type": "command", "command": "my-lint" });
    let old = json!({ "type": "command", "command": "/old/maestro hook claude-code", "timeout": 5, "async": true });
    let mut new = hook().value;
    new["async"] = json!(true);
    for (hooks, wanted) in [(json!([old, mine]), json!([new, mine])), (json!([mine, old]), json!([mine, new]))] {
        let text = submitted(&json!([{ "hooks": hooks }]));
        assert_eq!(entries(&changed(&text, SettingsFormat::Json, &hook()).unwrap()), json!([{ "hooks": wanted }]));
    }
}

#[test]
fn what_was_made_around_an_item_stays_if_somebody_put_something_into_it() {
    let made = missing_parents("{}", SettingsFormat::Json, &hooks(ConnectableTool::ClaudeCode, PROGRAM)).unwrap();
    for text in [r#"{"hooks": {"Stop": [1]}}"#, r#"{"hooks": {"Mine": []}}"#, r#"{"hooks": { /* mine */ }}"#] {
        assert_eq!(take_out_empty(text, SettingsFormat::Json, &made), text);
    }
    assert_eq!(take_out_empty(r#"{"hooks": {"Stop": [], "SessionEnd": [ ]}}"#, SettingsFormat::Json, &made), "{}");
}

#[test]
fn a_skill_that_starts_a_workflow_names_a_tool_that_workflows_know() {
    let known = ToolTable::builtin();
    for client in ConnectableTool::ALL.into_iter().filter(|client| client.skills_dir(SettingsScope::User).is_some()) {
        let tool = client.workflow_tool();
        assert!(known.find(tool).is_some(), "{client} would be told to run `maestro workflow start --tool {tool}`");
    }
}

#[test]
fn each_version_of_opencode_gets_its_own_layout() {
    let path = |text: &str| server(ConnectableTool::OpenCode, SettingsScope::User, "maestro", Some(text)).path;
    assert_eq!(path("{}"), ["mcp", "maestro"]);
    assert_eq!(path("{\"mcp\": {\"servers\": {}}}"), ["mcp", "servers", "maestro"]);
}

#[test]
fn a_program_of_another_name_finds_what_it_wrote_also_after_it_moved() {
    for (client, format) in
        [(ConnectableTool::Gemini, SettingsFormat::Json), (ConnectableTool::Cursor, SettingsFormat::Json)]
    {
        let items = |program: &str| {
            let mut items = hooks(client, program);
            items.push(server(client, SettingsScope::User, program, None));
            items
        };
        let added = items("/opt/mst").iter().fold("{\"mine\": 1}".to_owned(), |text, item| {
            match put(&text, format, item).unwrap() {
                PutResult::Changed(after) => after,
                other @ PutResult::Same => panic!("{other:?}"),
            }
        });
        for program in ["/opt/mst", "/home/ada/bin/mst"] {
            let left =
                items(program).iter().fold(added.clone(), |text, item| match take_out(&text, format, item).unwrap() {
                    RemoveResult::Changed(after) => after,
                    other => panic!("{program}: {other:?} of {text}"),
                });
            assert!(!left.contains("mst"), "{left}");
        }
        let foreign =
            items("maestro").iter().all(|item| !matches!(take_out(&added, format, item), Ok(RemoveResult::Changed(_))));
        assert!(foreign, "a program of another name is another program");
    }
}
