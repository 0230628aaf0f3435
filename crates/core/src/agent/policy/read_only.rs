//! Commands that only read files of the workspace.

use std::path::Path;

use super::command_line::ShellWord;
use super::inside;

/// Programs that write nothing and start nothing, whichever of their short options they get.
const READERS: [&str; 19] = [
    "basename", "cat", "cmp", "comm", "cut", "dirname", "du", "false", "head", "ls", "nl", "pwd", "realpath", "stat",
    "tail", "test", "true", "wc", "which",
];
/// Programs of which some short options write or start something, with the letters of those.
const READERS_EXCEPT: [(&str, &str); 2] = [("diff", "l"), ("sort", "oT")];
/// Programs whose first word that is no option is a pattern to look for.
const SEARCHERS: [&str; 4] = ["grep", "egrep", "fgrep", "rg"];
/// Options of these that only choose what is looked at or how it is shown.
const HOW_IT_SEARCHES: [&str; 16] = [
    "--color=never",
    "--count",
    "--exclude",
    "--exclude-dir",
    "--files",
    "--files-with-matches",
    "--fixed-strings",
    "--glob",
    "--hidden",
    "--ignore-case",
    "--include",
    "--line-number",
    "--no-heading",
    "--recursive",
    "--type",
    "--word-regexp",
];
/// What `find` may be asked. Others write, or start programs.
const FIND_TESTS: [&str; 15] = [
    "-a",
    "-empty",
    "-iname",
    "-ipath",
    "-maxdepth",
    "-mindepth",
    "-mtime",
    "-name",
    "-not",
    "-o",
    "-path",
    "-print",
    "-prune",
    "-size",
    "-type",
];
/// The commands of git that only print.
const TELLS: [&str; 7] = ["blame", "diff", "log", "ls-files", "rev-parse", "show", "status"];
/// Commands of git that only print with exactly these words.
const TELLS_SO: [&[&str]; 7] = [
    &["branch"],
    &["branch", "-a"],
    &["branch", "-v"],
    &["branch", "--list"],
    &["branch", "--show-current"],
    &["remote", "-v"],
    &["stash", "list"],
];
/// Options of git that only format its output. Others write files or start programs.
const HOW_IT_TELLS: [&str; 25] = [
    "--abbrev-ref",
    "--all",
    "--cached",
    "--decorate",
    "--exclude-standard",
    "--graph",
    "--ignore-space-change",
    "--name-only",
    "--name-status",
    "--no-color",
    "--no-ext-diff",
    "--no-patch",
    "--no-textconv",
    "--numstat",
    "--oneline",
    "--others",
    "--patch",
    "--porcelain",
    "--reverse",
    "--short",
    "--shortstat",
    "--show-toplevel",
    "--staged",
    "--stat",
    "--summary",
];

/// Whether a command reads files below `workspace`, or what git knows of them, and does nothing besides.
pub(super) fn is_read_only(workspace: &Path, command: &[ShellWord]) -> bool {
    let Some((program, rest)) = command.split_first().filter(|(program, _)| !program.is_pattern) else { return false };
    let look = Look { workspace, words: rest };
    match program.text.as_str() {
        "git" => look.is_git(),
        "echo" | "tr" => look.words.iter().all(|word| !word.is_pattern),
        "printf" => look.words.iter().all(|word| !word.is_pattern && !word.text.starts_with('-')),
        "find" => look.is_find(),
        "sed" => look.is_sed(),
        "uniq" => look.is_harmless() && look.operands() <= 1,
        name if READERS.contains(&name) => look.is_harmless(),
        name if SEARCHERS.contains(&name) => look.is_search(),
        name => READERS_EXCEPT.iter().any(|(known, letters)| *known == name && look.is_harmless_without(letters)),
    }
}

/// The words behind a program that reads.
struct Look<'a> {
    workspace: &'a Path,
    words: &'a [ShellWord],
}

impl Look<'_> {
    fn is_harmless(&self) -> bool {
        self.words.iter().all(|word| is_harmless(self.workspace, word))
    }

    fn is_harmless_without(&self, letters: &str) -> bool {
        self.is_harmless() && self.words.iter().all(|word| !has_letter(&word.text, letters))
    }

    /// How many words are no options.
    fn operands(&self) -> usize {
        self.words.iter().filter(|word| !word.text.starts_with('-')).count()
    }

    fn is_git(&self) -> bool {
        let texts: Vec<&str> = self.words.iter().map(|word| word.text.as_str()).collect();
        if self.words.iter().all(|word| !word.is_pattern) && TELLS_SO.contains(&texts.as_slice()) {
            return true;
        }
        let skipped = usize::from(texts.first() == Some(&"--no-pager"));
        let Some((verb, rest)) = self.words[skipped..].split_first() else { return false };
        let is_formatting = |word: &ShellWord| {
            let format = ["--format=", "--pretty="].iter().find_map(|option| word.text.strip_prefix(option));
            // A signature is checked by a program that a config names.
            format.is_some_and(|format| !word.is_pattern && !format.contains("%G"))
        };
        let is_known = |word: &ShellWord| HOW_IT_TELLS.contains(&word.text.as_str()) || is_formatting(word);
        !verb.is_pattern
            && TELLS.contains(&verb.text.as_str())
            && rest.iter().all(|word| is_known(word) || is_harmless(self.workspace, word))
    }

    /// A search: its pattern is any text, unless it comes from a file or stands behind an option.
    fn is_search(&self) -> bool {
        let mut is_pattern_next = !self.words.iter().any(|word| has_letter(&word.text, "ef") || word.text == "--files");
        self.words.iter().all(|word| {
            let is_option = word.text.starts_with('-');
            let name = word.text.split_once('=').map_or(word.text.as_str(), |(name, _)| name);
            let is_known = HOW_IT_SEARCHES.contains(&word.text.as_str()) || HOW_IT_SEARCHES.contains(&name);
            if is_option && is_known {
                return !word.is_pattern;
            }
            if !is_option && std::mem::take(&mut is_pattern_next) {
                return !word.is_pattern;
            }
            // `rg -z` starts programs that unpack.
            is_harmless(self.workspace, word) && !has_letter(&word.text, "z")
        })
    }

    /// Directories, then tests with their values.
    fn is_find(&self) -> bool {
        let tests = self.words.iter().position(|word| word.text.starts_with('-')).unwrap_or(self.words.len());
        let (places, tests) = self.words.split_at(tests);
        let is_test = |word: &ShellWord| {
            !word.is_pattern && (FIND_TESTS.contains(&word.text.as_str()) || !word.text.starts_with('-'))
        };
        places.iter().all(|place| is_harmless(self.workspace, place)) && tests.iter().all(is_test)
    }

    /// Lines by their numbers: `sed -n 1,20p FILE`.
    fn is_sed(&self) -> bool {
        let [quiet, script, files @ ..] = self.words else { return false };
        let is_number = |text: &str| text == "$" || !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_range = |text: &str| {
            let range = text.strip_suffix('p').unwrap_or_default();
            let (from, to) = range.split_once(',').unwrap_or((range, range));
            is_number(from) && is_number(to)
        };
        quiet.text == "-n" && is_range(&script.text) && files.iter().all(|file| is_harmless(self.workspace, file))
    }
}

/// Whether a word is short options with one of these letters.
fn has_letter(word: &str, letters: &str) -> bool {
    let short = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    short.is_some_and(|short| short.contains(|letter| letters.contains(letter)))
}

/// A short option without a path in it, or something that is no way out of the workspace, be it a path or not.
fn is_harmless(workspace: &Path, word: &ShellWord) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || ",.:_+".contains(letter);
    match word.text.strip_prefix('-') {
        _ if word.is_pattern => is_pattern_inside(workspace, &word.text),
        Some("-") => true,
        Some(letters) => !letters.is_empty() && letters.chars().all(plain),
        None => matches!(word.text.as_str(), "." | "./") || inside(workspace, Path::new(&word.text)),
    }
}

/// Whether all that a pattern can stand for is inside: no name that begins like an option, no hidden one, none above.
fn is_pattern_inside(workspace: &Path, pattern: &str) -> bool {
    let is_wild = |part: &str| part.contains(['*', '?']);
    let is_hidden = pattern.split('/').any(|part| part.starts_with('.') && is_wild(part));
    let begins_so = pattern.starts_with(['*', '?', '-']);
    !is_hidden && !begins_so && inside(workspace, Path::new(&pattern.replace(['*', '?'], "x")))
}

#[cfg(test)]
mod tests {
    use super::super::command_line::CommandLine;
    use super::*;

    fn looks(command: &str) -> bool {
        let line = CommandLine::parse(command);
        let is_one =
            |line: CommandLine| line.commands.len() == 1 && is_read_only(Path::new("/w/project"), &line.commands[0]);
        line.is_some_and(is_one)
    }

    #[test]
    fn looking_around_in_the_worktree_is_looking() {
        for command in [
            "git status --short",
            "git diff HEAD",
            "git --no-pager diff --stat -U5 HEAD -- src/a.rs",
            "git log --oneline -3 main..HEAD",
            "git log --format='%h %s' -n 5",
            "git show HEAD:src/a.rs",
            "git branch --show-current",
            "git ls-files src",
            "cat src/a.rs /w/project/README.md",
            "cat src/*.rs",
            "grep -rn word .",
            "grep -rn '/api/users' src --include='*.rs'",
            "rg -n 'fn main' src",
            "rg --files src",
            "find . -name '*.rs' -not -path './target/x' -type f",
            "sed -n 1,20p src/a.rs",
            "sort -u -k2,3 a",
            "uniq -c a",
            "cut -d, -f1 a",
            "tr a-z A-Z",
            "echo --- done",
            "head -n 20 a",
            "ls -la",
            "ls ./*",
            "pwd",
        ] {
            assert!(looks(command), "{command}");
        }
    }

    #[test]
    fn what_leads_elsewhere_writes_or_starts_something_is_not() {
        for command in [
            "git diff --output=src/a.rs",
            "git diff --ext-diff",
            "git diff --no-index /etc/passwd a",
            "git diff /etc/passwd a",
            "git -c core.pager=x diff",
            "git -C /w/other status",
            "git log --format='%G?'",
            "git branch new",
            "git grep -Osh a",
            "git commit",
            "git",
            "cat /etc/passwd",
            "cat ../other/a",
            "cat .git/config",
            "cat .g*/config",
            "cat *",
            "cat /etc/pass*",
            "grep -f/etc/passwd a",
            "grep -f /etc/passwd a",
            "grep -e x /etc/passwd",
            "grep x /etc/passwd",
            "grep --file=/etc/passwd a",
            "rg --pre sh x",
            "rg -z x",
            "./cat a",
            "/tmp/cat a",
            "PATH=. cat a",
            "printf -v PATH .",
            "sed -i s a",
            "sed -n w/etc/x a",
            "sed -n 1,2w a",
            "sort -o a b",
            "sort -uo a b",
            "uniq a b",
            "diff -l a b",
            "find . -delete",
            "find . -exec rm a +",
            "find / -name a",
            "tee a",
            "xargs rm",
            "sh a",
            "env a",
        ] {
            assert!(!looks(command), "{command}");
        }
    }
}
