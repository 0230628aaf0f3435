//! Text encoder: the meaning of a task or of a skill's card as a vector of unit length.
//!
//! A transformer of a few layers over word pieces, with int8 weights from one file ([`TextEncoder::parse`] documents its
//! form). Matrix products are exact in integers and everything else is computed in a fixed order with functions of our
//! own, so that every machine gives the same vector, bit for bit. No part of it reads files, starts threads or keeps
//! state.

mod attention;
mod built_in;
mod encoder;
mod functions;
mod linear;
mod rows;
mod tokenizer;
mod vector;
mod weights;

pub use built_in::BUILT_IN_WEIGHTS;
pub use encoder::{TextEncoder, TextKind};
pub use vector::{TextVector, UnknownLength};
pub use weights::{ModelId, WeightsError};
