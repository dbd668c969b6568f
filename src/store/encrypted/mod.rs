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

mod recent;
mod sealing;

pub(crate) use sealing::COMPARED;
pub use sealing::hidden_user;

use super::{Check, Commit, Key, KeyPart, Query, Record, Storage, StorageUsage, Store};
use crate::error::{Code, Error, Result};
use crate::key;
use crate::ports::Pending;
use crate::sorting::sort_by;
use crate::tokens::sha256::KeyedHash;
use recent::Recent;
use sealing::{Keys, is_damaged, label};
use std::cell::RefCell;
use std::rc::Rc;

/// Name of the record in [`Store::Meta`] that tells how the key is made: the only one that is not sealed.
const HEADER: &str = "encryption";

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
    recent: RefCell<Recent>,
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
                return Ok(Self { inner, keys: RefCell::new(Some(Rc::new(keys))), recent: RefCell::default() });
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
        let mut records: Vec<Option<Record>> = Vec::with_capacity(found.len());
        let (mut at, mut sealed, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        for ((store, key), record) in places.into_iter().zip(found) {
            let mut recent = self.recent.borrow_mut();
            let Some(record) = record else {
                recent.forget_if_gone(store, &key);
                records.push(None);
                continue;
            };
            let open = recent.open(store, &key, &record).or_else(|| keys.only_compared(&record));
            if open.is_none() {
                at.push(records.len());
                kept.push(Recent::keeps(store, &record).then(|| record.clone()));
                sealed.push((store, key, record));
            }
            records.push(open);
        }
        let stored: Vec<(Store, Key)> = sealed.iter().map(|(store, key, _)| (*store, key.clone())).collect();
        let opened = keys.open(sealed).await?;
        for (((at, (store, key)), kept), (_, record)) in at.into_iter().zip(stored).zip(kept).zip(opened) {
            if let Some(sealed) = kept.filter(|_| !is_damaged(&record)) {
                self.recent.borrow_mut().keep(store, key, sealed, record.clone());
            }
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
        if query.store == Store::Conversations && is_whole(&query) {
            let is_found = |key: &Key| found.iter().any(|(found, _)| found == key);
            self.recent.borrow_mut().forget_unless_found(query.store, &is_found);
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
        let plain: Vec<Option<Record>> = commit
            .puts
            .iter()
            .map(|(store, _, record)| Recent::keeps(*store, record).then(|| record.clone()))
            .collect();
        let puts = keys.seal(commit.puts).await?;
        let kept: Vec<_> = puts.iter().zip(plain).filter_map(|(put, plain)| Some((put.clone(), plain?))).collect();
        sealed.puts.extend(puts);
        let removes = !sealed.deletes.is_empty() || !sealed.delete_prefixes.is_empty();
        let done = self.inner.commit(sealed).await?;
        let mut recent = self.recent.borrow_mut();
        if removes {
            recent.forget();
        }
        if done {
            kept.into_iter().for_each(|((store, key, sealed), plain)| recent.keep(store, key, sealed, plain));
        }
        Ok(done)
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

fn header_place() -> (Store, Key) {
    (Store::Meta, key![HEADER])
}

/// Whether a query asks for all of a store.
fn is_whole(query: &Query) -> bool {
    query.prefix.0.is_empty() && query.from.is_none() && query.to.is_none() && query.limit.is_none()
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
        self.recent.borrow_mut().forget();
        self.inner.close();
    }

    fn is_durable(&self) -> bool {
        self.inner.is_durable()
    }
}
