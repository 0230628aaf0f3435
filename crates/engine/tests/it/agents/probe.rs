//! Questions to installed agents: whether each answers, and what becomes of one that does not.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use maestro_core::agent::{AgentCatalogue, Driver};
use maestro_engine::agents::probe::{self, AgentProbe, ProbeAnswer};

use crate::execute::{MAESTRO, Place, runtime};

fn executable(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn probe(place: &Place, name: &str, driver: Driver, program: &str) -> AgentProbe {
    let env = [("PATH", "/usr/bin:/bin".to_owned()), ("HOME", place.path("home").display().to_string())];
    AgentProbe {
        maestro: MAESTRO.into(),
        home: place.home(),
        agent: AgentCatalogue::builtin().find(name).unwrap().clone(),
        driver,
        program: program.into(),
        env: env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<BTreeMap<_, _>>(),
    }
}

#[test]
fn who_does_not_answer_is_ended_when_its_time_is_over() {
    let place = Place::new();
    let (hangs, absent) = (place.path("hangs"), place.path("absent"));
    executable(&hangs, "exec /bin/sleep 60");
    let (hangs, absent) = (hangs.to_str().unwrap(), absent.to_str().unwrap());
    let patience = Duration::from_millis(700);
    let probes = vec![
        probe(&place, "claude", Driver::Json, hangs),
        probe(&place, "goose", Driver::Acp, hangs),
        probe(&place, "aider", Driver::Text, absent),
    ];
    let begun = Instant::now();
    let answers = runtime().block_on(probe::probe_all(probes, patience));
    let silent = || ProbeAnswer::Silent { time: patience, said: String::new() };
    assert_eq!(answers[..2], [silent(), silent()]);
    assert!(matches!(&answers[2], ProbeAnswer::NotStarted(_)), "{answers:?}");
    assert_eq!(answers[0].to_string(), "does not answer within 0.7 s");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

#[test]
fn the_built_in_one_answers_by_its_protocol() {
    let place = Place::new();
    let asked = probe(&place, "demo", Driver::Acp, MAESTRO);
    let answer = runtime().block_on(asked.probe(probe::PATIENCE));
    assert_eq!(answer, ProbeAnswer::Answers { version: Some(env!("CARGO_PKG_VERSION").to_owned()) });
}
