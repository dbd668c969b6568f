//! The search of a storage that JavaScript gives, as the port. What crosses here is laid out by js/external-search.ts.

use super::external::{ask, foreign};
use super::host::{Callbacks, normalize};
use crate::engine::message_entry;
use crate::error::Result;
use crate::lexical::Analyzer;
use crate::ports::{Pending, Record, SearchPort};
use crate::store::search::{Finding, FindingKind, LineRange, Lookup};
use js_sys::{Array, Float32Array, Function, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};

/// The functions of a search.
pub(super) struct ExternalSearch {
    lines: Function,
    find: Function,
    compares_vectors: bool,
    analyzer: Analyzer,
}

impl ExternalSearch {
    /// Of the member `search` of a storage; `None` where it has none.
    pub(super) fn of(storage: &JsValue) -> Result<Option<Self>> {
        let search = Reflect::get(storage, &"search".into()).unwrap_or_default();
        if search.is_falsy() {
            return Ok(None);
        }
        let given = Callbacks::new(&search);
        Ok(Some(Self {
            lines: given.function("lines")?,
            find: given.function("find")?,
            compares_vectors: Reflect::get(&search, &"vectors".into()).is_ok_and(|vectors| vectors.is_truthy()),
            analyzer: Analyzer::new(normalize),
        }))
    }

    /// Three lists of bytes: the line of a message, its marks, and its terms with how often it holds them, ten bytes each,
    /// lowest first. `undefined` where the record cannot be read.
    pub(super) fn entry(&self, record: &Record) -> JsValue {
        let Some(entry) = message_entry(record, &self.analyzer) else { return JsValue::UNDEFINED };
        let mut terms = Vec::with_capacity(entry.terms.len() * 10);
        for (term, count) in &entry.terms {
            terms.extend(term.to_le_bytes());
            terms.extend(count.to_le_bytes());
        }
        [&entry.line, &entry.marks, &terms]
            .iter()
            .map(|bytes| Uint8Array::from(bytes.as_slice()))
            .collect::<Array>()
            .into()
    }
}

fn bytes_of(value: JsValue) -> Result<Vec<u8>> {
    value.dyn_into::<Uint8Array>().map(|bytes| bytes.to_vec()).map_err(|_| foreign())
}

impl SearchPort for ExternalSearch {
    fn compares_vectors(&self) -> bool {
        self.compares_vectors
    }

    /// Asked with three values for each range; answered with the bytes of each.
    fn lines<'a>(&'a self, ranges: Vec<LineRange>) -> Pending<'a, Vec<Vec<u8>>> {
        Box::pin(async move {
            let given = Array::new();
            for range in &ranges {
                given.push(&range.conversation_id.as_str().into());
                given.push(&range.from.into());
                given.push(&range.to.into());
            }
            let answer = Array::from(&ask(&self.lines, &given).await?);
            answer.iter().map(bytes_of).collect()
        })
    }

    /// Asked with the terms, eight bytes each, lowest first; whether marks are wanted; a model and a vector. Answered with three
    /// values for each finding: -2 for similarities, -1 for marks, else the term's place; the conversation; bytes.
    fn find<'a>(&'a self, lookup: Lookup) -> Pending<'a, Vec<Finding>> {
        Box::pin(async move {
            let terms: Vec<u8> = lookup.terms.iter().flat_map(|term| term.to_le_bytes()).collect();
            let given = Array::of2(&Uint8Array::from(terms.as_slice()), &lookup.marks.into());
            if let Some((model, vector)) = &lookup.vector {
                given.push(&model.as_str().into());
                given.push(&Float32Array::from(vector.as_slice()));
            }
            let answer = Array::from(&ask(&self.find, &given).await?);
            let mut findings = Vec::with_capacity(answer.length() as usize / 3);
            let mut values = answer.iter();
            while let (Some(place), Some(id), Some(bytes)) = (values.next(), values.next(), values.next()) {
                let kind = match place.as_f64().ok_or_else(foreign)? {
                    -2.0 => FindingKind::Near,
                    -1.0 => FindingKind::Marks,
                    place => FindingKind::Term(place as usize),
                };
                let conversation_id = id.as_string().ok_or_else(foreign)?;
                findings.push(Finding { conversation_id, kind, bytes: bytes_of(bytes)? });
            }
            Ok(findings)
        })
    }
}
