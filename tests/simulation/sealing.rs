//! Encryption of a seed's disk: what tabs see through it, and what lies on it.

use super::host::cipher::LibraryKey;
use futures_util::FutureExt;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use throughline::error::Result;
use throughline::key;
use throughline::ports::{Key, Pending, Query, Record, Storage, Store};
use throughline::store::encrypted::{Cipher, EncryptedStore, KeyHolder, Labelled, Unlocked};
use throughline::store::memory::MemoryStore;

/// Labels and sealed bytes, and what they are open.
type Opened = Rc<RefCell<HashMap<(Vec<u8>, Vec<u8>), Option<Vec<u8>>>>>;

/// The key of a user's stores.
#[derive(Default)]
pub struct Sealing {
    openings: Cell<u64>,
    opened: Opened,
}

impl Sealing {
    /// What a tab sees of its storage. Sealing and opening take a turn.
    pub async fn open(&self, storage: Rc<dyn Storage>) -> Result<Rc<dyn Storage>> {
        self.openings.set(self.openings.get() + 1);
        let key = LibraryKey { polls: 1, nonce: self.openings.get() << 40, ..LibraryKey::new(7) };
        Ok(Rc::new(EncryptedStore::open(storage, &key).await?))
    }

    /// What is stored, open; nothing where nobody has begun yet.
    pub fn scan(&self, stored: &MemoryStore, query: Query) -> Vec<(Key, Record)> {
        let is_new = stored.count(Store::Meta, key![]).now_or_never().is_none_or(|count| count == Ok(0));
        if is_new {
            return Vec::new();
        }
        let holder = Reader(Rc::clone(&self.opened));
        let view = EncryptedStore::open(Rc::new(stored.clone()), &holder).now_or_never();
        let view = view.expect("is there at once").expect("has this key");
        view.scan(query).now_or_never().expect("is there at once").expect("opens")
    }
}

/// Opens what is sealed, each thing once.
struct Reader(Opened);

impl KeyHolder for Reader {
    fn unlock<'a>(&'a self, header: Option<String>) -> Pending<'a, Unlocked> {
        async move {
            let unlocked = LibraryKey::new(7).unlock(header).await?;
            let cipher = Remembering { cipher: unlocked.cipher, opened: Rc::clone(&self.0) };
            Ok(Unlocked { cipher: Rc::new(cipher), ..unlocked })
        }
        .boxed_local()
    }
}

struct Remembering {
    cipher: Rc<dyn Cipher>,
    opened: Opened,
}

impl Cipher for Remembering {
    fn seal<'a>(&'a self, plain: Vec<Labelled>) -> Pending<'a, Vec<Vec<u8>>> {
        self.cipher.seal(plain)
    }

    fn open<'a>(&'a self, sealed: Vec<Labelled>) -> Pending<'a, Vec<Option<Vec<u8>>>> {
        async move {
            let mut found = Vec::with_capacity(sealed.len());
            for Labelled { label, bytes } in sealed {
                let known = self.opened.borrow().get(&(label.clone(), bytes.clone())).cloned();
                if let Some(known) = known {
                    found.push(known);
                    continue;
                }
                let one = Labelled { label: label.clone(), bytes: bytes.clone() };
                let open = self.cipher.open(vec![one]).await?.pop().flatten();
                self.opened.borrow_mut().insert((label, bytes), open.clone());
                found.push(open);
            }
            Ok(found)
        }
        .boxed_local()
    }
}
