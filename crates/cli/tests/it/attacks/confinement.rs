//! What can an agent do to its user's files, processes, sockets and terminals?
//!
//! Each attack runs in namespaces, where it must fail, and with Landlock alone, where it must fail or its gap is named.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use maestro_engine::child::ChildReport;
use maestro_engine::sandbox::{ConfinementMode, ResourceLimits, SandboxGap, SandboxLayer};
use rustix::process::{Pid, Signal, kill_process};

use super::victim::{Attack, Victim, as_user, skip, text};
use crate::waiting::{is_alive, wait_until};

/// The agent: it tries one thing, and says whether that worked.
#[test]
#[ignore = "the attacker, which other tests start in a sandbox"]
fn attacker() {
    let (Ok(kind), Ok(target)) = (std::env::var("ATTACK"), std::env::var("TARGET")) else { return };
    match attempt(&kind, &target) {
        Ok(()) => println!("attack: succeeded"),
        Err(error) => println!("attack: failed ({error})"),
    }
}

fn attempt(kind: &str, target: &str) -> io::Result<()> {
    match kind {
        "read" => fs::read(target).map(drop),
        "list" => fs::read_dir(target)
            .and_then(|mut entries| entries.next().map(drop).ok_or_else(|| io::Error::other("there is nothing"))),
        "append" => fs::OpenOptions::new().append(true).open(target).map(drop),
        "create" => fs::write(target, "attack"),
        "remove" => fs::remove_file(target),
        "chmod" => fs::set_permissions(target, fs::Permissions::from_mode(0o777)),
        "touch" => fs::File::open(target)?.set_modified(SystemTime::UNIX_EPOCH),
        "xattr" => {
            rustix::fs::setxattr(target, "user.attack", b"x", rustix::fs::XattrFlags::empty()).map_err(Into::into)
        }
        "signal" => {
            let pid = Pid::from_raw(target.parse().unwrap()).unwrap();
            kill_process(pid, Signal::TERM).map_err(Into::into)
        }
        "socket" => UnixStream::connect(target).map(drop),
        "abstract" => UnixStream::connect_addr(&SocketAddr::from_abstract_name(target)?).map(drop),
        "network" => TcpStream::connect((Ipv4Addr::LOCALHOST, target.parse().unwrap())).map(drop),
        "proxied" => {
            let proxy = std::env::var("HTTPS_PROXY").map_err(io::Error::other)?;
            let mut stream = TcpStream::connect(proxy.trim_start_matches("http://"))?;
            write!(stream, "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")?;
            let mut answer = [0; 12];
            stream.read_exact(&mut answer)?;
            let refused = || io::Error::other(String::from_utf8_lossy(&answer).into_owned());
            (&answer == b"HTTP/1.1 200").then_some(()).ok_or_else(refused)
        }
        other => panic!("no such attack: {other}"),
    }
}

/// Tries an attack in both confinements.
fn refused(victim: &Victim, kind: &str, target: &str, gap: SandboxGap) {
    if let Some(attack) = victim.attack(ConfinementMode::Namespaces, kind, target) {
        assert_eq!(attack.sandbox.layer, SandboxLayer::Namespaces);
        assert!(!attack.succeeded(), "{kind} {target} in namespaces: {}", attack.output);
    }
    let Some(attack) = victim.attack(ConfinementMode::Landlock, kind, target) else { return };
    assert!(
        !attack.succeeded() || attack.sandbox.gaps.contains(&gap),
        "{kind} {target} with {:?}: {}",
        attack.sandbox,
        attack.output
    );
}

/// What an agent needs works in both confinements.
fn allowed(victim: &Victim, kind: &str, target: &str) {
    for mode in [ConfinementMode::Auto, ConfinementMode::Landlock] {
        let Some(attack) = victim.attack(mode, kind, target) else { continue };
        assert!(attack.succeeded(), "{kind} {target}: {} {:?}", attack.output, attack.sandbox);
    }
}

#[test]
fn an_agent_works_where_it_may() {
    let victim = Victim::new();
    allowed(&victim, "create", &text(&victim.path("work/new")));
    allowed(&victim, "chmod", &text(&victim.path("work/new")));
    allowed(&victim, "create", &text(&victim.path("scratch/new")));
    allowed(&victim, "read", &text(&victim.path("home/.bashrc")));
    allowed(&victim, "read", &text(&victim.path("home/.maestro/bin/tool")));
    allowed(&victim, "append", "/dev/null");
}

#[test]
fn an_agent_reads_no_data_of_ours() {
    let victim = Victim::new();
    for file in ["home/.maestro/run/token", "home/.maestro/maestro.db"] {
        refused(&victim, "read", &text(&victim.path(file)), SandboxGap::MaestroData);
        refused(&victim, "append", &text(&victim.path(file)), SandboxGap::Writes);
        refused(&victim, "remove", &text(&victim.path(file)), SandboxGap::Writes);
        assert_eq!(fs::read_to_string(victim.path(file)).unwrap(), "secret");
    }
}

#[test]
fn an_agent_writes_nowhere_else() {
    let victim = Victim::new();
    for (kind, file) in [
        ("append", "home/.bashrc"),
        ("remove", "home/.bashrc"),
        ("create", "home/.profile"),
        ("create", "home/.maestro/bin/maestro"),
        ("create", "home/.maestro/new"),
    ] {
        refused(&victim, kind, &text(&victim.path(file)), SandboxGap::Writes);
    }
    assert!(victim.path("home/.bashrc").exists() && !victim.path("home/.profile").exists());
    assert!(!victim.path("home/.maestro/bin/maestro").exists() && !victim.path("home/.maestro/new").exists());
}

#[test]
fn an_agent_changes_no_attributes_elsewhere() {
    for kind in ["chmod", "touch", "xattr"] {
        let victim = Victim::new();
        let file = victim.path("home/.bashrc");
        let before = file.metadata().unwrap();
        if let Some(attack) = victim.attack(ConfinementMode::Namespaces, kind, &text(&file)) {
            assert!(!attack.succeeded(), "{kind}: {}", attack.output);
            let after = file.metadata().unwrap();
            assert_eq!((after.mode(), after.ctime_nsec()), (before.mode(), before.ctime_nsec()), "{kind}");
        }
        refused(&victim, kind, &text(&file), SandboxGap::FileAttributes);
    }
}

#[test]
fn an_agent_signals_no_other_process() {
    let mut victim = Victim::new();
    let ours = std::process::id().to_string();
    let neighbor = victim.neighbor.id().to_string();
    refused(&victim, "signal", &neighbor, SandboxGap::Signals);
    if !rustix::process::getuid().is_root() {
        return;
    }
    refused(&victim, "signal", &ours, SandboxGap::Signals);
    assert!(victim.neighbor.try_wait().unwrap().is_none());
}

#[test]
fn an_agent_sees_no_secrets_of_other_processes() {
    let victim = Victim::new();
    let environ = format!("/proc/{}/environ", victim.neighbor.id());
    refused(&victim, "read", &environ, SandboxGap::Processes);
    refused(&victim, "list", &format!("/proc/{}/fd", victim.neighbor.id()), SandboxGap::Processes);
    refused(&victim, "list", "/proc/1/root/", SandboxGap::Processes);
}

#[test]
fn an_agent_connects_to_no_socket_of_another_program() {
    let victim = Victim::new();
    for socket in ["runtime/bus", "app/socket"] {
        refused(&victim, "socket", &text(&victim.path(socket)), SandboxGap::PathSockets);
    }
    refused(&victim, "abstract", &victim.abstract_name, SandboxGap::AbstractSockets);
}

#[test]
fn an_agent_without_network_reaches_nothing() {
    let victim = Victim::new();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    refused(&victim, "network", &port, SandboxGap::Network);
}

#[test]
fn an_agent_reaches_only_the_hosts_that_are_named() {
    let victim = Victim::new();
    let listeners = [(); 2].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    let [named, other] = listeners.each_ref().map(|listener| listener.local_addr().unwrap().port());
    let named_host = format!("localhost:{named}");
    let reach = |mode, kind: &str, target: &str| victim.reach(mode, &[&named_host, "example.invalid"], kind, target);
    if let Some(attack) = reach(ConfinementMode::Namespaces, "proxied", &named_host) {
        assert!(attack.succeeded(), "{}", attack.output);
        let forbidden = [
            ("proxied", format!("localhost:{other}")),
            ("proxied", format!("127.0.0.1:{named}")),
            ("proxied", format!("[::1]:{named}")),
            ("proxied", "example.invalid:22".to_owned()),
            ("network", named.to_string()),
        ];
        for (kind, target) in forbidden {
            let Some(attack) = reach(ConfinementMode::Namespaces, kind, &target) else { continue };
            assert!(!attack.succeeded(), "{kind} {target}: {}", attack.output);
        }
    }
    let Some(attack) = reach(ConfinementMode::Landlock, "network", &named.to_string()) else { return };
    assert!(attack.sandbox.gaps.contains(&SandboxGap::Network), "{:?}", attack.sandbox);
}

#[test]
fn an_agent_is_in_a_control_group_that_ends_with_it() {
    let victim = Victim::new();
    let limits = ResourceLimits { memory_mib: Some(512), processes: Some(64) };
    let Some(attack) = victim.limited(limits, "cat /proc/self/cgroup") else { return };
    let group = attack.output.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default();
    if !group.contains("/maestro-") {
        assert!(attack.sandbox.gaps.contains(&SandboxGap::Resources), "{:?}", attack.sandbox);
        return skip("no control groups are delegated to this user");
    }
    for mounted in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
        assert!(!Path::new(&format!("{mounted}{group}")).exists(), "{group}");
    }
    let Some(attack) = victim.limited(ResourceLimits::default(), "cat /proc/self/cgroup") else { return };
    assert!(!attack.output.contains("maestro-") && attack.sandbox.gaps.contains(&SandboxGap::Resources));
}

#[test]
fn an_agent_has_temporary_files_of_its_own() {
    let victim = Victim::new();
    let name = format!("/tmp/maestro-attack-{}", std::process::id());
    for mode in [ConfinementMode::Namespaces, ConfinementMode::Landlock] {
        let Some(attack) = victim.attack(mode, "create", &name) else { continue };
        assert!(attack.succeeded(), "{}", attack.output);
        let shared = fs::remove_file(&name).is_ok();
        assert!(!shared || attack.sandbox.gaps.contains(&SandboxGap::TemporaryFiles), "{:?}", attack.sandbox);
    }
}

#[test]
fn an_agent_writes_to_no_other_terminal() {
    let victim = Victim::new();
    let mut terminal = Command::new("script");
    terminal.args(["-qfc", "tty; sleep 1000", "/dev/null"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let Ok(mut terminal) = as_user(&mut terminal).spawn() else { return };
    let mut name = String::new();
    let mut output = io::BufReader::new(terminal.stdout.take().unwrap());
    io::BufRead::read_line(&mut output, &mut name).unwrap();
    refused(&victim, "append", name.trim(), SandboxGap::Terminals);
    terminal.kill().unwrap();
    terminal.wait().unwrap();
}

#[test]
fn an_agent_does_not_outlive_its_supervisor() {
    let victim = Victim::new();
    let script = "setsid sh -c 'echo $$ > daemon; exec sleep 1000' & while [ ! -s daemon ]; do sleep 0.01; done; \
                  kill -9 $PPID; kill -9 -- -$PPID; exit 0";
    for mode in [ConfinementMode::Namespaces, ConfinementMode::Landlock] {
        let Some(attack) = victim.script(mode, script, &[]) else { continue };
        let Attack { sandbox, end, .. } = attack;
        let reported = end == Some(ChildReport::Exited { code: 0 });
        assert!(reported || sandbox.gaps.contains(&SandboxGap::Signals), "{end:?} {sandbox:?}");
        if reported {
            wait_until("nothing of it is left", || processes_in(&victim).is_empty());
        }
        fs::remove_file(victim.path("work/daemon")).unwrap();
    }
    assert!(is_alive(victim.neighbor.id()));
}

/// The processes that work somewhere below the victim's directory.
fn processes_in(victim: &Victim) -> Vec<u32> {
    let root = victim.path("");
    let works_there = |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&root));
    let pids = fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(works_there).collect()
}

#[test]
fn an_agent_does_not_undo_its_sandbox() {
    let victim = Victim::new();
    let file = text(&victim.path("home/.bashrc"));
    let token = text(&victim.path("home/.maestro/run/token"));
    let script = "unshare -Urm sh -c 'mount -o remount,rw,bind /; umount -l \"$HOME/.maestro\"; umount -l /tmp; \
                  echo attack >> \"$FILE\"; cat \"$TOKEN\"'; echo attack >> \"$FILE\"; cat \"$TOKEN\"; exit 0";
    for mode in [ConfinementMode::Namespaces, ConfinementMode::Landlock] {
        let Some(attack) = victim.script(mode, script, &[("FILE", &file), ("TOKEN", &token)]) else { continue };
        assert!(!attack.output.contains("secret"), "{}", attack.output);
        assert_eq!(fs::read_to_string(&file).unwrap(), "alias ls=ls\n", "{:?}", attack.sandbox);
    }
}
