//! View models of the settings screen.

use maestro_core::Settings;
use maestro_core::agent::{AgentCatalogue, CodingAgent, DEMO_AGENT};
use maestro_core::settings::{SettingKey, SettingOrigin};
use serde::Serialize;
use serde_json::Value as Json;

/// An agent, and whether it is installed.
#[derive(Debug, Serialize)]
pub(super) struct AgentRow {
    name: String,
    title: String,
    /// Its program.
    program: Option<String>,
    /// What was looked for.
    looked_for: Vec<String>,
    is_default: bool,
    can_resume: bool,
}

/// The agents, those that are installed first.
pub(super) fn agents(known: &AgentCatalogue, programs: &[Option<String>], default: &str) -> Vec<AgentRow> {
    let row = |(agent, program): (&CodingAgent, &Option<String>)| AgentRow {
        name: agent.name.clone(),
        title: agent.title.clone(),
        program: program.clone(),
        looked_for: agent.drivers().flat_map(|(_, launch)| launch.programs.clone()).collect(),
        is_default: agent.name == default,
        can_resume: agent.drivers().any(|(_, launch)| launch.can_resume()),
    };
    let all = known.all().iter().zip(programs).filter(|(agent, _)| agent.name != DEMO_AGENT);
    let mut rows: Vec<AgentRow> = all.map(row).collect();
    rows.retain(|row| !row.looked_for.is_empty());
    rows.sort_by_key(|row| row.program.is_none());
    for row in &mut rows {
        row.looked_for.sort();
        row.looked_for.dedup();
    }
    rows
}

/// A limit: what it is about, how it is set, and where.
#[derive(Debug, Serialize)]
pub(super) struct LimitRow {
    what: &'static str,
    key: &'static str,
    value: String,
    origin: String,
}

/// The limits that decide what work may cost and how long it may take.
pub(super) fn limits(settings: &Settings) -> Vec<LimitRow> {
    const ROWS: [(&str, SettingKey, LimitUnit); 8] = [
        ("Cost of all agents in a day", SettingKey::MaxCostDay, LimitUnit::Dollars),
        ("Cost of a plan", SettingKey::PlanCost, LimitUnit::Dollars),
        ("Cost of a task", SettingKey::TaskCost, LimitUnit::Dollars),
        ("Time of a task", SettingKey::TaskMinutes, LimitUnit::Minutes),
        ("Tokens of a task", SettingKey::TaskTokens, LimitUnit::Tokens),
        ("Time of a session", SettingKey::SessionMinutes, LimitUnit::Minutes),
        ("Silence of a session", SettingKey::SessionSilence, LimitUnit::Minutes),
        ("Wait for your answer", SettingKey::WaitMinutes, LimitUnit::Minutes),
    ];
    let row = |(what, key, unit): (&'static str, SettingKey, LimitUnit)| {
        let (value, origin) = settings.get(key);
        LimitRow { what, key: key.as_str(), value: unit.words(&value), origin: origin_words(origin) }
    };
    ROWS.map(row).into_iter().collect()
}

/// What a limit counts.
#[derive(Debug, Clone, Copy)]
enum LimitUnit {
    Dollars,
    Minutes,
    Tokens,
}

impl LimitUnit {
    fn words(self, value: &Json) -> String {
        match (value.as_f64().filter(|limit| *limit > 0.0), self) {
            (None, _) => "no limit".to_owned(),
            (Some(limit), Self::Dollars) => format!("${limit}"),
            (Some(limit), Self::Minutes) => format!("{limit} min"),
            (Some(limit), Self::Tokens) => format!("{limit} tokens"),
        }
    }
}

fn origin_words(origin: &SettingOrigin) -> String {
    match origin {
        SettingOrigin::File { path, line, .. } => {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            format!("{name}:{line}")
        }
        other => other.to_string(),
    }
}

/// How a person is notified while no page is open.
pub(super) fn notices(settings: &Settings) -> Vec<&'static str> {
    let command = (!settings.notify.value.is_empty()).then_some("a command of yours (`notify`)");
    let url = (!settings.notify_url.value.is_empty()).then_some("an address of yours (`notify_url`)");
    command.into_iter().chain(url).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_limit_says_so() {
        assert_eq!(LimitUnit::Dollars.words(&json!(0)), "no limit");
        assert_eq!(LimitUnit::Dollars.words(&json!(2.5)), "$2.5");
        assert_eq!(LimitUnit::Minutes.words(&json!(30.0)), "30 min");
    }
}
