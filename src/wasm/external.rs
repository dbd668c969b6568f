//! A storage that JavaScript gives, as the port. What crosses here is laid out by js/external-store.ts.

use super::external_search::ExternalSearch;
use super::host::{Callbacks, call};
use crate::error::{Code, Error, Result};
use crate::ports::{Pending, SearchPort};
use crate::store::indexed_db::value::{key_from_js, key_to_js, record_from_js, record_to_js};
use crate::store::range::{KeyRange, check_storable};
use crate::store::{Commit, Key, Query, Record, Storage, StorageUsage, Store};
use js_sys::{Array, Function, Reflect};
use std::ops::Bound;
use wasm_bindgen::JsValue;

/// The functions of one opened storage.
pub struct ExternalStore {
    get: Function,
    scan: Function,
    count: Function,
    commit: Function,
    destroy: Function,
    close: Function,
    is_durable: bool,
    search: Option<ExternalSearch>,
}

impl ExternalStore {
    /// Of an object with these functions, and `durable`; with `search` where it searches.
    ///
    /// # Errors
    /// [`Code::InvalidConfig`] where one is missing.
    pub fn new(storage: &JsValue) -> Result<Self> {
        let given = Callbacks::new(storage);
        Ok(Self {
            get: given.function("get")?,
            scan: given.function("scan")?,
            count: given.function("count")?,
            commit: given.function("commit")?,
            destroy: given.function("destroy")?,
            close: given.function("close")?,
            is_durable: Reflect::get(storage, &"durable".into()).is_ok_and(|durable| durable.is_truthy()),
            search: ExternalSearch::of(storage)?,
        })
    }

    async fn records(&self, keys: Vec<(Store, Key)>) -> Result<Vec<Option<Record>>> {
        let given = Array::new();
        for (store, key) in &keys {
            push(&given, *store, key);
        }
        let answer = Array::from(&ask(&self.get, &given).await?);
        if answer.length() as usize != keys.len() {
            return Err(foreign());
        }
        Ok(answer.iter().map(|record| record_from_js(&record)).collect())
    }

    async fn range(&self, query: Query) -> Result<Vec<(Key, Record)>> {
        let Some(range) = KeyRange::of(&query) else {
            self.records(Vec::new()).await?;
            return Ok(Vec::new());
        };
        let given = Array::new();
        push_range(&given, query.store, &range);
        given.push(&query.limit.map_or(JsValue::UNDEFINED, JsValue::from));
        given.push(&query.reverse.into());
        let answer = Array::from(&ask(&self.scan, &given).await?);
        let mut records = Vec::with_capacity(answer.length() as usize / 2);
        let mut values = answer.iter();
        while let (Some(key), Some(record)) = (values.next(), values.next()) {
            records.push((key_from_js(&key)?, record_from_js(&record).ok_or_else(foreign)?));
        }
        Ok(records)
    }
}

pub(super) async fn ask(function: &Function, given: &Array) -> Result<JsValue> {
    call(function, given, Code::StorageUnavailable).await
}

fn push(list: &Array, store: Store, key: &Key) {
    list.push(&store.name().into());
    list.push(&key_to_js(key));
}

/// Four values: the store, the lower bound, whether that is itself outside, and the key after the range.
fn push_range(list: &Array, store: Store, range: &KeyRange) {
    let bound = |bound: &Bound<Key>| match bound {
        Bound::Unbounded => JsValue::UNDEFINED,
        Bound::Included(key) | Bound::Excluded(key) => key_to_js(key),
    };
    list.push(&store.name().into());
    list.push(&bound(&range.lower));
    list.push(&matches!(range.lower, Bound::Excluded(_)).into());
    list.push(&bound(&range.upper));
}

/// Five values: checks, ranges, deletions and puts as flat lists, and whether it is strict. A put has four: with a message goes
/// its entry, where the storage searches.
fn commit_to_js(commit: &Commit, search: Option<&ExternalSearch>) -> Array {
    let [checks, ranges, deletes, puts] = [(); 4].map(|()| Array::new());
    for check in &commit.checks {
        push(&checks, check.store, &check.key);
        checks.push(&check.body.as_deref().map_or(JsValue::NULL, JsValue::from_str));
    }
    for (store, prefix) in &commit.delete_prefixes {
        push_range(&ranges, *store, &KeyRange::prefix(prefix));
    }
    for (store, key) in &commit.deletes {
        push(&deletes, *store, key);
    }
    for (store, key, record) in &commit.puts {
        push(&puts, *store, key);
        puts.push(&record_to_js(record));
        puts.push(
            &search.filter(|_| *store == Store::Messages).map_or(JsValue::UNDEFINED, |search| search.entry(record)),
        );
    }
    [checks.into(), ranges.into(), deletes.into(), puts.into(), JsValue::from(commit.strict)].iter().collect()
}

pub(super) fn foreign() -> Error {
    Error::new(Code::StorageUnavailable, "the storage that was given answered something else than was asked")
}

impl Storage for ExternalStore {
    fn get<'a>(&'a self, keys: Vec<(Store, Key)>) -> Pending<'a, Vec<Option<Record>>> {
        Box::pin(self.records(keys))
    }

    fn scan<'a>(&'a self, query: Query) -> Pending<'a, Vec<(Key, Record)>> {
        Box::pin(self.range(query))
    }

    fn count<'a>(&'a self, store: Store, prefix: Key) -> Pending<'a, u64> {
        Box::pin(async move {
            let given = Array::new();
            push_range(&given, store, &KeyRange::prefix(&prefix));
            let counted = ask(&self.count, &given).await?.as_f64();
            counted.map(|count| count as u64).ok_or_else(foreign)
        })
    }

    fn commit<'a>(&'a self, commit: Commit) -> Pending<'a, bool> {
        Box::pin(async move {
            commit.puts.iter().try_for_each(|(_, key, _)| check_storable(key))?;
            ask(&self.commit, &commit_to_js(&commit, self.search.as_ref())).await?.as_bool().ok_or_else(foreign)
        })
    }

    /// What a server has is not the user's device: no figures are told.
    fn usage<'a>(&'a self) -> Pending<'a, StorageUsage> {
        Box::pin(async move { self.records(Vec::new()).await.map(|_| StorageUsage::default()) })
    }

    fn destroy<'a>(&'a self) -> Pending<'a, ()> {
        Box::pin(async move { ask(&self.destroy, &Array::new()).await.map(|_| ()) })
    }

    fn close(&self) {
        // It has nobody to tell what fails here.
        let _ = self.close.call0(&JsValue::NULL);
    }

    fn is_durable(&self) -> bool {
        self.is_durable
    }

    fn search(&self) -> Option<&dyn SearchPort> {
        self.search.as_ref().map(|search| search as &dyn SearchPort)
    }
}
