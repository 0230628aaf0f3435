use super::*;
use crate::yaml::SourcePosition;

fn nothing(_: &str) -> Option<String> {
    None
}

#[test]
fn what_is_built_in_has_no_mistake() {
    let (tools, mistakes) = ToolTable::builtin().extend_from_toml(include_str!("tools.toml"));
    assert_eq!(mistakes, []);
    assert_eq!(tools, ToolTable::builtin());
    let mut names: Vec<&str> = tools.all().iter().map(|tool| tool.name.as_str()).collect();
    names.sort_unstable();
    let known = [
        "aider", "claude", "cline", "codex", "copilot", "crush", "cursor", "gemini", "goose", "junie", "kiro",
        "opencode", "qwen", "windsurf",
    ];
    assert_eq!(names, known);
    assert!(tools.all().iter().all(|tool| tool.is_known() && tool.can(ToolCapability::Shell)));
    assert_eq!(tools.find("claude").map(|tool| tool.form), Some(RenderForm::Xml));
    assert_eq!(tools.find("cursor").and_then(|tool| tool.directory.as_deref()), Some(".cursor"));
}

#[test]
fn a_tool_is_named_or_told_or_seen_or_unknown() {
    let tools = ToolTable::builtin();
    let inside = |name: &str| match name {
        "MAESTRO_TOOL" => Some("codex".to_owned()),
        "CLAUDECODE" => Some("1".to_owned()),
        _ => None,
    };
    let name = |tool: Result<CodingTool, UnknownTool>| tool.map(|tool| tool.name);
    assert_eq!(name(tools.detect(Some("aider"), &inside)).as_deref(), Ok("aider"));
    assert_eq!(name(tools.detect(None, &inside)).as_deref(), Ok("codex"));
    assert_eq!(name(tools.detect(None, &nothing)).as_deref(), Ok("unknown"));
    assert_eq!(name(tools.detect(Some("unknown"), &inside)).as_deref(), Ok("unknown"));
    let seen = [
        ("CLAUDECODE", "1", "claude"),
        ("CLAUDECODE", "0", "unknown"),
        ("CODEX_THREAD_ID", "x", "codex"),
        ("CODEX_THREAD_ID", "", "unknown"),
        ("OPENCODE", "1", "opencode"),
        ("GEMINI_CLI", "1", "gemini"),
        ("GOOSE_TERMINAL", "1", "goose"),
        ("CURSOR_AGENT", "1", "cursor"),
        ("COPILOT_CLI", "1", "copilot"),
        ("QWEN_CODE", "1", "qwen"),
        ("OR_APP_NAME", "Aider", "aider"),
        ("OR_APP_NAME", "Other", "unknown"),
        ("MAESTRO_TOOL", "", "unknown"),
    ];
    for (variable, value, expected) in seen {
        let env = |name: &str| (name == variable).then(|| value.to_owned());
        assert_eq!(name(tools.detect(None, &env)).as_deref(), Ok(expected), "{variable}={value}");
    }
    let error = tools.detect(Some("cluade"), &nothing).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.close.as_deref()), ("unknown tool `cluade`", Some("claude")));
}

#[test]
fn a_user_changes_what_is_mentioned_and_adds_tools() {
    let text = "[claude]\nform = \"markdown\"\n[claude.roles]\nquality-reviewer = { agent = \"qa\", model = \"opus\" }\n\n[amp]\ndirectory = \".amp\"\nform = \"markdown\"\ncan = [\"shell\"]\ndetect = [\"AMP_THREAD_ID\"]\nmodels = { strong = \"big\" }\n";
    let (tools, mistakes) = ToolTable::builtin().extend_from_toml(text);
    assert_eq!(mistakes, []);
    let claude = tools.find("claude").unwrap();
    assert_eq!((claude.form, claude.can(ToolCapability::Parallel)), (RenderForm::Markdown, true));
    let role = Name::parse("quality-reviewer").unwrap();
    assert_eq!(claude.agent_for(&role), Some("qa"));
    assert_eq!(claude.model_for(Some(&role), Some("cheap")), Some("opus"));
    assert_eq!(claude.agent_for(&Name::parse("explore").unwrap()), Some("Explore"));
    assert_eq!(claude.model_for(None, Some("cheap")), Some("haiku"));
    assert_eq!(claude.model_for(None, Some("huge")), Some("huge"));
    let env = |name: &str| (name == "AMP_THREAD_ID").then(|| "1".to_owned());
    let amp = tools.detect(None, &env).unwrap();
    assert_eq!((amp.name.as_str(), amp.directory.as_deref(), amp.form), ("amp", Some(".amp"), RenderForm::Markdown));
    assert!(amp.can(ToolCapability::Shell) && !amp.can(ToolCapability::Subagents));
    assert_eq!(amp.model_for(None, Some("strong")), Some("big"));
}

#[test]
fn every_mistake_is_told_with_its_place_and_the_rest_counts() {
    let text = "x = 1\n[claude]\nfrom = \"xml\"\nform = \"yaml\"\ncan = [\"shel\", \"mcp\", 3]\ndetect = [\"A B\"]\nskills = \"s\"\ndirectory = 3\n[claude.roles]\nexplore = { agnt = \"x\", model = \"m\" }\n\"a b\" = {}\nother = 3\n[unknown]\nform = \"xml\"\n";
    let (tools, mistakes) = ToolTable::builtin().extend_from_toml(text);
    let told: Vec<String> = mistakes
        .iter()
        .map(|TableMistake { place: SourcePosition { line, column }, message, help }| {
            format!("{line}:{column} {message}; {help}")
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"));
    let claude = tools.find("claude").unwrap();
    assert_eq!((claude.form, claude.directory.as_deref()), (RenderForm::Xml, Some(".claude")));
    assert_eq!(claude.capabilities, BTreeSet::from([ToolCapability::Mcp]));
    let (_, broken) = ToolTable::builtin().extend_from_toml("[claude\n");
    assert_eq!(broken.len(), 1);
    assert_eq!(broken[0].place.line, 1);
}

proptest::proptest! {
    #[test]
    fn any_text_is_answered_without_a_panic(text in "[\\[\\]a-c=\"{}.\n1é, ]{0,60}") {
        let _ = ToolTable::builtin().extend_from_toml(&text);
    }
}
