//! Search over tasks, sessions, runs, skills, plans and transcripts: results by kind, with the words that match.

use std::path::PathBuf;

use maestro_core::Project;
use maestro_core::excerpt::{ellipsize, first_chars};
use maestro_core::id::ProjectId;
use maestro_engine::plan_files::{find_plans, read_plan};
use maestro_engine::{Freshness, Host};
use maestro_store::{ListPage, ProjectList, SearchMatch, TextSearch};
use serde::Serialize;
use serde_json::json;

use super::super::work::{plan_address, run_address, run_title};
use super::segments::{TextSegment, contains_all, search_words, segments};
use crate::api::with_states;
use crate::app::AppState;
use crate::error::ApiError;
use crate::page::badge::StateBadge;
use crate::page::cards::TITLE;
use crate::page::fragments::ScreenRenderer;

/// How many results of a kind are shown.
const SHOWN: usize = 20;
/// How many runs are looked at, since their state has more than what is searched.
const RUNS: i64 = 60;
/// How many projects and plans are looked at.
const PROJECTS: i64 = 50;
const PLANS: usize = 60;
/// How much of a plan is looked at.
const PLAN_CHARS: usize = 200_000;

/// Results of one kind.
#[derive(Debug, Serialize)]
struct ResultGroup {
    id: String,
    heading: &'static str,
    results: Vec<SearchResult>,
}

/// A result.
#[derive(Debug, Serialize)]
struct SearchResult {
    href: String,
    title: Vec<TextSegment>,
    text: Vec<TextSegment>,
    state: Option<StateBadge>,
    at: Option<i64>,
}

/// Searches, and renders what was found.
pub(super) async fn render(
    app: &AppState,
    project: Option<ProjectId>,
    text: &str,
    screen: &mut ScreenRenderer<'_>,
) -> Result<(), ApiError> {
    let words = search_words(text);
    let stored = TextSearch { text: text.to_owned(), project: project.clone(), limit: RUNS };
    let found = app.store.read(stored).await?;
    let mut groups = vec![group(
        "tasks",
        "Tasks",
        found.tasks.iter().map(|task| SearchResult {
            href: format!("/work?task={}", task.id),
            title: segments(&task.title, &words),
            text: if contains_any(&task.description, &words) {
                segments(&task.description, &words)
            } else {
                Vec::new()
            },
            state: Some(maestro_core::work_state::task_state(task).into()),
            at: Some(task.updated_at),
        }),
    )];
    let runs = with_states(app, found.runs).await?;
    let of_runs = runs.iter().filter_map(|run| {
        let (title, plan) = run_title(run);
        let told = format!("{title} {} {}", plan.unwrap_or_default(), run.stands.reason.as_deref().unwrap_or_default());
        contains_all(&format!("{told} {}", run.record.about.workflow), &words).then(|| SearchResult {
            href: run_address(&run.record.id.to_string()),
            title: segments(&title, &words),
            text: segments(told.get(title.len()..).unwrap_or_default().trim(), &words),
            state: Some(run.stands.state.into()),
            at: Some(run.record.updated_at),
        })
    });
    groups.push(group("runs", "Runs", of_runs));
    groups.push(group("sessions", "Sessions", found.sessions.iter().map(|hit| stored_result(hit, &words, false))));
    let projects = app.store.read(ProjectList { page: ListPage { limit: PROJECTS, after: 0 } }).await?.items;
    let projects: Vec<Project> =
        projects.into_iter().filter(|it| project.as_ref().is_none_or(|only| *only == it.id)).collect();
    let (host, looked) = (app.host.clone(), words.clone());
    let files = tokio::task::spawn_blocking(move || in_files(&*host, &projects, &looked)).await;
    groups.extend(files.map_err(|error| ApiError::internal(error.to_string()))?);
    groups.push(group(
        "transcripts",
        "Transcripts",
        found.transcripts.iter().map(|hit| stored_result(hit, &words, true)),
    ));
    groups.retain(|group| !group.results.is_empty());
    let note = groups.is_empty().then(|| format!("Nothing found for “{}”.", first_chars(text, TITLE)));
    screen.list("results", "activity/results.html", groups.iter().map(|group| (group.id.as_str(), group)))?;
    screen.part("results-note", "shell/note.html", json!({ "note": note }))?;
    Ok(())
}

fn group(id: &str, heading: &'static str, results: impl Iterator<Item = SearchResult>) -> ResultGroup {
    ResultGroup { id: format!("found-{id}"), heading, results: results.take(SHOWN).collect() }
}

fn contains_any(text: &str, words: &[String]) -> bool {
    words.iter().any(|word| contains_all(text, std::slice::from_ref(word)))
}

fn stored_result(hit: &SearchMatch, words: &[String], is_json: bool) -> SearchResult {
    // A part of a JSON text, whose marks are no words.
    let text = if is_json {
        hit.text.replace("\\n", " ").replace("\\\"", "\"").replace(['{', '}'], " ")
    } else {
        hit.text.clone()
    };
    SearchResult {
        href: format!("/sessions/{}", hit.id),
        title: segments(&ellipsize(&hit.title, TITLE), words),
        text: segments(&text, words),
        state: None,
        at: Some(hit.at),
    }
}

/// Skills and plans, which are files.
fn in_files(host: &dyn Host, projects: &[Project], words: &[String]) -> Vec<ResultGroup> {
    let directory = match projects {
        [only] => Some(PathBuf::from(&only.working_dir)),
        _ => None,
    };
    let skills = host.skills(directory.as_deref(), Freshness::Kept);
    let of_skills = skills.iter().flat_map(|skills| skills.catalogue.skills.iter()).filter_map(|entry| {
        let skill = entry.skill();
        let told = format!("{} {}", skill.id, skill.description);
        contains_all(&told, words).then(|| SearchResult {
            href: format!("/skills/{}", crate::page::address::encode(&skill.id.to_string())),
            title: segments(&skill.id.to_string(), words),
            text: segments(&skill.description, words),
            state: None,
            at: None,
        })
    });
    let plans = projects.iter().flat_map(|project| {
        let directory = PathBuf::from(&project.working_dir);
        find_plans(&directory).into_iter().map(move |path| (project, directory.clone(), path))
    });
    let of_plans = plans.take(PLANS).filter_map(|(project, directory, path)| {
        let text = read_plan(&directory, &path).ok()?.text;
        let text = first_chars(&text, PLAN_CHARS);
        let line = text.lines().position(|line| contains_all(line, words));
        let told = line.and_then(|line| text.lines().nth(line)).unwrap_or_default();
        if line.is_none() && !contains_all(&path, words) {
            return None;
        }
        let is_task = told.trim_start_matches([' ', '-', '*', '+']).starts_with('[');
        let place = plan_address(&project.id.to_string(), &path);
        let href = match line.filter(|_| is_task) {
            Some(line) => format!("{place}?task={}", line + 1),
            None => place,
        };
        Some(SearchResult { href, title: segments(&path, words), text: segments(told, words), state: None, at: None })
    });
    vec![group("skills", "Skills", of_skills), group("plans", "Plans", of_plans)]
}
