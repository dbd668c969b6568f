//! A store with scripted faults around any other store, to test what the engine does when storage misbehaves.

use super::{Commit, Key, Query, Record, Storage, StorageUsage, Store};
use crate::error::{Code, Error, Result};
use crate::ports::Pending;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

/// What happens to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: the call is carried out.
    Pass,
    /// The call fails with this code and nothing is read or written.
    FailBefore(Code),
    /// The call is carried out, and then fails with this code: the answer was lost. For a commit the write is there.
    FailAfter(Code),
    /// A commit answers `false` and writes nothing, as if another tab had written first. A read is carried out.
    Refuse,
    /// The call is never carried out and never answers.
    Hang,
}

/// Wraps a store; faults are taken from a queue, one for each call, and calls beyond the queue pass.
///
/// Clones share the store, the queues and the counters: a test keeps one and gives the other to the engine.
#[derive(Debug, Default)]
pub struct FaultyStore<S> {
    shared: Rc<Shared<S>>,
}

#[derive(Debug, Default)]
struct Shared<S> {
    inner: S,
    commit_faults: RefCell<VecDeque<Fault>>,
    read_faults: RefCell<VecDeque<Fault>>,
    delay_polls: Cell<u32>,
    commits: RefCell<Vec<Commit>>,
    reads: Cell<u64>,
}

impl<S> Clone for FaultyStore<S> {
    fn clone(&self) -> Self {
        Self { shared: Rc::clone(&self.shared) }
    }
}

impl<S: Storage> FaultyStore<S> {
    /// Wraps `inner`, with no faults yet.
    pub fn new(inner: S) -> Self {
        Self {
            shared: Rc::new(Shared {
                inner,
                commit_faults: RefCell::default(),
                read_faults: RefCell::default(),
                delay_polls: Cell::default(),
                commits: RefCell::default(),
                reads: Cell::default(),
            }),
        }
    }

    /// The store inside, without faults.
    #[must_use]
    pub fn inner(&self) -> &S {
        &self.shared.inner
    }

    /// Queues faults for the next commits, behind those already queued.
    pub fn script_commits(&self, faults: impl IntoIterator<Item = Fault>) {
        self.shared.commit_faults.borrow_mut().extend(faults);
    }

    /// Queues faults for the next reads (`get`, `scan`, `count`), behind those already queued.
    pub fn script_reads(&self, faults: impl IntoIterator<Item = Fault>) {
        self.shared.read_faults.borrow_mut().extend(faults);
    }

    /// The next `count` commits fail with `code` and write nothing.
    pub fn fail_next_commits(&self, count: usize, code: Code) {
        self.script_commits(std::iter::repeat_n(Fault::FailBefore(code), count));
    }

    /// The next `count` reads fail with `code`.
    pub fn fail_next_reads(&self, count: usize, code: Code) {
        self.script_reads(std::iter::repeat_n(Fault::FailBefore(code), count));
    }

    /// The next `count` commits answer `false`, as if another tab had written first.
    pub fn refuse_next_commits(&self, count: usize) {
        self.script_commits(std::iter::repeat_n(Fault::Refuse, count));
    }

    /// From now on every call is pending for so many polls before it is carried out. 0, the default: none.
    pub fn delay_polls(&self, polls: u32) {
        self.shared.delay_polls.set(polls);
    }

    /// Drops all queued faults and the delay.
    pub fn heal(&self) {
        self.shared.commit_faults.borrow_mut().clear();
        self.shared.read_faults.borrow_mut().clear();
        self.shared.delay_polls.set(0);
    }

    /// The commits asked for so far, oldest first, whatever became of them.
    #[must_use]
    pub fn commits(&self) -> Vec<Commit> {
        self.shared.commits.borrow().clone()
    }

    /// How many reads were asked for so far.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.shared.reads.get()
    }

    /// Waits out the delay, then carries out `call` as `fault` says; `refused` is the answer to [`Fault::Refuse`].
    async fn under<T>(&self, fault: Fault, refused: Option<T>, call: Pending<'_, T>) -> Result<T> {
        pass_polls(self.shared.delay_polls.get()).await;
        let failure = |code| Err(Error::new(code, "a fault was injected by the test"));
        match (fault, refused) {
            (Fault::FailBefore(code), _) => failure(code),
            (Fault::FailAfter(code), _) => {
                call.await?;
                failure(code)
            }
            (Fault::Hang, _) => std::future::pending().await,
            (Fault::Refuse, Some(answer)) => Ok(answer),
            (Fault::Refuse, None) | (Fault::Pass, _) => call.await,
        }
    }

    fn read<'a, T: 'a>(&'a self, call: Pending<'a, T>) -> Pending<'a, T> {
        self.shared.reads.set(self.shared.reads.get() + 1);
        let fault = self.shared.read_faults.borrow_mut().pop_front().unwrap_or(Fault::Pass);
        Box::pin(self.under(fault, None, call))
    }
}

/// Is pending for so many polls, and wakes its task at each.
async fn pass_polls(mut polls: u32) {
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

impl<S: Storage> Storage for FaultyStore<S> {
    fn get<'a>(&'a self, keys: Vec<(Store, Key)>) -> Pending<'a, Vec<Option<Record>>> {
        self.read(self.shared.inner.get(keys))
    }

    fn scan<'a>(&'a self, query: Query) -> Pending<'a, Vec<(Key, Record)>> {
        self.read(self.shared.inner.scan(query))
    }

    fn count<'a>(&'a self, store: Store, prefix: Key) -> Pending<'a, u64> {
        self.read(self.shared.inner.count(store, prefix))
    }

    fn commit<'a>(&'a self, commit: Commit) -> Pending<'a, bool> {
        self.shared.commits.borrow_mut().push(commit.clone());
        let fault = self.shared.commit_faults.borrow_mut().pop_front().unwrap_or(Fault::Pass);
        Box::pin(self.under(fault, Some(false), self.shared.inner.commit(commit)))
    }

    fn usage<'a>(&'a self) -> Pending<'a, StorageUsage> {
        self.shared.inner.usage()
    }

    fn destroy<'a>(&'a self) -> Pending<'a, ()> {
        self.shared.inner.destroy()
    }

    fn close(&self) {
        self.shared.inner.close();
    }

    fn is_durable(&self) -> bool {
        self.shared.inner.is_durable()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key;
    use crate::store::memory::MemoryStore;
    use futures_executor::block_on;
    use futures_util::FutureExt;

    fn put() -> Commit {
        Commit { puts: vec![(Store::Meta, key!["a"], Record::default())], ..Commit::default() }
    }

    fn records(store: &FaultyStore<MemoryStore>) -> u64 {
        block_on(store.inner().count(Store::Meta, key![])).unwrap()
    }

    #[test]
    fn commits_fail_before_and_after_the_write_as_scripted() {
        let store = FaultyStore::new(MemoryStore::new());
        store.script_commits([
            Fault::FailBefore(Code::StorageQuotaExceeded),
            Fault::Refuse,
            Fault::FailAfter(Code::StorageUnavailable),
        ]);
        assert_eq!(block_on(store.commit(put())).unwrap_err().code, Code::StorageQuotaExceeded);
        assert_eq!(block_on(store.commit(put())), Ok(false));
        assert_eq!(records(&store), 0);
        assert_eq!(block_on(store.commit(put())).unwrap_err().code, Code::StorageUnavailable);
        assert_eq!(records(&store), 1);
        assert_eq!(block_on(store.commit(put())), Ok(true));
        assert_eq!(store.commits().len(), 4);
    }

    #[test]
    fn a_delayed_call_is_pending_for_the_polls_asked_and_a_hanging_one_for_ever() {
        let store = FaultyStore::new(MemoryStore::new());
        store.delay_polls(2);
        let mut commit = store.commit(put());
        assert!(commit.as_mut().now_or_never().is_none());
        assert!(commit.as_mut().now_or_never().is_none());
        assert_eq!(commit.now_or_never(), Some(Ok(true)));
        store.heal();
        store.script_reads([Fault::Hang]);
        assert!(store.count(Store::Meta, key![]).now_or_never().is_none());
        assert_eq!(store.count(Store::Meta, key![]).now_or_never(), Some(Ok(1)));
        assert_eq!(store.reads(), 2);
    }
}
