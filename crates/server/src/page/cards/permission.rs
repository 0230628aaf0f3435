//! Permission requests of agents: the exact action, the time left, and the possible answers.

use maestro_core::agent::PermissionChoiceKind;
use maestro_store::PermissionRequest;
use serde::Serialize;

use crate::answer_notes::AnsweredCard;
use crate::page::badge::{StateBadge, state};
use crate::page::text::{DisplayText, hidden_warning};

/// How many characters of the action are shown on the first page; the session's page shows all.
const TITLE: usize = 300;
const GLANCE: usize = 2000;

/// How much of a request is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::page) enum DetailLevel {
    /// Its start. A longer one can only be denied there: people allow only what they have seen.
    Glance,
    /// All of it.
    Full,
}

/// A permission request, as a card.
#[derive(Debug, Serialize)]
pub(in crate::page) struct PermissionCard {
    pub(in crate::page) id: String,
    state: StateBadge,
    session: String,
    who: String,
    /// The title of the work it belongs to, where the page does not already show it.
    pub(in crate::page) work: Option<String>,
    pub(in crate::page) project: Option<String>,
    /// The agent's id of the request, encoded so that a form keeps it unchanged.
    request: String,
    title: DisplayText,
    detail: DisplayText,
    /// A warning about what cannot be seen in it.
    hidden: Option<String>,
    answers: Vec<PermissionOption>,
    pub(in crate::page) since: i64,
    until: i64,
}

/// A possible answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct PermissionOption {
    value: &'static str,
    name: &'static str,
    key: &'static str,
    /// The confirmation after the answer.
    done: &'static str,
}

impl PermissionCard {
    pub(in crate::page) fn of(permission: &PermissionRequest, who: String, depth: DetailLevel) -> Self {
        let (title, detail) = match depth {
            DetailLevel::Glance => (TITLE, GLANCE),
            DetailLevel::Full => (usize::MAX, usize::MAX),
        };
        let (title, detail) =
            (DisplayText::exactly(&permission.title, title), DisplayText::exactly(&permission.detail, detail));
        let whole = detail.is_whole() && title.is_whole();
        Self {
            id: AnsweredCard::Permission { session: &permission.session, request: &permission.request }.id(),
            state: state("waits", "?", "permission"),
            session: permission.session.to_string(),
            who,
            work: None,
            project: None,
            request: encode(&permission.request),
            hidden: hidden_warning(&format!("{}\n{}", permission.title, permission.detail)),
            answers: answers(permission)
                .into_iter()
                .filter(|(kind, _)| whole || !kind.allows())
                .map(|it| it.1)
                .collect(),
            title,
            detail,
            since: permission.created_at,
            until: permission.expires_at,
        }
    }
}

/// The answers that the agent accepts: allow once, allow always, and the mildest denial.
fn answers(permission: &PermissionRequest) -> Vec<(PermissionChoiceKind, PermissionOption)> {
    let answer = |kind: PermissionChoiceKind| match kind {
        PermissionChoiceKind::AllowOnce => {
            PermissionOption { value: kind.as_str(), name: "Once", key: "a", done: "Allowed once." }
        }
        PermissionChoiceKind::AllowAlways => PermissionOption {
            value: kind.as_str(),
            name: "Always in this run",
            key: "A",
            done: "Allowed in this run.",
        },
        PermissionChoiceKind::RejectOnce | PermissionChoiceKind::RejectAlways => {
            PermissionOption { value: kind.as_str(), name: "Deny", key: "d", done: "Denied." }
        }
    };
    let offered = |kind: &PermissionChoiceKind| permission.options.iter().any(|choice| choice.kind == *kind);
    let no = [PermissionChoiceKind::RejectOnce, PermissionChoiceKind::RejectAlways].into_iter().find(offered);
    let yes = [PermissionChoiceKind::AllowOnce, PermissionChoiceKind::AllowAlways].into_iter().filter(offered);
    yes.chain(no).map(|kind| (kind, answer(kind))).collect()
}

/// A text encoded so that no browser changes it in a form.
fn encode(text: &str) -> String {
    let digits = text.bytes().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// The decoded text.
pub(in crate::page) fn decode(hex: &str) -> Option<String> {
    let pair = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(pair).collect();
    String::from_utf8(bytes?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_back_as_it_was() {
        for name in ["", "r1", "a\r\nb", "../é\u{0}"] {
            assert_eq!(decode(&encode(name)).as_deref(), Some(name));
        }
        for wrong in ["f", "zz", "ff", "é0"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
