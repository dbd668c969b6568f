//! The encrypted store: the conformance suite, nothing readable inside, and whatever was changed, moved or sealed with
//! another key is told.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
#![cfg(not(target_arch = "wasm32"))]

mod cipher;

use cipher::{LibraryCipher, LibraryKey, derived, open_at_once};
use futures_executor::block_on;
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use throughline::Code;
use throughline::key;
use throughline::ports::{Check, Commit, Key, KeyPart, Pending, Query, Record, Storage, Store};
use throughline::store::conformance;
use throughline::store::encrypted::{Cipher, EncryptedStore, KeyHolder, Labelled, Unlocked};
use throughline::store::memory::MemoryStore;

fn record(body: &str, blob: Option<&[u8]>) -> Record {
    Record { body: body.to_owned(), blob: blob.map(<[u8]>::to_vec) }
}

fn put(store: &dyn Storage, puts: Vec<(Store, Key, Record)>) {
    assert_eq!(block_on(store.commit(Commit { puts, ..Commit::default() })), Ok(true));
}

fn get(store: &dyn Storage, place: Store, key: Key) -> Option<Record> {
    block_on(store.get(vec![(place, key)])).unwrap().remove(0)
}

fn everything(store: &dyn Storage) -> Vec<(Store, Key, Record)> {
    let of = |place| {
        block_on(store.scan(Query::prefix(place, key![])))
            .unwrap()
            .into_iter()
            .map(move |(key, record)| (place, key, record))
    };
    Store::ALL.into_iter().flat_map(of).collect()
}

#[test]
fn encrypted_store_conforms() {
    for polls in [0, 3] {
        let databases: RefCell<BTreeMap<String, MemoryStore>> = RefCell::default();
        let nonce = Cell::new(0);
        let open = |name: &str| -> Pending<'static, Rc<dyn Storage>> {
            let inner = databases.borrow_mut().entry(name.to_owned()).or_default().clone();
            nonce.set(nonce.get() + (1 << 40));
            let key = LibraryKey { polls, nonce: nonce.get(), ..LibraryKey::new(7) };
            Box::pin(async move { Ok(Rc::new(EncryptedStore::open(Rc::new(inner), &key).await?) as Rc<dyn Storage>) })
        };
        let cases = block_on(conformance::run(&open)).unwrap();
        assert!(cases >= 26, "only {cases} cases ran");
    }
}

/// Every text of keys, bodies and blobs is searched for in all that is stored, keys and bodies included.
#[test]
fn nothing_that_was_put_is_readable_inside() {
    let inner = MemoryStore::new();
    let store = open_at_once(Rc::new(inner.clone()), &LibraryKey::new(7)).unwrap();
    let marker = |number: usize| format!("marker{number:05}");
    for (number, place) in Store::ALL.into_iter().enumerate() {
        let texts = [marker(number * 4), marker(number * 4 + 1), marker(number * 4 + 2), marker(number * 4 + 3)];
        let key = key![texts[0].as_str(), 5, texts[1].as_str()];
        put(&store, vec![(place, key, record(&texts[2], Some(texts[3].as_bytes())))]);
    }
    let found = |records: &[(Store, Key, Record)]| {
        let all: Vec<u8> = records
            .iter()
            .flat_map(|(_, key, record)| {
                [format!("{key:?}{}", record.body).into_bytes(), record.blob.clone().unwrap_or_default()].concat()
            })
            .collect();
        (0..Store::ALL.len() * 4)
            .filter(|number| all.windows(11).any(|bytes| bytes == marker(*number).as_bytes()))
            .count()
    };
    assert_eq!(found(&everything(&store)), 64, "the test sees its markers");
    assert_eq!(found(&everything(&inner)), 0);
    assert_eq!(block_on(inner.count(Store::Meta, key![])), Ok(2), "the header is a record beside them");
}

/// The same text has another name in each store, and the same record looks different each time it is sealed.
#[test]
fn what_is_equal_does_not_look_equal_elsewhere() {
    let inner = MemoryStore::new();
    let store = open_at_once(Rc::new(inner.clone()), &LibraryKey::new(7)).unwrap();
    put(&store, Store::ALL.into_iter().map(|place| (place, key!["c"], record("{}", Some(b"same")))).collect());
    let stored: Vec<_> = everything(&inner).into_iter().filter(|(_, _, record)| record.blob.is_some()).collect();
    for different in [
        stored.iter().map(|(_, key, _)| format!("{key:?}")).collect::<Vec<_>>(),
        stored.iter().map(|(_, _, record)| record.body.clone()).collect(),
        stored.iter().map(|(_, _, record)| format!("{:?}", record.blob)).collect(),
    ] {
        assert_eq!(different.iter().collect::<std::collections::BTreeSet<_>>().len(), 16, "{different:?}");
    }
    let before = get(&inner, stored[3].0, stored[3].1.clone()).unwrap();
    put(&store, vec![(stored[3].0, key!["c"], record("{}", Some(b"same")))]);
    let after = get(&inner, stored[3].0, stored[3].1.clone()).unwrap();
    assert_eq!(before.body, after.body, "a check must recognise the body");
    assert_ne!(before.blob, after.blob);
}

/// Every single bit that is stored, key of the record included: nothing but the corrupt record is lost, and it is told.
#[test]
fn every_changed_bit_is_noticed_and_the_others_stay_readable() {
    // Records of the second are kept open as long as they are the same.
    for place in [Store::Messages, Store::Conversations] {
        check_every_bit(place);
    }
}

fn check_every_bit(store_name: Store) {
    let inner = MemoryStore::new();
    let store = open_at_once(Rc::new(inner.clone()), &LibraryKey::new(7)).unwrap();
    let whole = record("{\"text\":\"kept\"}", Some(b"bytes"));
    put(&store, vec![(store_name, key!["c", 1], whole.clone()), (store_name, key!["c", 2], whole.clone())]);
    let stored = block_on(inner.scan(Query::prefix(store_name, key![]))).unwrap();
    let (place, good) = stored[0].clone();
    let blob = good.blob.clone().unwrap();
    let damaged = (0..blob.len() * 8)
        .map(|bit| {
            let mut blob = blob.clone();
            blob[bit / 8] ^= 1 << (bit % 8);
            Record { blob: Some(blob), ..good.clone() }
        })
        .chain((0..blob.len()).map(|length| Record { blob: Some(blob[..length].to_vec()), ..good.clone() }))
        .chain((0..good.body.len()).map(|at| {
            let mut body = good.body.clone().into_bytes();
            body[at] = if body[at] == b'A' { b'B' } else { b'A' };
            Record { body: String::from_utf8(body).unwrap(), ..good.clone() }
        }))
        .chain([
            Record { blob: None, ..good.clone() },
            Record { body: String::new(), ..good.clone() },
            record("{\"text\":\"plain\"}", None),
            stored[1].1.clone(),
        ]);
    let mut count = 0;
    for bad in damaged {
        put(&inner, vec![(store_name, place.clone(), bad)]);
        let read = block_on(store.scan(Query::prefix(store_name, key!["c"]))).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].0, key!["c", 1], "its place is known");
        assert!(serde_json::from_str::<serde_json::Value>(&read[0].1.body).is_err() && read[0].1.blob.is_none());
        assert_eq!(read[1], (key!["c", 2], whole.clone()));
        assert_eq!(get(&store, store_name, key!["c", 1]).unwrap().body, read[0].1.body);
        count += 1;
    }
    assert!(count > 500, "only {count} damages were tried");
}

/// A record that does not open can be replaced under a check, and removed by the key that a range gives it.
#[test]
fn a_damaged_record_can_be_replaced_and_removed() {
    let inner = MemoryStore::new();
    let store = open_at_once(Rc::new(inner.clone()), &LibraryKey::new(7)).unwrap();
    put(&store, vec![(Store::Facts, key!["f1"], record("{}", None)), (Store::Facts, key!["f2"], record("{}", None))]);
    for (key, stored) in block_on(inner.scan(Query::prefix(Store::Facts, key![]))).unwrap() {
        put(&inner, vec![(Store::Facts, key, Record { blob: Some(vec![1, 2, 3]), ..stored })]);
    }
    let body = get(&store, Store::Facts, key!["f1"]).unwrap().body;
    let commit = |body: &str| Commit {
        checks: vec![Check { store: Store::Facts, key: key!["f1"], body: Some(body.to_owned()) }],
        puts: vec![(Store::Facts, key!["f1"], record("{\"new\":1}", None))],
        ..Commit::default()
    };
    assert_eq!(block_on(store.commit(commit(&body))), Ok(true));
    assert_eq!(block_on(store.commit(commit(&body))), Ok(false), "it is another one now");
    let read = block_on(store.scan(Query::prefix(Store::Facts, key![]))).unwrap();
    let (unknown, kept): (Vec<_>, Vec<_>) = read.into_iter().partition(|(_, record)| record.body.starts_with('\0'));
    assert_eq!(kept, vec![(key!["f1"], record("{\"new\":1}", None))]);
    assert_eq!(unknown.len(), 1);
    let deletes = vec![(Store::Facts, unknown[0].0.clone())];
    assert_eq!(block_on(store.commit(Commit { deletes, ..Commit::default() })), Ok(true));
    assert_eq!(block_on(store.scan(Query::prefix(Store::Facts, key![]))).unwrap(), kept);
    // Nobody makes up such a key: what looks like one is a text as any other.
    let made_up = key!["\0AAAAAAAAAAAAAAAAAAAAAA\0AAAAAAAAAAAAAAAAAAAAAA"];
    put(&store, vec![(Store::Facts, made_up.clone(), record("{}", None))]);
    assert!(everything(&inner).iter().all(|(_, key, _)| *key != key!["AAAAAAAAAAAAAAAAAAAAAA"]));
    assert_eq!(get(&store, Store::Facts, made_up), Some(record("{}", None)));
}

#[test]
fn records_cannot_change_places() {
    let inner = MemoryStore::new();
    let store = open_at_once(Rc::new(inner.clone()), &LibraryKey::new(7)).unwrap();
    let keys = [key!["a", 1], key!["a", 2], key!["b", 1], key!["a"], key![1], key!["a", 1, 1]];
    let places = [Store::Messages, Store::Embeddings];
    let all = places.iter().flat_map(|place| keys.iter().map(|key| (*place, key.clone(), record("{}", None))));
    put(&store, all.collect());
    let stored: Vec<_> = everything(&inner).into_iter().filter(|(place, ..)| places.contains(place)).collect();
    assert_eq!(stored.len(), 12);
    for (_, _, from) in &stored {
        for (place, to, own) in stored.iter().filter(|(_, _, own)| own != from) {
            put(&inner, vec![(*place, to.clone(), from.clone())]);
            let damaged = everything(&store).into_iter().filter(|(_, _, record)| record.body != "{}").count();
            assert_eq!(damaged, 1);
            put(&inner, vec![(*place, to.clone(), own.clone())]);
        }
    }
}

#[test]
fn another_key_no_key_and_a_plain_store_are_told_and_nothing_is_written() {
    let inner = MemoryStore::new();
    let store = open_at_once(Rc::new(inner.clone()), &LibraryKey::new(7)).unwrap();
    put(&store, vec![(Store::Meta, key!["schema"], record("{}", None))]);
    let before = everything(&inner);
    let failed = open_at_once(Rc::new(inner.clone()), &LibraryKey::new(8)).err().unwrap();
    assert_eq!((failed.code, everything(&inner)), (Code::StorageKeyWrong, before));
    let plain = MemoryStore::new();
    put(&plain, vec![(Store::Meta, key!["schema"], record("{}", None))]);
    let before = everything(&plain);
    let failed = open_at_once(Rc::new(plain.clone()), &LibraryKey::new(7)).err().unwrap();
    assert_eq!((failed.code, everything(&plain)), (Code::StorageKeyWrong, before));
}

#[test]
fn the_header_stays_whatever_is_removed() {
    let inner = MemoryStore::new();
    let store = open_at_once(Rc::new(inner.clone()), &LibraryKey::new(7)).unwrap();
    put(&store, vec![(Store::Meta, key!["a"], record("{}", None)), (Store::Meta, key!["b"], record("{}", None))]);
    let first = |reverse| {
        let query = Query { limit: Some(1), reverse, ..Query::prefix(Store::Meta, key![]) };
        block_on(store.scan(query)).unwrap()
    };
    assert_eq!(first(false), vec![(key!["a"], record("{}", None))]);
    assert_eq!(first(true), vec![(key!["b"], record("{}", None))]);
    assert_eq!(get(&store, Store::Meta, key!["encryption"]), None);
    let clear = Commit { delete_prefixes: vec![(Store::Meta, key![])], ..Commit::default() };
    assert_eq!(block_on(store.commit(clear)), Ok(true));
    assert_eq!(block_on(store.count(Store::Meta, key![])), Ok(0));
    assert_eq!(everything(&inner).len(), 1);
    open_at_once(Rc::new(inner), &LibraryKey::new(7)).unwrap();
}

#[test]
fn two_that_open_it_first_agree() {
    let inner = MemoryStore::new();
    let open = || async {
        EncryptedStore::open(Rc::new(inner.clone()), &LibraryKey { polls: 2, ..LibraryKey::new(7) }).await.unwrap()
    };
    let (one, other) = block_on(futures_util::future::join(open(), open()));
    put(&one, vec![(Store::Meta, key!["a"], record("{}", None))]);
    assert_eq!(get(&other, Store::Meta, key!["a"]), Some(record("{}", None)));
}

/// Keeps what the store gives to be sealed.
struct Recording {
    cipher: LibraryCipher,
    given: RefCell<Vec<Labelled>>,
    opened: Cell<usize>,
}

impl Cipher for Recording {
    fn seal<'a>(&'a self, plain: Vec<Labelled>) -> Pending<'a, Vec<Vec<u8>>> {
        self.given.borrow_mut().extend(plain.iter().cloned());
        self.cipher.seal(plain)
    }

    fn open<'a>(&'a self, sealed: Vec<Labelled>) -> Pending<'a, Vec<Option<Vec<u8>>>> {
        self.opened.set(self.opened.get() + sealed.len());
        self.cipher.open(sealed)
    }
}

struct Known {
    header: String,
    data_key: [u8; 32],
    cipher: Rc<Recording>,
}

impl KeyHolder for Known {
    fn unlock<'a>(&'a self, _: Option<String>) -> Pending<'a, Unlocked> {
        let names = derived(&self.data_key, b"throughline names");
        let unlocked =
            Unlocked { header: self.header.clone(), names, cipher: Rc::clone(&self.cipher) as Rc<dyn Cipher> };
        Box::pin(async move { Ok(unlocked) })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is stored is stored so for ever: the file was written once, by this library and by WebCrypto (where
/// `tests/js/encryption.test.mjs` opens the same).
#[test]
fn known_answers() {
    let known: serde_json::Value = serde_json::from_str(include_str!("encryption/known.json")).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let bytes = |value: &serde_json::Value| -> Vec<u8> {
        let text = text(value);
        (0..text.len() / 2).map(|at| u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).unwrap()).collect()
    };
    let key_of = |value: &serde_json::Value| {
        let part = |part: &serde_json::Value| {
            part.as_str().map_or_else(|| KeyPart::Number(part.as_u64().unwrap()), KeyPart::from)
        };
        Key(value.as_array().unwrap().iter().map(part).collect())
    };
    let data_key: [u8; 32] = bytes(&known["dataKey"]).try_into().unwrap();
    assert_eq!(hex(&derived(&data_key, b"throughline names")), known["names"]);
    let sealing = derived(&data_key, b"throughline sealing");
    let cipher = Rc::new(Recording {
        cipher: LibraryCipher::new(&sealing, 0, 0),
        given: RefCell::default(),
        opened: Cell::default(),
    });
    let holder = Known { header: text(&known["header"]), data_key, cipher: Rc::clone(&cipher) };
    let inner = MemoryStore::new();
    let store = block_on(EncryptedStore::open(Rc::new(inner.clone()), &holder)).unwrap();
    assert_eq!(get(&inner, Store::Meta, key!["encryption"]).unwrap().body, text(&known["header"]));
    for one in known["records"].as_array().unwrap() {
        let place = Store::ALL.into_iter().find(|store| one["store"] == store.name()).unwrap();
        let blob = one["blob"].as_str().map(|_| bytes(&one["blob"]));
        let (key, whole) = (key_of(&one["key"]), Record { body: text(&one["body"]), blob });
        put(&store, vec![(place, key.clone(), whole.clone())]);
        let given = cipher.given.borrow().last().unwrap().clone();
        assert_eq!((hex(&given.label), hex(&given.bytes)), (text(&one["label"]), text(&one["plain"])));
        let stored = Record { body: text(&one["stored"]["body"]), blob: Some(bytes(&one["stored"]["blob"])) };
        assert_eq!(get(&inner, place, key_of(&one["stored"]["key"])), Some(stored.clone()), "the same bytes");
        // And what WebCrypto sealed.
        put(
            &inner,
            vec![(place, key_of(&one["stored"]["key"]), Record { blob: Some(bytes(&one["byWebCrypto"])), ..stored })],
        );
        assert_eq!(get(&store, place, key), Some(whole));
    }
}

/// What every call reads again is opened once, until it is another one; what is gone is not kept.
#[test]
fn small_records_are_opened_once_and_forgotten_when_something_is_gone() {
    let inner = MemoryStore::new();
    let open = || {
        let cipher = LibraryCipher::new(&[3; 32], 0, 0);
        let cipher = Rc::new(Recording { cipher, given: RefCell::default(), opened: Cell::default() });
        let holder = Known { header: "h".into(), data_key: [5; 32], cipher: Rc::clone(&cipher) };
        (block_on(EncryptedStore::open(Rc::new(inner.clone()), &holder)).unwrap(), cipher)
    };
    let ((one, opened), (other, _)) = (open(), open());
    let keys =
        || vec![(Store::Conversations, key!["c"]), (Store::Jobs, key!["embed", "c"]), (Store::Messages, key!["c", 1])];
    put(&other, keys().into_iter().map(|(store, key)| (store, key, record("{}", None))).collect());
    for expected in [3, 4, 5] {
        let read = block_on(one.get(keys())).unwrap();
        assert!(read.iter().all(|read| *read == Some(record("{}", None))));
        assert_eq!(opened.opened.get(), expected, "the message each time, the others once");
    }
    // What it writes itself it need not open; what another writes it must.
    put(&one, vec![(Store::Conversations, key!["c"], record("{\"n\":1}", None))]);
    assert_eq!(get(&one, Store::Conversations, key!["c"]), Some(record("{\"n\":1}", None)));
    assert_eq!(opened.opened.get(), 5);
    put(&other, vec![(Store::Conversations, key!["c"], record("{\"n\":1}", None))]);
    assert_eq!(get(&one, Store::Conversations, key!["c"]), Some(record("{\"n\":1}", None)));
    assert_eq!(opened.opened.get(), 6, "the same body, sealed anew");
    // Another tab erases the conversation: nothing of it is kept once that shows.
    for shows_by_scan in [false, true] {
        let deletes = vec![(Store::Conversations, key!["c"])];
        assert_eq!(block_on(other.commit(Commit { deletes, ..Commit::default() })), Ok(true));
        if shows_by_scan {
            assert!(block_on(one.scan(Query::prefix(Store::Conversations, key![]))).unwrap().is_empty());
        } else {
            assert_eq!(get(&one, Store::Conversations, key!["c"]), None);
        }
        let before = opened.opened.get();
        assert!(get(&one, Store::Jobs, key!["embed", "c"]).is_some());
        assert_eq!(opened.opened.get(), before + 1, "it was forgotten with the conversation");
        put(&one, vec![(Store::Conversations, key!["c"], record("{}", None))]);
    }
}

/// The stamp of the conversations is written with every message, and nobody looks at more of it than whether it changed.
#[test]
fn what_is_only_compared_costs_no_sealing_and_still_tells_a_change() {
    let inner = MemoryStore::new();
    let (one, other) = [1, 2]
        .map(|nonce| {
            open_at_once(Rc::new(inner.clone()), &LibraryKey { nonce: nonce << 40, ..LibraryKey::new(7) }).unwrap()
        })
        .into();
    let place = || (Store::Meta, key!["conversation_stamp"]);
    let write = |store: &EncryptedStore, before: Option<String>, after: &str| {
        let checks = vec![Check { store: place().0, key: place().1, body: before }];
        let puts =
            vec![(place().0, place().1, record(after, None)), (Store::Notes, key!["c", "n"], record("{}", None))];
        block_on(store.commit(Commit { checks, puts, ..Commit::default() })).unwrap()
    };
    let read = |store: &EncryptedStore| get(store, place().0, place().1).unwrap().body;
    assert!(write(&one, None, "first"));
    let stored =
        everything(&inner).into_iter().filter(|(store, _, record)| *store == Store::Meta && record.blob.is_none());
    assert!(stored.clone().count() == 2 && stored.clone().all(|(_, _, record)| record.body != "first"));
    assert_eq!(read(&one), "first");
    let seen = read(&other);
    assert!(write(&other, Some(seen.clone()), "second"));
    assert!(!write(&one, Some("first".into()), "third"), "another was faster");
    assert!(!write(&one, Some(seen), "third"));
    let seen = read(&one);
    assert!(write(&one, Some(seen), "third"));
    // Other small records are forgotten where something is removed; this one says nothing.
    block_on(one.commit(Commit { deletes: vec![(Store::Notes, key!["c", "n"])], ..Commit::default() })).unwrap();
    assert_eq!(read(&one), "third");
}

fn part() -> impl Strategy<Value = KeyPart> {
    prop_oneof![
        (0..4_u32).prop_map(KeyPart::from),
        prop_oneof![Just(""), Just("a"), Just("b"), Just("😀"), Just("\0")].prop_map(KeyPart::from)
    ]
}

fn keys() -> impl Strategy<Value = Key> {
    prop::collection::vec(part(), 0..=3).prop_map(Key)
}

proptest! {
    /// Whatever is asked, the answer is that of a plain store.
    #[test]
    fn answers_as_a_plain_store(
        stored in prop::collection::vec(keys(), 0..12),
        deleted in prop::option::of(keys()),
        prefix in keys(),
        from in prop::option::of(part()),
        to in prop::option::of(part()),
        limit in prop::option::of(0..6_usize),
        reverse in any::<bool>(),
        place in prop_oneof![Just(Store::Meta), Just(Store::Notes)],
    ) {
        let plain = MemoryStore::new();
        let encrypted = open_at_once(Rc::new(MemoryStore::new()), &LibraryKey::new(7)).unwrap();
        let query = Query { store: place, prefix: prefix.clone(), from, to, limit, reverse };
        for store in [&plain as &dyn Storage, &encrypted] {
            let puts = stored.iter().enumerate().map(|(at, key)| (place, key.clone(), record(&at.to_string(), None)));
            put(store, puts.collect());
            let delete_prefixes = deleted.iter().map(|key| (place, key.clone())).collect();
            assert_eq!(block_on(store.commit(Commit { delete_prefixes, ..Commit::default() })), Ok(true));
        }
        prop_assert_eq!(block_on(encrypted.scan(query.clone())), block_on(plain.scan(query)));
        prop_assert_eq!(block_on(encrypted.count(place, prefix.clone())), block_on(plain.count(place, prefix)));
    }

    /// Bytes of any kind where records should be: an answer, and no panic.
    #[test]
    fn survives_whatever_is_stored(body in ".{0,40}", blob in prop::option::of(prop::collection::vec(any::<u8>(), 0..80)), key in keys()) {
        let inner = MemoryStore::new();
        let store = open_at_once(Rc::new(inner.clone()), &LibraryKey::new(7)).unwrap();
        put(&inner, vec![(Store::Notes, key, Record { body, blob })]);
        let read = block_on(store.scan(Query::prefix(Store::Notes, key![]))).unwrap();
        prop_assert!(read.iter().all(|(_, record)| record.body.starts_with('\0')));
        prop_assert_eq!(read.len(), 1);
    }
}
