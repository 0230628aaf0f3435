//! Fragments of a screen: elements with an id, rendered once for all viewers.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use minijinja::value::Serde;
use minijinja::{Error, Value, context};
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::screens::ScreenId;
use super::shell::RailEntry;
use super::templates::render;
use super::{assets, links, shell, visits};
use crate::answer_notes::{AnswerNote, AnswerNotes};
use crate::app::ServerFacts;
use crate::change_notes::{ChangeNote, ChangeNotes};

/// The fragment that says what fails in the background.
const HEALTH: &str = "health";

/// How a screen becomes a whole page.
#[derive(Debug, Clone)]
pub(super) struct ScreenPage {
    /// The template of what is below the top bar: a `main`, and an `aside` where there is one.
    pub(super) template: &'static str,
    /// What the window is called; nothing for the first screen.
    pub(super) title: Option<String>,
    /// Its entry in the rail.
    pub(super) rail: Option<RailEntry>,
    pub(super) styles: &'static [&'static str],
    pub(super) scripts: &'static [&'static str],
    /// Its own keys, and what they do.
    pub(super) keys: &'static [(&'static str, &'static str)],
    /// Whether it changes while it is open.
    pub(super) live: bool,
    /// What its template shows beside fragments.
    pub(super) data: Json,
}

/// A screen as of one moment.
#[derive(Clone)]
pub(super) struct RenderedScreen {
    /// The last event it shows.
    pub(super) seq: i64,
    now: i64,
    waiting: i64,
    /// How many skills could not be loaded.
    broken_skills: usize,
    /// Its address.
    back: String,
    /// The lists, as the ids of their items.
    lists: Vec<(&'static str, Vec<String>)>,
    parts: BTreeMap<String, ScreenFragment>,
    /// How cards were answered that are no longer there.
    settled: BTreeMap<String, AnswerNote>,
    /// Who changed what a moment ago.
    changes: Vec<ChangeNote>,
    page: Option<ScreenPage>,
    /// What the next rendering can continue from.
    kept: Option<Arc<dyn Any + Send + Sync>>,
}

/// A fragment.
#[derive(Debug, Clone)]
struct ScreenFragment {
    /// Its content without relative times: two equal ones look the same.
    shows: Json,
    html: String,
}

impl RenderedScreen {
    /// Whether this is its banner.
    pub(super) fn has_banner(&self, banner: Option<&str>) -> bool {
        self.parts.get(HEALTH).is_some_and(|part| part.shows == banner_json(banner))
    }

    /// Whether it says who made these changes.
    pub(super) fn explains(&self, changes: &[ChangeNote]) -> bool {
        changes.iter().all(|note| self.changes.contains(note))
    }

    /// The same below another banner, for when nothing newer can be read.
    pub(super) fn with_banner(&self, banner: Option<&str>) -> Result<Self, Error> {
        let mut renderer = ScreenRenderer { screen: self.clone(), before: Some(self) };
        renderer.banner(banner)?;
        Ok(renderer.screen)
    }

    /// What was kept for the next rendering.
    pub(super) fn kept<T: 'static>(&self) -> Option<&T> {
        self.kept.as_deref()?.downcast_ref()
    }

    /// What its window is called.
    pub(super) fn title(&self) -> &str {
        self.page.as_ref().and_then(|page| page.title.as_deref()).unwrap_or_default()
    }

    /// A fragment as HTML.
    pub(super) fn html(&self, id: &str) -> &str {
        self.parts.get(id).map_or("", |part| &part.html)
    }

    /// The items of a list as HTML, in order.
    pub(super) fn items(&self, name: &str) -> impl Iterator<Item = &str> {
        let ids = self.lists.iter().filter(move |(list, _)| *list == name).flat_map(|(_, ids)| ids);
        ids.map(|id| self.html(id))
    }

    /// The whole page.
    pub(super) fn document(&self, facts: &ServerFacts) -> Result<String, Error> {
        let Some(page) = &self.page else { return Ok(String::new()) };
        let html = |part: &ScreenFragment| Value::from_safe_string(part.html.clone());
        let parts: BTreeMap<&str, Value> = self.parts.iter().map(|(id, part)| (id.as_str(), html(part))).collect();
        let lists: BTreeMap<&str, Value> =
            self.lists.iter().map(|(name, ids)| (*name, Value::from(ids.clone()))).collect();
        let (now, back) = (self.now, &self.back);
        let content = context! { parts => parts.clone(), lists, now, back, ..Value::from(Serde(&page.data)) };
        let content = Value::from_safe_string(render(page.template, content)?);
        let ScreenPage { title, live, .. } = page;
        let (styles, scripts, keys) = (page.styles.to_vec(), page.scripts.to_vec(), page.keys.to_vec());
        let here = page.rail.map(RailEntry::path);
        let (seq, waiting, build) = (self.seq, self.waiting, assets::build().into_owned());
        let frame = context! { content, parts, now, seq, waiting, back, title, styles, scripts, keys, live, here };
        let visit = visits::cookie_name(&facts.cookie);
        let runs = ScreenId::ROUTES.contains(&"/runs/{id}");
        let broken_skills = self.broken_skills;
        let frame =
            context! { server => &facts.site, visit, runs, build, broken_skills, rail => shell::rail(), ..frame };
        render("shell/page.html", frame)
    }

    /// Everything, for a page in an unknown state.
    pub(super) fn whole(&self) -> Bytes {
        self.patch(self.parts.iter())
    }

    /// The difference from another rendering; nothing when both look the same.
    pub(super) fn since(&self, before: &Self) -> Option<Bytes> {
        let changed =
            |(id, part): &(&String, &ScreenFragment)| before.parts.get(*id).is_none_or(|old| old.shows != part.shows);
        let mut changed = self.parts.iter().filter(changed).peekable();
        let same = changed.peek().is_none() && self.lists == before.lists && before.explains(&self.changes);
        (!same).then(|| self.patch(changed))
    }

    /// A frame that only confirms that the page is current.
    pub(super) fn nothing(&self) -> Bytes {
        self.patch(std::iter::empty())
    }

    fn patch<'a>(&self, parts: impl Iterator<Item = (&'a String, &'a ScreenFragment)>) -> Bytes {
        let html: BTreeMap<&str, &str> = parts.map(|(id, part)| (id.as_str(), part.html.as_str())).collect();
        let lists: BTreeMap<&str, &[String]> = self.lists.iter().map(|(name, ids)| (*name, ids.as_slice())).collect();
        let (settled, changes) = (&self.settled, &self.changes);
        let data = json!({ "now": self.now, "waiting": self.waiting, "lists": lists, "html": html,
            "settled": settled, "changes": changes });
        Bytes::from(format!("id: {}\nevent: patch\ndata: {data}\n\n", self.seq))
    }
}

/// Renders the fragments of a screen that changed since it was last rendered, and reuses the others.
pub(super) struct ScreenRenderer<'a> {
    screen: RenderedScreen,
    before: Option<&'a RenderedScreen>,
}

impl<'a> ScreenRenderer<'a> {
    /// A screen without fragments. Everything up to event `seq` must show in what is rendered.
    pub(super) fn new(back: String, seq: i64, now: i64, before: Option<&'a RenderedScreen>) -> Self {
        let (lists, parts) = (Vec::new(), BTreeMap::new());
        let screen = RenderedScreen {
            seq,
            now,
            waiting: 0,
            broken_skills: 0,
            back,
            lists,
            parts,
            settled: BTreeMap::new(),
            changes: Vec::new(),
            page: None,
            kept: None,
        };
        Self { screen, before }
    }

    /// The moment that is rendered.
    pub(super) fn now(&self) -> i64 {
        self.screen.now
    }

    /// What the last rendering kept for this one.
    pub(super) fn kept<T: 'static>(&self) -> Option<&'a T> {
        self.before?.kept()
    }

    /// Keeps something for the next rendering.
    pub(super) fn keep<T: Send + Sync + 'static>(&mut self, what: T) {
        self.screen.kept = Some(Arc::new(what));
    }

    /// How many things wait for a person, for the title of the window.
    pub(super) fn waiting(&mut self, waiting: i64) {
        self.screen.waiting = waiting;
    }

    /// How many skills could not be loaded, for the rail.
    pub(super) fn broken_skills(&mut self, broken: usize) {
        self.screen.broken_skills = broken;
    }

    /// A fragment. The template's element must have the id it is given as `id`.
    pub(super) fn part(&mut self, id: &str, template: &str, shows: Json) -> Result<(), Error> {
        let old = self.before.and_then(|before| before.parts.get(id)).filter(|old| old.shows == shows);
        let html = if let Some(old) = old {
            old.html.clone()
        } else {
            let (now, back) = (self.screen.now, &self.screen.back);
            render(template, context! { id, now, back, ..Value::from(Serde(&shows)) })?
        };
        self.screen.parts.insert(id.to_owned(), ScreenFragment { shows, html });
        Ok(())
    }

    /// A list of fragments of one kind, each shown as `it`.
    pub(super) fn list<'i, T: Serialize + 'i>(
        &mut self,
        name: &'static str,
        template: &str,
        items: impl Iterator<Item = (&'i str, &'i T)>,
    ) -> Result<(), Error> {
        let mut ids = Vec::new();
        for (id, item) in items {
            self.part(id, template, json!({ "it": item }))?;
            ids.push(id.to_owned());
        }
        self.screen.lists.push((name, ids));
        Ok(())
    }

    /// A list of fragments that were already rendered.
    pub(super) fn order(&mut self, name: &'static str, ids: Vec<String>) {
        self.screen.lists.push((name, ids));
    }

    /// The heading of a zone, and the note below it.
    pub(super) fn zone(&mut self, zone: &str, heading: &str, count: i64, note: Option<&str>) -> Result<(), Error> {
        let head = json!({ "heading": heading, "count": count });
        self.part(&format!("{zone}-head"), "shell/head.html", head)?;
        self.note(&format!("{zone}-note"), note)
    }

    /// A note below a list. One about what is left out leads there.
    pub(super) fn note(&mut self, id: &str, note: Option<&str>) -> Result<(), Error> {
        let href = note.filter(|note| note.starts_with("and ")).and_then(|_| links::rest());
        self.part(id, "shell/note.html", json!({ "note": note, "href": href }))
    }

    /// What fails in the background, above everything else.
    pub(super) fn banner(&mut self, banner: Option<&str>) -> Result<(), Error> {
        self.part(HEALTH, "shell/health.html", banner_json(banner))
    }

    /// How the cards were answered that were there before.
    pub(super) fn settle(&mut self, answers: &AnswerNotes) {
        let gone = self.before.into_iter().flat_map(|before| before.parts.keys());
        let gone = gone.filter(|id| !self.screen.parts.contains_key(*id));
        self.screen.settled = gone.filter_map(|id| Some((id.clone(), answers.of(id)?))).collect();
    }

    /// Who changed what a moment ago.
    pub(super) fn explain(&mut self, changes: &ChangeNotes) {
        self.screen.changes = changes.recent(self.screen.now);
    }

    /// The screen, and how it becomes a page.
    pub(super) fn finish(mut self, page: ScreenPage) -> RenderedScreen {
        self.screen.page = Some(page);
        self.screen
    }
}

fn banner_json(banner: Option<&str>) -> Json {
    json!({ "banner": banner })
}
