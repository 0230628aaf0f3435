//! Execution of the demo agent's actions.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use maestro_core::agent::{AgentEvent, FailureKind, PROMISE, PermissionChoiceKind, Scope, ToolKind, ToolStatus};
use rustix::process::{Pid, Signal, getpid, kill_process, kill_process_group};
use serde_json::{Value as Json, json};

use super::action::{DemoAction, fix_action};
use super::path::resolve_inside;
use super::{DemoAnswer, DemoOutput, DemoPermission, DemoReporting, DemoTurnEnd, choose, daemon};

/// How often it checks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(10);
/// How many bytes of a command's output it reports.
const MOST_OUTPUT: u64 = 64 * 1024;
/// How many actions a report names.
const MOST_NAMED: usize = 3;

/// Does everything, in order, until something ends the turn.
pub(super) fn perform(
    acts: &[DemoAction],
    reports: DemoReporting,
    directory: &Path,
    permission: DemoPermission,
    audience: &mut dyn DemoOutput,
) -> io::Result<DemoTurnEnd> {
    let speaks = reports == DemoReporting::ByItself && std::env::var_os("MAESTRO_SESSION_ID").is_some();
    let mut agent = DemoAgent { directory, permission, audience, calls: 0, chosen: None };
    if acts.is_empty() {
        // A turn without actions is not done.
        agent.say("The demo agent does only lines such as `Add a file NAME that says TEXT`, and found none.")?;
        return Ok(DemoTurnEnd::Done);
    }
    if speaks {
        agent.report(&["update".to_owned(), summary(acts, Tense::Ahead)])?;
    }
    for act in acts {
        if agent.audience.is_cancelled() {
            return Ok(DemoTurnEnd::Cancelled);
        }
        if let Some(turn) = agent.act(act)? {
            return Ok(turn);
        }
    }
    if speaks {
        let done = agent.chosen.take().unwrap_or_else(|| summary(acts, Tense::Done));
        agent.report(&["complete".to_owned(), done])?;
    }
    Ok(if agent.audience.is_cancelled() { DemoTurnEnd::Cancelled } else { DemoTurnEnd::Done })
}

/// Whether actions are ahead or done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tense {
    Ahead,
    Done,
}

/// The actions of a turn in a line.
fn summary(acts: &[DemoAction], tense: Tense) -> String {
    let mut words: Vec<String> = acts.iter().take(MOST_NAMED).map(|act| in_words(act, tense)).collect();
    if acts.len() > MOST_NAMED {
        words.push(format!("{} more", acts.len() - MOST_NAMED));
    }
    let text = words.join(", ");
    let first = text.chars().next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + text.chars().next().map_or("", |first| &text[first.len_utf8()..])
}

fn in_words(act: &DemoAction, tense: Tense) -> String {
    let verb = |ahead: &'static str, done: &'static str| if tense == Tense::Ahead { ahead } else { done };
    match act {
        DemoAction::Add { file, .. } => format!("{} {file}", verb("write", "wrote")),
        DemoAction::Append { file, .. } => format!("{} to {file}", verb("append", "appended")),
        DemoAction::Choose { plan, .. } => format!("{} the next task of {plan}", verb("do", "did")),
        DemoAction::Run { command } => {
            format!("{} `{}`", verb("run", "ran"), command.lines().next().unwrap_or_default())
        }
        DemoAction::Verdict { .. } => format!("{} the changes", verb("read", "judged")),
        DemoAction::Say { .. } => verb("answer", "answered").to_owned(),
        _ => verb("do the next step", "did the next step").to_owned(),
    }
}

struct DemoAgent<'a> {
    directory: &'a Path,
    permission: DemoPermission,
    audience: &'a mut dyn DemoOutput,
    calls: u32,
    /// The task that it chose itself.
    chosen: Option<String>,
}

/// A tool that is about to be used.
struct DemoTool<'a> {
    name: &'a str,
    kind: ToolKind,
    title: String,
    input: Json,
}

impl DemoAgent<'_> {
    /// Does one action; returns how the turn ends where it does.
    fn act(&mut self, act: &DemoAction) -> io::Result<Option<DemoTurnEnd>> {
        match act {
            DemoAction::Add { file, text } => self.edit(file, text, DemoEdit::Whole)?,
            DemoAction::Append { file, text } => self.edit(file, text, DemoEdit::AtEnd)?,
            DemoAction::Choose { plan, finding_to_fix } => return self.choose(plan, finding_to_fix.as_deref()),
            DemoAction::Run { command } | DemoAction::Verdict { command } => self.run(command)?,
            DemoAction::Say { text } => self.say(text)?,
            DemoAction::Think { text } => self.audience.emit(AgentEvent::Thought { text: text.clone() })?,
            DemoAction::Report { words } => self.report(words)?,
            DemoAction::Ask { title, acts } => return self.ask(title, acts),
            DemoAction::Tokens { input, output, cost_usd } => self.audience.emit(AgentEvent::Usage {
                scope: Scope::Turn,
                input: Some(*input),
                output: Some(*output),
                cached: None,
                reasoning: None,
                cost_usd: *cost_usd,
            })?,
            DemoAction::Sleep { ms } => self.sleep(Some(Duration::from_millis(*ms))),
            DemoAction::Hang => self.sleep(None),
            DemoAction::Fail { status, message } => {
                return Ok(Some(DemoTurnEnd::Failed { status: *status, message: message.clone() }));
            }
            DemoAction::Exit { code } => return Ok(Some(DemoTurnEnd::Exit(*code))),
            DemoAction::Crash { signal } => {
                let signal = Signal::from_named_raw(*signal).unwrap_or(Signal::KILL);
                // The first of some signals only removes their handler.
                loop {
                    kill_process(getpid(), signal)?;
                    sleep(LOOK);
                }
            }
            DemoAction::Flood { lines } => self.flood(*lines)?,
            DemoAction::LongLine { megabytes } => self.say(&"x".repeat(megabytes * 1024 * 1024))?,
            DemoAction::BadBytes => self.audience.print(b"\xff\xfe\0 no text \xc3\x28\n")?,
            DemoAction::Daemon { file } => daemon::spawn_daemon(resolve_inside(self.directory, file)?.as_os_str())?,
            // A script has none of these after parsing.
            DemoAction::Prompt | DemoAction::EndTurn => {}
        }
        Ok(None)
    }

    /// Does the next task of a plan and marks it, or fixes the last one; says so when nothing is left.
    fn choose(&mut self, plan: &str, finding_to_fix: Option<&str>) -> io::Result<Option<DemoTurnEnd>> {
        let text = fs::read_to_string(resolve_inside(self.directory, plan)?)?;
        if let Some((act, finding)) = choose::last_done(&text).zip(finding_to_fix) {
            return self.act(&fix_action(act, finding));
        }
        let Some(chosen) = choose::next_task(&text) else {
            self.chosen = Some(format!("Nothing of {plan} is left to do"));
            self.say(&format!("Nothing of {plan} is left to do.\n{PROMISE}"))?;
            return Ok(None);
        };
        let turn = self.act(&chosen.act)?;
        self.edit(plan, &chosen.marked, DemoEdit::Whole)?;
        self.chosen = Some(chosen.task);
        Ok(turn)
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.audience.emit(AgentEvent::Said { text: text.to_owned() })
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

    fn ask(&mut self, title: &str, acts: &[DemoAction]) -> io::Result<Option<DemoTurnEnd>> {
        let tool = DemoTool { name: "ask", kind: ToolKind::Other, title: title.to_owned(), input: Json::Null };
        let Some(call) = self.begin(&tool, AskPolicy::Always)? else { return Ok(None) };
        self.end(&call, ToolStatus::Ok, "allowed")?;
        for act in acts {
            if let Some(turn) = self.act(act)? {
                return Ok(Some(turn));
            }
        }
        Ok(None)
    }

    fn edit(&mut self, name: &str, text: &str, edit: DemoEdit) -> io::Result<()> {
        let title = match edit {
            DemoEdit::Whole => format!("Write {name}"),
            DemoEdit::AtEnd => format!("Append to {name}"),
        };
        let tool =
            DemoTool { name: "edit", kind: ToolKind::Edit, title, input: json!({ "path": name, "content": text }) };
        let asks = if self.permission == DemoPermission::Ask { AskPolicy::Always } else { AskPolicy::Never };
        let Some(call) = self.begin(&tool, asks)? else { return Ok(()) };
        let written = resolve_inside(self.directory, name).and_then(|file| match edit {
            DemoEdit::Whole => fs::write(file, format!("{text}\n")),
            DemoEdit::AtEnd => {
                let mut file = OpenOptions::new().append(true).create(true).open(file)?;
                file.write_all(format!("{text}\n").as_bytes())
            }
        });
        match written {
            Ok(()) => {
                let added = Some(text.lines().count() as u64);
                self.audience.emit(AgentEvent::Changed { path: name.to_owned(), added, removed: None, diff: None })?;
                self.end(&call, ToolStatus::Ok, "written")
            }
            Err(error) => self.end(&call, ToolStatus::Failed, &error.to_string()),
        }
    }

    fn run(&mut self, command: &str) -> io::Result<()> {
        let input = json!({ "command": command });
        let tool = DemoTool { name: "shell", kind: ToolKind::Execute, title: command.to_owned(), input };
        let asks = if self.permission == DemoPermission::All { AskPolicy::Never } else { AskPolicy::Always };
        let Some(call) = self.begin(&tool, asks)? else { return Ok(()) };
        let mut shell = Command::new("sh");
        shell.args(["-c", command]);
        self.execute(&call, shell)
    }

    /// Calls Maestro, as an agent does from its shell.
    fn report(&mut self, words: &[String]) -> io::Result<()> {
        let input = json!({ "command": words });
        let title = format!("maestro {}", words.join(" "));
        let tool = DemoTool { name: "maestro", kind: ToolKind::Execute, title, input };
        let Some(call) = self.begin(&tool, AskPolicy::Never)? else { return Ok(()) };
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
    fn begin(&mut self, tool: &DemoTool<'_>, asks: AskPolicy) -> io::Result<Option<String>> {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        self.audience.emit(AgentEvent::ToolBegan {
            id: id.clone(),
            name: tool.name.to_owned(),
            title: tool.title.clone(),
            kind: tool.kind,
            input: tool.input.clone(),
        })?;
        if asks == AskPolicy::Never {
            return Ok(Some(id));
        }
        match self.audience.ask(&id, &tool.title)? {
            DemoAnswer::Given(PermissionChoiceKind::AllowOnce) => return Ok(Some(id)),
            DemoAnswer::Given(PermissionChoiceKind::AllowAlways) => {
                self.permission = DemoPermission::All;
                return Ok(Some(id));
            }
            DemoAnswer::Given(_) | DemoAnswer::None => {}
        }
        self.end(&id, ToolStatus::Denied, "not allowed")?;
        let message = format!("`{}` was not allowed", tool.title);
        self.audience.emit(AgentEvent::Trouble {
            kind: FailureKind::Denied,
            status: None,
            message,
            retry_after_ms: None,
        })?;
        Ok(None)
    }

    fn end(&mut self, call: &str, status: ToolStatus, output: &str) -> io::Result<()> {
        let (id, output) = (call.to_owned(), output.to_owned());
        self.audience.emit(AgentEvent::ToolEnded { id, status, output })
    }
}

#[derive(Debug, Clone, Copy)]
enum DemoEdit {
    Whole,
    AtEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AskPolicy {
    Always,
    Never,
}
