//! A budget shared by several sessions, and what is left of it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::spawn::SessionLimits;
use super::usage::TokenUsage;

/// What several sessions may use up together; what is not said has no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BudgetLimit {
    /// How many minutes their agents may work.
    pub minutes: Option<f64>,
    /// How many tokens they may use, in and out.
    pub tokens: Option<u64>,
    /// How much money they may cost, in dollars.
    pub cost_usd: Option<f64>,
}

/// What sessions used up together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BudgetUsage {
    /// For how many minutes their agents worked.
    pub minutes: f64,
    /// How many tokens they used.
    pub tokens: u64,
    /// How many dollars they cost.
    pub cost_usd: f64,
}

impl BudgetUsage {
    /// What one session used up.
    pub fn of(worked_ms: u64, spent: &TokenUsage) -> Self {
        // No session runs long enough for the loss of precision to matter.
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of a session")]
        let minutes = worked_ms as f64 / 60_000.0;
        Self { minutes, tokens: spent.tokens(), cost_usd: spent.cost_usd }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            minutes: self.minutes + other.minutes,
            tokens: self.tokens.saturating_add(other.tokens),
            cost_usd: self.cost_usd + other.cost_usd,
        }
    }
}

/// What a person allowed beyond a limit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LimitGrant {
    /// So many dollars more.
    pub cost_usd: f64,
    /// So many tokens more.
    pub tokens: u64,
    /// Whether there is no limit of either any more.
    pub unlimited: bool,
}

impl LimitGrant {
    /// Whether nothing was allowed.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            cost_usd: self.cost_usd + other.cost_usd,
            tokens: self.tokens.saturating_add(other.tokens),
            unlimited: self.unlimited || other.unlimited,
        }
    }
}

/// What of an allowance is gone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExhaustedLimit {
    /// The minutes.
    Minutes {
        /// How many there were.
        most: f64,
        /// How many were used.
        used: f64,
    },
    /// The tokens.
    Tokens {
        /// How many there were.
        most: u64,
        /// How many were used.
        used: u64,
    },
    /// The money.
    Cost {
        /// How much there was.
        most: f64,
        /// How much was spent.
        used: f64,
    },
}

impl ExhaustedLimit {
    /// The word for what is gone, as settings and options have it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Minutes { .. } => "minutes",
            Self::Tokens { .. } => "tokens",
            Self::Cost { .. } => "cost",
        }
    }
}

impl fmt::Display for ExhaustedLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Minutes { most, used } => write!(f, "agents worked {used:.2} minutes, and {most} are allowed"),
            Self::Tokens { most, used } => write!(f, "{used} tokens were used, and {most} are allowed"),
            Self::Cost { most, used } => write!(f, "${used:.2} was spent, and ${most} is allowed"),
        }
    }
}

impl BudgetLimit {
    /// The part of each, where so many use it at once.
    #[must_use]
    pub fn share(self, of: u32) -> Self {
        let of = of.max(1);
        Self {
            minutes: self.minutes.map(|minutes| minutes / f64::from(of)),
            // What is less than one token would be no limit at all.
            tokens: self.tokens.map(|tokens| (tokens / u64::from(of)).max(1)),
            cost_usd: self.cost_usd.map(|cost| cost / f64::from(of)),
        }
    }

    /// The same with what a person allowed beyond it.
    #[must_use]
    pub fn extend(self, granted: LimitGrant) -> Self {
        Self {
            tokens: self.tokens.filter(|_| !granted.unlimited).map(|most| most.saturating_add(granted.tokens)),
            cost_usd: self.cost_usd.filter(|_| !granted.unlimited).map(|most| most + granted.cost_usd),
            ..self
        }
    }

    /// The minutes of it alone.
    #[must_use]
    pub fn only_minutes(self) -> Self {
        Self { minutes: self.minutes, ..Self::default() }
    }

    /// What of it is gone; nothing as long as there is some of everything.
    pub fn exhausted(&self, used: &BudgetUsage) -> Option<ExhaustedLimit> {
        let cost = self.cost_usd.filter(|most| used.cost_usd >= *most);
        let cost = cost.map(|most| ExhaustedLimit::Cost { most, used: used.cost_usd });
        let tokens = self.tokens.filter(|most| used.tokens >= *most);
        let tokens = tokens.map(|most| ExhaustedLimit::Tokens { most, used: used.tokens });
        let minutes = self.minutes.filter(|most| used.minutes >= *most);
        let minutes = minutes.map(|most| ExhaustedLimit::Minutes { most, used: used.minutes });
        cost.or(tokens).or(minutes)
    }

    /// A session's budget, cut down to what is left.
    #[must_use]
    pub fn cap_limits(&self, budget: SessionLimits, used: &BudgetUsage) -> SessionLimits {
        fn smaller_of<T: PartialOrd>(own: Option<T>, left: Option<T>) -> Option<T> {
            match (own, left) {
                (Some(own), Some(left)) => Some(if left < own { left } else { own }),
                (own, left) => own.or(left),
            }
        }
        let tokens = self.tokens.map(|most| most.saturating_sub(used.tokens));
        let cost = self.cost_usd.map(|most| (most - used.cost_usd).max(0.0));
        let binds = |own: Option<f64>, left: Option<f64>| left.is_some_and(|left| own.is_none_or(|own| left < own));
        let more_cost_usd = if binds(budget.cost_usd, cost) { self.cost_usd } else { budget.more_cost_usd };
        let binds = |own: Option<u64>, left: Option<u64>| left.is_some_and(|left| own.is_none_or(|own| left < own));
        let more_tokens = if binds(budget.tokens, tokens) { self.tokens } else { budget.more_tokens };
        SessionLimits {
            more_cost_usd,
            more_tokens,
            minutes: self.minutes.map_or(budget.minutes, |most| budget.minutes.min(most - used.minutes)),
            tokens: smaller_of(budget.tokens, tokens),
            cost_usd: smaller_of(budget.cost_usd, cost),
            ..budget
        }
    }

    /// Whether nothing has a limit.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

/// Why a text is no allowance.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a budget; write `minutes=30 tokens=200000 cost=2.5`, each more than 0")]
pub struct InvalidBudget(
    /// The text.
    pub String,
);

impl FromStr for BudgetLimit {
    type Err = InvalidBudget;

    fn from_str(text: &str) -> Result<Self, InvalidBudget> {
        let wrong = || InvalidBudget(text.to_owned());
        let amount = |text: &str| text.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount > 0.0);
        let mut allowance = Self::default();
        for word in text.split_whitespace() {
            let (name, value) = word.split_once('=').ok_or_else(wrong)?;
            match name {
                "minutes" => allowance.minutes = Some(amount(value).ok_or_else(wrong)?),
                "tokens" => {
                    let tokens = value.parse().ok().filter(|tokens| *tokens > 0);
                    allowance.tokens = Some(tokens.ok_or_else(wrong)?);
                }
                "cost" => allowance.cost_usd = Some(amount(value).ok_or_else(wrong)?),
                _ => return Err(wrong()),
            }
        }
        Ok(allowance)
    }
}

impl fmt::Display for BudgetLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = self.minutes.map(|minutes| format!("minutes={minutes}"));
        let tokens = self.tokens.map(|tokens| format!("tokens={tokens}"));
        let cost = self.cost_usd.map(|cost| format!("cost={cost}"));
        let parts: Vec<String> = [minutes, tokens, cost].into_iter().flatten().collect();
        f.write_str(&parts.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowance(text: &str) -> BudgetLimit {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_written_is_read_again_and_nonsense_is_refused() {
        for text in ["", "minutes=0.5", "minutes=30 tokens=200000 cost=2.5"] {
            assert_eq!(allowance(text).to_string(), text);
        }
        assert!(allowance("").is_unlimited());
        for text in ["2", "cost=0", "cost=-1", "cost=NaN", "minutes=inf", "tokens=1.5", "tokens=0", "turns=3"] {
            assert_eq!(text.parse::<BudgetLimit>(), Err(InvalidBudget(text.to_owned())));
        }
    }

    #[test]
    fn a_session_gets_what_is_left_and_no_more_than_it_had() {
        let used = BudgetUsage { minutes: 20.0, tokens: 900, cost_usd: 0.5 };
        let cut = allowance("minutes=30 tokens=1000 cost=2").cap_limits(SessionLimits::default(), &used);
        assert_eq!((cut.minutes, cut.tokens, cut.cost_usd), (10.0, Some(100), Some(1.5)));
        assert_eq!(allowance("minutes=300").cap_limits(SessionLimits::default(), &used), SessionLimits::default());
        let small = SessionLimits { tokens: Some(50), ..SessionLimits::default() };
        assert_eq!(allowance("tokens=1000").cap_limits(small, &used).tokens, Some(50));
        assert_eq!(allowance("tokens=1000").exhausted(&used), None);
    }

    #[test]
    fn what_a_person_allows_extends_a_limit() {
        let granted = LimitGrant { cost_usd: 1.5, tokens: 10, unlimited: false };
        assert_eq!(
            allowance("minutes=3 tokens=100 cost=2").extend(granted),
            allowance("minutes=3 tokens=110 cost=3.5")
        );
        let unlimited = granted.plus(LimitGrant { unlimited: true, ..LimitGrant::default() });
        assert_eq!(allowance("minutes=3 tokens=100 cost=2").extend(unlimited), allowance("minutes=3"));
        let used = BudgetUsage { cost_usd: 3.0, ..BudgetUsage::default() };
        let cut = allowance("cost=2").cap_limits(SessionLimits::default(), &used);
        assert_eq!(
            (cut.cost_usd, cut.more_cost_usd),
            (Some(0.0), Some(2.0)),
            "nothing is left, and an answer adds as much"
        );
    }

    #[test]
    fn what_is_gone_is_told_with_what_was_allowed() {
        let used =
            BudgetUsage::of(90_000, &TokenUsage { input: 70, output: 30, cost_usd: 0.375, ..TokenUsage::default() });
        let used = used.plus(used);
        let gone = |text: &str| allowance(text).exhausted(&used).map(|gone| gone.to_string());
        assert_eq!(gone("minutes=3").unwrap(), "agents worked 3.00 minutes, and 3 are allowed");
        assert_eq!(gone("tokens=150 minutes=1").unwrap(), "200 tokens were used, and 150 are allowed");
        assert_eq!(gone("cost=0.5 tokens=150").unwrap(), "$0.75 was spent, and $0.5 is allowed");
        assert_eq!(gone("cost=0.8 tokens=201 minutes=3.1"), None);
    }
}
