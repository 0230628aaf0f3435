//! Kind of text that is pasted into a request.
//!
//! What a Dockerfile or a query plan says is not the request, but that it is one says what the request is about: "get
//! both down" above a Dockerfile is about images. Only formats that have a purpose of their own count. Traces, logs,
//! diffs and programs are found in every kind of work and say nothing.

/// The fewest words of a request for what is pasted below it to say more than it does: "use tabs here" is about the text,
/// whatever it is.
const LEAST_WORDS: usize = 9;

/// A format that tells what work is about, with the words for it.
struct PastedFormat {
    words: &'static str,
    /// How many lines must be of it.
    least: usize,
    is_of_it: fn(&str) -> bool,
}

/// The more telling come first.
const FORMATS: [PastedFormat; 8] = [
    PastedFormat { words: "Dockerfile", least: 3, is_of_it: is_dockerfile },
    PastedFormat { words: "Terraform", least: 1, is_of_it: is_terraform },
    PastedFormat { words: "Kubernetes manifest", least: 1, is_of_it: |line| line.starts_with("apiVersion: ") },
    PastedFormat { words: "SQL query plan", least: 1, is_of_it: is_query_plan },
    PastedFormat { words: "database table", least: 1, is_of_it: is_table },
    PastedFormat { words: "Prometheus metrics", least: 3, is_of_it: is_metric },
    PastedFormat { words: "list of commits", least: 3, is_of_it: is_commit },
    PastedFormat { words: "HTTP endpoints", least: 3, is_of_it: is_endpoint },
];

/// The words for what is pasted into a request, if it is of a format that tells what the request is about.
pub(crate) fn words(label: &str, prose: &str) -> Option<&'static str> {
    if prose.split_whitespace().count() < LEAST_WORDS {
        return None;
    }
    let is_it = |format: &&PastedFormat| {
        label.lines().skip(1).map(str::trim).filter(|line| (format.is_of_it)(line)).nth(format.least - 1).is_some()
    };
    FORMATS.iter().find(is_it).map(|format| format.words)
}

fn starts_with_any(line: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| line.starts_with(start))
}

fn is_dockerfile(line: &str) -> bool {
    starts_with_any(line, &["FROM ", "RUN ", "COPY ", "WORKDIR ", "ENTRYPOINT ", "EXPOSE ", "CMD "])
}

fn is_terraform(line: &str) -> bool {
    starts_with_any(line, &["resource \"", "module \"", "variable \"", "provider \"", "data \""]) && line.ends_with('{')
}

fn is_query_plan(line: &str) -> bool {
    line.contains("(cost=") || starts_with_any(line, &["EXPLAIN ", "explain "])
}

fn is_table(line: &str) -> bool {
    starts_with_any(line, &["CREATE TABLE ", "create table ", "Table \""])
}

fn is_metric(line: &str) -> bool {
    starts_with_any(line, &["# HELP ", "# TYPE "])
}

/// `a81f02c fix: …`
fn is_commit(line: &str) -> bool {
    let Some((hash, subject)) = line.split_once(' ') else { return false };
    let is_hash = (7..=40).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash && hash.bytes().any(|byte| byte.is_ascii_digit()) && subject.starts_with(char::is_alphabetic)
}

/// `GET /v2/orders`
fn is_endpoint(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let is_method = words.next().is_some_and(|word| ["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&word));
    is_method && words.next().is_some_and(|word| word.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &str = "it takes far too long and is far too big, make it better";

    fn kind(pasted: &str) -> Option<&'static str> {
        words(&format!("{REQUEST}\n{pasted}"), REQUEST)
    }

    #[test]
    fn formats_with_a_purpose_of_their_own_are_named() {
        assert_eq!(kind("FROM rust:1\nWORKDIR /app\nRUN cargo build"), Some("Dockerfile"));
        assert_eq!(kind("resource \"aws_s3_bucket\" \"logs\" {\n}"), Some("Terraform"));
        assert_eq!(kind("apiVersion: v1\nkind: Pod"), Some("Kubernetes manifest"));
        assert_eq!(kind(" Sort  (cost=1.1..1.2 rows=5)"), Some("SQL query plan"));
        assert_eq!(kind("CREATE TABLE a (b int)"), Some("database table"));
        assert_eq!(kind("a81f02c fix: a\n9c11d0e chore: b\n77be1f3 feat: c"), Some("list of commits"));
        assert_eq!(kind("GET /a\nPOST /a\nDELETE /a/1"), Some("HTTP endpoints"));
    }

    #[test]
    fn traces_and_programs_and_short_requests_say_nothing() {
        assert_eq!(kind("Traceback (most recent call last):\n  File \"/srv/pdf.py\", line 2"), None);
        assert_eq!(kind("fn main() {}\n-CREATE TABLE a\n+CREATE TABLE b"), None);
        assert_eq!(words("use tabs here\nresource \"a\" \"b\" {", "use tabs here"), None);
        assert_eq!(words("CREATE TABLE is what I would like to see in the guide", REQUEST), None);
    }
}
