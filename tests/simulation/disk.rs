//! A simulated disk behind any number of tabs: requests wait, overtake each other where IndexedDB lets them, fail as
//! browsers fail, lose their answers, hang; and what a crash of a tab or a power cut leaves of them.
//!
//! What is written lies in a volatile tail until a strict commit: a power cut keeps a prefix of the writes in their
//! order, and at least those up to the last strict commit (spec: one strict transaction makes all earlier relaxed ones
//! durable; survivors are a consistent prefix).

use super::random::Random;
use super::sealing::Sealing;
use futures_util::FutureExt;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use throughline::error::{Code, Error, Result};
use throughline::key;
use throughline::ports::{Commit, Key, Pending, Query, Record, Storage, Store};
use throughline::store::StorageUsage;
use throughline::store::memory::MemoryStore;

/// What browsers throw, as `store::indexed_db::failure` maps it: the names that the specification of IndexedDB and the
/// measurements of browsers know for an operation that was begun.
const FAILURES: [Code; 7] = [
    Code::StorageQuotaExceeded, // QuotaExceededError, on abort
    Code::StorageUnavailable,   // InvalidStateError: a closed connection
    Code::StorageUnavailable,   // UnknownError: a lost server, a backing store that fails
    Code::StorageUnavailable,   // AbortError, or an abort without any error
    Code::StorageBlocked,       // no answer in time: another tab holds the stores
    Code::InvalidArgument,      // DataError, DataCloneError
    Code::StorageUnavailable,   // TransactionInactiveError, and names of the future
];

/// How often what goes wrong, in a thousand requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weather {
    pub fails_before: u64,
    pub fails_after: u64,
    /// The connection is lost after the write, and the store repeats it on a new one (`IndexedDbStore::run`).
    pub repeats: u64,
    pub hangs: u64,
}

impl Weather {
    pub const FAIR: Self = Self { fails_before: 0, fails_after: 0, repeats: 0, hangs: 0 };
    pub const STORM: Self = Self { fails_before: 60, fails_after: 50, repeats: 50, hangs: 15 };
}

enum Asked {
    Get(Vec<(Store, Key)>),
    Scan(Query),
    Count(Store, Key),
    Commit(Commit),
}

enum Answer {
    Records(Vec<Option<Record>>),
    Pairs(Vec<(Key, Record)>),
    Number(u64),
    Done(bool),
}

struct Request {
    ticket: u64,
    tab: u32,
    asked: Asked,
    stores: BTreeSet<Store>,
}

struct Inner {
    /// What every tab sees.
    live: MemoryStore,
    /// What is surely on disk.
    durable: MemoryStore,
    /// Commits since, in their order.
    tail: Vec<Commit>,
    waiting: Vec<Request>,
    answers: Vec<(u64, Result<Answer>)>,
    random: Random,
    weather: Weather,
    next_ticket: u64,
}

/// The disk. Clones are the same one.
#[derive(Clone)]
pub struct Disk(Rc<RefCell<Inner>>, Option<Rc<Sealing>>);

fn now<T>(pending: Pending<'_, T>) -> T {
    pending.now_or_never().expect("memory answers at once").expect("memory does not fail")
}

impl Disk {
    pub fn new(random: Random, sealing: Option<Rc<Sealing>>) -> Self {
        let inner = Inner {
            live: MemoryStore::new(),
            durable: MemoryStore::new(),
            tail: Vec::new(),
            waiting: Vec::new(),
            answers: Vec::new(),
            random,
            weather: Weather::FAIR,
            next_ticket: 0,
        };
        Self(Rc::new(RefCell::new(inner)), sealing)
    }

    /// The storage of one tab.
    pub async fn tab(&self, tab: u32) -> Result<Rc<dyn Storage>> {
        let handle = Rc::new(Handle { disk: self.clone(), tab, closed: Cell::new(false) });
        match &self.1 {
            Some(sealing) => sealing.open(handle).await,
            None => Ok(handle),
        }
    }

    pub fn set_weather(&self, weather: Weather) {
        self.0.borrow_mut().weather = weather;
    }

    /// What is written: read without faults, and open.
    pub fn scan(&self, store: Store, prefix: Key) -> Vec<(Key, Record)> {
        let query = Query::prefix(store, prefix);
        match &self.1 {
            Some(sealing) => sealing.scan(&self.0.borrow().live, query),
            None => now(self.0.borrow().live.scan(query)),
        }
    }

    /// What lies there sealed; nothing where nothing is.
    pub fn sealed(&self, store: Store) -> Vec<(Key, Record)> {
        let is_sealed = self.1.is_some();
        if is_sealed { now(self.0.borrow().live.scan(Query::prefix(store, key![]))) } else { Vec::new() }
    }

    /// Carries out what waits, in an order that is possible, answered or not.
    pub fn settle(&self) {
        while self.step() {}
        self.0.borrow_mut().answers.clear();
    }

    /// Carries out one request that waits. False: none does.
    pub fn step(&self) -> bool {
        let inner = &mut *self.0.borrow_mut();
        let free: Vec<usize> = (0..inner.waiting.len()).filter(|at| inner.is_free(*at)).collect();
        let Some(at) = inner.random.pick(&free).copied() else { return false };
        let request = inner.waiting.remove(at);
        inner.serve(request);
        true
    }

    /// The tab is gone: of what it asked for, what was under way is carried out or not.
    pub fn crash(&self, tab: u32) {
        let inner = &mut *self.0.borrow_mut();
        let (gone, stay) = std::mem::take(&mut inner.waiting).into_iter().partition(|request| request.tab == tab);
        inner.waiting = stay;
        let gone: Vec<Request> = gone;
        for request in gone {
            if let (Asked::Commit(commit), true) = (request.asked, inner.random.happens(500)) {
                inner.carry_out(commit);
            }
        }
    }

    /// The device is without power: nothing waits any more, and of the tail a prefix is there.
    pub fn cut_power(&self) {
        let inner = &mut *self.0.borrow_mut();
        inner.waiting.clear();
        inner.answers.clear();
        let kept = inner.random.below(inner.tail.len() + 1);
        for commit in inner.tail.drain(..).take(kept) {
            now(inner.durable.commit(commit));
        }
        inner.live = copied(&inner.durable);
    }
}

fn copied(from: &MemoryStore) -> MemoryStore {
    let to = MemoryStore::new();
    let mut commit = Commit::default();
    for store in Store::ALL {
        let records = now(from.scan(Query::prefix(store, key![])));
        commit.puts.extend(records.into_iter().map(|(key, record)| (store, key, record)));
    }
    now(to.commit(commit));
    to
}

impl Inner {
    /// Nothing in front of it holds its stores: a writer waits for all before it, a reader for writers.
    fn is_free(&self, at: usize) -> bool {
        let one = &self.waiting[at];
        let writes = |request: &Request| matches!(request.asked, Asked::Commit(_));
        let holds =
            |other: &Request| (writes(other) || writes(one)) && other.stores.intersection(&one.stores).next().is_some();
        !self.waiting[..at].iter().any(holds)
    }

    fn serve(&mut self, request: Request) {
        let Request { ticket, asked, .. } = request;
        let roll = self.random.next() % 1_000;
        let Weather { fails_before, fails_after, repeats, hangs } = self.weather;
        let mut limit = hangs;
        if roll < limit {
            if let (Asked::Commit(commit), true) = (asked, self.random.happens(500)) {
                self.carry_out(commit);
            }
            return;
        }
        limit += fails_before;
        if roll < limit {
            let failure = self.failure();
            self.answers.push((ticket, Err(failure)));
            return;
        }
        let is_commit = matches!(asked, Asked::Commit(_));
        let answer = match asked {
            Asked::Get(keys) => Answer::Records(now(self.live.get(keys))),
            Asked::Scan(query) => Answer::Pairs(now(self.live.scan(query))),
            Asked::Count(store, prefix) => Answer::Number(now(self.live.count(store, prefix))),
            Asked::Commit(commit) => {
                let is_repeated = roll >= limit + fails_after && roll < limit + fails_after + repeats;
                if is_repeated && self.carry_out(commit.clone()) {
                    // The store finds that it was carried out, and says so.
                    self.answers.push((ticket, Ok(Answer::Done(true))));
                    return;
                }
                // An answer that was lost may have been lost before the disk had it.
                let is_lost = roll < limit + fails_after;
                let strict = commit.strict && !(is_lost && self.random.happens(500));
                Answer::Done(self.carry_out(Commit { strict, ..commit }))
            }
        };
        let outcome = if is_commit && roll < limit + fails_after { Err(self.failure()) } else { Ok(answer) };
        self.answers.push((ticket, outcome));
    }

    fn failure(&mut self) -> Error {
        let code = self.random.pick(&FAILURES).copied().unwrap_or(Code::StorageUnavailable);
        Error::new(code, "a fault of the simulated disk")
    }

    fn carry_out(&mut self, commit: Commit) -> bool {
        let strict = commit.strict;
        let written = Commit { checks: Vec::new(), ..commit.clone() };
        if !now(self.live.commit(commit)) {
            return false;
        }
        self.tail.push(written);
        if strict {
            for commit in self.tail.drain(..) {
                now(self.durable.commit(commit));
            }
        }
        true
    }
}

struct Handle {
    disk: Disk,
    tab: u32,
    closed: Cell<bool>,
}

impl Handle {
    fn ask<'a, T: 'a>(&'a self, asked: Asked, read: impl Fn(Answer) -> Option<T> + 'a) -> Pending<'a, T> {
        let waiting = Waiting { disk: &self.disk, tab: self.tab, asked: Some(asked), ticket: 0 };
        async move {
            if self.closed.get() {
                return Err(Error::new(Code::Closed, "the simulated tab closed its storage"));
            }
            waiting.await.map(|answer| read(answer).expect("answers what was asked"))
        }
        .boxed_local()
    }
}

/// A request: made at the first poll, as a transaction begins. Dropped, it goes on by itself, or was never begun.
struct Waiting<'a> {
    disk: &'a Disk,
    tab: u32,
    asked: Option<Asked>,
    ticket: u64,
}

impl Future for Waiting<'_> {
    type Output = Result<Answer>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(asked) = self.asked.take() {
            let inner = &mut *self.disk.0.borrow_mut();
            inner.next_ticket += 1;
            let ticket = inner.next_ticket;
            let stores = match &asked {
                Asked::Get(keys) => keys.iter().map(|(store, _)| *store).collect(),
                Asked::Scan(query) => BTreeSet::from([query.store]),
                Asked::Count(store, _) => BTreeSet::from([*store]),
                Asked::Commit(commit) => {
                    let checked = commit.checks.iter().map(|check| check.store);
                    let put = commit.puts.iter().map(|(store, ..)| *store);
                    let removed = commit.deletes.iter().chain(&commit.delete_prefixes).map(|(store, _)| *store);
                    // A barrier writes to one store.
                    let mut stores: BTreeSet<Store> = checked.chain(put).chain(removed).collect();
                    if stores.is_empty() {
                        stores.insert(Store::Meta);
                    }
                    stores
                }
            };
            inner.waiting.push(Request { ticket, tab: self.tab, asked, stores });
            self.ticket = ticket;
        }
        let is_slow = self.disk.0.borrow_mut().random.happens(250);
        if !is_slow {
            self.disk.step();
        }
        let inner = &mut *self.disk.0.borrow_mut();
        let at = inner.answers.iter().position(|(ticket, _)| *ticket == self.ticket);
        match at {
            Some(at) => Poll::Ready(inner.answers.swap_remove(at).1),
            None => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.asked.is_some() {
            return;
        }
        let Ok(mut inner) = self.disk.0.try_borrow_mut() else { return };
        let at = inner.waiting.iter().position(|request| request.ticket == self.ticket);
        if let Some(at) = at
            && inner.random.happens(500)
        {
            inner.waiting.remove(at);
        }
    }
}

impl Storage for Handle {
    fn get<'a>(&'a self, keys: Vec<(Store, Key)>) -> Pending<'a, Vec<Option<Record>>> {
        self.ask(Asked::Get(keys), |answer| match answer {
            Answer::Records(records) => Some(records),
            _ => None,
        })
    }

    fn scan<'a>(&'a self, query: Query) -> Pending<'a, Vec<(Key, Record)>> {
        self.ask(Asked::Scan(query), |answer| match answer {
            Answer::Pairs(pairs) => Some(pairs),
            _ => None,
        })
    }

    fn count<'a>(&'a self, store: Store, prefix: Key) -> Pending<'a, u64> {
        self.ask(Asked::Count(store, prefix), |answer| match answer {
            Answer::Number(number) => Some(number),
            _ => None,
        })
    }

    fn commit<'a>(&'a self, commit: Commit) -> Pending<'a, bool> {
        self.ask(Asked::Commit(commit), |answer| match answer {
            Answer::Done(done) => Some(done),
            _ => None,
        })
    }

    fn usage<'a>(&'a self) -> Pending<'a, StorageUsage> {
        std::future::ready(Ok(StorageUsage::default())).boxed_local()
    }

    fn destroy<'a>(&'a self) -> Pending<'a, ()> {
        std::future::ready(Err(Error::new(Code::StorageUnavailable, "the simulated disk stays"))).boxed_local()
    }

    fn close(&self) {
        self.closed.set(true);
    }

    fn is_durable(&self) -> bool {
        true
    }
}
