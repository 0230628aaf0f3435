//! Notations of `allowed-tools`: separated by blanks or commas, or a list; parentheses may hold both.

/// The tools in a text that separates them by white space or commas, `Bash(git commit:*, git push)` being one.
pub fn split_tools(text: &str) -> Vec<String> {
    let mut tools = Vec::new();
    let mut current = String::new();
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c == ',' || c.is_whitespace()) {
            push(&mut tools, &mut current);
        } else {
            current.push(c);
        }
    }
    push(&mut tools, &mut current);
    tools
}

fn push(tools: &mut Vec<String>, current: &mut String) {
    let tool = std::mem::take(current);
    if !tool.trim().is_empty() {
        tools.push(tool.trim().to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowed_tools_are_split_at_blanks_and_commas_outside_parentheses() {
        assert_eq!(split_tools("Read Write"), ["Read", "Write"]);
        assert_eq!(split_tools("Read, Write,Edit"), ["Read", "Write", "Edit"]);
        assert_eq!(split_tools("Bash(git commit:*, jq:*) Read"), ["Bash(git commit:*, jq:*)", "Read"]);
        assert_eq!(split_tools("Bash(unclosed, here"), ["Bash(unclosed, here"]);
        assert_eq!(split_tools(" , "), Vec::<String>::new());
    }
}
