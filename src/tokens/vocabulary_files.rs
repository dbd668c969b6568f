//! Writes the vocabulary files that the package ships: `o200k_base.bin` and `cl100k_base.bin`.
//!
//! `cargo run -p throughline-tokens --features tiktoken -- <folder>`
//!
//! A program of this crate, and no example of the engine's: so the engine need not be compiled for it.

#![allow(clippy::print_stdout, reason = "a command that reports what it wrote")]

use std::error::Error;
use std::path::PathBuf;
use throughline_tokens::{BytePairEncoder, Encoding, vocabulary_asset};

/// The version that is built in, from the lock file: a dependency cannot be asked for its version.
fn source() -> Option<String> {
    let mut lines = include_str!("../../Cargo.lock").lines();
    lines.find(|line| *line == "name = \"tiktoken-rs\"")?;
    let version = lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')?;
    Some(format!("tiktoken-rs {version}"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("name the folder to write to")?);
    let source = source().ok_or("Cargo.lock names no tiktoken-rs")?;
    std::fs::create_dir_all(&folder)?;
    for encoding in Encoding::ALL {
        let asset = vocabulary_asset(encoding, &source)?;
        BytePairEncoder::from_asset(&asset)?;
        let path = folder.join(format!("{}.bin", encoding.as_str()));
        std::fs::write(&path, &asset)?;
        println!("{}: {} tokens, {} bytes, from {source}", path.display(), encoding.vocabulary_size(), asset.len());
    }
    Ok(())
}
