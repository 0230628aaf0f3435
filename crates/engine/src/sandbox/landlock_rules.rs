//! Landlock rules of a program, and what the kernel does not enforce of them.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible as _, LandlockStatus, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::{SandboxError, SandboxGap, WritePolicy, around};

/// Sockets of the system that programs need to find names and to write logs.
const SYSTEM_SOCKETS: [&str; 4] = ["/run/nscd", "/run/systemd/resolve", "/run/systemd/journal", "/dev/log"];

/// Which places stay out of sight by Landlock: it can forbid reading, but not hide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HiddenPlaces {
    /// They are covered by mounts already.
    Covered,
    /// Reading them must be forbidden.
    Forbid,
}

/// Restricts this process and everything it starts, for good. Returns what the kernel does not enforce.
pub(super) fn restrict(policy: &WritePolicy, hidden: HiddenPlaces) -> Result<Vec<SandboxGap>, SandboxError> {
    // Version 3 covers everything that changes a file.
    let writing = AccessFs::from_write(ABI::V3);
    let grants = policy.grants().map_err(SandboxError::of)?;
    let readable = match hidden {
        HiddenPlaces::Covered => Vec::new(),
        HiddenPlaces::Forbid => policy.readable().map_err(SandboxError::of)?,
    };
    let status = apply(&grants, &readable, &policy.visible, writing).map_err(SandboxError::of)?;
    let enforced = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } if status.ruleset != RulesetStatus::NotEnforced => {
            effective_abi
        }
        _ => {
            return Ok(vec![
                SandboxGap::Writes,
                SandboxGap::MaestroData,
                SandboxGap::Signals,
                SandboxGap::AbstractSockets,
                SandboxGap::PathSockets,
            ]);
        }
    };
    let since = [
        (ABI::V3, SandboxGap::Writes),
        (ABI::V6, SandboxGap::Signals),
        (ABI::V6, SandboxGap::AbstractSockets),
        (ABI::V9, SandboxGap::PathSockets),
    ];
    Ok(since.into_iter().filter(|(abi, _)| enforced < *abi).map(|(_, gap)| gap).collect())
}

fn apply(
    grants: &[PathBuf],
    readable: &[PathBuf],
    visible: &[PathBuf],
    writing: BitFlags<AccessFs>,
) -> Result<landlock::RestrictionStatus, RulesetError> {
    let reading = BitFlags::from(AccessFs::ReadFile);
    let sockets = BitFlags::from(AccessFs::ResolveUnix);
    let system = SYSTEM_SOCKETS.map(PathBuf::from);
    let mut rules = Ruleset::default().handle_access(writing | sockets)?;
    if !readable.is_empty() {
        rules = rules.handle_access(reading)?;
    }
    let rules = rules.scope(Scope::Signal | Scope::AbstractUnixSocket)?.create()?;
    let rules = rules
        .add_rules(path_beneath_rules(grants, writing | sockets))?
        .add_rules(path_beneath_rules(visible.iter().chain(&system), sockets))?;
    let rules = if readable.is_empty() {
        rules
    } else {
        rules.add_rules(path_beneath_rules(readable.iter().chain(grants).chain(visible), reading))?
    };
    rules.restrict_self()
}

/// Whether the kernel has Landlock at all.
pub(crate) fn is_supported() -> bool {
    let required = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    required.handle_access(AccessFs::from_write(ABI::V1)).and_then(Ruleset::create).is_ok()
}

impl WritePolicy {
    /// The paths whose files may be read; nothing where all may. New files right in a directory above a hidden place
    /// cannot be read.
    fn readable(&self) -> std::io::Result<Vec<PathBuf>> {
        let mut readable = Vec::new();
        if !self.hidden.is_empty() {
            around(Path::new("/").to_owned(), &self.hidden, &mut readable)?;
        }
        Ok(readable)
    }
}
