//! Second skill by clause: of a task in two parts, each may need one.
//!
//! "Fix the flaky test and write the release notes" is about both, so neither skill comes near the task as a whole. A
//! clause by itself says which.

use maestro_encoder::{TextEncoder, TextKind};

use super::fusion::{self, CommonTraits};
use super::prose::RequestForm;
use super::score::ScoredSkill;
use super::tokens::Tokenizer;
use crate::vectors::SkillVectors;

/// How many clauses of a task are looked at.
const MOST: usize = 4;
/// The fewest words of a clause that says anything by itself.
const LEAST_WORDS: usize = 3;
/// What parts a task into clauses, beside full stops and semicolons.
const JOINTS: [&str; 7] = ["and", "then", "plus", "also", "und", "et", "y"];

/// The clauses of a task; none of one that is not in parts.
fn clauses(prose: &str) -> Vec<String> {
    let mut clauses: Vec<Vec<&str>> = vec![Vec::new()];
    for word in prose.split_whitespace() {
        let bare = word.trim_matches([',', ';', '.', ':']);
        if JOINTS.iter().any(|joint| bare.eq_ignore_ascii_case(joint)) {
            clauses.push(Vec::new());
            continue;
        }
        if let Some(clause) = clauses.last_mut() {
            clause.push(word);
        }
        if word.ends_with(';') || word.ends_with('.') {
            clauses.push(Vec::new());
        }
    }
    clauses.retain(|clause| clause.len() >= LEAST_WORDS);
    clauses.truncate(MOST);
    let clauses: Vec<String> = clauses.into_iter().map(|clause| clause.join(" ")).collect();
    if clauses.len() > 1 { clauses } else { Vec::new() }
}

/// The skill that another clause needs than the one that `taken` is the best for. Both that clause and the whole task
/// must reach `bar` with it.
pub(super) fn best_of_another<'a>(
    prose: &str,
    ranked: &'a [ScoredSkill],
    taken: &ScoredSkill,
    vectors: &SkillVectors,
    tokenizer: &Tokenizer,
    bar: f64,
) -> Option<&'a ScoredSkill> {
    let best: Vec<(f64, &ScoredSkill)> = clauses(prose)
        .iter()
        .filter_map(|clause| {
            let fits = clause_fits(clause, ranked, vectors, tokenizer)?;
            fits.into_iter().zip(ranked).max_by(|(a, _), (b, _)| a.total_cmp(b))
        })
        .collect();
    if !best.iter().any(|(_, scored)| scored.skill.id == taken.skill.id) {
        return None;
    }
    let others = best.into_iter().filter(|(fit, scored)| {
        scored.skill.id != taken.skill.id && *fit >= bar && scored.fit >= bar && scored.meaning.is_some()
    });
    others.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, scored)| scored)
}

/// How well each skill fits a clause. The words are those that it shares with the whole task, as far as the clause has
/// them, so nothing is read again.
fn clause_fits(
    clause: &str,
    ranked: &[ScoredSkill],
    vectors: &SkillVectors,
    tokenizer: &Tokenizer,
) -> Option<Vec<f64>> {
    let meaning = TextEncoder::built_in().ok()?.encode(clause, TextKind::Task);
    let mut stems: Vec<String> = tokenizer.tokens(clause).into_iter().map(|token| token.stem).collect();
    stems.sort_unstable();
    stems.dedup();
    let fit = |scored: &ScoredSkill| {
        let Some(vector) = vectors.of(&scored.skill) else { return f64::MIN };
        let words = scored.score_of(|word| stems.binary_search(&tokenizer.stem(word)).is_ok());
        let meaning = f64::from(meaning.similarity(vector));
        let common = CommonTraits { words, distinct_words: stems.len(), meaning, is_exact: false };
        fusion::fit(common, RequestForm::Plain)
    };
    Some(ranked.iter().map(fit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_parted_where_a_second_one_begins() {
        assert_eq!(
            clauses("Fix the flaky test and write the release notes"),
            ["Fix the flaky test", "write the release notes"]
        );
        assert_eq!(
            clauses("Clean the CSV in pandas, then plot it by region"),
            ["Clean the CSV in pandas,", "plot it by region"]
        );
        assert_eq!(clauses("Merge the PDF files and go"), Vec::<String>::new());
        assert_eq!(clauses("Merge the signed PDF forms"), Vec::<String>::new());
    }
}
