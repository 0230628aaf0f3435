//! What confines agents on this machine, and what they can do nevertheless.

use std::fmt::Write as _;

use maestro_engine::sandbox::{SandboxLayer, SandboxReport};
use maestro_engine::sandbox_probe;

use crate::host::runtime;
use crate::host::sandbox_settings;
use crate::host::world::World;
use crate::output::progress::while_working;
use crate::output::screen::{clean, pad};

/// Starts a program in the sandbox of agents.
pub(super) fn probe(world: &World) -> SandboxReport {
    let settings = sandbox_settings::of(world);
    let run = || {
        let maestro = std::env::current_exe().map_err(|error| error.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        runtime::wait(&runtime, sandbox_probe::probe(&maestro, &settings))
    };
    while_working(world.terminals, "Starting a sandbox", run).unwrap_or_else(SandboxReport::unconfined)
}

/// The lines of a report.
pub(super) fn lines(report: &SandboxReport) -> String {
    let meaning = match report.layer {
        SandboxLayer::Namespaces => "agents have files, processes and terminals of their own",
        SandboxLayer::Landlock => "agents can write only where they may",
        SandboxLayer::None => "nothing confines agents here",
    };
    let mut text = format!("  {} {meaning}\n", pad(&report.layer.to_string(), 12));
    for gap in &report.gaps {
        let _ = writeln!(text, "  {} {gap}", pad("gap", 12));
    }
    if let Some(reason) = &report.reason {
        let _ = writeln!(text, "  {} no namespaces: {}", pad("reason", 12), clean(reason));
    }
    text
}
