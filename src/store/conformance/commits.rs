//! Cases about what a commit does, and what it leaves alone.

use super::{Check, Outcome, Place, body, keys, put, put_all, record, same};
use crate::key;
use crate::store::{Commit, Key, KeyPart, Query, Record, Storage, Store};
use std::future::poll_fn;
use std::task::Poll;

fn check(store: Store, key: Key, body: Option<&str>) -> Check {
    Check { store, key, body: body.map(str::to_owned) }
}

/// Everything in three stores, to see that nothing changed.
async fn everything(handle: &dyn Storage) -> crate::Result<Vec<(Key, Record)>> {
    let mut all = Vec::new();
    for store in [Store::Meta, Store::Facts, Store::Messages] {
        all.extend(handle.scan(Query::prefix(store, key![])).await?);
    }
    Ok(all)
}

pub(super) async fn holds_and_fails_checks(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    put_all(
        &*handle,
        vec![
            (Store::Meta, key!["counter"], record("{\"n\":1}")),
            (Store::Facts, key!["f1"], record("{\"v\":\"x\"}")),
            (Store::Messages, key!["c", 1], record("{}")),
            (Store::Messages, key!["c", 2], record("{}")),
        ],
    )
    .await?;
    let before = everything(&*handle).await?;
    let writes = Commit {
        puts: vec![(Store::Meta, key!["counter"], record("{\"n\":2}")), (Store::Facts, key!["f2"], record("{}"))],
        deletes: vec![(Store::Facts, key!["f1"])],
        delete_prefixes: vec![(Store::Messages, key!["c"])],
        ..Commit::default()
    };
    let holding = check(Store::Meta, key!["counter"], Some("{\"n\":1}"));
    let failing = [
        check(Store::Meta, key!["counter"], Some("{\"n\":2}")),
        check(Store::Meta, key!["counter"], Some("{\"n\": 1}")),
        check(Store::Meta, key!["counter"], Some("")),
        check(Store::Meta, key!["counter"], None),
        check(Store::Facts, key!["f9"], Some("{}")),
    ];
    for fails in failing {
        for checks in [vec![holding.clone(), fails.clone()], vec![fails.clone(), holding.clone()], vec![fails.clone()]]
        {
            for strict in [false, true] {
                let commit = Commit { checks: checks.clone(), strict, ..writes.clone() };
                same(&format!("a commit with {fails:?}"), &handle.commit(commit).await?, &false)?;
                same("everything after a failed check", &everything(&*handle).await?, &before)?;
            }
        }
    }
    let checks = vec![holding, check(Store::Facts, key!["f2"], None)];
    same("a commit whose checks hold", &handle.commit(Commit { checks, ..writes }).await?, &true)?;
    let after = vec![(key!["counter"], record("{\"n\":2}")), (key!["f2"], record("{}"))];
    same("everything after it", &everything(&*handle).await?, &after)
}

pub(super) async fn checks_absence(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    let commit = Commit {
        checks: vec![check(Store::MessageIds, key!["c", "m1"], None)],
        ..put(Store::MessageIds, key!["c", "m1"], "{\"seq\":1}")
    };
    same("the first writer", &handle.commit(commit.clone()).await?, &true)?;
    same("the second writer", &handle.commit(commit.clone()).await?, &false)?;
    let delete = Commit { deletes: vec![(Store::MessageIds, key!["c", "m1"])], ..Commit::default() };
    same("removing it", &handle.commit(delete).await?, &true)?;
    same("the first writer after that", &handle.commit(commit).await?, &true)
}

pub(super) async fn checks_the_state_before_the_commit(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    let key = || key!["k"];
    put_all(&*handle, vec![(Store::Meta, key(), record("1"))]).await?;
    let commit = Commit {
        checks: vec![check(Store::Meta, key(), Some("1"))],
        puts: vec![(Store::Meta, key(), record("2"))],
        deletes: vec![(Store::Meta, key())],
        delete_prefixes: vec![(Store::Meta, key())],
        strict: true,
    };
    same("a check of what the commit replaces", &handle.commit(commit).await?, &true)?;
    same("the record", &body(&*handle, Store::Meta, key()).await?, &Some("2".to_owned()))
}

pub(super) async fn orders_writes(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    let old = |number: u32| (Store::SegmentChunks, key!["s", number], record("old"));
    put_all(&*handle, (0..4).map(old).collect()).await?;
    let commit = Commit {
        puts: vec![
            (Store::SegmentChunks, key!["s", 0], record("new")),
            (Store::SegmentChunks, key!["s", 1], record("first")),
            (Store::SegmentChunks, key!["s", 1], record("second")),
        ],
        deletes: vec![(Store::SegmentChunks, key!["s", 0]), (Store::SegmentChunks, key!["none"])],
        delete_prefixes: vec![(Store::SegmentChunks, key!["s"]), (Store::SegmentChunks, key!["none"])],
        ..Commit::default()
    };
    same("a commit that removes and puts", &handle.commit(commit).await?, &true)?;
    let seen = handle.scan(Query::prefix(Store::SegmentChunks, key![])).await?;
    let expected = vec![(key!["s", 0], record("new")), (key!["s", 1], record("second"))];
    same("what it put is there, and only that", &seen, &expected)
}

pub(super) async fn deletes_prefixes(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    let all = [
        key![],
        key![1],
        key!["a"],
        key!["a", 1],
        key!["a", 1, 2],
        key!["a", "x"],
        key!["a\0"],
        key!["ab"],
        key!["😀"],
    ];
    for (prefix, elsewhere) in
        [(key!["a", 1], false), (key!["a"], false), (key!["none"], false), (key![], false), (key![], true)]
    {
        put_all(&*handle, all.iter().map(|key| (Store::Notes, key.clone(), record("{}"))).collect()).await?;
        put_all(&*handle, vec![(Store::Jobs, key!["a", 1], record("{}"))]).await?;
        let store = if elsewhere { Store::Episodes } else { Store::Notes };
        let commit = Commit { delete_prefixes: vec![(store, prefix.clone())], ..Commit::default() };
        same("a deletion", &handle.commit(commit).await?, &true)?;
        let mut expected: Vec<Key> =
            all.iter().filter(|key| elsewhere || !key.0.starts_with(&prefix.0)).cloned().collect();
        expected.sort();
        let seen = keys(&*handle, Query::prefix(Store::Notes, key![])).await?;
        same(&format!("keys left after deleting {prefix:?} in {}", store.name()), &seen, &expected)?;
        same("another store", &handle.count(Store::Jobs, key![]).await?, &1)?;
    }
    Ok(())
}

pub(super) async fn commits_nothing(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    for strict in [false, true] {
        same("an empty commit", &handle.commit(Commit { strict, ..Commit::default() }).await?, &true)?;
    }
    let checks = vec![check(Store::Meta, key!["none"], None)];
    same("checks alone that hold", &handle.commit(Commit { checks, ..Commit::default() }).await?, &true)?;
    let checks = vec![check(Store::Meta, key!["none"], Some("{}"))];
    same("checks alone that fail", &handle.commit(Commit { checks, ..Commit::default() }).await?, &false)
}

pub(super) async fn commits_many(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    let key_of = |number: u64| Key(vec!["c".into(), KeyPart::Number(number)]);
    let puts = (0..500).rev().map(|number| (Store::Messages, key_of(number), record(&format!("{{\"n\":{number}}}"))));
    put_all(&*handle, puts.collect()).await?;
    let scanned = handle.scan(Query::between(Store::Messages, key!["c"], 100, 399)).await?;
    let expected: Vec<_> = (100..400).map(|number| (key_of(number), record(&format!("{{\"n\":{number}}}")))).collect();
    same("300 of 500 records", &scanned, &expected)?;
    let got = handle.get((0..500).map(|number| (Store::Messages, key_of(number))).collect()).await?;
    same("records got at once", &got.iter().flatten().count(), &500)
}

/// Polls a commit up to so many times, reading in between so that an event loop turns, and drops it.
async fn poll_and_drop(handle: &dyn Storage, commit: Commit, polls: usize) -> Outcome {
    let mut pending = handle.commit(commit);
    for _ in 0..polls {
        if poll_fn(|context| Poll::Ready(pending.as_mut().poll(context).is_ready())).await {
            break;
        }
        handle.count(Store::Meta, key![]).await?;
    }
    Ok(())
}

pub(super) async fn commits_whole_when_dropped(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    for polls in 0..4 {
        let commit = Commit {
            checks: vec![check(Store::Meta, key!["a"], None)],
            puts: (0..20).map(|number: u32| (Store::Messages, key!["c", number], record("{}"))).collect(),
            ..Commit::default()
        };
        poll_and_drop(&*handle, commit, polls).await?;
        let written = handle.count(Store::Messages, key![]).await?;
        if written != 0 && written != 20 {
            return same("records of a dropped commit, 0 or 20", &written, &20);
        }
        let clear = Commit { delete_prefixes: vec![(Store::Messages, key![])], ..Commit::default() };
        same("a commit after it", &handle.commit(clear).await?, &true)?;
        same("records after that", &handle.count(Store::Messages, key![]).await?, &0)?;
    }
    Ok(())
}
