//! How long does one selection take once the catalogue is loaded? Prints the median in milliseconds.
//!
//! `selection_speed DIRECTORY [VECTORS]`: with a file of vectors, as `select_lines` writes it, meaning is compared as well.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a measurement is there to be read")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use maestro_core::settings::{SettingsDirs, SkillValidation};
use maestro_core::{RunId, StepKind};
use maestro_skills::{Catalogue, SkillRoot, SkillSelector, SkillVectors, TaskNeeds};

const TASK: &str = "Migrate the postgres database schema and validate the invoice report";
const TIMES: usize = 51;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next().map(PathBuf::from) else {
        eprintln!("usage: selection_speed DIRECTORY [VECTORS]");
        return;
    };
    let vectors = arguments.next().and_then(|file| SkillVectors::read(Path::new(&file)).ok());
    let places = SettingsDirs {
        home: directory.clone(),
        data: directory.clone(),
        project: directory.clone(),
        working_dir: directory.clone(),
    };
    let root = SkillRoot::given(directory, &places);
    let mut catalogue = Catalogue::load(&[root], &places, SkillValidation::Lenient, &AtomicUsize::new(0));
    let count = catalogue.skills.len();
    let missing = vectors.as_ref().map_or(count, |vectors| vectors.missing(catalogue.each_skill()).len());
    catalogue.vectors = vectors.map(Arc::new);
    let selector = SkillSelector::new(Arc::new(catalogue));
    let needs = TaskNeeds { label: TASK, hints: &[], step: StepKind::Implementation, most: 2 };
    let mut times: Vec<f64> = (0..TIMES)
        .map(|_| {
            let start = Instant::now();
            let selection = selector.select(RunId::default(), needs);
            std::hint::black_box(selection);
            start.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let median = times.get(TIMES / 2).copied().unwrap_or_default();
    println!("{{\"skills\": {count}, \"without_vector\": {missing}, \"median_ms\": {median:.3}}}");
}
