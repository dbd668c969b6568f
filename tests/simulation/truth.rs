//! What is really in the stores, read without the engine, and whether its records fit each other.

use super::disk::Disk;
use super::model::{Conversation, Message, Model, tombstone};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use throughline::key;
use throughline::ports::{Key, KeyPart, Store};
use throughline::records::MessageStatus;

/// Distinctive words begin so; nothing else does.
const MARK: &str = "zq";
/// They go on with five of these.
const LETTERS: &[u8] = b"bcdfghjklmnp";
const MARK_BYTES: usize = MARK.len() + 5;

/// A word that occurs nowhere else.
pub fn mark(number: u32) -> String {
    let digits = (0..5).scan(number as usize, |rest, _| {
        let letter = LETTERS[*rest % LETTERS.len()];
        *rest /= LETTERS.len();
        Some(char::from(letter))
    });
    MARK.chars().chain(digits).collect()
}

fn value(body: &str) -> Value {
    serde_json::from_str(body).expect("stored bodies are JSON")
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn number(value: &Value, field: &str) -> u32 {
    value[field].as_u64().unwrap_or(0) as u32
}

fn id_of(key: &Key) -> String {
    match key.0.first() {
        Some(KeyPart::Text(id)) => id.clone(),
        _ => String::new(),
    }
}

/// What a message's record says.
#[derive(Clone)]
struct Read {
    seq: u32,
    tokens: u32,
    message: Rc<Message>,
}

impl Read {
    fn of(body: &str) -> Self {
        let body = value(body);
        let seq = number(&body, "seq");
        if body["removed"] == true {
            return Self { seq, tokens: 0, message: Rc::new(tombstone()) };
        }
        let status = match text(&body, "status") {
            "streaming" => MessageStatus::Streaming,
            "aborted" => MessageStatus::Aborted,
            _ => MessageStatus::Complete,
        };
        let raw = text(&body, "raw").to_owned();
        let (id, parent) = (text(&body, "id").to_owned(), number(&body, "parentSeq"));
        let message = Message { id, known_as: raw.clone(), raw, parent, removed: false, status };
        Self { seq, tokens: number(&body, "tokens"), message: Rc::new(message) }
    }
}

/// What was read of messages before, with the bodies that it was read of: most of them are the same again.
#[derive(Default)]
pub struct Known(BTreeMap<Key, (String, Read)>);

impl Known {
    fn read(&mut self, key: &Key, body: String) -> Read {
        match self.0.get(key) {
            Some((known, read)) if *known == body => read.clone(),
            _ => {
                let read = Read::of(&body);
                self.0.insert(key.clone(), (body, read.clone()));
                read
            }
        }
    }
}

/// Conversations that an import has written and did not show: it was cut short.
pub fn unseen(disk: &Disk) -> BTreeSet<String> {
    let marks = disk.scan(Store::Meta, key!["importing"]);
    if marks.is_empty() {
        return BTreeSet::new();
    }
    let known: BTreeSet<String> = disk.scan(Store::Conversations, key![]).iter().map(|(key, _)| id_of(key)).collect();
    let ids = marks.into_iter().filter_map(|(key, _)| match key.0.get(1) {
        Some(KeyPart::Text(id)) => Some(id.clone()),
        _ => None,
    });
    ids.filter(|id| !known.contains(id)).collect()
}

/// Reads everything; `Err` where records do not fit each other: something was written by halves.
pub fn read(disk: &Disk, known: &mut Known) -> Result<Model, String> {
    let mut model = Model::default();
    let mut messages: BTreeMap<String, Vec<Read>> = BTreeMap::new();
    for (key, record) in disk.scan(Store::Messages, key![]) {
        messages.entry(id_of(&key)).or_default().push(known.read(&key, record.body));
    }
    let unseen = unseen(disk);
    messages.retain(|id, _| !unseen.contains(id));
    let mut ids: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
    for (key, record) in disk.scan(Store::MessageIds, key![]) {
        let Some(KeyPart::Text(id)) = key.0.get(1) else { return Err(format!("a message id at {key:?}")) };
        ids.entry(id_of(&key)).or_default().insert(id.clone(), number(&value(&record.body), "seq"));
    }
    ids.retain(|id, _| !unseen.contains(id));
    let of_unseen = |key: &Key, at: usize| matches!(key.0.get(at), Some(KeyPart::Text(id)) if unseen.contains(id));
    let mut jobs: Vec<Key> = disk.scan(Store::Jobs, key![]).into_iter().map(|(key, _)| key).collect();
    jobs.retain(|key| !of_unseen(key, 1));
    for (key, record) in disk.scan(Store::Conversations, key![]) {
        let id = id_of(&key);
        let body = value(&record.body);
        let conversation =
            conversation(&body, messages.remove(&id).unwrap_or_default(), ids.remove(&id).unwrap_or_default())
                .map_err(|problem| format!("conversation {id}: {problem}"))?;
        let its_jobs = jobs.iter().filter(|key| key.0.get(1) == Some(&KeyPart::Text(id.clone()))).count();
        if its_jobs != 3 {
            return Err(format!("conversation {id} has {its_jobs} job records"));
        }
        model.conversations.insert(id, Rc::new(conversation));
    }
    if jobs.len() != model.conversations.len() * 3 {
        return Err(format!("{} job records for {} conversations", jobs.len(), model.conversations.len()));
    }
    if let Some((id, _)) = messages.first_key_value() {
        return Err(format!("messages of {id}, which is not there"));
    }
    if let Some((id, _)) = ids.first_key_value() {
        return Err(format!("message ids of {id}, which is not there"));
    }
    for store in [Store::Summaries, Store::SummaryHeads, Store::Embeddings] {
        for (key, _) in disk.scan(store, key![]).into_iter().filter(|(key, _)| !of_unseen(key, 0)) {
            if store == Store::Summaries && id_of(&key).is_empty() {
                // A project's.
                continue;
            }
            let Some(conversation) = model.conversations.get(&id_of(&key)) else {
                return Err(format!("{} of {}, which is not there", store.name(), id_of(&key)));
            };
            if let (Store::Embeddings, Some(KeyPart::Number(seq))) = (store, key.0.get(1))
                && conversation.message(*seq as u32).is_none_or(|message| message.removed)
            {
                return Err(format!("a vector of message {seq} of {}, which is not there", id_of(&key)));
            }
        }
    }
    let mut facts = BTreeSet::new();
    for (_, record) in disk.scan(Store::Facts, key![]) {
        let body = value(&record.body);
        let is_listed = matches!(text(&body, "status"), "active" | "proposed");
        if is_listed && text(&body["source"], "type") == "explicit" && !facts.insert(text(&body, "fact").to_owned()) {
            return Err(format!("the fact {body} is there twice"));
        }
    }
    model.facts = Rc::new(facts);
    Ok(model)
}

fn conversation(body: &Value, messages: Vec<Read>, mut ids: BTreeMap<String, u32>) -> Result<Conversation, String> {
    let last = number(body, "lastSeq");
    if messages.len() as u32 != last || messages.iter().zip(1..).any(|(read, at)| read.seq != at) {
        let seqs: Vec<u32> = messages.iter().map(|read| read.seq).collect();
        return Err(format!("lastSeq is {last}, its messages are {seqs:?}"));
    }
    let leaf = body["activeLeaf"].as_u64().map_or(last, |leaf| leaf as u32);
    let title = body["title"].as_str().map(str::to_owned);
    let mut found = Conversation { title, leaf, ..Conversation::default() };
    let (mut counted, mut removed) = (0, 0);
    for Read { seq, tokens, message } in messages {
        counted += tokens;
        if message.removed {
            removed += 1;
        } else if ids.remove(&message.id) != Some(seq) {
            return Err(format!("the id of message {seq} does not lead to it"));
        }
        found.messages.push(message);
    }
    if let Some((id, seq)) = ids.iter().find(|(id, _)| !id.starts_with("removed:")) {
        return Err(format!("the id {id} leads to {seq}, which is not there"));
    }
    found.gone = ids;
    if removed != number(body, "removed") {
        return Err(format!("{removed} tombstones, and the record says {}", body["removed"]));
    }
    if counted != number(body, "tokens") {
        return Err(format!("messages have {counted} tokens, and the record says {}", body["tokens"]));
    }
    Ok(found)
}

/// A record with a distinctive word that is none of these. What nobody sees of an import is left out.
pub fn stray_word(disk: &Disk, expected: &BTreeSet<String>) -> Option<String> {
    let unseen = unseen(disk);
    let is_unseen = |key: &Key| key.0.iter().any(|part| matches!(part, KeyPart::Text(id) if unseen.contains(id)));
    Store::ALL.into_iter().flat_map(|store| disk.scan(store, key![]).into_iter().map(move |one| (store, one))).find_map(
        |(store, (key, record))| {
            // A body that is no JSON is the mark of a record, a hash that may have any letters.
            if is_unseen(&key) || record.body.starts_with('\0') {
                return None;
            }
            let stray = marks_of(&record.body).into_iter().find(|word| !expected.contains(word))?;
            Some(format!("{stray} in {} {key:?}: {}", store.name(), record.body))
        },
    )
}

/// What of a sealed disk says something without the key: a distinctive word, or the name of a conversation.
pub fn readable_without_key(disk: &Disk) -> Option<String> {
    // A hash may have the letters of a word, but hardly its end.
    let ends = |bytes: &[u8], at: usize| bytes.get(at + MARK_BYTES).is_none_or(|next| !next.is_ascii_alphanumeric());
    let says = |bytes: &[u8]| bytes.windows(MARK_BYTES).enumerate().any(|(at, word)| is_mark(word) && ends(bytes, at));
    let names = |part: &KeyPart| matches!(part, KeyPart::Text(text) if says(text.as_bytes()) || text.len() < 4);
    Store::ALL.into_iter().flat_map(|store| disk.sealed(store).into_iter().map(move |one| (store, one))).find_map(
        |(store, (key, record))| {
            let is_open = says(record.body.as_bytes())
                || says(record.blob.as_deref().unwrap_or_default())
                || key.0.iter().any(names);
            is_open.then(|| format!("{} {key:?}: {}", store.name(), record.body))
        },
    )
}

fn is_mark(word: &[u8]) -> bool {
    word.starts_with(MARK.as_bytes()) && word[MARK.len()..].iter().all(|letter| LETTERS.contains(letter))
}

/// The distinctive words of a text: whole ones, since two letters are in much that is random.
pub fn marks_of(text: &str) -> Vec<String> {
    let word = |at: usize| {
        let word = text.as_bytes().get(at..at + MARK_BYTES)?;
        let ends = text.as_bytes().get(at + MARK_BYTES).is_none_or(|next| !next.is_ascii_alphanumeric());
        (is_mark(word) && ends).then(|| String::from_utf8_lossy(word).into_owned())
    };
    text.match_indices(MARK).filter_map(|(at, _)| word(at)).collect()
}

/// How much there is of what a model makes beside summaries: facts that were said, episodes, summaries of projects.
pub fn derived(disk: &Disk) -> [usize; 3] {
    let said = |body: &Value| text(&body["source"], "type") == "statement" && text(body, "status") == "active";
    let facts = disk.scan(Store::Facts, key![]).into_iter().filter(|(_, record)| said(&value(&record.body)));
    [facts.count(), disk.scan(Store::Episodes, key![]).len(), disk.scan(Store::Summaries, key![""]).len()]
}

/// Where summaries end, by conversation.
pub fn cursors(disk: &Disk) -> Vec<(String, u32)> {
    let heads = disk.scan(Store::SummaryHeads, key![]);
    heads.iter().map(|(key, record)| (id_of(key), number(&value(&record.body), "summarizedUntilSeq"))).collect()
}
