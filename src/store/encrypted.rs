//! Encryption at rest: a store around a store, in which nothing is readable without the key.
//!
//! A record is stored as `{ body: mark, blob: sealed }`. `sealed` is the record with the texts of its key, by the
//! [`Cipher`]; the `mark` is a keyed hash of its place and body. So a [`Check`] compares marks: no earlier ciphertext has to
//! be remembered, each sealing has a fresh nonce, and what shows is only that a record has the same body as before. Texts
//! in keys are replaced by keyed hashes, of another kind in each store; numbers stay, since their order is needed. Place
//! and mark are sealed with the record: moved, exchanged or changed, it does not open.
//!
//! Sealing and opening take a turn of the event loop, so everything is sealed before a commit begins and opened after a
//! read has ended. Marks and names are made here: as calls of the platform they would be one turn more each.

use super::{Check, Commit, Key, KeyPart, Query, Record, Storage, StorageUsage, Store};
use crate::error::{Code, Error, Result};
use crate::key;
use crate::ports::Pending;
use crate::sorting::sort_by;
use crate::tokens::sha256::{KeyedHash, sha256};
use std::cell::RefCell;
use std::rc::Rc;

/// Name of the record in [`Store::Meta`] that tells how the key is made: the only one that is not sealed.
const HEADER: &str = "encryption";
/// Characters of a name or mark: 128 bits.
const NAME_CHARACTERS: usize = 22;

/// Bytes, and what they are bound to: sealed bytes open with the same label only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labelled {
    /// Not secret.
    pub label: Vec<u8>,
    /// To be sealed, or sealed.
    pub bytes: Vec<u8>,
}

/// An authenticated cipher with a key of its own and a fresh nonce for each sealing (AES-256-GCM: nonce, ciphertext, tag).
pub trait Cipher {
    /// Seals each, in order.
    fn seal<'a>(&'a self, plain: Vec<Labelled>) -> Pending<'a, Vec<Vec<u8>>>;
    /// Opens each, in order; `None` where it was not sealed so with this key.
    fn open<'a>(&'a self, sealed: Vec<Labelled>) -> Pending<'a, Vec<Option<Vec<u8>>>>;
}

/// What a key gives.
pub struct Unlocked {
    /// The header to be stored: as it was, or new.
    pub header: String,
    /// The key of names and marks.
    pub names: [u8; 32],
    /// The cipher.
    pub cipher: Rc<dyn Cipher>,
}

/// Has the key.
pub trait KeyHolder {
    /// Makes the keys of a store from its header, or, without one, a header and keys for a new store.
    ///
    /// Fails with [`Code::StorageKeyWrong`] when the store has another key.
    fn unlock<'a>(&'a self, header: Option<String>) -> Pending<'a, Unlocked>;
}

/// A store in which everything is sealed.
pub struct EncryptedStore {
    inner: Rc<dyn Storage>,
    /// Gone once it is closed.
    keys: RefCell<Option<Rc<Keys>>>,
}

struct Keys {
    hash: KeyedHash,
    cipher: Rc<dyn Cipher>,
}

impl EncryptedStore {
    /// Opens a store with its key; an empty one gets a header.
    ///
    /// # Errors
    /// [`Code::StorageKeyWrong`] when it has another key, or holds records that are not encrypted. Nothing is written then.
    pub async fn open(inner: Rc<dyn Storage>, holder: &dyn KeyHolder) -> Result<Self> {
        loop {
            let header = inner.get(vec![header_place()]).await?.pop().flatten().map(|record| record.body);
            if header.is_none() && inner.count(Store::Meta, key![]).await? > 0 {
                return Err(Error::new(
                    Code::StorageKeyWrong,
                    "what is stored is not encrypted; open it without a key",
                ));
            }
            let unlocked = holder.unlock(header.clone()).await?;
            let keys = Keys { hash: KeyedHash::new(&unlocked.names), cipher: unlocked.cipher };
            // Of two that open it first, one writes the header and the other reads it.
            if header.is_some() || write_header(&*inner, unlocked.header).await? {
                return Ok(Self { inner, keys: RefCell::new(Some(Rc::new(keys))) });
            }
        }
    }

    fn keys(&self) -> Result<Rc<Keys>> {
        let keys = self.keys.borrow().clone();
        keys.ok_or_else(|| Error::new(Code::Closed, "the storage was closed; open it again"))
    }

    async fn get_all(&self, asked: Vec<(Store, Key)>) -> Result<Vec<Option<Record>>> {
        let keys = self.keys()?;
        let places: Vec<(Store, Key)> = asked.iter().map(|(store, key)| (*store, keys.key(*store, key))).collect();
        let found = self.inner.get(places.clone()).await?;
        let (at, sealed): (Vec<usize>, Vec<_>) = found
            .into_iter()
            .zip(places)
            .enumerate()
            .filter_map(|(at, (record, (store, key)))| Some((at, (store, key, record?))))
            .unzip();
        let mut records: Vec<Option<Record>> = asked.iter().map(|_| None).collect();
        for (at, (_, record)) in at.into_iter().zip(keys.open(sealed).await?) {
            if let Some(place) = records.get_mut(at) {
                *place = Some(record);
            }
        }
        Ok(records)
    }

    async fn scan_range(&self, query: Query) -> Result<Vec<(Key, Record)>> {
        let keys = self.keys()?;
        let inner = keys.query(&query);
        let mut found = self.inner.scan(inner.clone()).await?;
        let known = query.prefix.0.len();
        let holds_text =
            |(key, _): &(Key, Record)| key.0.iter().skip(known).any(|part| matches!(part, KeyPart::Text(_)));
        let is_reordered = found.iter().any(holds_text);
        // The first ones by stored names are others than by the texts themselves: all have to be read.
        if is_reordered && inner.limit.is_some_and(|limit| found.len() >= limit) {
            found = self.inner.scan(Query { limit: None, ..inner }).await?;
        }
        if query.store == Store::Meta {
            found.retain(|(key, _)| !is_header(key));
        }
        let sealed = found.into_iter().map(|(key, record)| (query.store, key, record)).collect();
        let mut records = keys.open(sealed).await?;
        for (key, _) in &mut records {
            // What did not open does not tell its texts; those of the prefix are known.
            key.0.iter_mut().zip(&query.prefix.0).for_each(|(part, known)| part.clone_from(known));
        }
        if is_reordered {
            let next = |key: &Key| key.0.get(known).cloned();
            records.retain(|(key, _)| {
                (query.from.is_none() || next(key) >= query.from)
                    && (query.to.is_none()
                        || next(key).is_some_and(|next| query.to.as_ref().is_none_or(|to| next <= *to)))
            });
            sort_by(&mut records, &|(one, _), (other, _)| if query.reverse { other.cmp(one) } else { one.cmp(other) });
            records.truncate(query.limit.unwrap_or(usize::MAX));
        }
        Ok(records)
    }

    async fn carry_out(&self, commit: Commit) -> Result<bool> {
        let keys = self.keys()?;
        let mut sealed = Commit { strict: commit.strict, ..Commit::default() };
        for Check { store, key, body } in commit.checks {
            let key = keys.key(store, &key);
            let body = body.map(|body| keys.mark_of(&label(store, &key), &body));
            sealed.checks.push(Check { store, key, body });
        }
        for (store, prefix) in commit.delete_prefixes {
            if store == Store::Meta && prefix.0.is_empty() {
                self.keep_header(&mut sealed).await?;
            }
            sealed.delete_prefixes.push((store, keys.key(store, &prefix)));
        }
        sealed.deletes.extend(commit.deletes.into_iter().map(|(store, key)| (store, keys.key(store, &key))));
        sealed.puts.extend(keys.seal(commit.puts).await?);
        self.inner.commit(sealed).await
    }

    /// Everything in its store is about to be removed: it stays.
    async fn keep_header(&self, commit: &mut Commit) -> Result<()> {
        let (store, key) = header_place();
        if let Some(header) = self.inner.get(vec![header_place()]).await?.pop().flatten() {
            commit.checks.push(Check { store, key: key.clone(), body: Some(header.body.clone()) });
            commit.puts.push((store, key, header));
        }
        Ok(())
    }
}

impl Keys {
    /// A keyed hash as 22 characters of base64url: the first 128 bits. `kind` keeps uses apart.
    fn hashed(&self, kind: Kind, parts: &[&[u8]]) -> String {
        let mut message = vec![kind as u8];
        parts.iter().for_each(|part| push(&mut message, part));
        base64url(&self.hash.of(&message))
    }

    /// The key under which a record is stored.
    fn key(&self, store: Store, key: &Key) -> Key {
        Key(key.0.iter().map(|part| self.part(store, part)).collect())
    }

    fn part(&self, store: Store, part: &KeyPart) -> KeyPart {
        let KeyPart::Text(text) = part else { return part.clone() };
        let stored = text.strip_prefix('\0').and_then(|rest| rest.split_once('\0'));
        KeyPart::Text(match stored {
            Some((name, proof)) if proof == self.hashed(Kind::Proof, &[name.as_bytes()]) => name.to_owned(),
            _ => self.hashed(Kind::Name, &[store.name().as_bytes(), text.as_bytes()]),
        })
    }

    /// A text that stands for a stored name whose own text is not known: [`Keys::part`] turns it back.
    fn unknown(&self, name: &str) -> String {
        format!("\0{name}\0{}", self.hashed(Kind::Proof, &[name.as_bytes()]))
    }

    /// What the store inside is asked. Bounds that are texts select every text: which ones are meant shows when they are
    /// open.
    fn query(&self, query: &Query) -> Query {
        let lowest = |part: &KeyPart| match part {
            KeyPart::Number(_) => part.clone(),
            KeyPart::Text(_) => KeyPart::Text(String::new()),
        };
        let has_bounds = query.from.is_some() || query.to.is_some();
        Query {
            store: query.store,
            prefix: self.key(query.store, &query.prefix),
            // A bound at least asks for one component more.
            from: has_bounds.then(|| query.from.as_ref().map_or(KeyPart::Number(0), lowest)),
            to: query.to.clone().filter(|to| matches!(to, KeyPart::Number(_))),
            limit: query.limit,
            reverse: query.reverse,
        }
    }

    /// What a check compares: the same for the same body at the same place.
    fn mark_of(&self, label: &[u8], body: &str) -> String {
        match body.strip_prefix('\0') {
            // The body of a record that did not open: it holds what is stored.
            Some(stored) => stored.to_owned(),
            None => self.hashed(Kind::Mark, &[label, body.as_bytes()]),
        }
    }

    async fn seal(&self, puts: Vec<(Store, Key, Record)>) -> Result<Vec<(Store, Key, Record)>> {
        if puts.is_empty() {
            return Ok(Vec::new());
        }
        let mut places = Vec::with_capacity(puts.len());
        let mut plain = Vec::with_capacity(puts.len());
        for (store, key, record) in puts {
            let stored = self.key(store, &key);
            let label = label(store, &stored);
            let mark = self.mark_of(&label, &record.body);
            plain.push(Labelled { label: with_mark(label, &mark), bytes: packed(&key, &record) });
            places.push((store, stored, mark));
        }
        let sealed = self.cipher.seal(plain).await?;
        if sealed.len() != places.len() {
            return Err(Error::new(Code::EngineUnavailable, "the platform's cipher left a record out; try again"));
        }
        let put = |((store, key, body), blob)| (store, key, Record { body, blob: Some(blob) });
        Ok(places.into_iter().zip(sealed).map(put).collect())
    }

    /// The records with their true keys. One that does not open has a body that is no JSON text, so whoever reads it sees
    /// that it is corrupt while the others stay readable; in a check it stands for what is stored, so it can be replaced.
    async fn open(&self, sealed: Vec<(Store, Key, Record)>) -> Result<Vec<(Key, Record)>> {
        if sealed.is_empty() {
            return Ok(Vec::new());
        }
        let mut places = Vec::with_capacity(sealed.len());
        let mut labelled = Vec::with_capacity(sealed.len());
        for (store, key, record) in sealed {
            let label = with_mark(label(store, &key), &record.body);
            labelled.push(Labelled { label, bytes: record.blob.unwrap_or_default() });
            places.push((key, record.body));
        }
        let mut opened = self.cipher.open(labelled).await?.into_iter();
        let record = |(key, mark): (Key, String)| {
            opened.next().flatten().and_then(|bytes| unpacked(&key, &bytes)).unwrap_or_else(|| self.damaged(key, &mark))
        };
        Ok(places.into_iter().map(record).collect())
    }

    fn damaged(&self, mut key: Key, mark: &str) -> (Key, Record) {
        for part in &mut key.0 {
            if let KeyPart::Text(name) = part {
                *name = self.unknown(name);
            }
        }
        (key, Record { body: format!("\0{mark}"), blob: None })
    }
}

/// What stands for a user's id in the name of an encrypted database. It has no key, since a wrong key must find the same
/// database to be told so: whoever guesses the id can confirm it.
#[must_use]
pub fn hidden_user(app: &str, user_id: &str) -> String {
    let mut message = Vec::new();
    push(&mut message, app.as_bytes());
    push(&mut message, user_id.as_bytes());
    base64url(&sha256(&message))
}

/// What a keyed hash is for.
#[derive(Clone, Copy)]
enum Kind {
    /// The text of a key.
    Name = 1,
    /// The body of a record.
    Mark = 2,
    /// That a stored name was one.
    Proof = 3,
}

fn header_place() -> (Store, Key) {
    (Store::Meta, key![HEADER])
}

fn is_header(key: &Key) -> bool {
    matches!(key.0.as_slice(), [KeyPart::Text(name)] if name == HEADER)
}

async fn write_header(inner: &dyn Storage, body: String) -> Result<bool> {
    let (store, key) = header_place();
    let checks = vec![Check { store, key: key.clone(), body: None }];
    let puts = vec![(store, key, Record { body, blob: None })];
    inner.commit(Commit { checks, puts, strict: true, ..Commit::default() }).await
}

/// Where a record is stored, as bytes that no other place has.
fn label(store: Store, key: &Key) -> Vec<u8> {
    let mut label = vec![key.0.len() as u8];
    push(&mut label, store.name().as_bytes());
    for part in &key.0 {
        match part {
            KeyPart::Number(number) => push(&mut label, &number.to_be_bytes()),
            KeyPart::Text(name) => {
                label.push(1);
                push(&mut label, name.as_bytes());
            }
        }
    }
    label
}

fn with_mark(mut label: Vec<u8>, mark: &str) -> Vec<u8> {
    push(&mut label, mark.as_bytes());
    label
}

/// The texts of the key, the body, and where there is one a byte and the blob.
fn packed(key: &Key, record: &Record) -> Vec<u8> {
    let blob = record.blob.as_deref();
    let mut bytes = Vec::with_capacity(record.body.len() + blob.map_or(0, <[u8]>::len) + 64);
    for part in &key.0 {
        if let KeyPart::Text(text) = part {
            push(&mut bytes, text.as_bytes());
        }
    }
    push(&mut bytes, record.body.as_bytes());
    if let Some(blob) = blob {
        bytes.push(1);
        bytes.extend_from_slice(blob);
    }
    bytes
}

fn unpacked(stored: &Key, bytes: &[u8]) -> Option<(Key, Record)> {
    let mut rest = bytes;
    let mut key = stored.clone();
    for part in &mut key.0 {
        if let KeyPart::Text(text) = part {
            *text = take_text(&mut rest)?;
        }
    }
    let body = take_text(&mut rest)?;
    Some((key, Record { body, blob: rest.split_first().map(|(_, blob)| blob.to_vec()) }))
}

fn push(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend_from_slice(&(part.len() as u32).to_le_bytes());
    bytes.extend_from_slice(part);
}

fn take_text(bytes: &mut &[u8]) -> Option<String> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    String::from_utf8(text.to_vec()).ok()
}

/// The first 128 bits in base64url (RFC 4648, 5).
fn base64url(digest: &[u8; 32]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let character = |at: usize| {
        let bit = at * 6;
        // The last two bits are behind the 128: zeros.
        let byte = |index: usize| u16::from(if index < 16 { digest[index] } else { 0 });
        let pair = byte(bit / 8) << 8 | byte(bit / 8 + 1);
        char::from(ALPHABET[usize::from(pair >> (10 - bit % 8) & 63)])
    };
    (0..NAME_CHARACTERS).map(character).collect()
}

impl Storage for EncryptedStore {
    fn get<'a>(&'a self, keys: Vec<(Store, Key)>) -> Pending<'a, Vec<Option<Record>>> {
        Box::pin(self.get_all(keys))
    }

    fn scan<'a>(&'a self, query: Query) -> Pending<'a, Vec<(Key, Record)>> {
        Box::pin(self.scan_range(query))
    }

    fn count<'a>(&'a self, store: Store, prefix: Key) -> Pending<'a, u64> {
        Box::pin(async move {
            let header = u64::from(store == Store::Meta && prefix.0.is_empty());
            let count = self.inner.count(store, self.keys()?.key(store, &prefix)).await?;
            Ok(count.saturating_sub(header))
        })
    }

    fn commit<'a>(&'a self, commit: Commit) -> Pending<'a, bool> {
        Box::pin(self.carry_out(commit))
    }

    fn usage<'a>(&'a self) -> Pending<'a, StorageUsage> {
        self.inner.usage()
    }

    fn destroy<'a>(&'a self) -> Pending<'a, ()> {
        self.inner.destroy()
    }

    fn close(&self) {
        self.keys.borrow_mut().take();
        self.inner.close();
    }

    fn is_durable(&self) -> bool {
        self.inner.is_durable()
    }
}
