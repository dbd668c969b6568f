//! Vectors of facts, where there is an embedder: for finding facts that say the same in other words.
//!
//! They are kept in memory only. Facts are few and short, so that making them again costs a call or two; and what is not
//! stored needs no erasing.

use super::Engine;
use super::loading::fact_number;
use crate::facts::is_current;
use crate::ports::Embedder;
use crate::records::FactRecord;
use crate::sorted_map::SortedMap;

/// Most facts that vectors are made for at once; the newest first. The others are compared by their words.
const MOST_EMBEDDED: usize = 512;

/// For each text, the cosine with each fact, by its id.
pub(super) type Cosines = Vec<SortedMap<String, f64>>;

impl Engine {
    /// Compares texts with current facts by vectors. Each text says whether it is to stay on this device: then it, and such
    /// facts, are not given to an embedder elsewhere. `None` without an embedder, or where it fails: words serve then.
    /// `is_waited_for`: a person waits for it, so that it may not take long.
    pub(super) async fn fact_cosines(
        &self,
        texts: Vec<(&str, bool)>,
        facts: &[FactRecord],
        is_waited_for: bool,
    ) -> Option<Cosines> {
        let vectors = self.embed_with_facts(texts, facts, is_waited_for).await?;
        Some(vectors.iter().map(|vector| self.cosines_of(vector.as_deref(), facts)).collect())
    }

    /// The vectors of texts, after those of facts that have none were made. Arguments as of [`Self::fact_cosines`].
    pub(super) async fn embed_with_facts(
        &self,
        texts: Vec<(&str, bool)>,
        facts: &[FactRecord],
        is_waited_for: bool,
    ) -> Option<Vec<Option<Vec<f32>>>> {
        let embedder = self.host.embedder.clone()?;
        let stays = |is_local: bool| is_local && embedder.is_remote();
        let shown: Vec<&FactRecord> =
            facts.iter().rev().filter(|fact| is_current(fact) && !stays(fact.local_only)).take(MOST_EMBEDDED).collect();
        if shown.is_empty() {
            return None;
        }
        let missing: Vec<&FactRecord> = {
            let state = self.state.borrow();
            let is_known = |fact: &FactRecord| {
                let known = fact_number(&fact.id).and_then(|number| state.fact_vectors.get(&number));
                known.is_some_and(|(print, _)| *print == fact.fingerprint)
            };
            shown.iter().copied().filter(|fact| !is_known(fact)).collect()
        };
        let given: Vec<String> =
            texts.iter().filter(|(_, is_local)| !stays(*is_local)).map(|(text, _)| (*text).to_owned()).collect();
        let new = missing.iter().map(|fact| fact.fact.clone());
        // Who waits asks with the texts; else they are of the kind of facts, and go with them.
        let (mut vectors, of_new) = if is_waited_for {
            let asked = self.embed_in_batches(&*embedder, given, Some(true)).await?;
            (asked.into_iter(), self.embed_in_batches(&*embedder, new.collect(), Some(false)).await.unwrap_or_default())
        } else {
            let count = given.len();
            let mut all = self.embed_in_batches(&*embedder, given.into_iter().chain(new).collect(), None).await?;
            let of_new = all.split_off(count.min(all.len()));
            (all.into_iter(), of_new)
        };
        let of_texts: Vec<Option<Vec<f32>>> =
            texts.iter().map(|(_, is_local)| if stays(*is_local) { None } else { vectors.next() }).collect();
        let state = &mut *self.state.borrow_mut();
        for (fact, vector) in missing.iter().zip(of_new) {
            // It may be gone by now, or say something else.
            let number = fact_number(&fact.id)?;
            if state.facts.get(&number).is_some_and(|now| now.fingerprint == fact.fingerprint) {
                state.fact_vectors.insert(number, (fact.fingerprint.clone(), vector));
            }
        }
        Some(of_texts)
    }

    /// The cosine of a vector with each of these facts that has one, by the fact's id.
    pub(super) fn cosines_of(&self, vector: Option<&[f32]>, facts: &[FactRecord]) -> SortedMap<String, f64> {
        let state = self.state.borrow();
        let known = |fact: &FactRecord| {
            let (print, known) = state.fact_vectors.get(&fact_number(&fact.id)?)?;
            (*print == fact.fingerprint).then(|| Some((fact.id.clone(), cosine(vector?, known)))).flatten()
        };
        facts.iter().filter_map(known).collect()
    }

    /// `soon`: somebody waits; then whether the texts are questions.
    async fn embed_in_batches(
        &self,
        embedder: &dyn Embedder,
        texts: Vec<String>,
        soon: Option<bool>,
    ) -> Option<Vec<Vec<f32>>> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(embedder.max_batch_size().max(1)) {
            let made = match soon {
                Some(asks) => self.embed_soon(embedder, batch.to_vec(), asks).await,
                None => self.embed(embedder, batch.to_vec()).await,
            };
            vectors.extend(made.ok()?);
        }
        Some(vectors)
    }
}

fn cosine(one: &[f32], other: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let norms = (dot(one, one) * dot(other, other)).sqrt();
    if norms > 0.0 { dot(one, other) / norms } else { 0.0 }
}
