//! `maestro-test-model SCRIPT [PORT [DIRECTORY]]`: serves a script file until it is ended and prints its address.
//!
//! `GET /__requests` lists what was asked so far, `GET /__requests/N` is the body of one, byte for byte, and
//! `PUT /__script` is another script. With a DIRECTORY every body is written into it as well.

#![allow(clippy::print_stdout, reason = "whoever started it wants to know where it is")]

use std::io::Write as _;
use std::path::PathBuf;

use maestro_test_model::{Model, Script};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("maestro-test-model SCRIPT [PORT [DIRECTORY]]")?;
    let port = args.next().map_or(Ok(0), |port| port.parse())?;
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let script = Script::parse(&text).map_err(|error| format!("{file}: {error}"))?;
    let model = Model::start_on(port, script, args.next().map(PathBuf::from))?;
    println!("{}", model.url());
    std::io::stdout().flush()?;
    loop {
        std::thread::park();
    }
}
