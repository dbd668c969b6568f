//! An embedder that does anything: rows 39, 40, 46, 47 and 48.

use super::Shared;
use super::host::WordEmbedder;
use super::model::later;
use futures_util::future::FutureExt;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use throughline::error::{Code, Error};
use throughline::ports::{Embedder, Pending};

pub const FAULTS: [&str; 9] = [
    "embed: throws",
    "embed: silent",
    "embed: late",
    "embed: none",
    "embed: too few",
    "embed: too many",
    "embed: no number",
    "embed: too long",
    "embed: calls",
];

pub struct WrongEmbedder {
    shared: Rc<Shared>,
    words: WordEmbedder,
    pub met: RefCell<BTreeSet<&'static str>>,
}

impl WrongEmbedder {
    pub fn new(shared: Rc<Shared>) -> Self {
        Self { shared, words: WordEmbedder::default(), met: RefCell::default() }
    }

    fn fault(&self) -> Option<&'static str> {
        let mut random = self.shared.random.borrow_mut();
        if self.shared.is_healed.get() || random.happens(600) {
            return None;
        }
        random.pick(&FAULTS).copied()
    }
}

impl Embedder for WrongEmbedder {
    fn id(&self) -> &str {
        "wrong"
    }

    fn dimensions(&self) -> usize {
        self.words.dimensions
    }

    fn max_batch_size(&self) -> usize {
        8
    }

    fn max_input_tokens(&self) -> usize {
        256
    }

    fn embed<'a>(&'a self, texts: Vec<String>) -> Pending<'a, Vec<Vec<f32>>> {
        let fault = self.fault();
        self.met.borrow_mut().extend(fault);
        let mut vectors: Vec<Vec<f32>> = texts.iter().map(|text| self.words.vector(text)).collect();
        async move {
            match fault {
                Some("embed: throws") => return Err(Error::new(Code::EmbeddingFailed, "scripted")),
                Some("embed: silent") => return std::future::pending().await,
                Some("embed: late") => later(10).await,
                Some("embed: none") => vectors.clear(),
                Some("embed: too few") => drop(vectors.pop()),
                Some("embed: too many") => vectors.push(vec![0.5; self.dimensions()]),
                Some("embed: no number") => vectors.iter_mut().for_each(|vector| vector[0] = f32::NAN),
                Some("embed: too long") => vectors.iter_mut().for_each(|vector| vector.push(0.5)),
                Some("embed: calls") => {
                    let engine = self.shared.engine.borrow().upgrade();
                    if let Some(engine) = engine {
                        let message = self.shared.say();
                        // It may have been closed.
                        let _ = engine.append(super::append(super::ID, vec![message])).await;
                        let _ = self.shared.remove_any(&engine).await;
                    }
                }
                _ => {}
            }
            Ok(vectors)
        }
        .boxed_local()
    }
}
