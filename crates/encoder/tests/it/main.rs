//! Does the encoder give the vectors of the training code, everywhere and for any text?

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test may fail by panicking, and its figures are small"
)]

use maestro_encoder::{BUILT_IN_WEIGHTS, TextEncoder, TextKind, TextVector, WeightsError};
use proptest::prelude::*;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

/// The length of what comes before the part of the file that its id is the hash of.
const ID_END: usize = 28;

struct Golden {
    kind: TextKind,
    text: String,
    tokens: Vec<usize>,
    vector: Vec<f32>,
}

fn goldens() -> Vec<Golden> {
    let lines: Vec<Json> = serde_json::from_str(include_str!("goldens.json")).unwrap();
    lines
        .into_iter()
        .map(|line| {
            let list = |key: &str| line[key].as_array().unwrap().clone();
            let text = line["text"].as_str().unwrap();
            Golden {
                kind: if line["kind"] == "card" { TextKind::Card } else { TextKind::Task },
                // Too long to be written out.
                text: if text == "MEGABYTE" {
                    "merge the invoices and check every page; ".repeat(26_000)
                } else {
                    text.to_owned()
                },
                tokens: list("tokens").iter().map(|token| token.as_u64().unwrap().try_into().unwrap()).collect(),
                vector: list("vector").iter().map(|value| value.as_f64().unwrap() as f32).collect(),
            }
        })
        .collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn texts_have_the_tokens_and_the_vectors_of_the_training_code() {
    let encoder = TextEncoder::built_in().unwrap();
    for golden in goldens() {
        assert_eq!(encoder.tokens(&golden.text, golden.kind), golden.tokens, "{:?}", golden.text);
        let exact = encoder.encode_exactly(&golden.text, golden.kind);
        assert!(cosine(&exact, &golden.vector) > 0.999, "{:?}", golden.text);
        let rounded: Vec<f32> = encoder.encode(&golden.text, golden.kind).values().collect();
        assert!(cosine(&rounded, &golden.vector) > 0.999, "{:?}", golden.text);
    }
}

#[test]
fn every_processor_gives_the_same_bits() {
    let encoder = TextEncoder::built_in().unwrap();
    let plain = encoder.clone().without_vector_instructions();
    for golden in goldens() {
        let bits = |encoder: &TextEncoder<'_>| -> Vec<u32> {
            encoder.encode_exactly(&golden.text, golden.kind).iter().map(|value| value.to_bits()).collect()
        };
        assert_eq!(bits(&encoder), bits(&plain), "{:?}", golden.text);
    }
}

#[test]
fn related_texts_are_nearer_than_unrelated_ones() {
    let encoder = TextEncoder::built_in().unwrap();
    let card =
        encoder.encode("pdf forms: Fill in and flatten PDF forms, and merge PDF files into one.", TextKind::Card);
    let near = encoder.encode("Put the scanned contracts together in a single document", TextKind::Task);
    let far = encoder.encode("Bump the version to 0.4.2", TextKind::Task);
    assert!(card.similarity(&near) > card.similarity(&far) + 0.1);
    assert!((card.similarity(&card) - 1.0).abs() < 0.02);
}

#[test]
fn the_file_is_named_by_its_contents_and_fits_its_limit() {
    let (head, body) = BUILT_IN_WEIGHTS.split_at(ID_END);
    assert_eq!(head[ID_END - 16..], Sha256::digest(body)[..16]);
    assert_eq!(TextEncoder::built_in().unwrap().model().as_bytes()[..], head[ID_END - 16..]);
    assert!(BUILT_IN_WEIGHTS.len() <= 12_000_000);
}

#[test]
fn damaged_files_are_refused_and_never_read_beyond() {
    assert_eq!(TextEncoder::parse(b"").unwrap_err(), WeightsError::UnknownFormat);
    assert_eq!(TextEncoder::parse(b"maestenc").unwrap_err(), WeightsError::Incomplete);
    let other = [&b"maestenc"[..], &[9; 64]].concat();
    assert_eq!(TextEncoder::parse(&other).unwrap_err(), WeightsError::UnknownFormat);
    for cut in [12, 40, 100, 1_000, 100_000, BUILT_IN_WEIGHTS.len() - 1] {
        assert_eq!(TextEncoder::parse(&BUILT_IN_WEIGHTS[..cut]).unwrap_err(), WeightsError::Incomplete);
    }
    let longer = [BUILT_IN_WEIGHTS, &[0]].concat();
    assert_eq!(TextEncoder::parse(&longer).unwrap_err(), WeightsError::Incomplete);
    let mut huge = BUILT_IN_WEIGHTS[..200].to_vec();
    huge[ID_END..ID_END + 40].fill(0xff);
    assert_eq!(TextEncoder::parse(&huge).unwrap_err(), WeightsError::InvalidShape);
}

#[test]
fn a_vector_survives_being_stored() {
    let encoder = TextEncoder::built_in().unwrap();
    let vector = encoder.encode("Merge the forms", TextKind::Task);
    let bytes = vector.to_bytes();
    assert_eq!(bytes.len(), TextVector::stored_bytes(encoder.vector_length()));
    assert_eq!(TextVector::from_bytes(&bytes, encoder.vector_length()).unwrap(), vector);
    assert!(TextVector::from_bytes(&bytes[1..], encoder.vector_length()).is_err());
    assert!(TextVector::from_bytes(b"", encoder.vector_length()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn any_text_has_a_vector_of_unit_length(text in "\\PC{0,60}|[\\x00-\\x7f]{0,60}") {
        let encoder = TextEncoder::built_in().unwrap();
        let vector = encoder.encode_exactly(&text, TextKind::Task);
        prop_assert_eq!(vector.len(), encoder.vector_length());
        prop_assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-4);
        let length = vector.iter().map(|value| value * value).sum::<f32>();
        prop_assert!((length - 1.0).abs() < 1e-3);
    }
}
