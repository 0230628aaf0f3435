//! Execution of the demo agent's actions.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use maestro_core::agent::{AgentEvent, ChoiceKind, PROMISE, Scope, ToolKind, ToolStatus, TroubleKind};
use rustix::process::{Pid, Signal, getpid, kill_process, kill_process_group};
use serde_json::{Value as Json, json};

use super::act::{Act, mended};
use super::place::inside;
use super::{Answer, Audience, Permission, Reports, Turn, choose, daemon};

/// How often it checks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(10);
/// How many bytes of a command's output it reports.
const MOST_OUTPUT: u64 = 64 * 1024;

/// Does everything, in order, until something ends the turn.
pub(super) fn perform(
    acts: &[Act],
    reports: Reports,
    directory: &Path,
    permission: Permission,
    audience: &mut dyn Audience,
) -> io::Result<Turn> {
    let speaks = reports == Reports::ByItself && std::env::var_os("MAESTRO_SESSION_ID").is_some();
    let mut agent = Agent { directory, permission, audience, calls: 0, chosen: None };
    if acts.is_empty() {
        // A turn without actions is not done.
        agent.say("I understand lines such as `Add a file NAME that says TEXT`, and found none.")?;
        return Ok(Turn::Done);
    }
    if speaks {
        agent.report(&["update".to_owned(), format!("{} to do", things(acts.len()))])?;
    }
    for act in acts {
        if agent.audience.is_cancelled() {
            return Ok(Turn::Cancelled);
        }
        if let Some(turn) = agent.act(act)? {
            return Ok(turn);
        }
    }
    if speaks {
        let done = agent.chosen.take().unwrap_or_else(|| format!("{} done", things(acts.len())));
        agent.report(&["complete".to_owned(), done])?;
    }
    Ok(if agent.audience.is_cancelled() { Turn::Cancelled } else { Turn::Done })
}

/// A count in words.
fn things(count: usize) -> String {
    if count == 1 { "1 thing".to_owned() } else { format!("{count} things") }
}

struct Agent<'a> {
    directory: &'a Path,
    permission: Permission,
    audience: &'a mut dyn Audience,
    calls: u32,
    /// The task that it chose itself.
    chosen: Option<String>,
}

/// A tool that is about to be used.
struct Tool<'a> {
    name: &'a str,
    kind: ToolKind,
    title: String,
    input: Json,
}

impl Agent<'_> {
    /// Does one action; returns how the turn ends where it does.
    fn act(&mut self, act: &Act) -> io::Result<Option<Turn>> {
        match act {
            Act::Add { file, text } => self.edit(file, text, Edit::Whole)?,
            Act::Append { file, text } => self.edit(file, text, Edit::AtEnd)?,
            Act::Choose { plan, mends } => return self.choose(plan, mends.as_deref()),
            Act::Run { command } => self.run(command)?,
            Act::Say { text } => self.say(text)?,
            Act::Think { text } => self.audience.tell(AgentEvent::Thought { text: text.clone() })?,
            Act::Report { words } => self.report(words)?,
            Act::Ask { title, acts } => return self.ask(title, acts),
            Act::Tokens { input, output, cost_usd } => self.audience.tell(AgentEvent::Usage {
                scope: Scope::Turn,
                input: Some(*input),
                output: Some(*output),
                cached: None,
                reasoning: None,
                cost_usd: *cost_usd,
            })?,
            Act::Sleep { ms } => self.sleep(Some(Duration::from_millis(*ms))),
            Act::Hang => self.sleep(None),
            Act::Fail { status, message } => {
                return Ok(Some(Turn::Failed { status: *status, message: message.clone() }));
            }
            Act::Exit { code } => return Ok(Some(Turn::Exit(*code))),
            Act::Crash { signal } => {
                let signal = Signal::from_named_raw(*signal).unwrap_or(Signal::KILL);
                // The first of some signals only removes their handler.
                loop {
                    kill_process(getpid(), signal)?;
                    sleep(LOOK);
                }
            }
            Act::Flood { lines } => self.flood(*lines)?,
            Act::LongLine { megabytes } => self.say(&"x".repeat(megabytes * 1024 * 1024))?,
            Act::BadBytes => self.audience.print(b"\xff\xfe\0 no text \xc3\x28\n")?,
            Act::Daemon { file } => daemon::leave(inside(self.directory, file)?.as_os_str())?,
            // A script has none of these after parsing.
            Act::Prompt | Act::EndTurn => {}
        }
        Ok(None)
    }

    /// Does the next task of a plan and marks it, or fixes the last one; says so when nothing is left.
    fn choose(&mut self, plan: &str, mends: Option<&str>) -> io::Result<Option<Turn>> {
        let text = fs::read_to_string(inside(self.directory, plan)?)?;
        if let Some((act, finding)) = choose::last(&text).zip(mends) {
            return self.act(&mended(act, finding));
        }
        let Some(chosen) = choose::next(&text) else {
            self.chosen = Some(format!("Nothing of {plan} is left to do"));
            self.say(&format!("Nothing of {plan} is left to do.\n{PROMISE}"))?;
            return Ok(None);
        };
        let turn = self.act(&chosen.act)?;
        self.edit(plan, &chosen.marked, Edit::Whole)?;
        self.chosen = Some(chosen.task);
        Ok(turn)
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.audience.tell(AgentEvent::Said { text: text.to_owned() })
    }

    fn sleep(&self, time: Option<Duration>) {
        let started = Instant::now();
        while !self.audience.is_cancelled() && time.is_none_or(|time| started.elapsed() < time) {
            sleep(time.map_or(LOOK, |time| time.saturating_sub(started.elapsed()).min(LOOK)));
        }
    }

    fn flood(&mut self, lines: u64) -> io::Result<()> {
        // Many at once, as a program with buffered output does.
        let mut some = Vec::new();
        for line in 1..=lines {
            writeln!(some, "line {line} of a flood that goes on and on")?;
            if some.len() > 32 * 1024 || line == lines {
                self.audience.print(&some)?;
                some.clear();
            }
        }
        Ok(())
    }

    fn ask(&mut self, title: &str, acts: &[Act]) -> io::Result<Option<Turn>> {
        let tool = Tool { name: "ask", kind: ToolKind::Other, title: title.to_owned(), input: Json::Null };
        let Some(call) = self.begin(&tool, Asks::Always)? else { return Ok(None) };
        self.end(&call, ToolStatus::Ok, "allowed")?;
        for act in acts {
            if let Some(turn) = self.act(act)? {
                return Ok(Some(turn));
            }
        }
        Ok(None)
    }

    fn edit(&mut self, name: &str, text: &str, edit: Edit) -> io::Result<()> {
        let title = match edit {
            Edit::Whole => format!("Write {name}"),
            Edit::AtEnd => format!("Append to {name}"),
        };
        let tool = Tool { name: "edit", kind: ToolKind::Edit, title, input: json!({ "path": name, "content": text }) };
        let asks = if self.permission == Permission::Ask { Asks::Always } else { Asks::Never };
        let Some(call) = self.begin(&tool, asks)? else { return Ok(()) };
        let written = inside(self.directory, name).and_then(|file| match edit {
            Edit::Whole => fs::write(file, format!("{text}\n")),
            Edit::AtEnd => {
                let mut file = OpenOptions::new().append(true).create(true).open(file)?;
                file.write_all(format!("{text}\n").as_bytes())
            }
        });
        match written {
            Ok(()) => {
                let added = Some(text.lines().count() as u64);
                self.audience.tell(AgentEvent::Changed { path: name.to_owned(), added, removed: None, diff: None })?;
                self.end(&call, ToolStatus::Ok, "written")
            }
            Err(error) => self.end(&call, ToolStatus::Failed, &error.to_string()),
        }
    }

    fn run(&mut self, command: &str) -> io::Result<()> {
        let input = json!({ "command": command });
        let tool = Tool { name: "shell", kind: ToolKind::Execute, title: command.to_owned(), input };
        let asks = if self.permission == Permission::All { Asks::Never } else { Asks::Always };
        let Some(call) = self.begin(&tool, asks)? else { return Ok(()) };
        let mut shell = Command::new("sh");
        shell.args(["-c", command]);
        self.execute(&call, shell)
    }

    /// Calls Maestro, as an agent does from its shell.
    fn report(&mut self, words: &[String]) -> io::Result<()> {
        let input = json!({ "command": words });
        let title = format!("maestro {}", words.join(" "));
        let tool = Tool { name: "maestro", kind: ToolKind::Execute, title, input };
        let Some(call) = self.begin(&tool, Asks::Never)? else { return Ok(()) };
        let named = std::env::var_os("MAESTRO_BIN").filter(|program| !program.is_empty());
        let mut maestro = Command::new(named.map_or_else(std::env::current_exe, |program| Ok(program.into()))?);
        maestro.args(words);
        self.execute(&call, maestro)
    }

    /// Runs a program in a group of its own, and ends it when the turn is cancelled.
    fn execute(&mut self, call: &str, mut command: Command) -> io::Result<()> {
        use std::os::unix::process::CommandExt as _;
        let (reader, writer) = io::pipe()?;
        command.current_dir(self.directory).process_group(0).stdin(Stdio::null());
        command.stdout(writer.try_clone()?).stderr(writer);
        let started = command.spawn();
        // It holds the other end of the pipe.
        drop(command);
        let mut child = match started {
            Ok(child) => child,
            Err(error) => return self.end(call, ToolStatus::Failed, &error.to_string()),
        };
        let output = std::thread::spawn(move || {
            let (mut reader, mut kept) = (reader, Vec::new());
            let _ = reader.by_ref().take(MOST_OUTPUT).read_to_end(&mut kept);
            let _ = io::copy(&mut reader, &mut io::sink());
            kept
        });
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if self.audience.is_cancelled() {
                if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                break child.wait()?;
            }
            sleep(LOOK);
        };
        let output = output.join().unwrap_or_default();
        let how = if status.success() { ToolStatus::Ok } else { ToolStatus::Failed };
        let text = String::from_utf8_lossy(&output);
        let text = if status.success() { text.into_owned() } else { format!("{text}[{status}]") };
        self.end(call, how, &text)
    }

    /// Announces the use of a tool, and asks first where it has to. Returns the call, unless it is denied.
    fn begin(&mut self, tool: &Tool<'_>, asks: Asks) -> io::Result<Option<String>> {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        self.audience.tell(AgentEvent::ToolBegan {
            id: id.clone(),
            name: tool.name.to_owned(),
            title: tool.title.clone(),
            kind: tool.kind,
            input: tool.input.clone(),
        })?;
        if asks == Asks::Never {
            return Ok(Some(id));
        }
        match self.audience.ask(&id, &tool.title)? {
            Answer::Given(ChoiceKind::AllowOnce) => return Ok(Some(id)),
            Answer::Given(ChoiceKind::AllowAlways) => {
                self.permission = Permission::All;
                return Ok(Some(id));
            }
            Answer::Given(_) | Answer::None => {}
        }
        self.end(&id, ToolStatus::Denied, "not allowed")?;
        let message = format!("`{}` was not allowed", tool.title);
        self.audience.tell(AgentEvent::Trouble {
            kind: TroubleKind::Denied,
            status: None,
            message,
            retry_after_ms: None,
        })?;
        Ok(None)
    }

    fn end(&mut self, call: &str, status: ToolStatus, output: &str) -> io::Result<()> {
        let (id, output) = (call.to_owned(), output.to_owned());
        self.audience.tell(AgentEvent::ToolEnded { id, status, output })
    }
}

#[derive(Debug, Clone, Copy)]
enum Edit {
    Whole,
    AtEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    Always,
    Never,
}
