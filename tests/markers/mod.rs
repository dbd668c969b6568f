//! Words that are written through every door, and looked for when they should be nowhere.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::host::kept::Kept;
use futures_util::future::FutureExt;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::rc::Rc;
use throughline::key;
use throughline::ports::{ModelRequest, Purpose};
use throughline::store::memory::MemoryStore;
use throughline::store::{Commit, Key, KeyPart, Query, Record, Storage, Store};

/// What every marker begins with.
pub const PREFIX: &str = "zqm";

/// A marker: one word, which no analyzer, judge or detector takes for something else.
pub fn marker(number: usize) -> String {
    format!("{PREFIX}{number:03}")
}

/// The markers in some bytes, as UTF-8 and as UTF-16 of either order.
pub fn markers_in(bytes: &[u8], found: &mut BTreeSet<usize>) {
    for start in 0..bytes.len() {
        if bytes[start] != PREFIX.as_bytes()[0] {
            continue;
        }
        for width in [1, 2] {
            // Of two bytes the other one is zero; which of them comes first makes no difference here.
            let unit = |index: usize| bytes.get(start + index * width).copied();
            let is_prefix = PREFIX.bytes().enumerate().all(|(index, byte)| unit(index) == Some(byte));
            let digits = (PREFIX.len()..PREFIX.len() + 3).map(|index| unit(index).filter(u8::is_ascii_digit));
            let number = digits.into_iter().try_fold(0, |sum, digit| Some(sum * 10 + usize::from(digit? - b'0')));
            found.extend(number.filter(|_| is_prefix));
        }
    }
}

/// Records that outlive their engines.
#[derive(Default, Clone)]
pub struct Disk(pub MemoryStore);

impl Disk {
    /// Every record of every store, with its key.
    pub fn records(&self) -> Vec<(Store, Key, Record)> {
        let scan = |store| self.0.scan(Query::prefix(store, key![])).now_or_never().unwrap().unwrap();
        Store::ALL
            .into_iter()
            .flat_map(|store| scan(store).into_iter().map(move |(key, record)| (store, key, record)))
            .collect()
    }

    /// The same records in another place.
    pub fn copied(&self) -> Self {
        let copy = Self(MemoryStore::new());
        let commit = Commit { puts: self.records(), ..Commit::default() };
        assert!(copy.0.commit(commit).now_or_never().unwrap().unwrap());
        copy
    }

    /// The markers in keys, bodies and blobs.
    pub fn markers(&self) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for (_, key, record) in self.records() {
            for part in &key.0 {
                if let KeyPart::Text(text) = part {
                    markers_in(text.as_bytes(), &mut found);
                }
            }
            markers_in(record.body.as_bytes(), &mut found);
            markers_in(record.blob.as_deref().unwrap_or_default(), &mut found);
        }
        found
    }
}

/// What a model answers that repeats every marker that it reads: each in the summary, and as a fact of the message that
/// says `I like <marker>`.
pub fn echo(request: &ModelRequest) -> String {
    match request.purpose {
        Purpose::Compress | Purpose::Episode => {
            let mut read = BTreeSet::new();
            markers_in(request.prompt.as_bytes(), &mut read);
            // Not longer than what it read, which is hardly more than markers.
            json!({ "confirmed": [read.into_iter().map(marker).collect::<Vec<_>>().join(" ")] }).to_string()
        }
        Purpose::Summarize => {
            let mut read = BTreeSet::new();
            markers_in(request.prompt.as_bytes(), &mut read);
            let confirmed: Vec<String> =
                read.into_iter().map(|number| format!("They spoke of {}", marker(number))).collect();
            json!({
                "goal": ["Remember what was said"], "confirmed": confirmed, "decisions": ["Go on, because it is worth it"],
                "constraints": [], "failed": [], "open": [], "next": ["Answer the next question"], "identifiers": [],
            })
            .to_string()
        }
        Purpose::Extract => json!({ "facts": facts_of(&request.prompt) }).to_string(),
        _ => json!({ "operations": [], "findings": [] }).to_string(),
    }
}

fn facts_of(prompt: &str) -> Vec<Value> {
    let mut facts = Vec::new();
    let mut seq = 0;
    for line in prompt.lines() {
        if let Some((number, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            seq = number.parse().unwrap_or(seq);
        }
        if let Some(at) = line.find(&format!("I like {PREFIX}")) {
            let quote: String = line[at..].chars().take("I like ".len() + PREFIX.len() + 3).collect();
            let liked = quote.trim_start_matches("I like ");
            facts.push(json!({
                "fact": format!("The user likes {liked}"), "category": "preference", "confidence": 0.9,
                "quote": quote, "seq": seq, "kind": "statement", "key": format!("likes_{liked}"),
            }));
        }
    }
    facts
}

/// A storage as engines take it.
pub fn opener(disk: &Disk) -> Rc<dyn Fn() -> Rc<dyn Storage>> {
    let disk = disk.clone();
    Rc::new(move || Rc::new(Kept::on(&disk.0)))
}
