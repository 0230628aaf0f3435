//! Words of a request, without what is pasted into it.
//!
//! Code, logs, traces, listings, paths and quotations are about the work, not about the kind of work: a trace through
//! a PDF library is no wish for the PDF skill. They are taken out before anything is compared. A single line keeps its
//! short code, because a task names its subject that way.

/// A quotation of more words than this is another's text.
const QUOTED_WORDS: usize = 1;

/// A request without its code, logs, paths and quotations.
pub(crate) fn prose(label: &str) -> String {
    let lines: Vec<&str> = label.lines().filter(|line| !line.trim().is_empty()).collect();
    let kept = match lines.as_slice() {
        [] => return String::new(),
        [line] => vec![*line],
        _ => prose_lines(label.trim_start_matches('\n')),
    };
    let text: Vec<String> = kept.into_iter().map(|line| plain_words(&without_quotations(line))).collect();
    let text: Vec<String> = text.into_iter().filter(|line| !line.is_empty()).collect();
    text.join("\n")
}

/// What a request consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestForm {
    /// A person's words.
    Plain,
    /// Output, code or other texts beside these.
    Pasted,
}

/// Whether something is pasted into a request.
pub(crate) fn form(label: &str) -> RequestForm {
    let lines = label.lines().filter(|line| !line.trim().is_empty()).count();
    let is_pasted = lines > 1 && prose_lines(label.trim_start_matches('\n')).len() < lines;
    if is_pasted { RequestForm::Pasted } else { RequestForm::Plain }
}

/// The lines that a person wrote, of several. Within a paragraph, what follows output is output too, unless it is
/// clearly a sentence.
fn prose_lines(text: &str) -> Vec<&str> {
    let mut fenced = false;
    let mut after_output = false;
    let mut kept = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            after_output = false;
        } else if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            fenced = !fenced;
            after_output = false;
        } else if !fenced {
            let place = if after_output {
                LinePlace::AfterOutput
            } else if number == 0 {
                LinePlace::First
            } else {
                LinePlace::Below
            };
            if is_prose(line, place) {
                kept.push(line);
            } else {
                after_output = true;
            }
        }
    }
    kept
}

/// Where a line stands, as far as it decides how much like a sentence it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinePlace {
    First,
    Below,
    AfterOutput,
}

/// Whether a line reads like a sentence: mostly plain words, and no sign of a program's output.
fn is_prose(line: &str, place: LinePlace) -> bool {
    let indented = line.starts_with("    ") || line.starts_with('\t');
    let text = line.trim();
    if (indented && place != LinePlace::First) || has_output_start(text) || has_code_signs(text) || is_speaker(text) {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let plain = words.iter().filter(|word| is_plain(word)).count();
    let (least, tenths) = match place {
        LinePlace::First => (1, 6),
        LinePlace::Below => (3, 7),
        LinePlace::AfterOutput => (6, 8),
    };
    // Several names with colons are fields of a record.
    if words.iter().filter(|word| word.ends_with(':')).count() > 2 {
        return false;
    }
    // Below output, a heading is the program's.
    let is_heading = place == LinePlace::AfterOutput && text.ends_with(':');
    !is_heading && plain >= least && plain * 10 >= words.len() * tenths
}

/// Whether a line is certainly not a sentence of a request: output, code, or who wrote what follows.
pub(super) fn is_output(line: &str) -> bool {
    let text = line.trim();
    line.starts_with("    ") || line.starts_with('\t') || has_output_start(text) || has_code_signs(text)
}

/// Whether a line says who wrote the next ones, and when: `ana  10:02 AM`.
pub(super) fn is_speaker(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let words = match words.as_slice() {
        [rest @ .., "AM" | "PM" | "am" | "pm"] => rest,
        all => all,
    };
    // "Deploy at 18:30" is no name and a time.
    let is_name =
        |word: &&str| !matches!(*word, "at" | "to" | "by" | "until" | "um" | "bis" | "à" | "a" | "às" | "alle");
    let is_names = |names: &[&str]| names.last().is_some_and(is_name);
    words.len() <= 4 && words.split_last().is_some_and(|(last, names)| is_names(names) && is_clock(last))
}

/// Whether a line is one of a mail's header, in the languages that prompts are written in.
pub(super) fn is_mail_header(line: &str) -> bool {
    const FIELDS: [&str; 22] = [
        "from", "to", "cc", "subject", "date", "sent", "von", "an", "betreff", "gesendet", "datum", "de", "à", "objet",
        "envoyé", "para", "asunto", "enviado", "assunto", "da", "oggetto", "inviato",
    ];
    let named = line.split_once(": ").map(|(field, _)| field.trim().to_lowercase());
    named.is_some_and(|field| FIELDS.contains(&field.as_str()))
}

/// Whether a word is a time of day.
fn is_clock(word: &str) -> bool {
    let word = word.trim_matches(['[', ']', '(', ')', ':']);
    let is_number = |part: &str| matches!(part.len(), 1..=2) && part.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once(':').is_some_and(|(hours, minutes)| is_number(hours) && is_number(minutes))
}

/// Whether a word is written with letters alone, as in a sentence.
fn is_plain(word: &str) -> bool {
    let word = word.trim_matches(['.', ',', ';', ':', '!', '?', '(', ')', '"', '\'', '`', '“', '”', '’']);
    !word.is_empty() && word.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’' | '/'))
}

/// How output of programs, traces, diffs and code begin.
fn has_output_start(text: &str) -> bool {
    const STARTS: [&str; 51] = [
        "git ",
        "panic",
        "goroutine ",
        "thread '",
        "Exception in ",
        "fatal",
        "Segmentation ",
        "exit status",
        "Killed",
        "Execution Time",
        "On branch",
        "error ",
        "Run ",
        "at ",
        "File \"",
        "Traceback",
        "Caused by",
        "error:",
        "error[",
        "Error:",
        "warning:",
        "Warning:",
        "note:",
        "info ",
        "INFO",
        "WARN",
        "ERROR",
        "DEBUG",
        "TRACE",
        "FATAL",
        "npm ",
        "$ ",
        "> ",
        ">>>",
        "# ",
        "diff --git",
        "@@",
        "+++",
        "---",
        "<<<<<<<",
        "=======",
        ">>>>>>>",
        "import ",
        "from .",
        "#include",
        "FAILED",
        "PASS",
        "GET ",
        "POST ",
        "Terraform will ",
        "Terraform used ",
    ];
    let starts_as_list = text.starts_with("- ") || text.starts_with("* ");
    let first = text.chars().next().unwrap_or(' ');
    STARTS.iter().any(|start| text.starts_with(start))
        || (!starts_as_list && matches!(first, '+' | '-' | '{' | '}' | '<' | '|' | '=' | '\\' | '~' | '^' | '@' | '['))
        || (first == '"' && text.contains("\":"))
        || starts_with_time(text)
        || starts_with_commit(text)
        || text.split_whitespace().next().is_some_and(|word| is_path(word) || word.trim_end_matches(':').contains(':'))
}

/// Whether a line begins with a date or a time of day.
fn starts_with_time(text: &str) -> bool {
    let start: Vec<char> = text.trim_start_matches('[').chars().take(5).collect();
    let is_digit = |at: usize| start.get(at).is_some_and(char::is_ascii_digit);
    let is_clock = is_digit(0) && is_digit(1) && start.get(2) == Some(&':') && is_digit(3);
    let is_date = (0..4).all(is_digit) && matches!(start.get(4), Some('-' | '/'));
    is_clock || is_date
}

/// Whether a line begins with the hash of a commit, as `git log` prints them.
fn starts_with_commit(text: &str) -> bool {
    let hash = text.strip_prefix("commit ").unwrap_or(text).split_whitespace().next().unwrap_or_default();
    // Words such as "defaced" have no digits, and numbers no letters.
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (7..=40).contains(&hash.len())
        && hash.bytes().all(is_hex)
        && hash.bytes().any(|byte| byte.is_ascii_digit())
        && hash.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether a line has signs that sentences have not.
fn has_code_signs(text: &str) -> bool {
    let signs = ["::", "();", "=>", "->", "==", "&&", "||", "</", "/>", "{{", "}}", "= {", "={", "${", "\\n"];
    let ends = text.ends_with(';') || text.ends_with('{') || text.ends_with('}') || text.ends_with("),");
    ends || signs.iter().any(|sign| text.contains(sign))
}

/// A line without quotations of several words.
fn without_quotations(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some((open, close, at)) = next_quotation(rest) {
        let (before, quoted) = rest.split_at(at);
        let inner = quoted.strip_prefix(open).unwrap_or(quoted);
        let Some(end) = inner.find(close) else { break };
        let (text, after) = inner.split_at(end);
        kept.push_str(before);
        kept.push(' ');
        if text.split_whitespace().count() <= QUOTED_WORDS {
            kept.push_str(text);
            kept.push(' ');
        }
        rest = after.strip_prefix(close).unwrap_or(after);
    }
    kept.push_str(rest);
    kept
}

/// The next opening quotation mark: itself, its counterpart, and where it is.
fn next_quotation(text: &str) -> Option<(char, char, usize)> {
    let pairs = [('"', '"'), ('“', '”'), ('«', '»'), ('„', '“')];
    pairs.into_iter().filter_map(|(open, close)| Some((open, close, text.find(open)?))).min_by_key(|(_, _, at)| *at)
}

/// The words of a line; of a path or an address only its ending.
fn plain_words(line: &str) -> String {
    let words = line.split_whitespace().filter_map(|word| {
        let bare = word.trim_matches(['`', '"', '\'', '(', ')', ',', ';', ':', '.']);
        if bare.contains("://") || is_address(bare) {
            return None;
        }
        if is_path(bare) {
            return file_ending(bare);
        }
        Some(word)
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Whether a word is an address or the name of a package: `ops@example.org`, `@scope/name`.
fn is_address(word: &str) -> bool {
    word.split_once('@').is_some_and(|(before, after)| !before.is_empty() || after.contains('/'))
}

/// Whether a word is a path with directories; `CI/CD` and `HTTP/2` are not.
fn is_path(word: &str) -> bool {
    let slashes = word.matches('/').count();
    let is_rooted = ["/", "~/", "./", "../"].iter().any(|start| word.len() > 1 && word.starts_with(start));
    is_rooted || slashes >= 2 || (slashes == 1 && file_ending(word).is_some())
}

/// What follows the last dot of a file's name, if that is an ending.
fn file_ending(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    let name = name.split(':').next()?;
    let (stem, ending) = name.rsplit_once('.')?;
    let is_ending = (1..=5).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_ending && !stem.is_empty()).then_some(ending)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_line_keeps_its_words_and_its_short_code() {
        assert_eq!(prose("Merge the signed PDF forms"), "Merge the signed PDF forms");
        assert_eq!(prose("Diff `openapi.yaml` against main"), "Diff `openapi.yaml` against main");
        assert_eq!(prose("Set up CI/CD over HTTP/2"), "Set up CI/CD over HTTP/2");
        assert_eq!(prose(""), "");
    }

    #[test]
    fn paths_addresses_and_quotations_are_taken_out() {
        assert_eq!(prose("Fix the typo in docs/kubernetes/install.md"), "Fix the typo in md");
        assert_eq!(prose("Turn reports/q3.xlsx into slides"), "Turn xlsx into slides");
        assert_eq!(prose("See https://example.org/pdf for more"), "See for more");
        assert_eq!(prose("Ask ops@alerts.example.org to install `@tokens/build`"), "Ask to install");
        assert_eq!(prose("Tidy up @pdf-forms"), "Tidy up @pdf-forms");
        assert_eq!(prose("Rename the \"Export as PDF\" button"), "Rename the button");
        assert_eq!(prose("Rename “Export as PDF” to \"Save\""), "Rename to Save");
        assert_eq!(prose("an inch is 2.54\" long"), "an inch is 2.54\" long");
    }

    #[test]
    fn fields_of_pasted_json_are_taken_out() {
        let conflict = "take ours for the version\n<<<<<<< HEAD\n  \"version\": \"2.4.1\",\n=======\n  \"description\": \"Charts, exports and alerts\",";
        assert_eq!(prose(conflict), "take ours for the version");
    }

    #[test]
    fn what_is_pasted_below_a_request_is_taken_out() {
        let trace = "Make it accept a trailing s\nTraceback (most recent call last):\n  File \"/srv/pdf/manage.py\", line 2\n    \
                     main()\nValueError: invalid literal for int() with base 10: '30s'";
        assert_eq!(prose(trace), "Make it accept a trailing s");
        assert_eq!(form(trace), RequestForm::Pasted);
        assert_eq!(form("Make it faster\n\nand keep the order of the lines"), RequestForm::Plain);
        let log = "the log says failed, it should say retrying\n2024-05-02T08:11:43Z WARN [mailer] send failed\n\
                   02:10:11 INFO gc minor 12ms";
        assert_eq!(prose(log), "the log says failed, it should say retrying");
        let plan = "looks fine to me, you?\n\nTerraform will perform the following actions:\n\n  # aws_s3_bucket.logs will be created\n\
                    Plan: 1 to add, 0 to change, 0 to destroy.";
        assert_eq!(prose(plan), "looks fine to me, you?");
        let offline = "same error again\n\nError Domain=NSURLErrorDomain \"The Internet connection appears to be offline.\" UserInfo={_k=50}\n\
                       ProfileView.swift:41: error: cannot find the navigation stack in scope";
        assert_eq!(prose(offline), "same error again");
        let log = "which of these is older?\ncommit 9f1c2ab feat(auth): add OAuth login\n77de001 fix(db): migrate the users table";
        assert_eq!(prose(log), "which of these is older?");
        let fence = "Sort this\n```js\nimport pdf from 'kubernetes'\n```\nand keep the order of the comments";
        assert_eq!(prose(fence), "Sort this\nand keep the order of the comments");
        let last = "error: linking with `cc` failed: exit status: 1\n  = note: \"cc\" \"-m64\"\nsay in the guide that it is needed";
        assert_eq!(prose(last), "say in the guide that it is needed");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

        #[test]
        fn nothing_is_invented_and_once_is_enough(text in "(\\PC{0,40}\n?){0,6}|[a-z \"`/.\n]{0,80}") {
            let kept = prose(&text);
            let words: Vec<&str> = text.split_whitespace().collect();
            prop_assert!(kept.split_whitespace().all(|word| words.iter().any(|whole| whole.contains(word))));
            prop_assert!(kept.len() <= text.len() + 2 * text.matches(['"', '“', '«', '„']).count());
        }

        #[test]
        fn plain_sentences_stay_whole(words in prop::collection::vec("[a-z]{2,8}", 3..12)) {
            let line = words.join(" ");
            prop_assume!(!has_output_start(&line));
            prop_assert_eq!(prose(&line), line.clone());
            prop_assert_eq!(prose(&format!("{line}\n{line}")), format!("{line}\n{line}"));
        }
    }
}
