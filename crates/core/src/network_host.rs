//! Hosts that agents may reach over the network: a name, its subdomains, an address, and a port.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Ports of an entry that names none.
const USUAL_PORTS: [u16; 2] = [80, 443];
/// The longest name of a host.
const LONGEST: usize = 253;

/// A host, or a name with all its subdomains (`*.example.com`), at its usual ports or at a named one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NetworkHost {
    name: HostName,
    port: Option<u16>,
}

/// The part of an entry before its port.
#[derive(Debug, Clone, PartialEq, Eq)]
enum HostName {
    Exact(String),
    Below(String),
    Address(IpAddr),
}

/// A text that names no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a host: write a name (`example.com`, `*.example.com`) or an address, and a port if needed (`:8443`)"
)]
pub struct InvalidHost(String);

impl NetworkHost {
    /// Whether it admits a host, as it was written in a request, and a port.
    pub fn admits(&self, host: &str, port: u16) -> bool {
        let is_named = match (&self.name, parse_name(host)) {
            (HostName::Exact(own), Some(HostName::Exact(name))) => *own == name,
            (HostName::Below(own), Some(HostName::Exact(name))) => {
                name.strip_suffix(own.as_str()).is_some_and(|front| front.ends_with('.') && front.len() > 1)
            }
            (HostName::Address(own), Some(HostName::Address(address))) => *own == address,
            _ => false,
        };
        is_named && self.port.map_or(USUAL_PORTS.contains(&port), |own| own == port)
    }

    /// Whether it says outright that this machine is meant: then its name may lead here.
    pub fn means_this_machine(&self) -> bool {
        match &self.name {
            HostName::Exact(name) => name == "localhost" || name.ends_with(".localhost"),
            HostName::Below(_) => false,
            HostName::Address(_) => true,
        }
    }
}

/// A host without its port: lower case, without the dot at the end.
fn parse_name(text: &str) -> Option<HostName> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Some(HostName::Address(address.to_canonical()));
    }
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    // A last part of digits only is an address that some programs understand and others do not.
    let is_number = name.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    (name.len() <= LONGEST && name.split('.').all(is_label) && !is_number).then_some(HostName::Exact(name))
}

/// The host and the port of `host:port`, `[address]:port` or a host alone.
pub fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    if text.parse::<IpAddr>().is_ok() {
        return Some((text, None));
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => Some((host, Some(port.parse().ok().filter(|port| *port > 0)?))),
        _ => Some((text, None)),
    }
}

impl FromStr for NetworkHost {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let invalid = || InvalidHost(text.to_owned());
        let (host, port) = split_port(text.trim()).ok_or_else(invalid)?;
        let name = match host.strip_prefix("*.") {
            Some(rest) => match parse_name(rest) {
                Some(HostName::Exact(name)) => Some(HostName::Below(name)),
                _ => None,
            },
            None => parse_name(host),
        };
        Ok(Self { name: name.ok_or_else(invalid)?, port })
    }
}

impl fmt::Display for NetworkHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            HostName::Exact(name) => write!(f, "{name}")?,
            HostName::Below(name) => write!(f, "*.{name}")?,
            HostName::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
            HostName::Address(address) => write!(f, "{address}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl TryFrom<String> for NetworkHost {
    type Error = InvalidHost;

    fn try_from(text: String) -> Result<Self, InvalidHost> {
        text.parse()
    }
}

impl From<NetworkHost> for String {
    fn from(host: NetworkHost) -> Self {
        host.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(entry: &str, host: &str, port: u16) -> bool {
        entry.parse::<NetworkHost>().unwrap().admits(host, port)
    }

    #[test]
    fn an_entry_admits_what_it_names_and_nothing_else() {
        assert!(admits("example.com", "EXAMPLE.com.", 443) && admits("example.com", "example.com", 80));
        assert!(!admits("example.com", "example.com", 22), "only at the usual ports");
        assert!(admits("example.com:22", "example.com", 22) && !admits("example.com:22", "example.com", 443));
        assert!(!admits("example.com", "api.example.com", 443) && !admits("example.com", "badexample.com", 443));
        assert!(admits("*.example.com", "a.b.example.com", 443) && !admits("*.example.com", "example.com", 443));
        assert!(!admits("*.example.com", "badexample.com", 443) && !admits("*.example.com", ".example.com", 443));
        assert!(admits("[::1]:80", "[0:0::1]", 80) && admits("10.0.0.1", "10.0.0.1", 443));
        assert!(admits("10.0.0.1", "::ffff:10.0.0.1", 443), "the same address");
        assert!(!admits("example.com", "example.com@evil.com", 443) && !admits("example.com", "example.com\0", 443));
    }

    #[test]
    fn what_names_no_host_is_refused() {
        for text in
            ["", "*", "*.", "a b", "http://example.com", "example.com:x", "example.com:0", "2130706433", "1.2.3"]
        {
            assert!(text.parse::<NetworkHost>().is_err(), "{text}");
        }
        assert_eq!("*.Example.com:8443".parse::<NetworkHost>().unwrap().to_string(), "*.example.com:8443");
        assert_eq!("::1".parse::<NetworkHost>().unwrap().to_string(), "[::1]");
    }
}
