//! What every store must do, as one suite in plain async Rust. Implementations of this crate run it in their tests, and
//! a store that a host brings can be given to it as well.

mod commits;
mod content;
mod handles;
mod reading;

use super::{Check, Commit, Key, Query, Record, Storage, Store};
use crate::error::{Code, Error, Result};
use crate::ports::Pending;
use std::fmt::Debug;
use std::rc::Rc;

/// Opens a database by name, creating it where there is none. Opened twice, it is two handles on the same records.
pub type Opener<'a> = dyn Fn(&str) -> Pending<'static, Rc<dyn Storage>> + 'a;

/// Runs every case, each on a database of its own named `conformance-<case>`, which it destroys before and after.
/// Answers how many cases there were.
///
/// # Errors
/// One line for each case that does not hold: its name, and what was seen.
pub async fn run(open: &Opener<'_>) -> std::result::Result<usize, String> {
    let mut cases = 0;
    let mut failures: Vec<String> = Vec::new();
    macro_rules! run_cases {
        ($($module:ident: $($case:ident),+;)+) => { $($(
            let name = stringify!($case);
            cases += 1;
            let place = Place { open, name: format!("conformance-{name}") };
            if let Err(Deviation(seen)) = place.examine($module::$case(&place)).await {
                failures.push(format!("{name}: {seen}"));
            }
        )+)+ };
    }
    run_cases! {
        reading: gets_in_the_order_asked, gets_runs_of_keys, orders_keys, scans_prefixes, scans_bounds, reverses_and_limits,
            counts_prefixes, keeps_stores_apart;
        content: keeps_bodies, keeps_blobs, keeps_a_megabyte, keeps_keys_of_any_text, keeps_numbers_exact;
        commits: holds_and_fails_checks, checks_absence, checks_the_state_before_the_commit, orders_writes,
            deletes_prefixes, commits_nothing, commits_many, commits_whole_when_dropped;
        handles: sees_the_other_handle, lets_one_of_two_win, loses_no_increment, reopens, closes, destroys,
            keeps_databases_apart, tells_usage;
    }
    if failures.is_empty() { Ok(cases) } else { Err(failures.join("\n")) }
}

/// What a case saw that it should not have seen.
struct Deviation(String);

impl From<Error> for Deviation {
    fn from(error: Error) -> Self {
        Self(format!("unexpected failure, {error}"))
    }
}

type Outcome = std::result::Result<(), Deviation>;

/// A case's own database.
struct Place<'a> {
    open: &'a Opener<'a>,
    name: String,
}

impl Place<'_> {
    /// A new handle.
    async fn open(&self) -> Result<Rc<dyn Storage>> {
        (self.open)(&self.name).await
    }

    async fn destroy(&self) -> Result<()> {
        let store = self.open().await?;
        store.destroy().await?;
        store.close();
        Ok(())
    }

    /// Runs a case between two destructions.
    async fn examine(&self, case: impl Future<Output = Outcome>) -> Outcome {
        self.destroy().await?;
        case.await?;
        self.destroy().await?;
        Ok(())
    }
}

/// Ends the case unless both are equal.
fn same<T: PartialEq + Debug>(what: &str, seen: &T, expected: &T) -> Outcome {
    if seen == expected {
        return Ok(());
    }
    // Values can be a megabyte long.
    let short = |value: &T| format!("{value:?}").chars().take(400).collect::<String>();
    Err(Deviation(format!("{what}: {} instead of {}", short(seen), short(expected))))
}

/// Ends the case unless the call failed with this code.
fn fails_with<T>(what: &str, seen: Result<T>, code: Code) -> Outcome {
    match seen {
        Err(error) if error.code == code => Ok(()),
        Err(error) => Err(Deviation(format!("{what}: {error} instead of {}", code.as_str()))),
        Ok(_) => Err(Deviation(format!("{what}: succeeded instead of failing with {}", code.as_str()))),
    }
}

fn record(body: &str) -> Record {
    Record { body: body.to_owned(), blob: None }
}

fn put(store: Store, key: Key, body: &str) -> Commit {
    Commit { puts: vec![(store, key, record(body))], ..Commit::default() }
}

/// Writes records and expects that to succeed.
async fn put_all(handle: &dyn Storage, puts: Vec<(Store, Key, Record)>) -> Outcome {
    same("a commit without checks", &handle.commit(Commit { puts, ..Commit::default() }).await?, &true)
}

/// The body under a key.
async fn body(handle: &dyn Storage, store: Store, key: Key) -> Result<Option<String>> {
    let mut records = handle.get(vec![(store, key)]).await?;
    Ok(records.pop().flatten().map(|record| record.body))
}

/// The keys of a query, in the order answered.
async fn keys(handle: &dyn Storage, query: Query) -> Result<Vec<Key>> {
    Ok(handle.scan(query).await?.into_iter().map(|(key, _)| key).collect())
}
