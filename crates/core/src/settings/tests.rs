use std::collections::BTreeMap;

use super::*;
use crate::problem::{ProblemCode, ProblemSeverity};

fn places() -> SettingsDirs {
    SettingsDirs {
        home: "/home/ada".into(),
        data: "/home/ada/.local/share/maestro".into(),
        project: "/srv/app".into(),
        working_dir: "/srv/app/src".into(),
    }
}

fn user(text: &str) -> SettingsLayer {
    SettingsLayer::User(ConfigText { path: "/home/ada/.config/maestro/config.toml".into(), text: text.into() })
}

fn project(text: &str) -> SettingsLayer {
    SettingsLayer::Project(ConfigText { path: "/srv/app/.maestro/config.toml".into(), text: text.into() })
}

fn loop_config(text: &str) -> SettingsLayer {
    SettingsLayer::LoopConfig(ConfigText { path: "/srv/app/.loop/config".into(), text: text.into() })
}

fn environment(pairs: &[(&str, &str)]) -> SettingsLayer {
    SettingsLayer::Environment(
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<BTreeMap<_, _>>(),
    )
}

fn flags(pairs: &[&str]) -> SettingsLayer {
    SettingsLayer::Flags(pairs.iter().map(|&pair| pair.to_owned()).collect())
}

#[test]
fn config_defaults_are_those_of_the_seed() {
    let settings = Settings::defaults(&places());
    assert!(!settings.skills_enabled.value);
    assert_eq!(settings.skills_builtin_dir.value, PathBuf::from("/srv/app/skills"));
    assert_eq!(settings.skills_sync_dir.value, PathBuf::from("/home/ada/.local/share/maestro/skills"));
    assert!(settings.skills_sync_on_start.value);
    assert_eq!(settings.skills_dirs.value, [".agent/skills", "~/.agent/skills", ".claude/skills", "~/.claude/skills"]);
    assert_eq!(settings.skills_max_selected_impl.value, 2);
    assert_eq!(settings.skills_max_selected_review.value, 1);
    assert!(!settings.skills_load_references.value);
    assert_eq!(settings.skills_max_body_chars.value, 20_000);
}

#[test]
fn the_budget_of_the_skills_table_is_a_number_of_tokens_up_to_a_million() {
    assert_eq!(Settings::defaults(&places()).skills_budget_tokens.value, 4_000);
    let (settings, problems) = Settings::from_layers(&places(), &[flags(&["skills_budget_tokens=1000000"])]);
    assert_eq!((settings.skills_budget_tokens.value, problems), (1_000_000, vec![]));
    let (_, problems) = Settings::from_layers(&places(), &[flags(&["skills_budget_tokens=1000001"])]);
    assert_eq!(problems[0].help, "it must be a whole number from 0 to 1000000");
}

#[test]
fn each_config_layer_wins_over_the_ones_before() {
    let layers = [
        user("skills_max_selected_impl = 3\nskills_load_references = true\n"),
        loop_config("skills_max_selected_impl=4\nskills_enabled=yes\n"),
        project("# ours\nskills_max_selected_impl = 5\n"),
        environment(&[("MAESTRO_SKILLS_MAX_SELECTED_IMPL", "6")]),
        flags(&["skills_max_selected_impl=7"]),
    ];
    for (count, expected) in [(1, 3), (2, 4), (3, 5), (4, 6), (5, 7)] {
        let (settings, problems) = Settings::from_layers(&places(), &layers[..count]);
        assert_eq!(problems, []);
        assert_eq!(settings.skills_max_selected_impl.value, expected);
    }
    let (settings, _) = Settings::from_layers(&places(), &layers[..3]);
    assert_eq!(settings.skills_max_selected_impl.origin.to_string(), "/srv/app/.maestro/config.toml:2");
    assert_eq!(settings.skills_enabled.origin.to_string(), "/srv/app/.loop/config:2");
    assert_eq!(settings.skills_load_references.origin.to_string(), "/home/ada/.config/maestro/config.toml:2");
}

#[test]
fn a_config_typo_is_an_error_with_place_and_suggestion() {
    let (_, problems) = Settings::from_layers(&places(), &[project("\nskills_enabld = true\n")]);
    let [problem] = problems.as_slice() else { panic!("one problem, got {problems:?}") };
    assert_eq!(problem.severity, ProblemSeverity::Error);
    assert_eq!((problem.line, problem.column), (2, 1));
    assert_eq!(problem.help, "did you mean `skills_enabled`?");
    let problems = Settings::from_layers(&places(), &[flags(&["keep_days=7"])]).1;
    assert_eq!(problems[0].help, "did you mean `event_retention_days`?");
}

#[test]
fn a_typo_in_a_variable_or_flag_is_an_error_too() {
    let layers = [environment(&[("MAESTRO_SKILLS_DIR", "x"), ("MAESTRO_HOME", "/x")]), flags(&["skill_dirs=x", "x"])];
    let (_, problems) = Settings::from_layers(&places(), &layers);
    let messages: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        messages,
        ["unknown setting `skills_dir`", "unknown setting `skill_dirs`", "`x` is not a key=value pair"]
    );
}

#[test]
fn a_config_value_of_the_wrong_kind_names_what_is_expected() {
    let text = "skills_enabled = 3\nskills_dirs = \"a\"\nskills_max_selected_impl = 256\nskills_validation = \"x\"\n";
    let (settings, problems) = Settings::from_layers(&places(), &[project(text)]);
    let helps: Vec<_> = problems.iter().map(|problem| problem.help.as_str()).collect();
    assert_eq!(
        helps,
        [
            "it must be true or false",
            "it must be a list of paths",
            "it must be a whole number from 0 to 255",
            "it must be \"lenient\" or \"strict\""
        ]
    );
    assert_eq!(settings, Settings::defaults(&places()));
}

#[test]
fn config_that_is_no_toml_is_one_error_with_its_place() {
    let (_, problems) = Settings::from_layers(&places(), &[project("skills_enabled = true\nskills_dirs = [\n")]);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].code, ProblemCode::ConfigInvalid);
    assert!(problems[0].line >= 2, "{problems:?}");
}

#[test]
fn config_paths_expand_home_and_resolve_against_their_layer() {
    let sync = |layer| Settings::from_layers(&places(), &[layer]).0.skills_sync_dir.value;
    assert_eq!(sync(user("skills_sync_dir = \"~/pack\"")), PathBuf::from("/home/ada/pack"));
    assert_eq!(sync(user("skills_sync_dir = \"pack\"")), PathBuf::from("/home/ada/.config/maestro/pack"));
    assert_eq!(sync(project("skills_sync_dir = \"pack\"")), PathBuf::from("/srv/app/pack"));
    assert_eq!(sync(flags(&["skills_sync_dir=pack"])), PathBuf::from("/srv/app/src/pack"));
    assert_eq!(expand_home("~ada/x", Path::new("/home/ada")), PathBuf::from("~ada/x"));
}

#[test]
fn a_project_cannot_send_writes_outside_itself() {
    for outside in ["/etc/maestro", "../elsewhere", "~/pack"] {
        let text = format!("skills_sync_dir = \"{outside}\"");
        let (settings, problems) = Settings::from_layers(&places(), &[project(&text)]);
        assert_eq!(problems.len(), 1, "{outside}");
        assert_eq!(settings.skills_sync_dir.origin, SettingOrigin::Default);
    }
}

#[test]
fn a_project_cannot_decide_who_is_let_in_or_what_is_forgotten() {
    for text in ["auth = \"open\"", "event_retention_days = 1"] {
        let (settings, problems) = Settings::from_layers(&places(), &[user("auth = \"token\""), project(text)]);
        assert_eq!(problems.len(), 1, "{text}");
        assert!(problems[0].message.starts_with("a project may not set"), "{problems:?}");
        assert_eq!(settings.auth.value, AuthMode::Token);
    }
    let (_, problems) = Settings::from_layers(&places(), &[loop_config("auth=open")]);
    assert_eq!(problems.len(), 1);
}

#[test]
fn what_the_server_goes_by_is_set_like_everything_else() {
    let text = "session_silence_minutes = 5\ntask_when_done = \"in_review\"\n";
    let own = flags(&["event_retention_days=7", "auth=open"]);
    let (settings, problems) = Settings::from_layers(&places(), &[project(text), own]);
    assert_eq!(problems, []);
    assert_eq!(settings.session_silence_minutes.value, 5);
    assert_eq!(settings.task_when_done.value, DoneStatus::Review);
    assert_eq!((settings.event_retention_days.value, settings.auth.value), (7, AuthMode::Open));
    let (_, problems) =
        Settings::from_layers(&places(), &[flags(&["session_silence_minutes=0", "task_when_done=done", "auth=off"])]);
    let helps: Vec<_> = problems.iter().map(|problem| problem.help.as_str()).collect();
    assert_eq!(
        helps,
        [
            "it must be a whole number from 1 to 10080",
            "it must be \"completed\" or \"in_review\"",
            "it must be \"token\" or \"open\""
        ]
    );
    for old in ["auth=local", "auth=required"] {
        let (settings, problems) = Settings::from_layers(&places(), &[flags(&[old])]);
        assert_eq!((settings.auth.value, problems), (AuthMode::Token, vec![]), "{old}");
    }
}

#[test]
fn a_loop_config_is_read_with_its_words_lists_and_warnings() {
    let text = "# loop\nskills_enabled=on\nskills_dirs=\".skills ~/.skills\"\nmodel=opus\nbanana=1\nnonsense\n";
    let (settings, problems) = Settings::from_layers(&places(), &[loop_config(text)]);
    assert!(settings.skills_enabled.value);
    assert_eq!(settings.skills_dirs.value, [".skills", "~/.skills"]);
    let found: Vec<_> = problems.iter().map(|problem| (problem.severity, problem.line)).collect();
    assert_eq!(found, [(ProblemSeverity::Warning, 5), (ProblemSeverity::Error, 6)]);
}

#[test]
fn the_checks_of_a_loop_config_are_checks_of_the_project() {
    let (settings, problems) =
        Settings::from_layers(&places(), &[loop_config("verify_cmds=\"make test | cd web && npm test\"\n")]);
    assert_eq!(problems, []);
    assert_eq!(settings.verify.value, ["make test", "sh -c 'cd web && npm test'"]);
    assert!(settings.verify.origin.comes_with_project(), "they need consent");
}

#[test]
fn the_shared_skills_directory_follows_its_variable() {
    let (settings, problems) = Settings::from_layers(&places(), &[environment(&[("SKILLS_DIR", "/srv/skills")])]);
    assert_eq!(problems, []);
    assert_eq!(settings.skills_extra_dirs.value.get(10).map(String::as_str), Some("/srv/skills"));
    assert_eq!(settings.skills_extra_dirs.origin.to_string(), "$SKILLS_DIR");
}

#[test]
fn every_key_has_a_name_a_meaning_and_a_value() {
    let settings = Settings::defaults(&places());
    for key in SettingKey::ALL {
        assert_eq!(SettingKey::from_word(key.as_str()), Some(key));
        assert!(key.meaning().ends_with('.'), "{key:?}");
        assert!(!settings.get(key).0.is_null());
    }
}

#[test]
fn checks_are_commands_and_no_shell_text() {
    let (settings, problems) =
        Settings::from_layers(&places(), &[project("verify = [\"cargo test\", \"./check 'a b'\"]\n")]);
    assert_eq!(problems, []);
    assert_eq!(settings.verify.value, ["cargo test", "./check 'a b'"]);
    assert!(settings.verify.origin.comes_with_project());
    let (settings, problems) = Settings::from_layers(&places(), &[flags(&["verify=cargo test"])]);
    assert_eq!((settings.verify.value.as_slice(), problems.len()), (&["cargo test".to_owned()][..], 0));
    assert!(!settings.verify.origin.comes_with_project());
    let (settings, problems) = Settings::from_layers(&places(), &[project("verify = [\"a\", \"rm x; ls\"]\n")]);
    assert!(settings.verify.value.is_empty());
    assert!(problems[0].help.starts_with("it must be commands: in `rm x; ls` `;` means"), "{problems:?}");
}

#[test]
fn a_project_may_turn_off_what_you_allow_and_not_turn_it_on() {
    let value = |yours: &str, project_says: &str| {
        let layers =
            [user(&format!("merge_when_done = {yours}\n")), project(&format!("merge_when_done = {project_says}\n"))];
        let (settings, problems) = Settings::from_layers(&places(), &layers);
        (settings.merge_when_done.value, problems.len())
    };
    assert_eq!(value("false", "true"), (false, 1));
    assert_eq!(value("true", "false"), (false, 0));
    assert_eq!(value("true", "true"), (true, 0));
}

#[test]
fn hosts_and_limits_of_agents_are_the_users() {
    let text = "network = \"hosts\"\nnetwork_hosts = [\"api.example.com\", \"*.example.org:8443\"]\n\
                agent_memory_mib = 2048\nagent_processes = 0\n";
    let (settings, problems) = Settings::from_layers(&places(), &[user(text)]);
    assert_eq!(problems, []);
    let hosts: Vec<String> = settings.network_hosts.value.iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["api.example.com", "*.example.org:8443"]);
    assert_eq!((settings.agent_memory_mib.value, settings.agent_processes.value), (Some(2048), None));
    let (settings, problems) = Settings::from_layers(&places(), &[project(text)]);
    assert_eq!((settings.network.value, problems.len()), (NetworkMode::All, 4));
    let (_, problems) = Settings::from_layers(&places(), &[user("network_hosts = [\"https://example.com\"]\n")]);
    assert!(problems[0].help.contains("`https://example.com` is not a host"), "{problems:?}");
}

#[test]
fn a_project_may_lower_a_budget_and_not_raise_it() {
    let value = |project_says: &str| {
        let layers = [user("plan_cost = 2.5\n"), project(project_says)];
        let (settings, problems) = Settings::from_layers(&places(), &layers);
        (settings.plan_cost.value, problems.len())
    };
    assert_eq!(value("plan_cost = 1\n"), (Some(1.0), 0));
    assert_eq!(value("plan_cost = 3\n"), (Some(2.5), 1));
    assert_eq!(value("plan_cost = 0\n"), (Some(2.5), 1), "no limit is more than any");
    let (settings, problems) = Settings::from_layers(&places(), &[project("task_tokens = 500\nplan_minutes = 0.5\n")]);
    assert_eq!((settings.task_tokens.value, settings.plan_minutes.value, problems.len()), (Some(500), Some(0.5), 0));
    let (settings, problems) = Settings::from_layers(&places(), &[user("task_cost = 1\n"), flags(&["task_cost=0"])]);
    assert_eq!((settings.task_cost.value, problems.len()), (None, 0));
    let (_, problems) = Settings::from_layers(&places(), &[user("task_cost = -1\ntask_minutes = \"long\"\n")]);
    assert_eq!(problems.len(), 2);
}
