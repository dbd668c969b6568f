//! How a record and its key are written so that they say nothing, and are bound to their place.

use super::{Cipher, Labelled};
use crate::error::{Code, Error, Result};
use crate::store::{Key, KeyPart, Query, Record, Store};
use crate::tokens::sha256::{KeyedHash, sha256};
use std::rc::Rc;

/// Name of the record in [`Store::Meta`] that says whether conversations have changed.
pub(crate) const COMPARED: &str = "conversation_stamp";

/// Characters of a name or mark: 128 bits.
const NAME_CHARACTERS: usize = 22;

/// The keys of one database.
pub(super) struct Keys {
    pub(super) hash: KeyedHash,
    pub(super) cipher: Rc<dyn Cipher>,
}

impl Keys {
    /// A keyed hash as 22 characters of base64url: the first 128 bits. `kind` keeps uses apart.
    fn hashed(&self, kind: Kind, parts: &[&[u8]]) -> String {
        let mut message = vec![kind as u8];
        parts.iter().for_each(|part| push(&mut message, part));
        base64url(&self.hash.of(&message))
    }

    /// The key under which a record is stored.
    pub(super) fn key(&self, store: Store, key: &Key) -> Key {
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
    pub(super) fn query(&self, query: &Query) -> Query {
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
    pub(super) fn mark_of(&self, label: &[u8], body: &str) -> String {
        match body.strip_prefix('\0') {
            // The body of a record that did not open: it holds what is stored.
            Some(stored) => stored.to_owned(),
            None => self.hashed(Kind::Mark, &[label, body.as_bytes()]),
        }
    }

    pub(super) async fn seal(&self, puts: Vec<(Store, Key, Record)>) -> Result<Vec<(Store, Key, Record)>> {
        if puts.is_empty() {
            return Ok(Vec::new());
        }
        let mut places = Vec::with_capacity(puts.len());
        let mut plain = Vec::with_capacity(puts.len());
        for (store, key, record) in puts {
            let stored = self.key(store, &key);
            let label = label(store, &stored);
            let mark = self.mark_of(&label, &record.body);
            let is_sealed = !is_only_compared(store, &key);
            if is_sealed {
                plain.push(Labelled { label: with_mark(label, &mark), bytes: packed(&key, &record) });
            }
            places.push((store, stored, mark, is_sealed));
        }
        let count = plain.len();
        let mut sealed = self.cipher.seal(plain).await?.into_iter();
        if sealed.len() != count {
            return Err(Error::new(Code::EngineUnavailable, "the platform's cipher left a record out; try again"));
        }
        let mut blob = |is_sealed: bool| if is_sealed { sealed.next() } else { None };
        let put = |(store, key, body, is_sealed)| (store, key, Record { body, blob: blob(is_sealed) });
        Ok(places.into_iter().map(put).collect())
    }

    /// A record that holds nothing but its mark: what it reads as stands for that in a check.
    pub(super) fn only_compared(&self, record: &Record) -> Option<Record> {
        record.blob.is_none().then(|| Record { body: format!("\0{}", record.body), blob: None })
    }

    /// The records with their true keys. One that does not open has a body that is no JSON text, so whoever reads it sees
    /// that it is corrupt while the others stay readable; in a check it stands for what is stored, so it can be replaced.
    pub(super) async fn open(&self, sealed: Vec<(Store, Key, Record)>) -> Result<Vec<(Key, Record)>> {
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

/// Whether nothing of a record is ever looked at but whether it is still the same: then its mark says all, and sealing it,
/// with every message, would cost for nothing.
fn is_only_compared(store: Store, key: &Key) -> bool {
    store == Store::Meta && matches!(key.0.as_slice(), [KeyPart::Text(name)] if name == COMPARED)
}

/// Whether a record is what [`Keys::open`] gives for one that does not open.
pub(super) fn is_damaged(record: &Record) -> bool {
    record.body.starts_with('\0')
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

/// Where a record is stored, as bytes that no other place has.
pub(super) fn label(store: Store, key: &Key) -> Vec<u8> {
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
