use super::*;
use crate::yaml::SourcePosition;

fn fill(conversation: ConversationFlags<'_>, permission: Permission) -> LaunchValues<'_> {
    LaunchValues { conversation, model: Some("m-1"), prompt_file: "/run/prompt.md", permission }
}

fn env(name: &str) -> Option<String> {
    match name {
        "HOME" => Some("/home/ada".to_owned()),
        "XDG_DATA_HOME" => Some("/data/".to_owned()),
        "CODEX_HOME" => Some("/codex".to_owned()),
        "CLAUDE_CONFIG_DIR" => Some("relative".to_owned()),
        _ => None,
    }
}

#[test]
fn what_is_built_in_has_no_mistake_and_can_be_read_twice() {
    let (agents, mistakes) = AgentCatalogue::builtin().extend_from_toml(BUILTIN);
    assert_eq!(mistakes, []);
    assert_eq!(agents, AgentCatalogue::builtin());
    let names: Vec<&str> = agents.all().iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "claude", "codex", "opencode", "gemini", "goose", "aider", "copilot", "qwen", "cline", "kiro", "cursor",
            "amp", "demo", "command",
        ]
    );
    for agent in agents.all() {
        assert!(agent.drivers().count() > 0 && agent.reason.is_some(), "{}", agent.name);
        for (driver, launch) in agent.drivers() {
            assert_eq!(driver == Driver::Acp, launch.prompt == PromptDelivery::Protocol, "{} {driver}", agent.name);
            let all = [&launch.args, &launch.tail, &launch.model, &launch.session, &launch.resume];
            assert!(!all.into_iter().flatten().any(|argument| argument.contains("{prompt}")), "never as an argument");
        }
    }
}

#[test]
fn the_commands_are_these() {
    let agents = AgentCatalogue::builtin();
    let mut told = Vec::new();
    for agent in agents.all() {
        for (driver, launch) in agent.drivers() {
            let fresh = fill(ConversationFlags::Fresh("s-1"), Permission::Edits);
            let resumed = fill(ConversationFlags::Resumed("s-1"), Permission::All);
            for fill in [fresh, resumed] {
                let program = launch.programs.first().map_or("?", String::as_str);
                let variables: Vec<String> = agent
                    .variables(launch, &fill, 2)
                    .into_iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                let arguments = launch.arguments(&fill).join(" ");
                told.push(format!("{} {driver}: {program} {arguments}", agent.name));
                told.push(format!("    {}", variables.join(" ")));
            }
        }
        told.push(format!("    writes {}", agent.places(&env).join(" ")));
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn what_is_filled_in_is_not_read_again() {
    let agents = AgentCatalogue::builtin();
    let claude = agents.find("claude").unwrap().launch(Driver::Json).unwrap();
    let tricky =
        LaunchValues { model: Some("{session} $(x)"), ..fill(ConversationFlags::Fresh("{model}"), Permission::Ask) };
    let arguments = claude.arguments(&tricky);
    let after = |flag: &str| arguments.iter().skip_while(|argument| *argument != flag).nth(1).cloned();
    assert_eq!(after("--model").as_deref(), Some("{session} $(x)"));
    assert_eq!(after("--session-id").as_deref(), Some("{model}"));
    let without = LaunchValues { model: None, ..tricky };
    assert!(!claude.arguments(&without).iter().any(|argument| argument == "--model"));
    assert_eq!(agents.find("gemini").unwrap().mcp_name("maestro", "report").as_deref(), Some("mcp_maestro_report"));
}

#[test]
fn a_user_changes_what_is_mentioned_and_adds_agents() {
    let text = "[claude]\nprefer = [\"acp\"]\n[claude.json]\nmodel = [\"--big\", \"{model}\"]\n\n[rover]\ntitle = \"Rover\"\nprefer = [\"json\"]\nenv = { A = \"1\" }\n[rover.json]\nprograms = [\"rover\"]\nargs = [\"-x\"]\nformat = \"claude\"\n";
    let (agents, mistakes) = AgentCatalogue::builtin().extend_from_toml(text);
    assert_eq!(mistakes, []);
    let claude = agents.find("claude").unwrap();
    assert_eq!(claude.drivers().map(|(driver, _)| driver).collect::<Vec<_>>(), [Driver::Acp, Driver::Json]);
    let json = claude.launch(Driver::Json).unwrap();
    assert_eq!((json.model[0].as_str(), json.args[0].as_str(), json.can_resume()), ("--big", "-p", true));
    let rover = agents.find("rover").unwrap().launch(Driver::Json).unwrap();
    assert_eq!((rover.format, rover.prompt, rover.can_resume()), (Format::Claude, PromptDelivery::Stdin, false));
    let unknown = agents.find("cluade").unwrap_err();
    assert_eq!((unknown.to_string().as_str(), unknown.close.as_deref()), ("unknown agent `cluade`", Some("claude")));
}

#[test]
fn every_mistake_is_told_with_its_place_and_the_rest_counts() {
    let text = "x = 1\n[\"a b\"]\n[claude]\ntitel = \"x\"\nprefer = [\"jsn\", \"acp\"]\nskills = \"s\"\nreporting = \"abel\"\n[claude.json]\nprogram = [\"x\"]\nformat = \"yaml\"\nprompt = 3\npermissions = { al = [], ask = \"x\" }\n[mine]\nprefer = [\"acp\"]\n[yours]\nprefer = [\"acp\"]\ntext = { programs = [\"./x\", \"~/bin/x\", \"\"] }\n";
    let (agents, mistakes) = AgentCatalogue::builtin().extend_from_toml(text);
    let told: Vec<String> = mistakes
        .iter()
        .map(|TableMistake { place: SourcePosition { line, column }, message, help }| {
            format!("{line}:{column} {message}; {help}")
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"));
    let claude = agents.find("claude").unwrap();
    assert_eq!((claude.prefer.as_slice(), claude.title.as_str()), (&[Driver::Acp][..], "Claude Code"));
    assert_eq!(claude.launch(Driver::Json).map(|launch| launch.format), Some(Format::Claude));
    assert_eq!(agents.find("yours").unwrap().programs(), ["~/bin/x"]);
}

proptest::proptest! {
    #[test]
    fn any_text_is_answered_without_a_panic(text in "(claude|json|prefer|[\\[\\]a-c=\"{}.\n1é, ]){0,40}") {
        let _ = AgentCatalogue::builtin().extend_from_toml(&text);
    }

    #[test]
    fn any_placeholder_is_filled_without_a_panic(text in "[{}a-zé$~/]{0,40}") {
        let _ = (fill_placeholders(&text, &[("{a}", "{a}")]), agent_dirs::expand_dir(&text, &env));
    }
}

#[test]
fn agents_get_the_keys_of_their_models_and_no_other_secrets() {
    let agents = AgentCatalogue::builtin();
    let gets = |agent: &str, variable: &str| {
        let inherits = &agents.find(agent).unwrap().inherits;
        inherits.iter().any(|name| name.strip_suffix('*').map_or(name == variable, |start| variable.starts_with(start)))
    };
    for (agent, variable) in [
        ("copilot", "COPILOT_GITHUB_TOKEN"),
        ("copilot", "COPILOT_PROVIDER_API_KEY"),
        ("qwen", "OPENAI_API_KEY"),
        ("qwen", "DASHSCOPE_API_KEY"),
        ("cline", "CLINE_API_KEY"),
        ("kiro", "KIRO_API_KEY"),
        ("cursor", "CURSOR_API_KEY"),
        ("amp", "AMP_API_KEY"),
    ] {
        assert!(gets(agent, variable), "{agent} needs {variable}");
    }
    for agent in agents.all() {
        assert!(!gets(&agent.name, "GITHUB_TOKEN") && !gets(&agent.name, "SSH_AUTH_SOCK"), "{}", agent.name);
    }
}
