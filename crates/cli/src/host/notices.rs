//! Notices to the user: a command or a web address of the user's own settings.

use std::time::Duration;

use maestro_core::Settings;
use maestro_core::person_notice::PersonNotice;
use maestro_engine::user_program::UserProgram;

use crate::host::agents;
use crate::host::world::World;

/// How long a notice may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The program that posts to a web address.
pub(crate) const CURL: &str = "curl";

/// Whether the settings name a command or an address.
pub(crate) fn are_wanted(settings: &Settings) -> bool {
    !settings.notify.value.is_empty() || !settings.notify_url.value.is_empty()
}

/// Sends a notice. What fails is logged: no run waits for it.
pub(crate) fn send(notice: &PersonNotice, settings: &Settings, world: &World) {
    let Ok(body) = serde_json::to_vec(notice) else { return };
    let run = |program: UserProgram, what: &str| {
        // It is no session's program, and needs no secret of ours.
        let program = program.without_env(|name| name.starts_with("MAESTRO_"));
        if let Err(error) = program.run_with_input(&body, PATIENCE) {
            tracing::warn!("{what} failed: {error}");
        }
    };
    if let [name, arguments @ ..] = settings.notify.value.as_slice() {
        let program = agents::program(name, world).unwrap_or_else(|| name.into());
        run(UserProgram::new(program).args(arguments).args([notice.line()]), "the command of `notify`");
    }
    let address = &settings.notify_url.value;
    if !address.is_empty() {
        let options = ["--silent", "--fail", "--max-time", "20", "--header", "content-type: application/json"];
        let program = agents::program(CURL, world).unwrap_or_else(|| CURL.into());
        run(UserProgram::new(program).args(options).args(["--data-binary", "@-", address]), "the post to `notify_url`");
    }
}
