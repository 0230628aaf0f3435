//! Parts of a task's description: what to do, when it is done, and the plan that it belongs to.
//!
//! They are kept in one text, so that every agent and every tool that reads a description reads all of them.

const ACCEPTANCE: &str = "## Acceptance";
const PLAN: &str = "Plan: ";

/// The parts of a description.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskText {
    /// What is to be done.
    pub body: String,
    /// What must hold when it is done.
    pub acceptance: String,
    /// The path of the plan that it belongs to.
    pub plan: String,
}

impl TaskText {
    /// The parts of a text.
    pub fn parse(description: &str) -> Self {
        let mut text = description.trim_end();
        let mut parts = Self::default();
        let last = text.rsplit('\n').next().unwrap_or_default();
        if let Some(plan) = last.strip_prefix(PLAN).map(str::trim).filter(|plan| !plan.is_empty()) {
            plan.clone_into(&mut parts.plan);
            text = text[..text.len() - last.len()].trim_end();
        }
        let lines: Vec<&str> = text.lines().collect();
        let is_head = |line: &&str| line.trim_end().eq_ignore_ascii_case(ACCEPTANCE);
        let head = lines.iter().position(is_head).unwrap_or(lines.len());
        let (before, after) = (&lines[..head], lines.get(head + 1..).unwrap_or_default());
        // What follows under another heading belongs to the text.
        let end = after.iter().position(|line| line.starts_with("## ")).unwrap_or(after.len());
        after[..end].join("\n").trim().clone_into(&mut parts.acceptance);
        if parts.acceptance.is_empty() {
            text.clone_into(&mut parts.body);
            return parts;
        }
        let rest = [before.join("\n").trim_end().to_owned(), after[end..].join("\n")];
        parts.body = rest.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
        parts
    }

    /// The text of all parts.
    pub fn compose(&self) -> String {
        let acceptance = self.acceptance.trim();
        let acceptance = if acceptance.is_empty() { String::new() } else { format!("{ACCEPTANCE}\n\n{acceptance}") };
        let plan = self.plan.trim();
        let plan = if plan.is_empty() { String::new() } else { format!("{PLAN}{plan}") };
        let parts = [self.body.trim_end().to_owned(), acceptance, plan];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_parts_are_found_and_put_together_again() {
        let text = "Limit it.\n\n## Acceptance\n\n- 429 after 30\n- per client\n\nPlan: docs/PLAN.md";
        let parts = TaskText::parse(text);
        assert_eq!(parts.body, "Limit it.");
        assert_eq!((parts.acceptance.as_str(), parts.plan.as_str()), ("- 429 after 30\n- per client", "docs/PLAN.md"));
        assert_eq!(parts.compose(), text);
        assert_eq!(TaskText::parse("Plan: for later").compose(), "Plan: for later");
        let more = TaskText::parse("a\n## acceptance\nb\n## Notes\nc");
        assert_eq!((more.body.as_str(), more.acceptance.as_str()), ("a\n\n## Notes\nc", "b"));
    }

    proptest! {
        #[test]
        fn no_word_is_lost(text in "(## Acceptance\n|Plan: |[a-z]{1,3}| |\n){0,12}") {
            let words = |text: &str| { let mut all: Vec<String> = text.split_whitespace().map(str::to_owned).collect(); all.sort(); all };
            prop_assert_eq!(words(&TaskText::parse(&text).compose()), words(&text));
        }
    }
}
