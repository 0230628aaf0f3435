//! Templates and assets of the page, built into the program.
//!
//! In debug builds `MAESTRO_PAGE_FILES` names the directory that holds `templates` and `assets` (`crates/server`): they
//! are then read from there whenever they are needed, so that the page can be changed without compiling.

use std::borrow::Cow;

/// A file, as it was when the program was built.
pub(super) struct PageFile {
    pub(super) name: &'static str,
    path: &'static str,
    built_in: &'static str,
}

macro_rules! files {
    ($folder:literal: $($name:literal)*) => {
        &[$(PageFile {
            name: $name,
            path: concat!($folder, "/", $name),
            built_in: include_str!(concat!("../../", $folder, "/", $name)),
        }),*]
    };
}

/// The templates, by screen. What they show is escaped, because their names end in `.html`.
pub(super) static TEMPLATES: &[PageFile] = files!("templates":
    "shell/page.html"
    "shell/failure.html"
    "shell/sign_in.html"
    "shell/health.html"
    "shell/choose.html"
    "shell/counts.html"
    "shell/spend.html"
    "shell/phone.html"
    "shell/head.html"
    "shell/note.html"
    "cards/wait.html"
    "cards/permission.html"
    "cards/consent.html"
    "now/now.html"
    "now/row.html"
    "now/group.html"
    "now/ready.html"
    "now/stopped.html"
    "now/visit.html"
    "now/done.html"
    "now/side.html"
    "now/steps.html"
    "run/run.html"
    "run/header.html"
    "run/bar.html"
    "run/spine.html"
    "run/tabs.html"
    "run/entry.html"
    "run/older.html"
    "run/newest.html"
    "run/talk.html"
    "run/diff.html"
    "run/inspector.html"
    "run/prompt.html"
    "run/log.html"
    "run/log_head.html"
    "run/graph.html"
    "run/definition.html"
    "run/share.html"
    "work/work.html"
    "work/card.html"
    "work/count.html"
    "work/more.html"
    "work/add.html"
    "work/plans.html"
    "work/drawer.html"
    "plan/plan.html"
    "plan/header.html"
    "plan/rows.html"
    "plan/panel.html"
    "activity/activity.html"
    "activity/event.html"
    "activity/older.html"
    "activity/results.html"
    "activity/chart.html"
    "skills/skills.html"
    "skills/list.html"
    "skills/skill.html"
    "skills/try.html"
    "workflows/workflows.html"
    "workflows/list.html"
    "workflows/runs.html"
    "workflows/visits.html"
    "trust/trust.html"
    "settings/settings.html"
    "settings/agents.html"
    "settings/limits.html"
    "settings/notices.html"
    "settings/devices.html"
    "settings/server.html"
);

/// The assets: one style sheet and at most one script for each screen, beside those of the shell.
pub(super) static ASSETS: &[PageFile] = files!("assets":
    "shell.css"
    "text.css"
    "now.css"
    "run.css"
    "work.css"
    "plan.css"
    "activity.css"
    "skills.css"
    "workflows.css"
    "settings.css"
    "shell.js"
    "live.js"
    "clock.js"
    "changes.js"
    "forms.js"
    "palette.js"
    "task_box.js"
    "now.js"
    "run.js"
    "work.js"
    "plan.js"
    "activity.js"
    "skills.js"
    "workflows.js"
    "settings.js"
    "notices.js"
    "icon.svg"
    "icon-waits.svg"
);

impl PageFile {
    /// Its text.
    pub(super) fn text(&self) -> Cow<'static, str> {
        match from_disk(self.path) {
            Some(text) => Cow::Owned(text),
            None => Cow::Borrowed(self.built_in),
        }
    }
}

/// Whether files may change while the program runs.
pub(super) fn may_change() -> bool {
    cfg!(debug_assertions) && std::env::var_os(VARIABLE).is_some()
}

const VARIABLE: &str = "MAESTRO_PAGE_FILES";

#[cfg(debug_assertions)]
fn from_disk(path: &str) -> Option<String> {
    let directory = std::env::var_os(VARIABLE)?;
    std::fs::read_to_string(std::path::Path::new(&directory).join(path)).ok()
}

#[cfg(not(debug_assertions))]
fn from_disk(_: &str) -> Option<String> {
    None
}
