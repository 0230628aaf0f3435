//! Fragments of a page: elements with an id, rendered once for all viewers.

mod session;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Error, Value, context};
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::session::AgentTotals;
use super::view::{OverviewView, SessionView};
use super::{assets, clock};

/// The fragment that says what fails in the background.
const HEALTH: &str = "health";

/// The templates. Values are escaped, because their names end in `.html`.
const TEMPLATES: [(&str, &str); 22] = [
    ("now.html", include_str!("../../templates/now.html")),
    ("session.html", include_str!("../../templates/session.html")),
    ("about.html", include_str!("../../templates/about.html")),
    ("entry.html", include_str!("../../templates/entry.html")),
    ("facts.html", include_str!("../../templates/facts.html")),
    ("permission.html", include_str!("../../templates/permission.html")),
    ("older.html", include_str!("../../templates/older.html")),
    ("talk.html", include_str!("../../templates/talk.html")),
    ("failure.html", include_str!("../../templates/failure.html")),
    ("health.html", include_str!("../../templates/health.html")),
    ("sign_in.html", include_str!("../../templates/sign_in.html")),
    ("choose.html", include_str!("../../templates/choose.html")),
    ("counts.html", include_str!("../../templates/counts.html")),
    ("head.html", include_str!("../../templates/head.html")),
    ("note.html", include_str!("../../templates/note.html")),
    ("wait.html", include_str!("../../templates/wait.html")),
    ("run.html", include_str!("../../templates/run.html")),
    ("group.html", include_str!("../../templates/group.html")),
    ("ended.html", include_str!("../../templates/ended.html")),
    ("side.html", include_str!("../../templates/side.html")),
    ("steps.html", include_str!("../../templates/steps.html")),
    ("keys.html", include_str!("../../templates/keys.html")),
];

static ENVIRONMENT: LazyLock<Result<Environment<'static>, Error>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_filter("elapsed", clock::elapsed);
    environment.add_filter("ago", clock::ago);
    environment.add_filter("iso", clock::iso);
    environment.add_function("asset", |name: &str| Value::from_safe_string(assets::address(name)));
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    Ok(environment)
});

/// The sources of the templates.
pub(super) fn sources() -> impl Iterator<Item = &'static str> {
    TEMPLATES.into_iter().map(|(_, source)| source)
}

fn render(template: &str, context: Value) -> Result<String, Error> {
    match LazyLock::force(&ENVIRONMENT) {
        Ok(environment) => environment.get_template(template)?.render(context),
        Err(error) => Err(Error::new(error.kind(), error.to_string())),
    }
}

/// A page with an error message.
pub(super) fn failure(message: &str) -> Result<String, Error> {
    render("failure.html", context! { message })
}

/// A page that asks for the server's token.
pub(super) fn sign_in(message: Option<&str>) -> Result<String, Error> {
    render("sign_in.html", context! { message })
}

/// The whole first page.
pub(super) fn page(view: &OverviewView, shot: &RenderedScreen, server: &str) -> Result<String, Error> {
    let keys = keys("next, previous", Some("open"))?;
    render("now.html", context! { project => &view.project, keys, server, ..shot.context() })
}

/// The whole page of a session.
pub(super) fn session_page(view: &SessionView, shot: &RenderedScreen, server: &str) -> Result<String, Error> {
    let (session, title, past) = (&view.session, &view.about.title, view.past);
    let keys = keys("next, previous question", None)?;
    render("session.html", context! { session, title, past, keys, server, ..shot.context() })
}

/// The list of keyboard shortcuts: what j and k move along, and what Enter opens.
fn keys(moves: &str, opens: Option<&str>) -> Result<Value, Error> {
    render("keys.html", context! { moves, opens }).map(Value::from_safe_string)
}

/// A page as of one moment.
#[derive(Debug, Clone)]
pub(super) struct RenderedScreen {
    /// The last event it shows.
    pub(super) seq: i64,
    now: i64,
    waiting: i64,
    /// The lists, as the ids of their items.
    lists: Vec<(&'static str, Vec<String>)>,
    parts: BTreeMap<String, ScreenFragment>,
    /// The account of a session from its start, so that the next shot can continue from it.
    account: AgentTotals,
}

/// A fragment.
#[derive(Debug, Clone)]
struct ScreenFragment {
    /// Its content without relative times: two equal ones look the same.
    shows: Json,
    html: String,
}

impl RenderedScreen {
    /// Renders what changed since another shot, and reuses the rest.
    pub(super) fn of(view: &OverviewView, banner: Option<&str>, before: Option<&Self>) -> Result<Self, Error> {
        let mut shot = Self::empty(view.seq, view.now, view.waiting);
        let mut press = FragmentRenderer { shot: &mut shot, before };
        press.banner(banner)?;
        press.part("choose", "choose.html", json!({ "choices": view.choices }))?;
        press.part("counts", "counts.html", json!({ "waiting": view.waiting, "working": view.working }))?;
        press.part("steps", "steps.html", json!({ "steps": view.steps }))?;
        press.part("side", "side.html", json!({ "side": view.side }))?;
        press.waits(view)?;
        press.running(view)?;
        press.ended(view)?;
        Ok(shot)
    }

    /// Whether this is its banner.
    pub(super) fn has_banner(&self, banner: Option<&str>) -> bool {
        self.parts.get(HEALTH).is_some_and(|part| part.shows == banner_json(banner))
    }

    /// The same below another banner, for when nothing newer can be read.
    pub(super) fn with_banner(&self, banner: Option<&str>) -> Result<Self, Error> {
        let mut shot = self.clone();
        FragmentRenderer { shot: &mut shot, before: Some(self) }.banner(banner)?;
        Ok(shot)
    }

    fn empty(seq: i64, now: i64, waiting: i64) -> Self {
        Self { seq, now, waiting, lists: Vec::new(), parts: BTreeMap::new(), account: AgentTotals::default() }
    }

    /// The context for the template of a whole page.
    fn context(&self) -> Value {
        let parts: BTreeMap<&str, Value> =
            self.parts.iter().map(|(id, part)| (id.as_str(), Value::from_safe_string(part.html.clone()))).collect();
        let lists: BTreeMap<&str, Value> =
            self.lists.iter().map(|(name, ids)| (*name, Value::from(ids.clone()))).collect();
        let Self { now, seq, waiting, .. } = self;
        context! { parts, lists, now, seq, waiting, build => assets::build() }
    }

    /// The account of a session from its start.
    pub(super) fn account(&self) -> &AgentTotals {
        &self.account
    }

    /// Everything, for a page in an unknown state.
    pub(super) fn whole(&self) -> Bytes {
        self.patch(self.parts.iter())
    }

    /// The difference from another shot; nothing when both look the same.
    pub(super) fn since(&self, before: &Self) -> Option<Bytes> {
        let changed =
            |(id, part): &(&String, &ScreenFragment)| before.parts.get(*id).is_none_or(|old| old.shows != part.shows);
        let mut changed = self.parts.iter().filter(changed).peekable();
        let same = changed.peek().is_none() && self.lists == before.lists;
        (!same).then(|| self.patch(changed))
    }

    /// A frame that only confirms that the page is current.
    pub(super) fn nothing(&self) -> Bytes {
        self.patch(std::iter::empty())
    }

    fn patch<'a>(&self, parts: impl Iterator<Item = (&'a String, &'a ScreenFragment)>) -> Bytes {
        let html: BTreeMap<&str, &str> = parts.map(|(id, part)| (id.as_str(), part.html.as_str())).collect();
        let lists: BTreeMap<&str, &[String]> = self.lists.iter().map(|(name, ids)| (*name, ids.as_slice())).collect();
        let data = json!({ "now": self.now, "waiting": self.waiting, "lists": lists, "html": html });
        Bytes::from(format!("id: {}\nevent: patch\ndata: {data}\n\n", self.seq))
    }
}

/// Renders the fragments of a shot.
struct FragmentRenderer<'a> {
    shot: &'a mut RenderedScreen,
    before: Option<&'a RenderedScreen>,
}

impl FragmentRenderer<'_> {
    fn part(&mut self, id: &str, template: &str, shows: Json) -> Result<(), Error> {
        let old = self.before.and_then(|before| before.parts.get(id)).filter(|old| old.shows == shows);
        let html = match old {
            Some(old) => old.html.clone(),
            None => render(template, context! { id, now => self.shot.now, ..Value::from(Serde(&shows)) })?,
        };
        self.shot.parts.insert(id.to_owned(), ScreenFragment { shows, html });
        Ok(())
    }

    /// What fails in the background, above everything else.
    fn banner(&mut self, banner: Option<&str>) -> Result<(), Error> {
        self.part(HEALTH, "health.html", banner_json(banner))
    }

    fn list<'i, T: Serialize + 'i>(
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
        self.shot.lists.push((name, ids));
        Ok(())
    }

    /// The heading of a zone, and the note below it.
    fn zone(&mut self, zone: &str, count: i64, note: Option<&str>) -> Result<(), Error> {
        self.part(&format!("{zone}-head"), "head.html", json!({ "zone": zone, "count": count }))?;
        self.part(&format!("{zone}-note"), "note.html", json!({ "note": note }))
    }

    fn waits(&mut self, view: &OverviewView) -> Result<(), Error> {
        let shown = view.waits.len() + view.asks.len();
        let open = i64::try_from(shown).unwrap_or(i64::MAX);
        let note = if shown == 0 { Some("Nothing waits for you.".to_owned()) } else { more(view.waiting - open) };
        self.zone("waits", view.waiting, note.as_deref())?;
        let waits = view.waits.iter().map(|wait| (wait.since, &wait.id, "wait.html", json!({ "it": wait })));
        let asks = view.asks.iter().map(|ask| (ask.since, &ask.id, "permission.html", json!({ "it": ask })));
        let mut cards: Vec<_> = waits.chain(asks).collect();
        cards.sort_by_key(|(since, ..)| *since);
        let ids = cards.iter().map(|(_, id, ..)| (*id).clone()).collect();
        for (_, id, template, shows) in cards {
            self.part(id, template, shows)?;
        }
        self.shot.lists.push(("waits", ids));
        Ok(())
    }

    fn running(&mut self, view: &OverviewView) -> Result<(), Error> {
        let shown = i64::try_from(view.running.len()).unwrap_or(i64::MAX);
        let note = match view.alive {
            0 => Some("Nothing runs.".to_owned()),
            _ if view.groups.is_empty() => more(view.alive - shown),
            _ => None,
        };
        self.zone("running", view.alive, note.as_deref())?;
        self.list("running", "run.html", view.running.iter().map(|run| (run.id.as_str(), run)))?;
        self.list("groups", "group.html", view.groups.iter().map(|group| (group.id.as_str(), group)))
    }

    fn ended(&mut self, view: &OverviewView) -> Result<(), Error> {
        let shown = i64::try_from(view.ended_badly.len() + view.ended_well.len()).unwrap_or(i64::MAX);
        let note = if view.ended == 0 { Some("Nothing ended.".to_owned()) } else { more(view.ended - shown) };
        self.zone("ended", view.ended, note.as_deref())?;
        self.list("ended-badly", "ended.html", view.ended_badly.iter().map(|ended| (ended.id.as_str(), ended)))?;
        self.list("ended-well", "ended.html", view.ended_well.iter().map(|ended| (ended.id.as_str(), ended)))
    }
}

fn banner_json(banner: Option<&str>) -> Json {
    json!({ "banner": banner })
}

fn more(count: i64) -> Option<String> {
    (count > 0).then(|| format!("and {count} more"))
}
