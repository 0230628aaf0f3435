//! Many clients at once: `load reports ADDRESS SECONDS SESSION…` or `load watch ADDRESS SECONDS WATCHERS SESSION`.
//!
//! Prints one JSON object. A client here is a bare connection that sends prepared bytes, so that what is measured is the
//! server and not the client.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::print_stdout,
    reason = "a measurement counts little and prints its result"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let seconds = |text: &str| text.parse().map(Duration::from_secs);
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["reports", address, time, sessions @ ..] => reports(address, seconds(time)?, sessions).await,
        ["watch", address, time, watchers, session] => {
            watch_all(address, seconds(time)?, watchers.parse()?, session).await
        }
        _ => Err("load reports ADDRESS SECONDS SESSION… | load watch ADDRESS SECONDS WATCHERS SESSION".into()),
    }
}

/// Each session reports as fast as it is answered.
async fn reports(address: &str, time: Duration, sessions: &[&str]) -> Result<(), Failure> {
    let end = Instant::now() + time;
    let mut clients = JoinSet::new();
    for session in sessions {
        let (address, session) = ((*address).to_owned(), (*session).to_owned());
        clients.spawn(async move {
            let mut client = Client::connect(&address).await?;
            let mut times = Vec::new();
            while Instant::now() < end {
                let sent = Instant::now();
                client.report(&session, &format!("step {}", times.len())).await?;
                times.push(sent.elapsed());
            }
            Ok::<_, Failure>(times)
        });
    }
    let mut times = Vec::new();
    while let Some(done) = clients.join_next().await {
        times.extend(done??);
    }
    let rate = times.len() as f64 / time.as_secs_f64();
    println!("{}", json!({ "reports": times.len(), "rate": rate, "latency_ms": percentiles(times) }));
    Ok(())
}

struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    address: String,
    authorization: String,
}

/// The header of requests: the token in `MAESTRO_AUTH_TOKEN`.
fn authorization() -> String {
    let token = std::env::var("MAESTRO_AUTH_TOKEN").unwrap_or_default();
    if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") }
}

impl Client {
    async fn connect(address: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(4096),
            address: address.to_owned(),
            authorization: authorization(),
        })
    }

    /// Sends a report and waits until it is acknowledged.
    async fn report(&mut self, session: &str, message: &str) -> Result<(), Failure> {
        let body = format!("{{\"message\":\"{message}\"}}");
        let request = format!(
            "POST /api/sessions/{session}/reports HTTP/1.1\r\nHost: {}\r\n{}Content-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            self.authorization,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await?;
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err("the server hung up".into());
            }
            let Some(head) = find(&self.buffer, b"\r\n\r\n") else { continue };
            let text = std::str::from_utf8(&self.buffer[..head])?.to_ascii_lowercase();
            if !text.starts_with("http/1.1 200") {
                return Err(String::from_utf8_lossy(&self.buffer).into_owned().into());
            }
            let length = text.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
            let length: usize = length.ok_or("no length")?.parse()?;
            if self.buffer.len() >= head + 4 + length {
                return Ok(());
            }
        }
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

fn percentiles(mut times: Vec<Duration>) -> serde_json::Value {
    times.sort_unstable();
    let at = |share: f64| {
        let index = ((times.len().max(1) - 1) as f64 * share) as usize;
        times.get(index).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    };
    json!({ "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": at(1.0) })
}

/// When each report was acknowledged, by its number.
type Acknowledged = Mutex<Vec<Instant>>;

/// Two hundred reports a second, and many who watch.
async fn watch_all(address: &str, time: Duration, watchers: usize, session: &str) -> Result<(), Failure> {
    const PAUSE: Duration = Duration::from_millis(5);
    let total = (time.as_millis() / PAUSE.as_millis()) as usize;
    let acknowledged: Arc<Acknowledged> = Arc::default();
    let connected = Arc::new(AtomicU64::new(0));
    let (all_sent, sent) = watch::channel(false);
    let mut tasks = JoinSet::new();
    for _ in 0..watchers {
        let (address, connected) = (address.to_owned(), Arc::clone(&connected));
        let sent = sent.clone();
        tasks.spawn(async move { watcher(&address, total, &connected, sent).await });
    }
    wait_for_all(&connected, watchers as u64, &mut tasks).await?;
    let mut client = Client::connect(address).await?;
    let mut beat = tokio::time::interval(PAUSE);
    for number in 0..total {
        beat.tick().await;
        client.report(session, &format!("report {number}.")).await?;
        acknowledged.lock().await.push(Instant::now());
    }
    all_sent.send(true)?;
    let acknowledged = acknowledged.lock().await.clone();
    let (mut times, mut wrong) = (Vec::new(), 0);
    while let Some(seen) = tasks.join_next().await {
        let seen = seen??;
        wrong += usize::from(seen.len() != total || !seen.iter().enumerate().all(|(at, (number, _))| at == *number));
        times.extend(
            seen.iter().filter_map(|(number, at)| Some(at.saturating_duration_since(*acknowledged.get(*number)?))),
        );
    }
    let result = json!({
        "watchers": watchers, "reports": total, "received": times.len(), "watchers_that_missed_or_mixed": wrong,
        "delay_ms": percentiles(times),
    });
    println!("{result}");
    Ok(())
}

/// What a watcher saw: the numbers of the reports, and when.
type Seen = Vec<(usize, Instant)>;

/// Waits until all watchers are let in. Where some are not, nothing is measured.
async fn wait_for_all(
    connected: &AtomicU64,
    watchers: u64,
    tasks: &mut JoinSet<Result<Seen, Failure>>,
) -> Result<(), Failure> {
    const PATIENCE: Duration = Duration::from_secs(30);
    let end = Instant::now() + PATIENCE;
    let (mut lost, mut cause) = (0, None);
    loop {
        while let Some(ended) = tasks.try_join_next() {
            lost += 1;
            cause = cause.or(ended?.err());
        }
        let let_in = connected.load(Ordering::Relaxed);
        if let_in == watchers && lost == 0 {
            return Ok(());
        }
        if let_in + lost >= watchers || Instant::now() > end {
            let cause = cause.map_or_else(|| "no answer".to_owned(), |cause| cause.to_string());
            return Err(
                format!("{let_in} of {watchers} watchers were let in, {lost} ended before all were: {cause}").into()
            );
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Reads the stream until every report was seen, noting when.
async fn watcher(
    address: &str,
    total: usize,
    connected: &AtomicU64,
    mut sent: watch::Receiver<bool>,
) -> Result<Seen, Failure> {
    const OK: &[u8] = b"HTTP/1.1 200";
    let mut stream = TcpStream::connect(address).await?;
    let authorization = authorization();
    let request =
        format!("GET /api/events HTTP/1.1\r\nHost: {address}\r\n{authorization}Accept: text/event-stream\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut buffer = Vec::with_capacity(64 * 1024);
    let mut seen = Vec::with_capacity(total);
    let mut greeted = false;
    while seen.len() < total {
        let late = async {
            // Whoever has not got everything well after the last report never will.
            let _ = sent.wait_for(|sent| *sent).await;
            tokio::time::sleep(Duration::from_secs(10)).await;
        };
        tokio::select! {
            read = stream.read_buf(&mut buffer) => if read? == 0 {
                if greeted { break }
                return Err("the server hung up before it answered".into());
            },
            () = late => break,
        }
        if !greeted && buffer.len() >= OK.len() && !buffer.starts_with(OK) {
            return Err(String::from_utf8_lossy(&buffer).into_owned().into());
        }
        if !greeted && find(&buffer, b"retry:").is_some() {
            greeted = true;
            connected.fetch_add(1, Ordering::Relaxed);
        }
        let now = Instant::now();
        let complete = buffer.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for line in buffer[..complete].split(|byte| *byte == b'\n') {
            if let Some(at) = find(line, b"\"message\":\"report ") {
                let digits = line[at + 18..].iter().take_while(|byte| byte.is_ascii_digit());
                seen.push((digits.fold(0, |number, digit| number * 10 + usize::from(digit - b'0')), now));
            }
        }
        buffer.drain(..complete);
    }
    Ok(seen)
}
