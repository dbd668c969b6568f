//! Cases about get, scan and count.

use super::{Outcome, Place, body, keys, put_all, record, same};
use crate::key;
use crate::store::{Key, KeyPart, Query, Storage, Store};

pub(super) async fn gets_in_the_order_asked(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    put_all(
        &*handle,
        vec![
            (Store::Facts, key!["a"], record("{\"is\":\"a\"}")),
            (Store::Facts, key!["b"], record("{\"is\":\"b\"}")),
            (Store::Meta, key!["a"], record("{\"is\":\"meta\"}")),
        ],
    )
    .await?;
    let asked = vec![
        (Store::Facts, key!["b"]),
        (Store::Meta, key!["b"]),
        (Store::Meta, key!["a"]),
        (Store::Facts, key!["a"]),
        (Store::Facts, key!["b"]),
    ];
    let seen: Vec<Option<String>> =
        handle.get(asked).await?.into_iter().map(|record| record.map(|record| record.body)).collect();
    let expected = ["b", "", "meta", "a", "b"].map(|is| (!is.is_empty()).then(|| format!("{{\"is\":\"{is}\"}}")));
    same("records in the order asked", &seen, &expected.to_vec())?;
    same("records of no key", &handle.get(Vec::new()).await?, &Vec::new())
}

/// Keys that follow each other, with gaps, twice, and downwards: a store may read them as ranges.
pub(super) async fn gets_runs_of_keys(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    let body_of = |seq: u32| format!("{{\"is\":{seq}}}");
    let stored = [1_u32, 2, 3, 5, 6, 9];
    let puts = stored.map(|seq| (Store::Messages, key!["a", seq], record(&body_of(seq))));
    put_all(&*handle, puts.to_vec()).await?;
    put_all(&*handle, vec![(Store::Messages, key!["b", 4], record("{}"))]).await?;
    for asked in
        [vec![1, 2, 3], vec![0, 1, 2, 3, 4, 5, 6, 7], vec![5, 6, 5, 6, 3, 2, 1], vec![3, 4, 5], vec![7, 8], vec![9, 10]]
    {
        let keys = asked.iter().map(|seq| (Store::Messages, key!["a", *seq])).collect();
        let seen: Vec<Option<String>> =
            handle.get(keys).await?.into_iter().map(|record| record.map(|record| record.body)).collect();
        let expected: Vec<Option<String>> =
            asked.iter().map(|seq| stored.contains(seq).then(|| body_of(*seq))).collect();
        same("records of keys in a row", &seen, &expected)?;
    }
    Ok(())
}

/// Keys in the order of the trait: numbers, then text by UTF-16 units; a shorter key before those it begins.
fn ordered() -> Vec<Key> {
    vec![
        key![],
        key![0],
        key![2],
        key![2, 0],
        key![2, "a"],
        key![10],
        key![""],
        key!["\0"],
        key!["10"],
        key!["2"],
        key!["A"],
        key!["a"],
        key!["a", 0],
        key!["a", 10],
        key!["a", 10, 1],
        key!["a", 11],
        key!["a", ""],
        key!["a", "10"],
        key!["a\0"],
        key!["aa"],
        key!["é"],
        // U+1F600 is D83D DE00 in UTF-16 and sorts before U+FF5E, which is the other way round in UTF-8.
        key!["😀"],
        key!["😀", 1],
        key!["\u{ff5e}"],
        key!["\u{ffff}"],
    ]
}

async fn put_ordered(handle: &dyn Storage) -> Outcome {
    // Written in another order than they are read.
    let mut puts: Vec<_> = ordered().into_iter().map(|key| (Store::Notes, key, record("{}"))).collect();
    puts.reverse();
    let half = puts.len() / 2;
    puts.rotate_left(half);
    put_all(handle, puts).await
}

pub(super) async fn orders_keys(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    put_ordered(&*handle).await?;
    same("the whole store", &keys(&*handle, Query::prefix(Store::Notes, key![])).await?, &ordered())?;
    let mut sorted = ordered();
    sorted.sort();
    same("the order of Key itself", &sorted, &ordered())
}

pub(super) async fn scans_prefixes(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    put_ordered(&*handle).await?;
    for prefix in [key![2], key!["a"], key!["a", 10], key!["a\0"], key!["😀"], key!["\u{ffff}"], key!["none"], key![3]]
    {
        let expected: Vec<Key> = ordered().into_iter().filter(|key| key.0.starts_with(&prefix.0)).collect();
        let seen = keys(&*handle, Query::prefix(Store::Notes, prefix.clone())).await?;
        same(&format!("keys under {prefix:?}"), &seen, &expected)?;
    }
    put_all(&*handle, vec![(Store::Notes, key!["body"], record("{\"with\":1}"))]).await?;
    let seen = handle.scan(Query::prefix(Store::Notes, key!["body"])).await?;
    same("a scanned record", &seen, &vec![(key!["body"], record("{\"with\":1}"))])
}

pub(super) async fn scans_bounds(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    put_ordered(&*handle).await?;
    let bounds = [
        (Some(KeyPart::Number(0)), Some(KeyPart::Number(10))),
        (Some(KeyPart::Number(10)), Some(KeyPart::Number(10))),
        (Some(KeyPart::Number(11)), None),
        (None, Some(KeyPart::Number(10))),
        (None, Some(KeyPart::from("10"))),
        (Some(KeyPart::Number(11)), Some(KeyPart::from(""))),
        (Some(KeyPart::from("A")), Some(KeyPart::from("😀"))),
        (Some(KeyPart::Number(0)), Some(KeyPart::Number(u64::MAX))),
        (Some(KeyPart::Number(11)), Some(KeyPart::Number(10))),
        (Some(KeyPart::from("a")), Some(KeyPart::Number(10))),
    ];
    for prefix in [key![], key!["a"], key!["none"]] {
        for (from, to) in &bounds {
            let in_bounds = |key: &Key| {
                let next = key.0.get(prefix.0.len());
                key.0.starts_with(&prefix.0)
                    && next.is_some_and(|next| {
                        from.as_ref().is_none_or(|from| next >= from) && to.as_ref().is_none_or(|to| next <= to)
                    })
            };
            let expected: Vec<Key> = ordered().into_iter().filter(in_bounds).collect();
            let query = Query { from: from.clone(), to: to.clone(), ..Query::prefix(Store::Notes, prefix.clone()) };
            let what = format!("keys under {prefix:?} from {from:?} to {to:?}");
            same(&what, &keys(&*handle, query.clone()).await?, &expected)?;
            let backwards: Vec<Key> = expected.into_iter().rev().collect();
            let seen = keys(&*handle, Query { reverse: true, ..query }).await?;
            same(&format!("{what}, reversed"), &seen, &backwards)?;
        }
    }
    Ok(())
}

pub(super) async fn reverses_and_limits(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    put_ordered(&*handle).await?;
    for prefix in [key![], key!["a"], key!["none"]] {
        let all: Vec<Key> = ordered().into_iter().filter(|key| key.0.starts_with(&prefix.0)).collect();
        let limits = [Some(0), Some(1), Some(2), Some(all.len()), Some(all.len() + 1), Some(usize::MAX), None];
        for limit in limits {
            let taken = limit.unwrap_or(usize::MAX);
            let query = Query { limit, ..Query::prefix(Store::Notes, prefix.clone()) };
            let forwards: Vec<Key> = all.iter().take(taken).cloned().collect();
            same(&format!("{limit:?} of {prefix:?}"), &keys(&*handle, query.clone()).await?, &forwards)?;
            let backwards: Vec<Key> = all.iter().rev().take(taken).cloned().collect();
            let seen = keys(&*handle, Query { reverse: true, ..query }).await?;
            same(&format!("last {limit:?} of {prefix:?}"), &seen, &backwards)?;
        }
    }
    Ok(())
}

pub(super) async fn counts_prefixes(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    same("records of an empty store", &handle.count(Store::Notes, key![]).await?, &0)?;
    put_ordered(&*handle).await?;
    for prefix in [key![], key![2], key!["a"], key!["a", 10], key!["a", 10, 1], key!["none"]] {
        let expected = ordered().iter().filter(|key| key.0.starts_with(&prefix.0)).count() as u64;
        same(&format!("records under {prefix:?}"), &handle.count(Store::Notes, prefix).await?, &expected)?;
    }
    Ok(())
}

pub(super) async fn keeps_stores_apart(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    let named = |store: Store| format!("{{\"in\":\"{}\"}}", store.name());
    put_all(&*handle, Store::ALL.iter().map(|store| (*store, key!["same"], record(&named(*store)))).collect()).await?;
    for store in Store::ALL {
        same(store.name(), &body(&*handle, store, key!["same"]).await?, &Some(named(store)))?;
        same(store.name(), &handle.count(store, key![]).await?, &1)?;
    }
    Ok(())
}
