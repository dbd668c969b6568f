//! Cases about several handles on one database, and about its life: reopened, closed, destroyed.

use super::{Check, Outcome, Place, body, fails_with, put, put_all, record, same};
use crate::error::{Code, Result};
use crate::key;
use crate::store::{Commit, Key, Query, Storage, Store};
use futures_util::future::join;

fn counter() -> Key {
    key!["counter"]
}

/// A commit that moves the counter from what was read to the next number.
fn increment(read: Option<&str>) -> Commit {
    let number = read.and_then(|text| text.parse::<u32>().ok()).unwrap_or(0) + 1;
    Commit {
        checks: vec![Check { store: Store::Meta, key: counter(), body: read.map(str::to_owned) }],
        ..put(Store::Meta, counter(), &number.to_string())
    }
}

pub(super) async fn sees_the_other_handle(place: &Place<'_>) -> Outcome {
    let (first, second) = (place.open().await?, place.open().await?);
    put_all(&*first, vec![(Store::Meta, counter(), record("1"))]).await?;
    let read = body(&*second, Store::Meta, counter()).await?;
    same("what the other handle wrote", &read, &Some("1".to_owned()))?;
    same("a commit of the first", &first.commit(increment(read.as_deref())).await?, &true)?;
    same("a commit of the second on what was before", &second.commit(increment(read.as_deref())).await?, &false)?;
    same("the counter", &body(&*second, Store::Meta, counter()).await?, &Some("2".to_owned()))
}

pub(super) async fn lets_one_of_two_win(place: &Place<'_>) -> Outcome {
    let (first, second) = (place.open().await?, place.open().await?);
    for round in 0_u32..20 {
        let (a, b) = join(body(&*first, Store::Meta, counter()), body(&*second, Store::Meta, counter())).await;
        let (a, b) = (a?, b?);
        same("both read the same", &a, &b)?;
        let (a, b) = join(first.commit(increment(a.as_deref())), second.commit(increment(b.as_deref()))).await;
        same("successes of two commits at once", &[a?, b?].iter().filter(|done| **done).count(), &1)?;
        let seen = body(&*first, Store::Meta, counter()).await?;
        same("the counter", &seen, &Some((round + 1).to_string()))?;
    }
    Ok(())
}

/// So many increments, each retried until its check holds.
async fn increments(handle: &dyn Storage, count: u32) -> Result<()> {
    let mut done = 0;
    while done < count {
        let read = body(handle, Store::Meta, counter()).await?;
        if handle.commit(increment(read.as_deref())).await? {
            done += 1;
        }
    }
    Ok(())
}

pub(super) async fn loses_no_increment(place: &Place<'_>) -> Outcome {
    let (first, second) = (place.open().await?, place.open().await?);
    let (a, b) = join(increments(&*first, 50), increments(&*second, 50)).await;
    a?;
    b?;
    same("the counter", &body(&*second, Store::Meta, counter()).await?, &Some("100".to_owned()))
}

pub(super) async fn reopens(place: &Place<'_>) -> Outcome {
    let first = place.open().await?;
    let puts: Vec<_> = Store::ALL.iter().map(|store| (*store, key!["k", 1], record(store.name()))).collect();
    put_all(&*first, puts).await?;
    first.close();
    drop(first);
    let second = place.open().await?;
    for store in Store::ALL {
        let seen = second.scan(Query::prefix(store, key![])).await?;
        same(store.name(), &seen, &vec![(key!["k", 1], record(store.name()))])?;
    }
    Ok(())
}

/// Every call but `close` fails with this code.
async fn everything_fails(handle: &dyn Storage, code: Code) -> Outcome {
    fails_with("get", handle.get(vec![(Store::Meta, counter())]).await, code)?;
    fails_with("get of nothing", handle.get(Vec::new()).await, code)?;
    fails_with("scan", handle.scan(Query::prefix(Store::Meta, key![])).await, code)?;
    let nothing = Query { limit: Some(0), ..Query::prefix(Store::Meta, key![]) };
    fails_with("scan of nothing", handle.scan(nothing).await, code)?;
    fails_with("count", handle.count(Store::Meta, key![]).await, code)?;
    fails_with("commit", handle.commit(increment(None)).await, code)?;
    fails_with("empty commit", handle.commit(Commit::default()).await, code)?;
    fails_with("usage", handle.usage().await, code)
}

pub(super) async fn closes(place: &Place<'_>) -> Outcome {
    let (first, second) = (place.open().await?, place.open().await?);
    put_all(&*first, vec![(Store::Meta, counter(), record("1"))]).await?;
    first.close();
    everything_fails(&*first, Code::Closed).await?;
    fails_with("destroy", first.destroy().await, Code::Closed)?;
    first.close();
    same("the other handle", &body(&*second, Store::Meta, counter()).await?, &Some("1".to_owned()))?;
    same("the other handle's commit", &second.commit(increment(Some("1"))).await?, &true)
}

pub(super) async fn destroys(place: &Place<'_>) -> Outcome {
    let (first, second) = (place.open().await?, place.open().await?);
    let puts: Vec<_> = Store::ALL.iter().map(|store| (*store, key!["k"], record("{}"))).collect();
    put_all(&*first, puts).await?;
    first.destroy().await?;
    everything_fails(&*first, Code::StorageUnavailable).await?;
    // The other handle must not acknowledge anything either: its records are gone.
    everything_fails(&*second, Code::StorageUnavailable).await?;
    first.close();
    fails_with("count after close", first.count(Store::Meta, key![]).await, Code::Closed)?;
    let third = place.open().await?;
    for store in Store::ALL {
        same(store.name(), &third.count(store, key![]).await?, &0)?;
    }
    same("a commit on the new database", &third.commit(increment(None)).await?, &true)?;
    everything_fails(&*second, Code::StorageUnavailable).await?;
    same("the new database", &body(&*third, Store::Meta, counter()).await?, &Some("1".to_owned()))
}

pub(super) async fn keeps_databases_apart(place: &Place<'_>) -> Outcome {
    let other = Place { open: place.open, name: format!("{}:other", place.name) };
    other.destroy().await?;
    let (first, second) = (place.open().await?, other.open().await?);
    put_all(&*first, vec![(Store::Meta, counter(), record("1"))]).await?;
    same("the other database", &second.count(Store::Meta, key![]).await?, &0)?;
    second.destroy().await?;
    same("the database that stays", &body(&*first, Store::Meta, counter()).await?, &Some("1".to_owned()))
}

pub(super) async fn tells_usage(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    let usage = handle.usage().await?;
    for bytes in [usage.bytes, usage.quota_bytes].into_iter().flatten() {
        same("bytes are a number of at least 0", &(bytes >= 0.0), &true)?;
    }
    Ok(())
}
