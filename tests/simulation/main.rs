//! The engine over a simulated disk with faults, against a plain model of what a person may expect.
//!
//! A seed decides everything. `SIMULATION_SEEDS` and `SIMULATION_STEPS` say how many (200 and 500 by default),
//! `SIMULATION_FIRST` which one is the first, `SIMULATION_ONLY` which steps are played. A seed that fails is played again
//! with fewer and fewer steps, and prints the few that are left and the command that plays them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failing test stops"
)]

#[path = "../host/mod.rs"]
mod host;

mod asking;
mod backups;
mod choosing;
mod comparing;
mod disk;
mod explaining;
mod flips;
mod judging;
mod model;
mod play;
mod random;
mod running;
mod sealing;
mod surroundings;
mod truth;

use play::Play;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tries to leave steps out of a failing seed.
const SHRINK_RUNS: usize = 60;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Plays these steps of a seed and answers with [`Play::derived`]; the failure, where there is one, with the step's number and
/// what happened in it.
fn play(seed: u64, steps: &[u64], tell: bool) -> Result<[usize; 3], (u64, String)> {
    let mut play = Play::new(seed);
    let step = |play: &mut Play, step: u64| {
        catch_unwind(AssertUnwindSafe(|| play.step(seed, step))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            Err(format!(
                "panicked: {}",
                text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
            ))
        })
    };
    for number in steps {
        let outcome = step(&mut play, *number);
        if tell {
            eprintln!("step {number}: {}", play.log.join("; "));
        }
        outcome.map_err(|problem| (*number, problem))?;
    }
    play.compare_everything().map_err(|problem| (steps.last().copied().unwrap_or(0), problem))?;
    Ok(play.derived)
}

/// The shortest list of steps found that fails in the same way.
fn shrunk(seed: u64, mut steps: Vec<u64>, problem: &str) -> Vec<u64> {
    let is_same = |other: &str| other.split_whitespace().take(4).eq(problem.split_whitespace().take(4));
    let mut runs = 0;
    let mut size = steps.len() / 2;
    while size > 0 && runs < SHRINK_RUNS {
        let mut at = 0;
        while at < steps.len() && runs < SHRINK_RUNS {
            let mut fewer = steps.clone();
            fewer.drain(at..(at + size).min(fewer.len()));
            runs += 1;
            match play(seed, &fewer, false) {
                Err((last, other)) if is_same(&other) => {
                    fewer.retain(|step| *step <= last);
                    steps = fewer;
                }
                _ => at += size,
            }
        }
        size = if size > 1 { size.div_ceil(2).min(size - 1) } else { 0 };
    }
    steps
}

/// What is printed of a failing seed: how it fails, with the steps that are left of it, and how to replay it.
fn report(seed: u64, steps: Vec<u64>, problem: &str) -> String {
    eprintln!("\nSeed {seed} fails at step {}: {problem}", steps.last().unwrap_or(&0));
    let steps = if number("SIMULATION_SHRINK", 1) == 0 { steps } else { shrunk(seed, steps, problem) };
    eprintln!("\nSeed {seed} fails; what is left of it:");
    let (step, problem) = play(seed, &steps, true).expect_err("fails again");
    let only: Vec<String> = steps.iter().map(u64::to_string).collect();
    format!(
        "seed {seed}, step {step}: {problem}\nReplay: SIMULATION_ONLY={} npm run test:long -- simulation \
         --seed {seed} --runs 1",
        only.join(",")
    )
}

#[test]
fn engines_on_a_failing_disk_keep_what_the_model_expects() {
    let (first, seeds) = (number("SIMULATION_FIRST", 1), number("SIMULATION_SEEDS", 200));
    let steps: Vec<u64> = match std::env::var("SIMULATION_ONLY") {
        Ok(only) => only.split(',').filter_map(|step| step.parse().ok()).collect(),
        Err(_) => (0..number("SIMULATION_STEPS", 500)).collect(),
    };
    let next = AtomicU64::new(first);
    let failures = Mutex::new(Vec::new());
    let derived = Mutex::new([0; 3]);
    std::panic::set_hook(Box::new(|_| ()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let is_enough = failures.lock().is_ok_and(|failures| failures.len() >= 3);
                    if seed >= first + seeds || is_enough {
                        return;
                    }
                    match play(seed, &steps, false) {
                        Ok(made) => derived.lock().unwrap().iter_mut().zip(made).for_each(|(all, made)| *all += made),
                        Err((step, problem)) => {
                            let until: Vec<u64> = steps.iter().copied().filter(|one| *one <= step).collect();
                            let text = report(seed, until, &problem);
                            failures.lock().unwrap().push(text);
                        }
                    }
                }
            });
        }
    });
    drop(std::panic::take_hook());
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} seeds fail\n{}", failures.len(), failures.join("\n\n"));
    let derived = derived.into_inner().unwrap();
    assert!(seeds < 100 || derived.iter().all(|all| *all > 0), "facts, episodes, projects: {derived:?}");
}
