//! `maestro up`: the server, in the foreground until it is stopped.

use std::io::{self, Read as _, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use maestro_core::Settings;
use maestro_core::settings::AuthMode;
use maestro_core::short_id::ShortIds;
use maestro_engine::caller_sockets::CallerSockets;
use maestro_engine::user_program::DETACH;
use maestro_engine::worker::AgentWorker;
use maestro_server::{
    AccessPolicy, AppState, McpSite, ServerListeners, ServerOptions, SkillChanges, bind_private, phone_link, serve,
    sign_in_link, terminal_code,
};
use maestro_store::{ClaimScope, DatabaseLocation, DatabaseLock, HostKind, RunHost, RunRecord, empty_log, hash_secret};
use serde_json::{Value as Json, json};
use tokio::net::{TcpListener, TcpSocket, UnixListener};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::{AuthArg, UpArgs};
use crate::client::{self, hostname};
use crate::commands::open::open_browser;
use crate::host::cli_host::CliHost;
use crate::host::runtime;
use crate::host::world::World;
use crate::host::{config, files, server_token};
use crate::output::command_output::{self, CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{TextStyle, clean, clean_path};
use crate::server_process::server_file::{self, ServerFile};
use crate::server_process::{database, worker_host};

/// Default address of the server.
const PORT: u16 = 3000;
/// How long work in the background may take after the last request.
const LAST_WORK: Duration = Duration::from_secs(5);
/// How often a server that was left to its work looks whether it is done.
const IDLE_LOOK: Duration = Duration::from_secs(1);
/// How many ports are tried if the default is taken.
const TRIES: u16 = 100;
/// How many connections may wait until they are accepted. More are not lost, but a second late: the other side repeats.
const BACKLOG: u32 = 1024;

pub(crate) fn run(args: &UpArgs, world: &World) -> CommandResult {
    let settings = config::settings(world)?;
    let host = args.host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let phone_ip = args.phone.then(network_address).transpose()?;
    let access = access(args, &settings, phone_ip.unwrap_or(host), world)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::io("cannot start the runtime", &error))?;
    let place = database::database_url(world);
    // A PostgreSQL database may have many servers; on a file a second one would only hide the first.
    if matches!(place, DatabaseLocation::File(_)) && runtime::wait(&runtime, client::running(world)).is_some() {
        let url = ServerFile::read(&world.maestro_home).map(|file| file.url).unwrap_or_default();
        return Err(CommandError::invalid(format!("a server already uses this database: {url}"))
            .hint("run `maestro open` for its page; to restart it, press Ctrl-C where it runs"));
    }
    let database = database::display_url(&place);
    let backups = database::automatic_backups(&place, &settings);
    let (store, lock) = database::open_for_server(place, world)?;
    store.set_rules(database::rules(&settings));
    store.watch_others().map_err(|error| database::store_error(&error))?;
    let (mut network, taken) = runtime::wait(&runtime, async { listen(args, host) })?;
    let address = network.first().and_then(|listener| listener.local_addr().ok());
    let address = address.ok_or_else(|| CommandError::internal("the server has no address"))?;
    let phone = phone_ip.map(|ip| SocketAddr::new(ip, address.port()));
    if let Some(phone) = phone {
        let bound = runtime::wait(&runtime, async { listen_at(phone) });
        network.push(bound.map_err(|error| CommandError::io(format!("cannot listen on {phone}"), &error))?);
    }
    let (sockets, orders) = CallerSockets::new();
    let user = user_socket(world, &runtime)?;
    let file = ServerFile {
        url: format!("http://{}", local_address(address)),
        socket: Some(server_file::socket_path(&world.maestro_home)),
        pid: std::process::id(),
        instance: uuid::Uuid::now_v7().to_string(),
        database,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        with_caller: args.with_caller,
    };
    let changes = SkillChanges::default();
    let machine = CliHost::watching(world, &changes).with_store(store.clone()).with_journal().with_sockets(sockets);
    let execution = machine.execution()?;
    let mcp = McpSite { directory: world.places.working_dir.clone(), changes };
    let hosting = if args.with_caller { HostKind::Command } else { HostKind::Server };
    let scope = claim_scope(hosting, execution.identity.as_str());
    let worker = match args.agents {
        0 => None,
        most => Some(AgentWorker {
            scope,
            ..worker_host::of(world, store.clone(), file.url.clone(), Arc::clone(&execution), most)?
        }),
    };
    let app = AppState::new(ServerOptions {
        store,
        access: access.clone(),
        hosts: [Some(host.to_string()), phone_ip.map(|ip| ip.to_string()), Some(hostname())]
            .into_iter()
            .flatten()
            .collect(),
        instance: file.instance.clone(),
        site: site(world, &file),
        url: file.url.clone(),
        phone: phone.map(|address| format!("http://{address}")),
        version: file.version.clone(),
        hostname: hostname(),
        clock: database::clock(),
        retention: database::retention(&settings),
        backups,
        endpoints: worker_host::agent_endpoints(world, Some(file.url.clone())),
        host: Arc::clone(&execution.host),
        hosting: Some(hosting),
        execution: Some(execution),
        mcp: Some(mcp),
    });
    let caller = if args.with_caller { ParentWatch::Watched } else { ParentWatch::Ignored };
    let listeners = ServerListeners { network, user: Some(user), orders: Some(orders), ..ServerListeners::default() };
    let server =
        ServerProcess { runtime, lock, listeners, app, worker, file, caller, home: world.maestro_home.clone() };
    let warnings = dangers(args, &access);
    let greeting = Greeting { json: world.json, open: args.open, warnings, taken, paint: world.note_paint };
    Ok(CommandOutput::stream(move |out| server.run(out, &greeting)))
}

/// The sessions that a server of this kind starts agents for.
fn claim_scope(hosting: HostKind, process: &str) -> ClaimScope {
    match hosting {
        HostKind::Server => ClaimScope::Server,
        HostKind::Command => {
            let host = RunHost { kind: hosting, process: process.to_owned() };
            ClaimScope::Command { host, since: database::clock()() }
        }
    }
}

/// Who may call over the network.
fn access(args: &UpArgs, settings: &Settings, host: IpAddr, world: &World) -> CommandResult<AccessPolicy> {
    // The server of a single command serves that one only, by its socket.
    let variable = world.variable("MAESTRO_AUTH_TOKEN").filter(|_| !args.with_caller);
    let given = server_token::given(args.token_file.as_deref(), args.token.as_deref().or(variable))?;
    let mode = match args.auth {
        Some(AuthArg::Token) => AuthMode::Token,
        Some(AuthArg::Open) => AuthMode::Open,
        None => settings.auth.value,
    };
    match mode {
        AuthMode::Token => Ok(AccessPolicy::Token(given)),
        AuthMode::Open if host.is_loopback() => Ok(AccessPolicy::Open),
        AuthMode::Open => Err(CommandError::invalid(format!("listening on {host} requires a token"))
            .hint("omit `--auth open`, or omit --host")),
    }
}

/// The socket for the user's own commands.
fn user_socket(world: &World, runtime: &Runtime) -> CommandResult<UnixListener> {
    let path = server_file::socket_path(&world.maestro_home);
    let _entered = runtime.enter();
    let private = || {
        let directory = path.parent().unwrap_or(&path);
        files::own_directory(directory)?;
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700))?;
        bind_private(&path)
    };
    private().map_err(|error| {
        CommandError::io(format!("cannot listen on {}", path.display()), &error)
            .hint("set MAESTRO_HOME to a directory of your own")
    })
}

/// What tells this server from others on the machine, also after a restart.
fn site(world: &World, file: &ServerFile) -> String {
    let place = format!("{}\n{}", world.maestro_home.display(), file.database);
    hash_secret(place.as_bytes()).chars().take(16).collect()
}

/// What a server says when it starts, and how.
struct Greeting {
    json: bool,
    open: bool,
    /// What is dangerous, for standard error.
    warnings: Vec<&'static str>,
    /// The usual port, where another program has it.
    taken: Option<u16>,
    /// Colors of the warnings.
    paint: TextStyle,
}

/// What is dangerous about how a server is started.
fn dangers(args: &UpArgs, access: &AccessPolicy) -> Vec<&'static str> {
    let open = "anyone who can reach this address acts as you: other users of this machine, and every program that an \
                agent runs. Use `--auth token` unless you trust all of them.";
    let token = "--token shows the token to other users in the list of processes; use --token-file or \
                 MAESTRO_AUTH_TOKEN";
    let phone = "--phone lets the local network reach this server, without encryption; use it only in a network you \
                 trust.";
    let host = "other machines can reach this server, without encryption; each caller needs a token from `maestro token \
                create NAME`. `maestro help guide team-server` says how to add encryption.";
    let is_reachable = args.host.is_some_and(|host| !host.is_loopback());
    let dangers = [
        (*access == AccessPolicy::Open, open),
        (is_reachable && *access != AccessPolicy::Open, host),
        (args.token.is_some(), token),
        (args.phone, phone),
    ];
    dangers.into_iter().filter_map(|(is_there, words)| is_there.then_some(words)).collect()
}

/// The address of this machine in the local network. Nothing is sent to find it.
fn network_address() -> CommandResult<IpAddr> {
    let elsewhere = SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 9));
    let found = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| {
        socket.connect(elsewhere)?;
        Ok(socket.local_addr()?.ip())
    });
    found.ok().filter(|ip| !ip.is_loopback() && !ip.is_unspecified()).ok_or_else(|| {
        CommandError::invalid("this machine is in no local network")
            .hint("omit --phone, or pass an address with --host")
    })
}

/// The address by which this machine reaches the server.
fn local_address(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => (Ipv4Addr::LOCALHOST, address.port()).into(),
        IpAddr::V6(ip) if ip.is_unspecified() => (Ipv6Addr::LOCALHOST, address.port()).into(),
        _ => address,
    }
}

/// A server that is about to run.
struct ServerProcess {
    runtime: Runtime,
    lock: Option<DatabaseLock>,
    listeners: ServerListeners,
    app: AppState,
    worker: Option<AgentWorker>,
    file: ServerFile,
    caller: ParentWatch,
    home: PathBuf,
}

/// Whether the server ends with its parent process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParentWatch {
    /// It ends when its standard input closes.
    Watched,
    /// It keeps running.
    Ignored,
}

impl ParentWatch {
    /// Waits until the parent process is gone, if that matters; one that leaves the server to its work, until that is
    /// done.
    async fn wait_gone(self, app: AppState) {
        if self == Self::Ignored {
            return std::future::pending().await;
        }
        let (gone, closed) = tokio::sync::oneshot::channel();
        // A thread of its own: only the end of standard input ends a read, and nothing waits for the thread.
        std::thread::spawn(move || {
            let mut words = String::new();
            let _ = io::stdin().lock().read_to_string(&mut words);
            let _ = gone.send(words);
        });
        if closed.await.is_ok_and(|words| words.trim() == DETACH) {
            while app.carries_runs().await {
                tokio::time::sleep(IDLE_LOOK).await;
            }
        }
    }
}

impl ServerProcess {
    /// Takes over what servers before it left, and says so; what commands left is only listed.
    fn resume_runs(&self, out: &mut dyn Write, greeting: &Greeting) -> io::Result<()> {
        let (resumed, left) = runtime::wait(&self.runtime, self.app.adopt_runs()).map_err(io::Error::other)?;
        if greeting.json || self.caller == ParentWatch::Watched {
            return Ok(());
        }
        let ids: Vec<String> = resumed.iter().chain(&left).map(|run| run.id.to_string()).collect();
        let short = ShortIds::new(ids);
        for run in resumed.iter().filter(|run| run.about.parent.is_none()) {
            writeln!(out, "Resumes run {}", run_words(run, &short))?;
        }
        for run in &left {
            let id = run.id.to_string();
            let words = run_words(run, &short);
            writeln!(out, "Not resumed: run {words}; continue it with `maestro loop resume {}`", short.shorten(&id))?;
        }
        Ok(())
    }

    /// Prints its address, and serves until it is stopped.
    fn run(self, out: &mut dyn Write, greeting: &Greeting) -> io::Result<()> {
        self.file.write(&self.home)?;
        let link = sign_in_link(&self.app).map_err(io::Error::other)?;
        if greeting.json {
            let mut shown = json!(self.file);
            shown["signIn"] = json!(link.url);
            if let Some(phone) = phone_link(&self.app).map_err(io::Error::other)? {
                shown["phone"] = json!(phone.url);
            }
            writeln!(out, "{shown}")?;
        } else {
            writeln!(out, "Maestro is running at {}\nDatabase: {}", self.file.url, self.file.database)?;
            writeln!(out, "Page: {}", link.url)?;
            if let Some(phone) = phone_link(&self.app).map_err(io::Error::other)? {
                let code = terminal_code(&phone.url).unwrap_or_default();
                writeln!(out, "\n{code}\nPhone: scan the code, or open {}", phone.url)?;
                writeln!(out, "It works once, for ten minutes. Settings on the page shows another.")?;
            }
            if let Some(port) = greeting.taken {
                writeln!(out, "Port {port} was taken by another program; pass --port to choose one.")?;
            }
        }
        self.resume_runs(out, greeting)?;
        for warning in &greeting.warnings {
            command_output::warn(warning, greeting.paint);
        }
        out.flush()?;
        if greeting.open {
            let url = link.url.clone();
            // The browser asks the server, which answers a moment later.
            std::thread::spawn(move || open_browser(&url));
        }
        let served = runtime::wait(&self.runtime, async {
            let told = shutdown_signal()?;
            // A closed terminal is its caller's matter, which says what becomes of it.
            let _ignored = (self.caller == ParentWatch::Watched).then(|| signal(SignalKind::hangup())).transpose()?;
            let app = self.app.clone();
            let end = async move {
                tokio::select! {
                    () = told => {}
                    () = self.caller.wait_gone(app) => {}
                }
            };
            serve(self.listeners, self.app, self.worker, end).await;
            Ok(())
        });
        self.file.remove(&self.home);
        if let Some(lock) = self.lock {
            // What works in the background gets the time to be done with the database; a thread that waits for a
            // program or a file for ever does not keep the server.
            self.runtime.shutdown_timeout(LAST_WORK);
            // Else it keeps the size that it once had.
            if let Err(error) = empty_log(Path::new(&self.file.database)) {
                tracing::warn!("the write-ahead log of {} is not emptied: {error}", self.file.database);
            }
            lock.release()?;
        }
        served
    }
}

/// A run in a line: its short id, what it works on, and where.
fn run_words(run: &RunRecord, short: &ShortIds) -> String {
    let id = run.id.to_string();
    let params = run.run.frames.first().map(|frame| &frame.params);
    let text = |name: &str| params.and_then(|params| params.get(name)).and_then(Json::as_str).unwrap_or_default();
    let what = [text("plan"), text("only"), &run.about.workflow].into_iter().find(|text| !text.is_empty());
    let place = run.run.context.get("workspace").and_then(Json::as_str).unwrap_or_default();
    format!("{} of {} in {}", short.shorten(&id), clean(what.unwrap_or_default()), clean_path(place))
}

/// Waits for Ctrl-C or SIGTERM.
pub(crate) fn shutdown_signal() -> io::Result<impl Future<Output = ()>> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// The requested port, or the first free one from the default on; and the default, where it was taken.
fn listen(args: &UpArgs, host: IpAddr) -> CommandResult<(Vec<TcpListener>, Option<u16>)> {
    if let Some(port) = args.port {
        return listen_on(host, port).map(|listeners| (listeners, None)).map_err(|error| {
            CommandError::io(format!("cannot listen on port {port} of {host}"), &error)
                .hint("stop the program that uses it, or omit --port to use the next free one")
        });
    }
    for port in PORT..PORT + TRIES {
        match listen_on(host, port) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(CommandError::io(format!("cannot listen on {host}"), &error)),
            Ok(listeners) => return Ok((listeners, (port != PORT).then_some(PORT))),
        }
    }
    Err(CommandError::invalid(format!("no free port from {PORT} to {}", PORT + TRIES - 1)).hint("pass one with --port"))
}

/// Listens on the address, and for the default loopback address also on its IPv6 twin.
fn listen_on(host: IpAddr, port: u16) -> io::Result<Vec<TcpListener>> {
    let first = listen_at(SocketAddr::new(host, port))?;
    let port = first.local_addr()?.port();
    let mut listeners = vec![first];
    if host == IpAddr::V4(Ipv4Addr::LOCALHOST) {
        // Without IPv6, `localhost` means the other address anyway.
        listeners.extend(listen_at(SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port)));
    }
    Ok(listeners)
}

/// Listens on one address, inside of a runtime.
fn listen_at(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // As `TcpListener::bind` does: the port of a server that has just ended is free.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
