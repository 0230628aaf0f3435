//! Namespaces of a program: a file system, processes, terminals and, without network, interfaces of its own.

use std::fs;
use std::io;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, sendto, socket};
use rustix::process::{DumpableBehavior, getgid, getuid, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
};

use super::mounts::MountError;
use super::{NetworkAccess, SandboxError, SandboxReport, SandboxedProgram, WritePolicy, mount_plan, mounts};

/// What root may still do inside: handle files and processes of all users, but neither mount nor reach the kernel.
const OF_ROOT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Why a program gets no namespaces.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NamespaceError {
    #[error("the kernel refuses: {0}")]
    Refused(io::Error),
    #[error("cannot map the user: {0}")]
    User(io::Error),
    #[error("cannot start the loopback interface: {0}")]
    Loopback(io::Error),
    #[error(transparent)]
    Mount(#[from] MountError),
}

/// Puts this process, which must have one thread, into namespaces of its own. Its next child is the first process there,
/// and inherits what it needs for [`settle`].
pub(crate) fn enter(program: &SandboxedProgram<'_>) -> Result<(), NamespaceError> {
    // Sockets are listed as the user's own namespace has them.
    let plan = mount_plan::plan(program);
    let refused = |error: rustix::io::Errno| NamespaceError::Refused(error.into());
    let privileged = is_privileged().map_err(refused)?;
    let mut spaces = UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC;
    if !privileged {
        spaces |= UnshareFlags::NEWUSER;
    }
    if program.policy.network != NetworkAccess::All {
        spaces |= UnshareFlags::NEWNET;
    }
    let (user, group) = (getuid(), getgid());
    unshare(spaces).map_err(refused)?;
    if !privileged {
        map_user(user.as_raw(), group.as_raw()).map_err(NamespaceError::User)?;
    }
    if program.policy.network != NetworkAccess::All {
        start_loopback().map_err(NamespaceError::Loopback)?;
    }
    mounts::apply(&plan)?;
    hand_down().map_err(refused)
}

/// Finishes the sandbox from inside, as the first process of its namespace.
pub(crate) fn settle(policy: &WritePolicy) -> Result<SandboxReport, SandboxError> {
    mounts::mount_processes().map_err(SandboxError::of)?;
    give_up_capabilities().map_err(SandboxError::of)?;
    let report = policy.apply_inside()?;
    // The program must not trace its keeper.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(SandboxError::of)?;
    Ok(report)
}

/// Whether this process may make namespaces without one for its user, as root outside of containers.
fn is_privileged() -> rustix::io::Result<bool> {
    Ok(getuid().is_root() && capabilities(None)?.effective.contains(CapabilitySet::SYS_ADMIN))
}

#[expect(deprecated, reason = "only the flag that separates open files is unsafe, and it is not used")]
fn unshare(spaces: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(spaces)
}

/// Makes the user the same inside as outside.
fn map_user(user: u32, group: u32) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Lets the next program mount, although it is started as an ordinary user.
fn hand_down() -> rustix::io::Result<()> {
    let own = capabilities(None)?;
    set_capabilities(None, CapabilitySets { inheritable: own.permitted, ..own })?;
    configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)?;
    configure_capability_in_ambient_set(CapabilitySet::SETPCAP, true)
}

fn give_up_capabilities() -> rustix::io::Result<()> {
    let kept = if getuid().is_root() { OF_ROOT } else { CapabilitySet::empty() };
    for capability in CapabilitySet::all().iter().filter(|capability| !kept.contains(*capability)) {
        match remove_capability_from_bounding_set(capability) {
            // One that this kernel does not know.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(error),
        }
    }
    clear_ambient_capability_set()?;
    let kept = kept & capabilities(None)?.permitted;
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() })
}

/// Starts the loopback interface of a new network, which has no other.
fn start_loopback() -> io::Result<()> {
    let netlink = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    sendto(&netlink, &loopback_request(), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0_u8; 256];
    let (_, length) = recv(&netlink, &mut answer, RecvFlags::empty())?;
    // The error number follows the header of the answer.
    let code =
        answer.get(16..20).filter(|_| length >= 20).and_then(|code| code.try_into().ok()).map(i32::from_ne_bytes);
    match code {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The request to start interface 1: a header and an `ifinfomsg` with the flag `IFF_UP`.
fn loopback_request() -> Vec<u8> {
    const RTM_NEWLINK: u16 = 16;
    const REQUEST_WITH_ANSWER: u16 = 1 | 4;
    let mut request = Vec::new();
    request.extend(32_u32.to_ne_bytes());
    request.extend(RTM_NEWLINK.to_ne_bytes());
    request.extend(REQUEST_WITH_ANSWER.to_ne_bytes());
    request.extend([1_u32, 0].map(u32::to_ne_bytes).concat());
    // Family and type, then index, flags and mask.
    request.extend([0_u8; 4]);
    request.extend([1_u32, 1, 1].map(u32::to_ne_bytes).concat());
    request
}
