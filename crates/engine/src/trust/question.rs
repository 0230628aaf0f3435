//! Questions to a person: may exactly these contents be executed, and what changed since they last agreed.

use std::path::Path;

use super::texts::ConsentTexts;
use super::{Consent, TrustError, TrustStore};

/// Something that a person may allow, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentQuestion {
    /// What would be allowed.
    pub consent: Consent,
    /// What it covers.
    pub texts: ConsentTexts,
    /// How it stands.
    pub standing: ConsentStanding,
}

/// How something stands that needs consent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConsentStanding {
    /// It is allowed.
    Allowed,
    /// It was never allowed.
    New,
    /// Other contents of it were.
    Changed {
        /// When.
        at: i64,
        /// Those contents, where they were kept.
        before: Option<ConsentTexts>,
    },
}

impl ConsentQuestion {
    /// A question about contents, and how they stand.
    pub fn new(consent: Consent, texts: ConsentTexts, trust: &TrustStore) -> Self {
        let standing = trust.standing(&consent, &texts);
        Self { consent, texts, standing }
    }
}

impl TrustStore {
    /// How contents stand: by their hash, or by the last consent to something of the same kind and name here.
    fn standing(&self, consent: &Consent, texts: &ConsentTexts) -> ConsentStanding {
        if self.allows(&consent.hash) {
            return ConsentStanding::Allowed;
        }
        let is_same = |known: &&Consent| {
            (known.kind, &known.name, &known.project) == (consent.kind, &consent.name, &consent.project)
        };
        // Checks and the setup of worktrees are both of the config; what they cover tells them apart.
        let of_others = |kept: &ConsentTexts| kept.all().keys().all(|name| !texts.all().contains_key(name));
        for known in self.consents().iter().rev().filter(is_same) {
            let before = ConsentTexts::kept(self.home(), &known.hash);
            if !before.as_ref().is_some_and(of_others) {
                return ConsentStanding::Changed { at: known.at, before };
            }
        }
        ConsentStanding::New
    }

    /// Allows what a question is about, and keeps its texts for the next one.
    pub fn allow(&mut self, question: &ConsentQuestion) -> Result<(), TrustError> {
        self.keep_texts(&question.consent.hash, &question.texts);
        self.add(question.consent.clone())
    }

    /// Keeps the texts that a consent covers. Where that fails, the next question shows everything as new.
    pub fn keep_texts(&self, hash: &str, texts: &ConsentTexts) {
        if let Err(error) = texts.keep(self.home(), hash) {
            tracing::warn!("the texts of a consent cannot be kept: {error}");
        }
    }

    fn home(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }
}
