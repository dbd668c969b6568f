//! The engine's indexes for the benchmark's worker: without storage and without the engine around them, as the peers are.
//!
//! Built by `npm run bench -- --peers` with the profile of the shipped engine. It is in no package.

mod generated;

use js_sys::JsString;
use throughline::config::RetrievalPolicy;
use throughline::lexical::{Analyzer, LexicalIndex, LexicalSegment, SegmentBuilder};
use throughline::message::Role;
use throughline::retrieval::{Document, MessageFilter, MessageIndex, SearchRequest};
use throughline::vector::{RowSegment, RowSegmentBuilder, TieredIndex, Tiers, VectorIndex};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

/// A day after the last message of any corpus.
const NOW_MS: f64 = 1.9e12;

fn analyzer() -> Analyzer {
    Analyzer::new(|text| JsString::from(text).normalize("NFKC").into())
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` wants it
fn thrown(error: throughline::error::Error) -> JsError {
    JsError::new(&error.to_string())
}

/// Plain BM25 over texts without neighbours.
#[wasm_bindgen]
pub struct Words {
    analyzer: Analyzer,
    index: LexicalIndex,
}

#[wasm_bindgen]
impl Words {
    /// An empty index.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::new_without_default)] // only JavaScript makes one
    #[must_use]
    pub fn new() -> Self {
        Self { analyzer: analyzer(), index: LexicalIndex::new() }
    }

    /// Adds a text and answers its number.
    pub fn add(&mut self, text: &str) -> u32 {
        self.index.add(&self.analyzer, text)
    }

    /// Numbers of the best texts, best first.
    #[must_use]
    pub fn search(&self, question: &str, limit: usize) -> Vec<u32> {
        self.index.search(&self.analyzer, question, limit).into_iter().map(|hit| hit.document).collect()
    }

    /// Takes the texts of a sealed segment in.
    ///
    /// # Errors
    /// Those of the segment.
    pub fn attach(&mut self, segment: Vec<u8>) -> Result<(), JsError> {
        let segment = LexicalSegment::open(segment).map_err(|error| JsError::new(&error.to_string()))?;
        self.index.attach(segment, &|_| true);
        Ok(())
    }

    /// Texts as a sealed segment.
    #[allow(clippy::needless_pass_by_value)] // as wasm-bindgen gives it
    #[must_use]
    pub fn seal(&self, texts: Vec<String>) -> Vec<u8> {
        let mut builder = SegmentBuilder::new();
        texts.iter().for_each(|text| builder.add(&self.analyzer, text));
        builder.finish()
    }
}

/// What `recall` searches: messages with their conversations, by words and by vectors.
#[wasm_bindgen]
pub struct Messages {
    index: MessageIndex,
    policy: RetrievalPolicy,
}

#[wasm_bindgen]
impl Messages {
    /// An empty index over vectors of this length, 0: none; `choice` as in the policy.
    ///
    /// # Errors
    /// For another choice.
    #[wasm_bindgen(constructor)]
    pub fn new(dimensions: usize, choice: &str) -> Result<Messages, JsError> {
        let vectors: Option<Box<dyn VectorIndex>> = match dimensions {
            0 => None,
            _ => Some(Box::new(TieredIndex::new(dimensions, tiers(choice)?))),
        };
        Ok(Self { index: MessageIndex::new(analyzer(), vectors), policy: RetrievalPolicy::default() })
    }

    /// Adds a message and answers its number.
    pub fn add(&mut self, conversation: u32, seq: u32, created_at_ms: f64, text: &str) -> Option<u32> {
        let role = if seq.is_multiple_of(2) { Role::Assistant } else { Role::User };
        self.index.add(&Document { conversation, seq, role, speaker: None, created_at_ms, text })
    }

    /// Gives messages their vectors: numbers from `first` on, rows one after the other.
    ///
    /// # Errors
    /// Those of the index.
    #[wasm_bindgen(js_name = setVectors)]
    pub fn set_vectors(&mut self, first: u32, rows: &[f32]) -> Result<(), JsError> {
        let dimensions = self.index.vectors().map_or(1, VectorIndex::dimensions);
        for (number, row) in (first..).zip(rows.chunks_exact(dimensions)) {
            self.index.set_vector(number, row).map_err(thrown)?;
        }
        Ok(())
    }

    /// Grows the graph by about so many rows; true while there is more to do.
    pub fn grow(&mut self, budget: usize) -> bool {
        self.index.grow_vectors(budget)
    }

    /// Numbers of the best messages, best first; in one conversation where it is given.
    ///
    /// # Errors
    /// Those of the index.
    #[allow(clippy::needless_pass_by_value)] // as wasm-bindgen gives it
    pub fn search(
        &self,
        text: &str,
        vector: Option<Vec<f32>>,
        conversation: Option<u32>,
        limit: usize,
    ) -> Result<Vec<u32>, JsError> {
        let request = SearchRequest {
            text,
            vector: vector.as_deref(),
            conversation,
            current_conversation: None,
            filter: MessageFilter::default(),
            admits: None,
            top_k: limit,
            min_score: 0.0,
            now_ms: NOW_MS,
            policy: &self.policy,
        };
        let found = self.index.search(&request).map_err(thrown)?;
        Ok(found.hits.into_iter().map(|hit| hit.document).collect())
    }
}

/// Vectors alone.
#[wasm_bindgen]
pub struct Vectors {
    index: TieredIndex,
}

#[wasm_bindgen]
impl Vectors {
    /// An empty index; `choice` is `auto`, `exact`, `codes` or `hnsw`.
    ///
    /// # Errors
    /// For another choice.
    #[wasm_bindgen(constructor)]
    pub fn new(dimensions: usize, choice: &str) -> Result<Vectors, JsError> {
        Ok(Self { index: TieredIndex::new(dimensions, tiers(choice)?) })
    }

    /// Adds rows, numbered from `first` on.
    ///
    /// # Errors
    /// Those of the index.
    pub fn insert(&mut self, first: u32, rows: &[f32]) -> Result<(), JsError> {
        let dimensions = self.index.dimensions();
        for (number, row) in (first..).zip(rows.chunks_exact(dimensions)) {
            self.index.insert(number, row).map_err(thrown)?;
        }
        Ok(())
    }

    /// Grows the graph by about so many rows; true while there is more to do.
    pub fn grow(&mut self, budget: usize) -> bool {
        self.index.grow(budget)
    }

    /// The nearest rows, nearest first; of every `step`-th row where it is over 1.
    ///
    /// # Errors
    /// Those of the index.
    pub fn search(&self, query: &[f32], limit: usize, step: u32) -> Result<Vec<u32>, JsError> {
        let allowed = |number: u32| number.is_multiple_of(step);
        let found = self.index.search(query, limit, if step > 1 { Some(&allowed) } else { None }).map_err(thrown)?;
        Ok(found.into_iter().map(|neighbour| neighbour.id).collect())
    }

    /// Takes the rows of a sealed segment in, numbered from `first` on.
    ///
    /// # Errors
    /// Those of the segment.
    pub fn attach(&mut self, first: u32, segment: Vec<u8>) -> Result<(), JsError> {
        let segment = RowSegment::open(segment).map_err(thrown)?;
        self.index.attach(&segment, &|row| Some(first + row)).map_err(thrown)
    }

    /// Rows as a sealed segment, with this index's centre.
    ///
    /// # Errors
    /// Those of the index.
    pub fn seal(&self, rows: &[f32]) -> Result<Vec<u8>, JsError> {
        let mut builder = RowSegmentBuilder::new(self.index.dimensions(), self.index.centre());
        for row in rows.chunks_exact(self.index.dimensions()) {
            builder.push(row).map_err(thrown)?;
        }
        Ok(builder.finish())
    }
}

fn tiers(choice: &str) -> Result<Tiers, JsError> {
    let hnsw = Tiers::HNSW;
    Ok(match choice {
        "auto" => Tiers::AUTO,
        "exact" => Tiers::EXACT,
        "codes" => Tiers { exact_max_rows: 0, graph_min_rows: usize::MAX, ..hnsw },
        "hnsw" => hnsw,
        _ => return Err(JsError::new("choose auto, exact, codes or hnsw")),
    })
}
