//! Proxy by which a program without a network of its own reaches the hosts that it may.
//!
//! It listens inside the program's network namespace, on a socket that was made there, and connects from outside, where
//! the supervisor is. It speaks what `HTTP_PROXY` and `HTTPS_PROXY` mean: `CONNECT`, and requests with a whole address.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use maestro_core::network_host::{NetworkHost, split_port};

/// How many connections it serves at once.
const MAX_CONNECTIONS: usize = 256;
/// The longest head of a request, in bytes.
const MAX_HEAD: u64 = 32 * 1024;
/// How long a program may take for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// How long a host may take to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(20);

/// Variables by which programs find a proxy, and what is not asked for by it.
const VARIABLES: [&str; 6] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
const DIRECT: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// Serves a program for as long as this process lives, and tells the program by its environment.
pub(super) fn serve(
    listener: TcpListener,
    hosts: Vec<NetworkHost>,
    env: &mut BTreeMap<String, String>,
) -> io::Result<()> {
    let address = format!("http://{}", listener.local_addr()?);
    env.extend(VARIABLES.map(|name| (name.to_owned(), address.clone())));
    env.extend(DIRECT.map(|name| (name.to_owned(), "localhost,127.0.0.1,::1".to_owned())));
    // Node asks for it before it reads the others.
    env.insert("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned());
    let hosts = Arc::new(hosts);
    let open = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        while let Ok((client, _)) = listener.accept() {
            if open.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
                open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (hosts, open) = (Arc::clone(&hosts), Arc::clone(&open));
            thread::spawn(move || {
                // The program sees by its connection that it failed.
                let _ = serve_client(client, &hosts);
                open.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
    Ok(())
}

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
enum ProxyRefusal {
    Malformed,
    NotNamed(String),
    NotReached(String),
}

impl ProxyRefusal {
    fn answer(&self) -> String {
        let (status, text) = match self {
            Self::Malformed => ("400 Bad Request", "this is not a request to a proxy".to_owned()),
            Self::NotNamed(host) => (
                "403 Forbidden",
                format!("{host} is not among the hosts that agents may reach (setting `network_hosts`)"),
            ),
            Self::NotReached(host) => ("502 Bad Gateway", format!("{host} cannot be reached")),
        };
        let length = text.len() + 1;
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}\n"
        )
    }
}

/// A request to the proxy.
#[derive(Debug, PartialEq, Eq)]
struct ProxyRequest {
    host: String,
    port: u16,
    /// What is sent on; nothing where the program only wants a connection.
    head: Option<String>,
}

fn serve_client(client: TcpStream, hosts: &[NetworkHost]) -> io::Result<()> {
    client.set_read_timeout(Some(HEAD_TIME))?;
    let mut reader = BufReader::new(client.try_clone()?);
    let reached = read_head(&mut reader)
        .and_then(|head| parse_request(&head).ok_or(ProxyRefusal::Malformed))
        .and_then(|request| Ok((connect(&request, hosts)?, request)));
    let (server, request) = match reached {
        Ok(reached) => reached,
        Err(refusal) => return (&client).write_all(refusal.answer().as_bytes()),
    };
    client.set_read_timeout(None)?;
    match &request.head {
        Some(head) => (&server).write_all(head.as_bytes())?,
        None => (&client).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
    }
    let (mut from_server, mut to_client) = (server.try_clone()?, client);
    let back = thread::spawn(move || {
        let _ = io::copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    // What was read beyond the head is in the reader.
    let _ = io::copy(&mut reader, &mut &server);
    let _ = server.shutdown(Shutdown::Write);
    let _ = back.join();
    Ok(())
}

/// The head of a request, up to its empty line.
fn read_head(reader: &mut impl BufRead) -> Result<String, ProxyRefusal> {
    let mut head = Vec::new();
    let mut room = reader.take(MAX_HEAD);
    loop {
        match room.read_until(b'\n', &mut head) {
            Ok(1..) if head.ends_with(b"\r\n\r\n") || head.ends_with(b"\n\n") => {
                return String::from_utf8(head).map_err(|_| ProxyRefusal::Malformed);
            }
            Ok(1..) => {}
            _ => return Err(ProxyRefusal::Malformed),
        }
    }
}

/// The meaning of a head. What is sent on names the host that was asked for, and no other.
fn parse_request(head: &str) -> Option<ProxyRequest> {
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !version.starts_with("HTTP/1.") {
        return None;
    }
    if method == "CONNECT" {
        let (host, port) = split_port(target)?;
        return Some(ProxyRequest { host: host.to_owned(), port: port?, head: None });
    }
    let rest = target.strip_prefix("http://")?;
    let (authority, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
    let slash = if path.starts_with('/') { "" } else { "/" };
    let (host, port) = split_port(authority)?;
    let mut sent = format!("{method} {slash}{path} {version}\r\nHost: {authority}\r\nConnection: close\r\n");
    for line in lines.take_while(|line| !line.is_empty()) {
        let (name, _) = line.split_once(':')?;
        let is_ours = ["host", "connection", "keep-alive"].iter().any(|own| name.eq_ignore_ascii_case(own));
        if !is_ours && !name.to_ascii_lowercase().starts_with("proxy-") {
            sent.extend([line, "\r\n"]);
        }
    }
    sent.push_str("\r\n");
    Some(ProxyRequest { host: host.to_owned(), port: port.unwrap_or(80), head: Some(sent) })
}

/// Connects to the host of a request, if a rule admits it.
fn connect(request: &ProxyRequest, hosts: &[NetworkHost]) -> Result<TcpStream, ProxyRefusal> {
    let shown = format!("{}:{}", request.host, request.port);
    let rules: Vec<&NetworkHost> = hosts.iter().filter(|rule| rule.admits(&request.host, request.port)).collect();
    if rules.is_empty() {
        return Err(ProxyRefusal::NotNamed(shown));
    }
    let may_be_here = rules.iter().any(|rule| rule.means_this_machine());
    let host = request.host.trim_start_matches('[').trim_end_matches(']');
    let found = (host, request.port).to_socket_addrs().map_err(|_| ProxyRefusal::NotReached(shown.clone()))?;
    // A name must not lead the program to services of this machine.
    let found: Vec<SocketAddr> = found.filter(|address| may_be_here || !is_local(address.ip())).collect();
    let mut connected = found.iter().filter_map(|address| TcpStream::connect_timeout(address, CONNECT_TIME).ok());
    connected.next().ok_or(ProxyRefusal::NotReached(shown))
}

/// Whether an address belongs to this machine or its link, as that of a cloud's metadata does.
fn is_local(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            address.is_loopback() || address.is_unspecified() || address.is_link_local() || address.octets()[0] == 0
        }
        IpAddr::V6(address) => {
            address.is_loopback() || address == Ipv6Addr::UNSPECIFIED || address.is_unicast_link_local()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_asked_for_with_a_port() {
        let wanted = ProxyRequest { host: "example.com".to_owned(), port: 443, head: None };
        assert_eq!(parse_request("CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n"), Some(wanted));
        for head in [
            "CONNECT example.com HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET https://a/ HTTP/1.1\r\n\r\n",
            "\r\n",
        ] {
            assert_eq!(parse_request(head), None, "{head}");
        }
    }

    #[test]
    fn a_request_is_sent_on_with_the_host_of_its_address() {
        let head = "GET http://example.com:8080?q HTTP/1.1\r\nHost: evil.com\r\nProxy-Authorization: x\r\nA: b\r\n\r\n";
        let request = parse_request(head).unwrap();
        assert_eq!((request.host.as_str(), request.port), ("example.com", 8080));
        let sent = "GET /?q HTTP/1.1\r\nHost: example.com:8080\r\nConnection: close\r\nA: b\r\n\r\n";
        assert_eq!(request.head.as_deref(), Some(sent));
    }

    #[test]
    fn a_name_does_not_lead_to_this_machine_unless_it_says_so() {
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "169.254.169.254", "fe80::1"] {
            assert!(is_local(address.parse().unwrap()), "{address}");
        }
        assert!(!is_local("10.0.0.1".parse().unwrap()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = |host: &str| ProxyRequest { host: host.to_owned(), port, head: None };
        let rule = |text: String| vec![text.parse().unwrap()];
        assert!(connect(&asked("localhost"), &rule(format!("localhost:{port}"))).is_ok());
        let refused = connect(&asked("127.0.0.1"), &rule(format!("localhost:{port}")));
        assert_eq!(refused.unwrap_err(), ProxyRefusal::NotNamed(format!("127.0.0.1:{port}")));
    }
}
