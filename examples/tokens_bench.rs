//! Measures the token counters: start, memory, speed by text, the worst cases, and the estimator's error.
//!
//! `cargo run --release --example tokens_bench -- <folder with the .bin files> [<folder with .txt files>]`
//!
//! Without texts of your own it takes the self-made ones of the tests, which repeat and so show the memo at its best.
//! "Cold" is the first pass over a text by a new counter: what counting once and keeping the count costs.

#![allow(clippy::print_stdout, reason = "a command that prints a table")]
#![allow(clippy::disallowed_methods, reason = "a measurement needs a clock")]

#[path = "../tests/tokens_texts/mod.rs"]
mod tokens_texts;

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;
use throughline::tokens::{BytePairEncoder, Encoding, Estimator, TokenCounter};
use tokens_texts::{Random, SENTENCES, chat_message};

/// Milliseconds of wall time. On a loaded machine only the best of several runs says something.
fn measure<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = run();
    (start.elapsed().as_secs_f64() * 1e3, result)
}

const REPETITIONS: usize = 7;

fn own_texts() -> Vec<(String, String)> {
    let mut random = Random::new(3);
    let mut texts: Vec<(String, String)> = SENTENCES
        .iter()
        .map(|(name, sentences)| {
            let text = (0..2_000).map(|_| random.pick(sentences)).collect::<Vec<_>>().join(" ");
            ((*name).to_owned(), text)
        })
        .collect();
    texts.push(("chat mix".to_owned(), (0..2_000).map(|_| chat_message(&mut random)).collect()));
    texts
}

fn texts_of(folder: &Path) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            texts.push((name, std::fs::read_to_string(&path)?));
        }
    }
    texts.sort();
    Ok(texts)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let assets = arguments.next().ok_or("name the folder with o200k_base.bin and cl100k_base.bin")?;
    let texts = arguments.next().map_or_else(|| Ok(own_texts()), |folder| texts_of(Path::new(&folder)))?;
    for encoding in Encoding::ALL {
        let asset = std::fs::read(Path::new(&assets).join(format!("{}.bin", encoding.as_str())))?;
        let (start_ms, counter) = measure(|| {
            let counter = BytePairEncoder::from_asset(&asset)?;
            black_box(counter.count("first count"));
            Ok::<_, Box<dyn Error>>(counter)
        });
        let counter = counter?;
        let memory_mb = counter.memory_bytes() as f64 / 1e6;
        println!("{}: {start_ms:.1} ms from bytes to first count, {memory_mb:.1} MB", encoding.as_str());
        speeds(&asset, &texts)?;
        worst_cases(&counter);
    }
    Ok(())
}

fn speeds(asset: &[u8], texts: &[(String, String)]) -> Result<(), Box<dyn Error>> {
    println!("{:<20}{:>8}{:>12}{:>12}{:>12}", "text", "MB", "cold MB/s", "again MB/s", "estimate");
    let estimator = Estimator::new();
    for (name, text) in texts {
        let megabytes = text.len() as f64 / 1e6;
        let (mut cold_ms, mut again_ms) = (f64::MAX, f64::MAX);
        let mut tokens = 0;
        for _ in 0..REPETITIONS {
            let counter = BytePairEncoder::from_asset(asset)?;
            let (milliseconds, count) = measure(|| counter.count(text));
            (cold_ms, tokens) = (cold_ms.min(milliseconds), count);
            again_ms = again_ms.min(measure(|| counter.count(text)).0);
        }
        let error = 100.0 * (f64::from(estimator.count(text)) / f64::from(tokens) - 1.0);
        let (cold, again) = (megabytes / cold_ms * 1e3, megabytes / again_ms * 1e3);
        println!("{name:<20}{megabytes:>8.2}{cold:>12.1}{again:>12.1}{error:>+11.1}%");
    }
    Ok(())
}

fn worst_cases(counter: &BytePairEncoder) {
    for (name, unit) in [("a", "a"), ("space", " "), ("line break", "\n"), ("Han", "中"), ("=", "=")] {
        let text = unit.repeat(1_000_000 / unit.len());
        let (milliseconds, tokens) = measure(|| counter.count(&text));
        println!("1 MB of {name:<12}{tokens:>9} tokens{milliseconds:>8.0} ms");
    }
}
