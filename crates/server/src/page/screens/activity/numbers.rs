//! Numbers about finished work: tasks, time, rounds, outcomes, spending and skills of the last days.

#![allow(clippy::cast_precision_loss, reason = "a drawing need not be exact")]

use maestro_core::id::ProjectId;
use maestro_store::{FinishedTask, WorkNumbers, WorkNumbersQuery};
use serde_json::json;

use super::charts::{ChartBar, NumberChart};
use crate::app::AppState;
use crate::error::ApiError;
use crate::page::clock::day_label;
use crate::page::fragments::ScreenRenderer;

const DAY: i64 = 24 * 60 * 60 * 1000;
/// How many finished tasks are needed.
const ENOUGH: usize = 5;
/// How many agents and skills are shown.
const SHOWN: usize = 10;

/// Renders the numbers of the last days.
pub(super) async fn render(
    app: &AppState,
    project: Option<ProjectId>,
    days: i64,
    screen: &mut ScreenRenderer<'_>,
) -> Result<(), ApiError> {
    let days = days.clamp(1, 90);
    let today = screen.now().div_euclid(DAY);
    let since = (today - days + 1) * DAY;
    let numbers = app.store.read(WorkNumbersQuery { project, since }).await?;
    let charts = if numbers.tasks.len() < ENOUGH { Vec::new() } else { charts(&numbers, today, days) };
    screen.list("charts", "activity/chart.html", charts.iter().map(|chart| (chart.id, chart)))?;
    let note = charts.is_empty().then_some("Numbers appear after 5 finished tasks.");
    screen.part("charts-note", "shell/note.html", json!({ "note": note }))?;
    Ok(())
}

fn charts(numbers: &WorkNumbers, today: i64, days: i64) -> Vec<NumberChart> {
    let done: Vec<&FinishedTask> = numbers.tasks.iter().filter(|task| task.done).collect();
    let mut charts = vec![
        NumberChart::by_day(
            "tasks-done",
            "Tasks done",
            format!("{} in {days} days", done.len()),
            days_of(today, days, |day| {
                let count = done.iter().filter(|task| task.at.div_euclid(DAY) == day).count();
                (count as f64, count.to_string())
            }),
        ),
        NumberChart::by_day(
            "task-time",
            "Time per task",
            middle_note(&done),
            days_of(today, days, |day| {
                let mut took: Vec<i64> =
                    done.iter().filter(|task| task.at.div_euclid(DAY) == day).filter_map(|task| task.took).collect();
                middle(&mut took).map_or((0.0, "–".to_owned()), |middle| (middle as f64, minutes(middle)))
            }),
        ),
        rounds_chart(&numbers.tasks),
        NumberChart::rows(
            "outcomes",
            "Outcomes",
            String::new(),
            vec![
                bar("done", done.len() as f64, done.len().to_string()),
                bar(
                    "stopped",
                    (numbers.tasks.len() - done.len()) as f64,
                    (numbers.tasks.len() - done.len()).to_string(),
                ),
            ],
        ),
    ];
    let mut agents: Vec<_> = numbers.agents.iter().collect();
    agents.sort_by_key(|(_, spent)| std::cmp::Reverse((spent.tokens, spent.sessions)));
    let named = |name: &str| if name.is_empty() { "no agent named".to_owned() } else { name.to_owned() };
    let tokens =
        agents.iter().take(SHOWN).map(|(name, spent)| bar(&named(name), spent.tokens as f64, thousands(spent.tokens)));
    charts.push(NumberChart::rows("tokens", "Tokens by agent", "as reported".to_owned(), tokens.collect()));
    let costs = agents
        .iter()
        .take(SHOWN)
        .map(|(name, spent)| bar(&named(name), spent.cost_usd, format!("${:.2}", spent.cost_usd)));
    charts.push(NumberChart::rows("costs", "Cost by agent", "as reported".to_owned(), costs.collect()));
    let mut skills: Vec<_> = numbers.skills.iter().collect();
    skills.sort_by_key(|(name, used)| (std::cmp::Reverse(used.handed.max(used.opened)), *name));
    let used = skills.iter().take(SHOWN).map(|(name, used)| {
        bar(name, used.handed.max(used.opened) as f64, format!("handed {}×, opened {}×", used.handed, used.opened))
    });
    charts.push(NumberChart::rows("skill-use", "Skills by use", String::new(), used.collect()));
    charts.retain(|chart| !chart.is_empty());
    charts
}

fn bar(label: &str, value: f64, text: String) -> ChartBar {
    ChartBar { label: label.to_owned(), value, text }
}

fn days_of(today: i64, days: i64, of: impl Fn(i64) -> (f64, String)) -> Vec<ChartBar> {
    let day = |day: i64| {
        let (value, text) = of(day);
        ChartBar { label: day_label(day * DAY), value, text }
    };
    (today - days + 1..=today).map(day).collect()
}

fn middle(values: &mut [i64]) -> Option<i64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

fn middle_note(done: &[&FinishedTask]) -> String {
    let mut took: Vec<i64> = done.iter().filter_map(|task| task.took).collect();
    middle(&mut took).map_or_else(String::new, |middle| format!("median {}", minutes(middle)))
}

fn minutes(milliseconds: i64) -> String {
    match milliseconds / 1000 {
        seconds @ ..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

fn thousands(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        1000..1_000_000 => format!("{} k", number / 1000),
        _ => format!("{:.1} M", number as f64 / 1_000_000.0),
    }
}

fn rounds_chart(tasks: &[FinishedTask]) -> NumberChart {
    let rounds: Vec<i64> = tasks.iter().filter_map(|task| task.rounds).collect();
    let count = |wanted: i64| rounds.iter().filter(|rounds| **rounds == wanted).count();
    let mut bars: Vec<ChartBar> =
        (1..=4).map(|number| bar(&number.to_string(), count(number) as f64, count(number).to_string())).collect();
    let more = rounds.iter().filter(|rounds| **rounds > 4).count();
    bars.push(bar("5+", more as f64, more.to_string()));
    let note = if rounds.is_empty() { String::new() } else { "until the checks and the review passed".to_owned() };
    NumberChart::rows("rounds", "Rounds per task", note, bars)
}
