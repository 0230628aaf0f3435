//! Which skills do many task lines get? For `bench/selection.py`: one process for a whole set.
//!
//! `select_lines VECTORS [--words]` reads lines of JSON (`task`, `step_kind`, `roots`: directories with skills) and
//! prints a selection for each, with the names of the short list beside it in `also`. `VECTORS` is where vectors are stored between calls; `--words` compares words only.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a measurement is there to be read")]

use std::error::Error;
use std::fs;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use maestro_core::plan::skill_hints;
use maestro_core::settings::{SettingsDirs, SkillValidation};
use maestro_core::{RunId, StepKind};
use maestro_skills::render::also_here;
use maestro_skills::{Catalogue, SkillRoot, SkillSelector, SkillVectors, TaskNeeds};
use serde_json::Value as Json;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = PathBuf::from(arguments.next().ok_or("usage: select_lines VECTORS [--words]")?);
    let mut vectors = match arguments.next().as_deref() {
        Some("--words") => None,
        _ => Some(Arc::new(SkillVectors::read(&file)?)),
    };
    let mut loaded: Option<(Vec<PathBuf>, Arc<Catalogue>, SkillSelector)> = None;
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line: Json = serde_json::from_str(&line?)?;
        let roots: Vec<PathBuf> = serde_json::from_value(line["roots"].clone())?;
        if loaded.as_ref().is_none_or(|(known, ..)| *known != roots) {
            let catalogue = Arc::new(load(&roots, &mut vectors, &file)?);
            loaded = Some((roots, Arc::clone(&catalogue), SkillSelector::new(catalogue)));
        }
        let Some((_, catalogue, selector)) = &loaded else { continue };
        let label = line["task"].as_str().ok_or("no task")?;
        let (step, most) = match line["step_kind"].as_str() {
            Some("review") => (StepKind::Review, 1),
            _ => (StepKind::Implementation, 2),
        };
        let hints = skill_hints(label);
        let selection = selector.select(RunId::default(), TaskNeeds { label, hints: &hints, step, most });
        let list = also_here(&selection.record, catalogue).unwrap_or_default();
        let names = list.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(": "));
        let mut record = serde_json::to_value(&selection.record)?;
        record["also"] = names.map(|(name, _)| name).collect();
        writeln!(out, "{record}")?;
    }
    Ok(())
}

/// The skills of some directories with their vectors, which are stored when there are new ones.
fn load(roots: &[PathBuf], vectors: &mut Option<Arc<SkillVectors>>, file: &Path) -> Result<Catalogue, Box<dyn Error>> {
    let base = PathBuf::from("/");
    let places =
        SettingsDirs { home: base.clone(), data: base.clone(), project: base.clone(), working_dir: base.clone() };
    let roots: Vec<SkillRoot> = roots.iter().map(|root| SkillRoot::given(root.clone(), &places)).collect();
    let mut catalogue = Catalogue::load(&roots, &places, SkillValidation::Lenient, &AtomicUsize::new(0));
    if let Some(vectors) = vectors {
        let missing = vectors.missing(catalogue.each_skill());
        if !missing.is_empty() {
            let known = Arc::make_mut(vectors);
            known.add(&missing, &AtomicUsize::new(0))?;
            fs::write(file, known.to_bytes(catalogue.each_skill()))?;
        }
        catalogue.vectors = Some(Arc::clone(vectors));
    }
    Ok(catalogue)
}
