//! `maestro config`: the settings in force, and who set them.

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

#[test]
fn every_setting_is_shown_with_its_default() {
    assert_snapshot!(Sandbox::new().maestro("config show"), @r#"
    $ maestro config show
    skills_enabled             = false
    skills_dirs                = [".agent/skills","~/.agent/skills",".claude/skills","~/.claude/skills"]
    skills_extra_dirs          = [".agents/skills","~/.agents/skills",".opencode/skills","~/.config/opencode/skills",".cursor/skills",".aider/skills",".skills",".maestro/skills","~/.skills","~/.maestro/skills","~/.agents-ui/maestro-skills","~/.cursor/skills",".codex/skills","~/.codex/skills",".gemini/skills","~/.gemini/skills",".github/skills","~/.copilot/skills",".goose/skills","~/.config/goose/skills","~/.config/agents/skills","~/.gemini/antigravity/skills","~/.gemini/antigravity-cli/skills",".windsurf/skills","~/.codeium/windsurf/skills",".kiro/skills","~/.kiro/skills",".qwen/skills","~/.qwen/skills",".junie/skills","~/.junie/skills",".cline/skills","~/.cline/skills",".crush/skills","~/.config/crush/skills",".roo/skills","~/.roo/skills",".kilocode/skills","~/.kilocode/skills","~/.claude/plugins"]
    skills_builtin             = true
    skills_builtin_dir         = "[PROJECT]/skills"
    skills_sync_dir            = "[HOME]/.local/share/maestro/skills"
    skills_sync_on_start       = true
    skills_validation          = "lenient"
    skills_index               = true
    skills_learn               = true
    prompt_skills              = true
    skills_max_selected_impl   = 2
    skills_max_selected_review = 1
    skills_load_references     = false
    skills_max_body_chars      = 20000
    skills_budget_tokens       = 4000
    prompt_max_chars           = 200000
    session_silence_minutes    = 15
    session_minutes            = 60.0
    session_silence            = 10.0
    wait_minutes               = 30.0
    outage_pause               = 30.0
    task_when_done             = "completed"
    event_retention_days       = 30
    backups_kept               = 7
    agent                      = ""
    demo_agent                 = false
    agent_env                  = []
    network                    = "all"
    network_hosts              = []
    agent_memory_mib           = 0
    agent_processes            = 4096
    confinement                = "auto"
    verify                     = []
    worktree_copy              = []
    merge_when_done            = false
    worktree_setup             = []
    git_sign                   = false
    git_hooks                  = false
    task_minutes               = 0.0
    task_tokens                = 0
    task_cost                  = 5.0
    max_cost_day               = 50.0
    plan_minutes               = 0.0
    plan_tokens                = 0
    plan_cost                  = 0.0
    notify                     = []
    notify_url                 = ""
    tool_prefix                = ""
    mcp_forms                  = "auto"
    mcp_permission             = "edits"
    auth                       = "token"
    "#);
}

#[test]
fn one_setting_can_be_asked_for() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.maestro("config show skills_validation"), @r#"
    $ maestro config show skills_validation
    skills_validation = "lenient"
    "#);
    assert_snapshot!(sandbox.maestro("config show skills_validation --json"), @r#"
    $ maestro config show skills_validation --json
    {
      "settings": {
        "skills_validation": {
          "value": "lenient",
          "origin": "default"
        }
      },
      "files": [
        {
          "path": "[HOME]/.config/maestro/config.toml",
          "exists": false
        },
        {
          "path": "[PROJECT]/.loop/config",
          "exists": false
        },
        {
          "path": "[PROJECT]/.maestro/config.toml",
          "exists": false
        }
      ],
      "problems": []
    }
    "#);
}

#[test]
fn a_setting_nobody_knows_is_not_found_and_a_close_one_suggested() {
    assert_snapshot!(Sandbox::new().maestro("config show skills_validaton"), @"
    $ maestro config show skills_validaton
    --- stderr
    error: unknown setting `skills_validaton`
    hint: did you mean `skills_validation`?
    --- exit 2
    ");
}

#[test]
fn each_layer_wins_over_the_one_before() {
    let layers = Sandbox::new().with_variable("MAESTRO_SKILLS_MAX_SELECTED_IMPL", "6");
    let origin = |sandbox: &Sandbox, more: &[&str]| {
        let args = [&["config", "show", "skills_max_selected_impl", "--json"], more].concat();
        let shown = sandbox.maestro_with(&args);
        let setting = shown.json()["settings"]["skills_max_selected_impl"].clone();
        let origin = setting["origin"].as_str().unwrap().replace(sandbox.home().to_str().unwrap(), "[HOME]");
        let origin = origin.replace(sandbox.project().to_str().unwrap(), "[PROJECT]");
        format!("{} from {origin}", setting["value"])
    };
    let sandbox = Sandbox::new();
    assert_eq!(origin(&sandbox, &[]), "2 from default");
    sandbox.write("~/.config/maestro/config.toml", "\nskills_max_selected_impl = 3\n");
    assert_eq!(origin(&sandbox, &[]), "3 from [HOME]/.config/maestro/config.toml:2");
    sandbox.write(".loop/config", "# loopd\nmodel=\"opus\"\nskills_max_selected_impl=4\n");
    assert_eq!(origin(&sandbox, &[]), "4 from [PROJECT]/.loop/config:3");
    sandbox.write(".maestro/config.toml", "skills_max_selected_impl = 5\n");
    assert_eq!(origin(&sandbox, &[]), "5 from [PROJECT]/.maestro/config.toml:1");
    layers.write(".maestro/config.toml", "skills_max_selected_impl = 5\n");
    assert_eq!(origin(&layers, &[]), "6 from $MAESTRO_SKILLS_MAX_SELECTED_IMPL");
    assert_eq!(origin(&layers, &["--set", "skills_max_selected_impl=7"]), "7 from --set");
}

#[test]
#[expect(clippy::too_many_lines, reason = "the list has a line for each setting")]
fn origin_says_where_each_value_comes_from() {
    let sandbox = Sandbox::new()
        .with_variable("MAESTRO_SKILLS_LOAD_REFERENCES", "yes")
        .with_variable("SKILLS_DIR", "/srv/maestro-skills");
    sandbox.write("~/.config/maestro/config.toml", "skills_dirs = [\"~/kit\"]\nskills_sync_dir = \"~/packs\"\n");
    sandbox.write(".loop/config", "skills_max_selected_review=3\n");
    sandbox.write(".maestro/config.toml", "# Ours\nskills_enabled = true\nskills_builtin_dir = \"tools/skills\"\n");
    assert_snapshot!(sandbox.maestro("config show --origin --set skills_max_body_chars=500"), @r#"
    $ maestro config show --origin --set skills_max_body_chars=500
    skills_enabled             = true
                                 [PROJECT]/.maestro/config.toml:2
    skills_dirs                = ["~/kit"]
                                 [HOME]/.config/maestro/config.toml:1
    skills_extra_dirs          = [".agents/skills","~/.agents/skills",".opencode/skills","~/.config/opencode/skills",".cursor/skills",".aider/skills",".skills",".maestro/skills","~/.skills","~/.maestro/skills","/srv/maestro-skills","~/.cursor/skills",".codex/skills","~/.codex/skills",".gemini/skills","~/.gemini/skills",".github/skills","~/.copilot/skills",".goose/skills","~/.config/goose/skills","~/.config/agents/skills","~/.gemini/antigravity/skills","~/.gemini/antigravity-cli/skills",".windsurf/skills","~/.codeium/windsurf/skills",".kiro/skills","~/.kiro/skills",".qwen/skills","~/.qwen/skills",".junie/skills","~/.junie/skills",".cline/skills","~/.cline/skills",".crush/skills","~/.config/crush/skills",".roo/skills","~/.roo/skills",".kilocode/skills","~/.kilocode/skills","~/.claude/plugins"]
                                 $SKILLS_DIR
    skills_builtin             = true
                                 default
    skills_builtin_dir         = "[PROJECT]/tools/skills"
                                 [PROJECT]/.maestro/config.toml:3
    skills_sync_dir            = "[HOME]/packs"
                                 [HOME]/.config/maestro/config.toml:2
    skills_sync_on_start       = true
                                 default
    skills_validation          = "lenient"
                                 default
    skills_index               = true
                                 default
    skills_learn               = true
                                 default
    prompt_skills              = true
                                 default
    skills_max_selected_impl   = 2
                                 default
    skills_max_selected_review = 3
                                 [PROJECT]/.loop/config:1
    skills_load_references     = true
                                 $MAESTRO_SKILLS_LOAD_REFERENCES
    skills_max_body_chars      = 500
                                 --set
    skills_budget_tokens       = 4000
                                 default
    prompt_max_chars           = 200000
                                 default
    session_silence_minutes    = 15
                                 default
    session_minutes            = 60.0
                                 default
    session_silence            = 10.0
                                 default
    wait_minutes               = 30.0
                                 default
    outage_pause               = 30.0
                                 default
    task_when_done             = "completed"
                                 default
    event_retention_days       = 30
                                 default
    backups_kept               = 7
                                 default
    agent                      = ""
                                 default
    demo_agent                 = false
                                 default
    agent_env                  = []
                                 default
    network                    = "all"
                                 default
    network_hosts              = []
                                 default
    agent_memory_mib           = 0
                                 default
    agent_processes            = 4096
                                 default
    confinement                = "auto"
                                 default
    verify                     = []
                                 default
    worktree_copy              = []
                                 default
    merge_when_done            = false
                                 default
    worktree_setup             = []
                                 default
    git_sign                   = false
                                 default
    git_hooks                  = false
                                 default
    task_minutes               = 0.0
                                 default
    task_tokens                = 0
                                 default
    task_cost                  = 5.0
                                 default
    max_cost_day               = 50.0
                                 default
    plan_minutes               = 0.0
                                 default
    plan_tokens                = 0
                                 default
    plan_cost                  = 0.0
                                 default
    notify                     = []
                                 default
    notify_url                 = ""
                                 default
    tool_prefix                = ""
                                 default
    mcp_forms                  = "auto"
                                 default
    mcp_permission             = "edits"
                                 default
    auth                       = "token"
                                 default
    "#);
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is one snapshot of every setting")]
fn programs_get_every_value_with_its_origin_and_the_files_looked_at() {
    let sandbox = Sandbox::new();
    sandbox.write(".maestro/config.toml", "skills_enabled = true\n");
    assert_snapshot!(sandbox.maestro("config show --json"), @r#"
    $ maestro config show --json
    {
      "settings": {
        "skills_enabled": {
          "value": true,
          "origin": "[PROJECT]/.maestro/config.toml:1"
        },
        "skills_dirs": {
          "value": [
            ".agent/skills",
            "~/.agent/skills",
            ".claude/skills",
            "~/.claude/skills"
          ],
          "origin": "default"
        },
        "skills_extra_dirs": {
          "value": [
            ".agents/skills",
            "~/.agents/skills",
            ".opencode/skills",
            "~/.config/opencode/skills",
            ".cursor/skills",
            ".aider/skills",
            ".skills",
            ".maestro/skills",
            "~/.skills",
            "~/.maestro/skills",
            "~/.agents-ui/maestro-skills",
            "~/.cursor/skills",
            ".codex/skills",
            "~/.codex/skills",
            ".gemini/skills",
            "~/.gemini/skills",
            ".github/skills",
            "~/.copilot/skills",
            ".goose/skills",
            "~/.config/goose/skills",
            "~/.config/agents/skills",
            "~/.gemini/antigravity/skills",
            "~/.gemini/antigravity-cli/skills",
            ".windsurf/skills",
            "~/.codeium/windsurf/skills",
            ".kiro/skills",
            "~/.kiro/skills",
            ".qwen/skills",
            "~/.qwen/skills",
            ".junie/skills",
            "~/.junie/skills",
            ".cline/skills",
            "~/.cline/skills",
            ".crush/skills",
            "~/.config/crush/skills",
            ".roo/skills",
            "~/.roo/skills",
            ".kilocode/skills",
            "~/.kilocode/skills",
            "~/.claude/plugins"
          ],
          "origin": "default"
        },
        "skills_builtin": {
          "value": true,
          "origin": "default"
        },
        "skills_builtin_dir": {
          "value": "[PROJECT]/skills",
          "origin": "default"
        },
        "skills_sync_dir": {
          "value": "[HOME]/.local/share/maestro/skills",
          "origin": "default"
        },
        "skills_sync_on_start": {
          "value": true,
          "origin": "default"
        },
        "skills_validation": {
          "value": "lenient",
          "origin": "default"
        },
        "skills_index": {
          "value": true,
          "origin": "default"
        },
        "skills_learn": {
          "value": true,
          "origin": "default"
        },
        "prompt_skills": {
          "value": true,
          "origin": "default"
        },
        "skills_max_selected_impl": {
          "value": 2,
          "origin": "default"
        },
        "skills_max_selected_review": {
          "value": 1,
          "origin": "default"
        },
        "skills_load_references": {
          "value": false,
          "origin": "default"
        },
        "skills_max_body_chars": {
          "value": 20000,
          "origin": "default"
        },
        "skills_budget_tokens": {
          "value": 4000,
          "origin": "default"
        },
        "prompt_max_chars": {
          "value": 200000,
          "origin": "default"
        },
        "session_silence_minutes": {
          "value": 15,
          "origin": "default"
        },
        "session_minutes": {
          "value": 60.0,
          "origin": "default"
        },
        "session_silence": {
          "value": 10.0,
          "origin": "default"
        },
        "wait_minutes": {
          "value": 30.0,
          "origin": "default"
        },
        "outage_pause": {
          "value": 30.0,
          "origin": "default"
        },
        "task_when_done": {
          "value": "completed",
          "origin": "default"
        },
        "event_retention_days": {
          "value": 30,
          "origin": "default"
        },
        "backups_kept": {
          "value": 7,
          "origin": "default"
        },
        "agent": {
          "value": "",
          "origin": "default"
        },
        "demo_agent": {
          "value": false,
          "origin": "default"
        },
        "agent_env": {
          "value": [],
          "origin": "default"
        },
        "network": {
          "value": "all",
          "origin": "default"
        },
        "network_hosts": {
          "value": [],
          "origin": "default"
        },
        "agent_memory_mib": {
          "value": 0,
          "origin": "default"
        },
        "agent_processes": {
          "value": 4096,
          "origin": "default"
        },
        "confinement": {
          "value": "auto",
          "origin": "default"
        },
        "verify": {
          "value": [],
          "origin": "default"
        },
        "worktree_copy": {
          "value": [],
          "origin": "default"
        },
        "merge_when_done": {
          "value": false,
          "origin": "default"
        },
        "worktree_setup": {
          "value": [],
          "origin": "default"
        },
        "git_sign": {
          "value": false,
          "origin": "default"
        },
        "git_hooks": {
          "value": false,
          "origin": "default"
        },
        "task_minutes": {
          "value": 0.0,
          "origin": "default"
        },
        "task_tokens": {
          "value": 0,
          "origin": "default"
        },
        "task_cost": {
          "value": 5.0,
          "origin": "default"
        },
        "max_cost_day": {
          "value": 50.0,
          "origin": "default"
        },
        "plan_minutes": {
          "value": 0.0,
          "origin": "default"
        },
        "plan_tokens": {
          "value": 0,
          "origin": "default"
        },
        "plan_cost": {
          "value": 0.0,
          "origin": "default"
        },
        "notify": {
          "value": [],
          "origin": "default"
        },
        "notify_url": {
          "value": "",
          "origin": "default"
        },
        "tool_prefix": {
          "value": "",
          "origin": "default"
        },
        "mcp_forms": {
          "value": "auto",
          "origin": "default"
        },
        "mcp_permission": {
          "value": "edits",
          "origin": "default"
        },
        "auth": {
          "value": "token",
          "origin": "default"
        }
      },
      "files": [
        {
          "path": "[HOME]/.config/maestro/config.toml",
          "exists": false
        },
        {
          "path": "[PROJECT]/.loop/config",
          "exists": false
        },
        {
          "path": "[PROJECT]/.maestro/config.toml",
          "exists": true
        }
      ],
      "problems": []
    }
    "#);
}

#[test]
fn a_tilde_is_the_home_directory() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.config/maestro/config.toml", "skills_sync_dir = \"~/packs\"\n");
    assert_snapshot!(sandbox.maestro("config show skills_sync_dir"), @r#"
    $ maestro config show skills_sync_dir
    skills_sync_dir = "[HOME]/packs"
    "#);
    sandbox.maestro("skills read maestro-cli");
    assert!(sandbox.path("~/packs/builtin/maestro-cli/skill.md").is_file());
    assert!(!sandbox.sync_dir().exists());
}

#[test]
fn a_typo_in_a_config_file_stops_a_command_and_is_explained() {
    let sandbox = Sandbox::new();
    sandbox.write(".maestro/config.toml", "# Ours\nskills_enabeld = true\n");
    let listed = sandbox.maestro("skills list");
    assert_eq!(listed.stdout(), "");
    assert_snapshot!(listed, @"
    $ maestro skills list
    --- stderr
    error: the configuration has errors
      because [PROJECT]/.maestro/config.toml:2:1: unknown setting `skills_enabeld` (did you mean `skills_enabled`?)
    hint: run `maestro doctor` for all problems, `maestro config show --origin` for every setting
    --- exit 1
    ");
}

#[test]
fn show_prints_what_it_can_and_what_is_wrong() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.config/maestro/config.toml", "skills_enabled = true\nskils_dirs = []\n");
    assert_snapshot!(sandbox.maestro("config show skills_enabled"), @"
    $ maestro config show skills_enabled
    skills_enabled = true
    --- stderr
    error[config-unknown]: unknown setting `skils_dirs`
      --> [HOME]/.config/maestro/config.toml:2:1
      hint: did you mean `skills_dirs`?
    --- exit 1
    ");
}

#[test]
fn a_value_of_the_wrong_kind_is_explained_for_every_key() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".maestro/config.toml",
        "skills_enabled = \"maybe\"\nskills_dirs = \"kit\"\nskills_max_selected_impl = -1\nskills_validation = \"harsh\"\nskills_sync_dir = 7\n",
    );
    assert_snapshot!(sandbox.maestro("skills list"), @r#"
    $ maestro skills list
    --- stderr
    error: the configuration has errors
      because [PROJECT]/.maestro/config.toml:1:18: `skills_enabled` is `maybe` (it must be true or false)
      because [PROJECT]/.maestro/config.toml:2:15: `skills_dirs` is `kit` (it must be a list of paths)
      because [PROJECT]/.maestro/config.toml:3:28: `skills_max_selected_impl` is -1 (it must be a whole number from 0 to 255)
      because [PROJECT]/.maestro/config.toml:4:21: `skills_validation` is `harsh` (it must be "lenient" or "strict")
      because [PROJECT]/.maestro/config.toml:5:19: `skills_sync_dir` is 7 (it must be a path)
    hint: run `maestro doctor` for all problems, `maestro config show --origin` for every setting
    --- exit 1
    "#);
}

#[test]
fn a_file_that_is_not_toml_is_explained_at_its_place() {
    let sandbox = Sandbox::new();
    sandbox.write(".maestro/config.toml", "skills_enabled = true\nskills_dirs = [\"a\"\n");
    assert_snapshot!(sandbox.maestro("skills list"), @"
    $ maestro skills list
    --- stderr
    error: the configuration has errors
      because [PROJECT]/.maestro/config.toml:2:19: not valid TOML: unclosed array, expected `]` (write one `key = value` a line; text stands in quotes, lists in [ ])
    hint: run `maestro doctor` for all problems, `maestro config show --origin` for every setting
    --- exit 1
    ");
}

#[test]
fn a_file_that_is_not_text_is_explained() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.config/maestro/config.toml", b"\xff\xfe");
    assert_snapshot!(sandbox.maestro("skills list"), @"
    $ maestro skills list
    --- stderr
    error: the configuration has errors
      because [HOME]/.config/maestro/config.toml:1:1: the file is not UTF-8 text (fix or remove the file)
    hint: run `maestro doctor` for all problems, `maestro config show --origin` for every setting
    --- exit 1
    ");
}

#[test]
fn a_pipe_in_place_of_a_file_is_not_waited_for() {
    let sandbox = Sandbox::new();
    sandbox.write(".maestro/README", "");
    let made = std::process::Command::new("mkfifo").arg(sandbox.path(".maestro/config.toml")).status().unwrap();
    assert!(made.success());
    assert_snapshot!(sandbox.maestro("skills list"), @"
    $ maestro skills list
    --- stderr
    error: the configuration has errors
      because [PROJECT]/.maestro/config.toml:1:1: not a regular file (fix or remove the file)
    hint: run `maestro doctor` for all problems, `maestro config show --origin` for every setting
    --- exit 1
    ");
}

#[test]
fn a_wrong_variable_and_a_wrong_flag_are_named_as_such() {
    let sandbox = Sandbox::new()
        .with_variable("MAESTRO_SKILLS_ENABLED", "perhaps")
        .with_variable("MAESTRO_SKILLS_DIR", "/srv/skills");
    let args = ["skills", "list", "--set", "skills_builtin", "--set", "skills_valdation=strict"];
    assert_snapshot!(sandbox.maestro_with(&args), @"
    $ maestro skills list --set skills_builtin --set skills_valdation=strict
    --- stderr
    error: the configuration has errors
      because $MAESTRO_SKILLS_DIR: unknown setting `skills_dir` (did you mean `skills_dirs`?)
      because $MAESTRO_SKILLS_ENABLED: `skills_enabled` is `perhaps` (it must be true or false)
      because --set: `skills_builtin` is not a key=value pair (write --set key=value)
      because --set: unknown setting `skills_valdation` (did you mean `skills_validation`?)
    hint: run `maestro doctor` for all problems, `maestro config show --origin` for every setting
    --- exit 1
    ");
}

#[test]
fn variables_that_are_no_settings_are_left_to_others() {
    let sandbox =
        Sandbox::new().with_variable("MAESTRO_TASK_ID", "task_1").with_variable("MAESTRO_API_URL", "http://x");
    assert_eq!(sandbox.maestro("skills list").code, 0);
}

#[test]
fn a_project_cannot_make_maestro_write_outside_itself() {
    let sandbox = Sandbox::new();
    sandbox.write(".maestro/config.toml", "skills_sync_dir = \"~/.ssh\"\n");
    let before = sandbox.tree();
    assert_snapshot!(sandbox.maestro("skills list"), @"
    $ maestro skills list
    --- stderr
    error: the configuration has errors
      because [PROJECT]/.maestro/config.toml:1:19: a project may not set `skills_sync_dir` to a directory outside itself (name a directory inside the project, or set it in your own config.toml)
    hint: run `maestro doctor` for all problems, `maestro config show --origin` for every setting
    --- exit 1
    ");
    assert_eq!(sandbox.tree(), before);
}

#[test]
fn what_loopd_alone_understands_is_only_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.write(".loop/config", "model=opus\nskills_enabled=true\nbanana=1\n");
    assert_snapshot!(sandbox.maestro("config show skills_enabled --origin"), @"
    $ maestro config show skills_enabled --origin
    skills_enabled = true
                     [PROJECT]/.loop/config:2
    --- stderr
    warning[config-unknown]: unknown setting `banana`
      --> [PROJECT]/.loop/config:3:1
      hint: `maestro config show` lists every setting
    ");
    assert_eq!(sandbox.maestro("skills list").code, 0);
}

#[test]
fn the_nearest_config_up_to_the_project_root_counts() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
    sandbox.write(".maestro/config.toml", "skills_enabled = false\n");
    sandbox.write("web/.maestro/config.toml", "skills_enabled = true\n");
    sandbox.write("web/src/main.ts", "");
    let shown = sandbox.maestro_in("web/src", &["config", "show", "skills_enabled", "--origin"]);
    assert_snapshot!(shown, @"
    $ maestro config show skills_enabled --origin
    skills_enabled = true
                     [PROJECT]/web/.maestro/config.toml:1
    ");
}

#[test]
fn config_set_changes_one_line_of_the_users_own_file() {
    let sandbox = Sandbox::new();
    sandbox.write("~/.config/maestro/config.toml", "# mine\nskills_index = false\n");
    assert_snapshot!(sandbox.maestro("config set skills_index true"), @"
    $ maestro config set skills_index true
    skills_index = true in ~/.config/maestro/config.toml
    ");
    assert_snapshot!(sandbox.maestro("config set skills_validation strict"), @r#"
    $ maestro config set skills_validation strict
    skills_validation = "strict" in ~/.config/maestro/config.toml
    "#);
    let text = std::fs::read_to_string(sandbox.path("~/.config/maestro/config.toml")).unwrap();
    assert_eq!(text, "# mine\nskills_index = true\nskills_validation = \"strict\"\n");
    assert_eq!(sandbox.maestro("config get skills_validation").stdout(), "strict\n");

    let refused = sandbox.maestro("config set skills_validation sometimes");
    assert_eq!(refused.code, 1, "{refused}");
    assert_eq!(sandbox.maestro("config set skill_index true").code, 2);
    assert_eq!(std::fs::read_to_string(sandbox.path("~/.config/maestro/config.toml")).unwrap(), text);
}

#[test]
fn the_first_setting_of_a_project_leaves_skills_as_a_loop_would_have_them() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.maestro_with(&["config", "set", "--project", "verify", "true"]).code, 0);
    assert_eq!(sandbox.maestro("config get skills_enabled").stdout(), "true\n");
    let sandbox = Sandbox::new();
    sandbox.write(".loop/config", "skills_enabled=false\n");
    assert_eq!(sandbox.maestro_with(&["config", "set", "--project", "verify", "true"]).code, 0);
    assert_eq!(sandbox.maestro("config get skills_enabled").stdout(), "false\n", "the project has a config already");
}
