//! How long does one text take to encode? Prints the medians in milliseconds, on one core.
//!
//! `encode_speed WEIGHTS`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a measurement is there to be read")]

use std::time::Instant;

use maestro_encoder::{TextEncoder, TextKind};

const TIMES: usize = 31;

fn main() {
    let Some(bytes) = std::env::args().nth(1).and_then(|path| std::fs::read(path).ok()) else {
        eprintln!("usage: encode_speed WEIGHTS");
        return;
    };
    let start = Instant::now();
    let encoder = match TextEncoder::parse(&bytes) {
        Ok(encoder) => encoder,
        Err(error) => return eprintln!("{error}"),
    };
    println!("{{\"what\": \"read\", \"median_ms\": {:.3}}}", start.elapsed().as_secs_f64() * 1000.0);
    let words = "merge the signed forms into one file and check that every page is upright ";
    let task: String = words.split_inclusive(' ').cycle().take(22).collect();
    for (what, text, kind) in [("task", task, TextKind::Task), ("card", words.repeat(10), TextKind::Card)] {
        for encoder in [encoder.clone(), encoder.clone().without_vector_instructions()] {
            let mut times: Vec<f64> = (0..TIMES)
                .map(|_| {
                    let start = Instant::now();
                    std::hint::black_box(encoder.encode(&text, kind));
                    start.elapsed().as_secs_f64() * 1000.0
                })
                .collect();
            times.sort_by(f64::total_cmp);
            let median = times.get(TIMES / 2).copied().unwrap_or_default();
            let least = times.first().copied().unwrap_or_default();
            let tokens = encoder.tokens(&text, kind).len();
            println!(
                "{{\"what\": \"{what}\", \"tokens\": {tokens}, \"median_ms\": {median:.3}, \"least_ms\": {least:.3}}}"
            );
        }
    }
}
