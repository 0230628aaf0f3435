//! The keys of all settings and their meanings. The configuration reference is made from this list.

use crate::closest_word;
use crate::word_enum::described_words;

described_words! {
    /// The name of a setting.
    pub enum SettingKey {
        SkillsEnabled = "skills_enabled", "Whether agents that Maestro starts are given skills.";
        SkillsDirs = "skills_dirs", "Where skills are looked for first. Relative entries are looked up from the working directory up to the repository's root.";
        SkillsExtraDirs = "skills_extra_dirs", "Where skills are looked for next.";
        SkillsBuiltin = "skills_builtin", "Whether the skills that come with Maestro are in the catalogue.";
        SkillsBuiltinDir = "skills_builtin_dir", "The workspace's own skill pack, relative to the project.";
        SkillsSyncDir = "skills_sync_dir", "Where skill packs are copied so that agents can read their files.";
        SkillsSyncOnStart = "skills_sync_on_start", "Whether packs are copied when something starts agents.";
        SkillsValidation = "skills_validation", "`lenient` loads what can be understood; `strict` skips skills that break the Agent Skills rules.";
        SkillsIndex = "skills_index", "Whether what was read of skills is kept for the next command.";
        SkillsLearn = "skills_learn", "Whether it is counted, on this machine, how often a project's skills were of use; the counts decide only between skills that fit equally well.";
        PromptSkills = "prompt_skills", "Whether the hooks of `maestro connect --hooks` add skills to your own prompts.";
        SkillsMaxSelectedImpl = "skills_max_selected_impl", "How many skills an implementation step is given at most.";
        SkillsMaxSelectedReview = "skills_max_selected_review", "How many skills a review step is given at most.";
        SkillsLoadReferences = "skills_load_references", "Whether a skill's `references/` are loaded with it.";
        SkillsMaxBodyChars = "skills_max_body_chars", "How many characters of a skill's text go into a prompt.";
        SkillsBudgetTokens = "skills_budget_tokens", "How many tokens the table of available skills may take in a prompt.";
        PromptMaxChars = "prompt_max_chars", "The limit of an agent's prompt, in characters; what does not fit is cut, and the cut is reported.";
        SessionSilenceMinutes = "session_silence_minutes", "After how many minutes without a sign of life a session counts as gone.";
        SessionMinutes = "session_minutes", "For how many minutes an agent may work in one session.";
        SessionSilence = "session_silence", "After how many minutes without output, an open tool call or use of the processor an agent is stopped.";
        WaitMinutes = "wait_minutes", "For how many minutes a question of an agent in a loop waits for your answer before its task counts as stopped.";
        OutagePause = "outage_pause", "After how many seconds an agent whose model is out of reach or refuses more requests is started again; each further pause is twice as long, up to two hours by default.";
        TaskWhenDone = "task_when_done", "What a task becomes when its work is done: `completed`, or `in_review` so that a person reviews it first.";
        EventRetentionDays = "event_retention_days", "For how many days events of finished things are kept. A project's file may not set it.";
        BackupsKept = "backups_kept", "How many automatic backups of a SQLite database a server keeps, one a day; 0 for none. A project's file may not set it.";
        Agent = "agent", "The coding agent that is started when none is named; without it the first one that is installed.";
        DemoAgent = "demo_agent", "Whether the demo agent, which executes what its prompt says, may be started where no person names it. What a project's file says counts only after `maestro trust --config`.";
        AgentEnv = "agent_env", "Further variables of your environment that agents get, such as `MY_TOOL_*`: they get the usual ones and those of their own models. A project's file may not set it.";
        Network = "network", "What agents reach over the network: `all`, `none` but themselves and Maestro, or only the `hosts` of `network_hosts`. A project's file may not set it.";
        NetworkHosts = "network_hosts", "The hosts that agents reach with `network = \"hosts\"`, by an HTTP proxy of Maestro's: names, `*.example.com` for all subdomains, addresses, at the ports 80 and 443 or at a named one (`example.com:22`). Name the host of their model, too. A project's file may not set it.";
        AgentMemoryMib = "agent_memory_mib", "How much memory an agent and its programs may use, in MiB, where control groups are delegated to you; 0 for no limit. A project's file may not set it.";
        AgentProcesses = "agent_processes", "How many processes an agent may have at once, where control groups are delegated to you; 0 for no limit. A project's file may not set it.";
        Confinement = "confinement", "What confines agents and commands: `namespaces`, `landlock`, or `auto` for the first of these that works. A project's file may not set it.";
        Verify = "verify", "The checks of a workflow's `verify`: commands, each split into words as in a workflow. What a project's file names is run only after `maestro trust --config`.";
        WorktreeCopy = "worktree_copy", "Ignored files that a new worktree gets copies of: patterns as in `.gitignore`, besides those in `.worktreeinclude`.";
        MergeWhenDone = "merge_when_done", "Whether `maestro loop` and `maestro do` merge their branch into the one that is checked out once all is done; else it is left to you. A project's file may turn it off, and not on.";
        WorktreeSetup = "worktree_setup", "What makes a new worktree ready before an agent starts: commands, split into words as `verify` is. What a project's file names is run only after `maestro trust --config`.";
        GitSign = "git_sign", "Whether Maestro's commits are signed with your key, as your own git config says (`user.signingKey`, `gpg.format`). A project's file may not set it.";
        GitHooks = "git_hooks", "Whether the repository's hooks `pre-commit` and `commit-msg` run before a commit of Maestro's, inside the sandbox. A project's file may not set it.";
        TaskMinutes = "task_minutes", "For how many minutes agents may work at a task of a loop, all its sessions together; 0 for no limit, here and with the next six. A project's file may lower what you set, and not raise it.";
        TaskTokens = "task_tokens", "How many tokens they may use for a task.";
        TaskCost = "task_cost", "How many dollars they may cost for a task, as reported by the agents. An agent that reaches it is paused, and you are asked.";
        MaxCostDay = "max_cost_day", "How many dollars all your agents may cost within 24 hours, as reported by the agents; 0 for no limit. An agent that reaches it is paused, and you are asked. A project's file may not set it.";
        PlanMinutes = "plan_minutes", "For how many minutes agents may work at a plan, all tasks together.";
        PlanTokens = "plan_tokens", "How many tokens they may use for a plan.";
        PlanCost = "plan_cost", "How many dollars they may cost for a plan.";
        Notify = "notify", "The command that is run when a run waits for you, stopped or is ready: a program and its arguments, run with your rights. It gets the message as a last argument and as JSON on its input. A project's file may not set it.";
        NotifyUrl = "notify_url", "The address that the same JSON is posted to (`http://` or `https://`). A project's file may not set it.";
        ToolPrefix = "tool_prefix", "What the names of workflows' and commands' tools begin with over MCP: `s9-` makes `session-start` the tool `s9-session-start`.";
        McpForms = "mcp_forms", "Whether questions are put to users by forms of MCP clients that have them: `always`, `never` (then the model asks), or `auto`, which takes a refusal that comes faster than anybody reads for a client without a user.";
        McpPermission = "mcp_permission", "The most that agents may do without asking in runs that a model starts over MCP: `ask`, `edits` or `all`. A project's file may not set it.";
        Auth = "auth", "`token` asks every caller over the network for a token, on this machine too; `open` accepts every caller, which makes every program on this machine you. The old words `local` and `required` mean `token`. A project's file may not set it.";
    }
}

impl SettingKey {
    /// Why a project's file may not set it; nothing where it may.
    pub(super) fn refused_to_projects(self) -> Option<&'static str> {
        match self {
            Self::Auth | Self::EventRetentionDays | Self::BackupsKept => {
                Some("set it in your own config.toml: it holds for everything that is stored, of all projects")
            }
            Self::AgentEnv
            | Self::Network
            | Self::NetworkHosts
            | Self::AgentMemoryMib
            | Self::AgentProcesses
            | Self::Confinement
            | Self::McpPermission
            | Self::MaxCostDay
            | Self::Notify
            | Self::NotifyUrl
            | Self::GitSign
            | Self::GitHooks => Some("set it in your own config.toml: it limits what a project's agents can do"),
            _ => None,
        }
    }

    /// The setting that a mistyped name, or a word for the same thing, means.
    pub fn closest(name: &str) -> Option<Self> {
        match name.to_lowercase().as_str() {
            "keep_days" | "keep-days" | "retention" | "retention_days" => Some(Self::EventRetentionDays),
            typed => closest_word::closest(typed, Self::ALL.iter().map(|key| key.as_str())).and_then(Self::from_word),
        }
    }

    /// The environment variable that sets it.
    pub fn variable(self) -> String {
        format!("MAESTRO_{}", self.as_str().to_uppercase())
    }
}
