//! The cipher of encrypted stores by a library that shares no code with the browser's: what one seals the other opens.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use futures_util::future::FutureExt;
use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use throughline::error::{Code, Error};
use throughline::ports::{Pending, Storage};
use throughline::store::encrypted::{Cipher, EncryptedStore, KeyHolder, Labelled, Unlocked};
use throughline::tokens::sha256::KeyedHash;

/// AES-256-GCM with counted nonces.
pub struct LibraryCipher {
    cipher: Aes256Gcm,
    /// Of the next sealing; beginning anywhere, as a fresh start of the browser would.
    pub nonce: Cell<u64>,
    /// Each call is pending for so many polls.
    polls: u32,
}

impl LibraryCipher {
    pub fn new(sealing: &[u8; 32], nonce: u64, polls: u32) -> Self {
        let cipher = Aes256Gcm::new_from_slice(sealing).expect("32 bytes");
        Self { cipher, nonce: Cell::new(nonce), polls }
    }

    fn seal_one(&self, Labelled { label, bytes }: &Labelled) -> Vec<u8> {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&self.nonce.replace(self.nonce.get().wrapping_add(1)).to_be_bytes());
        let sealed =
            self.cipher.encrypt(&Nonce::from(nonce), Payload { msg: bytes, aad: label }).expect("is short enough");
        [&nonce[..], &sealed].concat()
    }

    fn open_one(&self, Labelled { label, bytes }: &Labelled) -> Option<Vec<u8>> {
        let (nonce, sealed) = bytes.split_first_chunk::<12>()?;
        self.cipher.decrypt(&Nonce::from(*nonce), Payload { msg: sealed, aad: label }).ok()
    }

    async fn pause(&self) {
        let mut polls = self.polls;
        poll_fn(|context| {
            if polls == 0 {
                return Poll::Ready(());
            }
            polls -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

impl Cipher for LibraryCipher {
    fn seal<'a>(&'a self, plain: Vec<Labelled>) -> Pending<'a, Vec<Vec<u8>>> {
        async move {
            self.pause().await;
            Ok(plain.iter().map(|one| self.seal_one(one)).collect())
        }
        .boxed_local()
    }

    fn open<'a>(&'a self, sealed: Vec<Labelled>) -> Pending<'a, Vec<Option<Vec<u8>>>> {
        async move {
            self.pause().await;
            Ok(sealed.iter().map(|one| self.open_one(one)).collect())
        }
        .boxed_local()
    }
}

/// Holds a master key; the header is its fingerprint.
pub struct LibraryKey {
    pub master: [u8; 32],
    pub polls: u32,
    pub nonce: u64,
}

impl LibraryKey {
    pub fn new(byte: u8) -> Self {
        Self { master: [byte; 32], polls: 0, nonce: 0 }
    }
}

/// HKDF-SHA-256 (RFC 5869) with a salt of zeros, for 32 bytes.
pub fn derived(master: &[u8; 32], purpose: &[u8]) -> [u8; 32] {
    KeyedHash::new(&KeyedHash::new(&[0; 32]).of(master)).of(&[purpose, &[1]].concat())
}

impl KeyHolder for LibraryKey {
    fn unlock<'a>(&'a self, header: Option<String>) -> Pending<'a, Unlocked> {
        async move {
            let own = format!("{:02x?}", derived(&self.master, b"fingerprint"));
            if header.is_some_and(|header| header != own) {
                return Err(Error::new(Code::StorageKeyWrong, "another key"));
            }
            let sealing = derived(&self.master, b"throughline sealing");
            Ok(Unlocked {
                header: own,
                names: derived(&self.master, b"throughline names"),
                cipher: Rc::new(LibraryCipher::new(&sealing, self.nonce, self.polls)),
            })
        }
        .boxed_local()
    }
}

/// Opens an encrypted store on one that answers at once.
pub fn open_at_once(inner: Rc<dyn Storage>, key: &LibraryKey) -> throughline::Result<EncryptedStore> {
    EncryptedStore::open(inner, key).now_or_never().expect("is there at once")
}
