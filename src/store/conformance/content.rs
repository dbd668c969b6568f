//! Cases about what comes back: text, bytes and keys exactly as they were given.

use super::{Outcome, Place, fails_with, keys, put, put_all, record, same};
use crate::error::Code;
use crate::key;
use crate::store::range::MAX_KEY_NUMBER;
use crate::store::{Commit, Key, KeyPart, Query, Record, Store};

pub(super) async fn keeps_bodies(place: &Place<'_>) -> Outcome {
    let bodies = [
        r#"{}"#,
        "",
        r#"{"lone":"a\ud800b","pair":"\ud83d\ude00"}"#,
        "{\"nul\":\"a\0b\",\"escaped\":\"a\\u0000b\"}",
        "{\"emoji\":\"👩‍👩‍👧‍👦\",\"combining\":\"e\u{301}\",\"bidi\":\"safe\u{202e}gpj.exe\"}",
        r#"{"__proto__":{"admin":true},"constructor":1,"toString":2,"blob":"no","body":"no"}"#,
        "{\"edges\":\"\u{feff}\u{fffd}\u{ffff}\u{10ffff}\u{2028}\u{e000}\"}",
        r#"{"n":9007199254740993,"e":1e999}"#,
        "not json at all \\ \" ' \n\r\t",
    ];
    let handle = place.open().await?;
    let key_of = |number: usize| Key(vec![KeyPart::Number(number as u64)]);
    let puts = bodies.iter().enumerate().map(|(number, body)| (Store::Messages, key_of(number), record(body)));
    put_all(&*handle, puts.collect()).await?;
    let got = handle.get((0..bodies.len()).map(|number| (Store::Messages, key_of(number))).collect()).await?;
    same("bodies read by key", &got, &bodies.iter().map(|body| Some(record(body))).collect())?;
    let scanned = handle.scan(Query::prefix(Store::Messages, key![])).await?;
    let expected = bodies.iter().enumerate().map(|(number, body)| (key_of(number), record(body))).collect();
    same("bodies read by range", &scanned, &expected)?;
    // Each is also recognised by a check.
    for (number, body) in bodies.iter().enumerate() {
        let commit = Commit {
            checks: vec![super::Check { store: Store::Messages, key: key_of(number), body: Some((*body).to_owned()) }],
            ..Commit::default()
        };
        same(&format!("a check of body {number}"), &handle.commit(commit).await?, &true)?;
    }
    Ok(())
}

pub(super) async fn keeps_blobs(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    let blobs = [None, Some(Vec::new()), Some(vec![0]), Some((0..=255).collect::<Vec<u8>>())];
    let blob_record = |blob: &Option<Vec<u8>>| Record { body: "{}".to_owned(), blob: blob.clone() };
    for (number, blob) in blobs.iter().enumerate() {
        // Twice: a record replaces another with and without a blob.
        for previous in [None, Some(vec![9; 9])] {
            let key = Key(vec![KeyPart::Number(number as u64)]);
            put_all(&*handle, vec![(Store::Embeddings, key.clone(), blob_record(&previous))]).await?;
            put_all(&*handle, vec![(Store::Embeddings, key.clone(), blob_record(blob))]).await?;
            let got = handle.get(vec![(Store::Embeddings, key)]).await?;
            same("a blob read by key", &got, &vec![Some(blob_record(blob))])?;
        }
    }
    let scanned = handle.scan(Query::prefix(Store::Embeddings, key![])).await?;
    let seen: Vec<Option<Vec<u8>>> = scanned.into_iter().map(|(_, record)| record.blob).collect();
    same("blobs read by range", &seen, &blobs.to_vec())
}

pub(super) async fn keeps_a_megabyte(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    let text: String = ('a'..='z').chain(['é', '漢', '😀']).cycle().take(1_000_000).collect();
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|number| (number % 251) as u8).collect();
    let big = Record { body: format!("{{\"text\":\"{text}\"}}"), blob: Some(bytes) };
    put_all(&*handle, vec![(Store::SegmentChunks, key!["big", 0], big.clone())]).await?;
    let got = handle.get(vec![(Store::SegmentChunks, key!["big", 0])]).await?;
    same("a megabyte of text and one of bytes", &got, &vec![Some(big)])
}

pub(super) async fn keeps_keys_of_any_text(place: &Place<'_>) -> Outcome {
    let long = "x".repeat(10_000);
    let texts =
        ["", "\0", "a\0", "/", "../a", "a/b", "constructor", "__proto__", "😀", "\u{fffd}", "a,b", " ", long.as_str()];
    let handle = place.open().await?;
    let key_of = |text: &str| key!["in", text];
    let puts = texts.iter().map(|text| (Store::Conversations, key_of(text), record(&format!("{{\"is\":{text:?}}}"))));
    put_all(&*handle, puts.collect()).await?;
    same("records", &handle.count(Store::Conversations, key![]).await?, &(texts.len() as u64))?;
    for text in texts {
        let query = Query::prefix(Store::Conversations, key_of(text));
        let expected = vec![(key_of(text), record(&format!("{{\"is\":{text:?}}}")))];
        same("the only record under its key", &handle.scan(query).await?, &expected)?;
    }
    let mut sorted: Vec<Key> = texts.iter().map(|text| key_of(text)).collect();
    sorted.sort();
    same("keys", &keys(&*handle, Query::prefix(Store::Conversations, key!["in"])).await?, &sorted)
}

pub(super) async fn keeps_numbers_exact(place: &Place<'_>) -> Outcome {
    let handle = place.open().await?;
    let key_of = |number: u64| Key(vec![KeyPart::Number(number)]);
    let numbers = [0, 1, u64::from(u32::MAX), MAX_KEY_NUMBER - 1, MAX_KEY_NUMBER];
    put_all(&*handle, numbers.iter().map(|number| (Store::Audit, key_of(*number), record("{}"))).collect()).await?;
    let expected: Vec<Key> = numbers.iter().map(|number| key_of(*number)).collect();
    same("numbers in keys", &keys(&*handle, Query::prefix(Store::Audit, key![])).await?, &expected)?;
    let mut commit = put(Store::Audit, key_of(5), "{}");
    commit.puts.push((Store::Audit, key_of(MAX_KEY_NUMBER + 1), record("{}")));
    fails_with("a number that f64 cannot hold", handle.commit(commit).await, Code::InvalidArgument)?;
    same("records", &handle.count(Store::Audit, key![]).await?, &(numbers.len() as u64))?;
    let absent = handle.get(vec![(Store::Audit, key_of(MAX_KEY_NUMBER + 1)), (Store::Audit, key_of(u64::MAX))]).await?;
    same("records under numbers too large", &absent, &vec![None, None])
}
