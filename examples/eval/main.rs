//! Retrieval quality on LoCoMo and Cranfield.
//!
//! `cargo run --release --example eval -- --data DIR [--static FILE.f32] [--fit] [--json] [--out FILE]`
//!
//! DIR holds `locomo/` and `cranfield/` as described in its README. FILE.f32 holds another model's vectors, f32
//! little-endian, a row per turn, then a row per question, in the order of `conversations.json`. `--fit` fits the weights
//! of the ranking first and writes them to `weights.json` beside this file (what ships is in `src/retrieval/fitted.rs`).
//! `--out` keeps, as a line of JSON for each question and run, the ranks of its evidence and the first ten hits.
//!
//! # Protocol
//!
//! Written down before anything was tuned by it. Every figure for a fitted constant is quoted leave-one-conversation-out:
//! for each of the seven conversations the constants are fitted on the other six, from the same start and with the same
//! search, and scored on the one that was left out; the quoted mean is over all questions, each scored by constants that
//! never saw its conversation. Cranfield is a guard: its nDCG@10, by words and with vectors, is part of what is
//! maximised in every fit, and a change that lowers it is not kept. What ships is fitted on all seven the same way; its
//! own score on them is not quoted as quality. Questions without evidence are left out. Whether a signal is kept at all
//! is decided by the left-out figures too, so those are a little optimistic as to the choice of signals, not as to
//! weights.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

mod data;
mod fit;
mod floors;
mod measures;
mod report;
mod searching;

use data::{Cranfield, MINILM_DIMENSIONS};
use searching::{Asked, Ranking, cranfield_index, find};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use throughline::config::RankingChoice;
use throughline::retrieval::Weights;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(2)
        }
    }
}

#[derive(Default)]
struct Options {
    data: Option<PathBuf>,
    table: Option<PathBuf>,
    out: Option<PathBuf>,
    is_json: bool,
    is_fit: bool,
}

fn options() -> Result<Options, Failure> {
    let mut options = Options::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--data" => options.data = arguments.next().map(PathBuf::from),
            "--static" => options.table = arguments.next().map(PathBuf::from),
            "--out" => options.out = arguments.next().map(PathBuf::from),
            "--json" => options.is_json = true,
            "--fit" => options.is_fit = true,
            other => {
                let known = "--data DIR, --static FILE.f32, --fit, --json or --out FILE";
                return Err(format!("{other} is no option; give {known}").into());
            }
        }
    }
    Ok(options)
}

fn run() -> Result<(), Failure> {
    let options = options()?;
    let data = options.data.filter(|data| data.join("locomo/conversations.json").is_file());
    let data = data.ok_or("Pass --data DIR, the folder that holds locomo/conversations.json and cranfield/.")?;
    let locomo = data::read_locomo(&data)?;
    let cranfield = data::read_cranfield(&data)?;
    let mut runs = vec![("lexical", None)];
    if let Some(file) = options.table {
        runs.push(("static", Some(data::read_vectors(&locomo, &file)?)));
    }
    runs.push(("minilm", Some(data::read_minilm(&data)?)));
    if options.is_fit {
        fit::run(&locomo, &runs, &cranfield)?;
    }
    let left_out = fit::LeftOut::read()?;
    let mut kept = Vec::new();
    let mut report = Vec::new();
    for (name, vectors) in &runs {
        report.extend(report::locomo(name, &locomo, vectors.as_ref(), &left_out, &mut kept)?);
    }
    report.extend(cranfield_results(&cranfield)?);
    if let Some(file) = options.out {
        std::fs::write(file, kept.concat())?;
    }
    if options.is_json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        report::print(&report);
    }
    Ok(())
}

/// Every fit has Cranfield in its sum, so there is nothing to leave out.
fn cranfield_results(cranfield: &Cranfield) -> Result<Vec<Value>, Failure> {
    let index = cranfield_index(cranfield)?;
    let mut results = Vec::new();
    for run in ["lexical", "minilm"] {
        for (ranking, choice) in [("shipped", RankingChoice::Fitted), ("seeds", RankingChoice::Seeds)] {
            let mut sum = 0.0;
            let vectors = cranfield.query_vectors.chunks_exact(MINILM_DIMENSIONS);
            for ((text, relevant), vector) in cranfield.queries.iter().zip(vectors) {
                let mut found = find(&index, text, Some(vector).filter(|_| run == "minilm"), Asked::Anew)?;
                found.rank(Ranking { choice, weights: &Weights::FITTED });
                let hits = found.hits.iter().take(10).enumerate();
                let relevant_hits = hits.filter(|(_, hit)| relevant.contains(&(hit.conversation as usize)));
                let gained: f64 = relevant_hits.map(|(rank, _)| measures::gain(rank)).sum();
                sum += gained / measures::ideal(relevant.len());
            }
            let percent = (1_000.0 * sum / cranfield.queries.len() as f64).round() / 10.0;
            let results_of = json!({ "all": { "nDCG@10": percent } });
            results.push(json!({ "data": "cranfield", "run": run, "ranking": ranking, "results": results_of }));
        }
    }
    Ok(results)
}
