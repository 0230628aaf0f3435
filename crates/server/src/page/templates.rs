//! Templates of the page, and what they can call.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, Value, escape_formatter};

use super::files::{self, TEMPLATES};
use super::{address, assets, clock, markdown, terminal, text};

/// How long templates that may change are kept.
const FRESH: Duration = Duration::from_millis(300);

type Templates = Arc<Environment<'static>>;

static KEPT: LazyLock<Mutex<Option<(Instant, Templates)>>> = LazyLock::new(Mutex::default);

/// Renders a template.
pub(super) fn render(template: &str, context: Value) -> Result<String, Error> {
    templates()?.get_template(template)?.render(context)
}

fn templates() -> Result<Templates, Error> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    match &*kept {
        Some((at, templates)) if !files::may_change() || at.elapsed() < FRESH => Ok(Arc::clone(templates)),
        _ => {
            let templates = Arc::new(load()?);
            *kept = Some((Instant::now(), Arc::clone(&templates)));
            Ok(templates)
        }
    }
}

fn load() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.set_formatter(|out, state, value| match value.as_str().filter(|_| !value.is_safe()) {
        // Nothing hides on any screen, wherever its text comes from.
        Some(text) => Ok(out.write_str(&escape(&text::revealed(text).unwrap_or_else(|| text.to_owned())))?),
        None => escape_formatter(out, state, value),
    });
    environment.add_filter("elapsed", clock::elapsed);
    environment.add_filter("took", clock::took);
    environment.add_filter("ago", clock::ago);
    environment.add_filter("iso", clock::iso);
    environment.add_filter("urlencode", address::encode);
    environment.add_filter("markdown", |text: &str| Value::from_safe_string(markdown::to_html(text)));
    environment.add_filter("terminal", |text: &str| Value::from_safe_string(terminal::to_html(text)));
    environment.add_filter("inline", |text: &str| Value::from_safe_string(with_code(text)));
    environment.add_function("asset", |name: &str| Value::from_safe_string(assets::address(name)));
    for file in TEMPLATES {
        environment.add_template_owned(file.name, file.text())?;
    }
    Ok(environment)
}

/// A message as HTML, in a line: what it encloses in backquotes is code, and what it encloses in two asterisks is strong.
fn with_code(text: &str) -> String {
    let text = text::revealed(text).unwrap_or_else(|| text.to_owned());
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return with_strong(&text);
    }
    let part = |(at, part): (usize, &&str)| match at % 2 {
        0 => with_strong(part),
        _ => format!("<code>{}</code>", escape(part)),
    };
    parts.iter().enumerate().map(part).collect()
}

fn with_strong(text: &str) -> String {
    let parts: Vec<&str> = text.split("**").collect();
    let is_enclosed = |part: &&str| !part.is_empty() && part.trim().len() == part.len();
    if parts.len().is_multiple_of(2) || !parts.iter().skip(1).step_by(2).all(is_enclosed) {
        return escape(text);
    }
    let part = |(at, part): (usize, &&str)| match at % 2 {
        0 => escape(part),
        _ => format!("<strong>{}</strong>", escape(part)),
    };
    parts.iter().enumerate().map(part).collect()
}

/// A text as HTML, within an element or a quoted attribute.
pub(super) fn escape(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backquotes_of_a_message_enclose_code_and_nothing_else() {
        assert_eq!(with_code("run `a <b>`, then `c`"), "run <code>a &lt;b&gt;</code>, then <code>c</code>");
        assert_eq!(with_code("a lone ` stays"), "a lone ` stays");
    }

    #[test]
    fn two_asterisks_of_a_message_enclose_what_is_strong() {
        assert_eq!(with_code("needs **<Redis>**, `**x**`"), "needs <strong>&lt;Redis&gt;</strong>, <code>**x**</code>");
        for plain in ["2 ** 8", "a ** b ** c", "**kwargs", "****"] {
            assert_eq!(with_code(plain), plain);
        }
    }

    #[test]
    fn a_text_stays_a_text() {
        assert_eq!(escape("<a href=\"x\">'&'</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
    }
}
