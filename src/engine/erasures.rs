//! What was erased so far, as far as this engine knows: so that what was read before is not taken in after, and work that
//! is about what is gone ends at once, its callback too.

use super::Engine;
use super::state::Conversation;
use crate::message::Seq;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::task::{Poll, Waker};

/// Counts that only rise, and who waits for them to.
#[derive(Default)]
pub(super) struct Erasures {
    /// Everything, conversations, messages and facts, erased here or found to be erased elsewhere.
    erased: Cell<u32>,
    /// Facts among them.
    facts: Cell<u32>,
    /// Turns of active paths.
    turned: Cell<u32>,
    waiting: RefCell<Vec<Waker>>,
}

impl Erasures {
    /// Something of this user was erased.
    pub(super) fn count(&self) -> u32 {
        self.erased.get()
    }

    /// As [`Self::count`], turns of active paths included: what was built before one is not given out after it.
    pub(super) fn with_turns(&self) -> u32 {
        self.erased.get().wrapping_add(self.turned.get())
    }

    /// A conversation or messages of one are gone, and with `facts` facts, too.
    pub(super) fn raise(&self, facts: bool) {
        self.facts.set(self.facts.get().wrapping_add(facts.into()));
        self.erased.set(self.erased.get().wrapping_add(1));
        self.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// An active path is another one.
    pub(super) fn turn(&self) {
        self.turned.set(self.turned.get().wrapping_add(1));
    }

    /// Resolves once this holds, which is asked now and after every erasure.
    fn until(&self, holds: impl Fn() -> bool) -> impl Future<Output = ()> {
        poll_fn(move |context| {
            if holds() {
                return Poll::Ready(());
            }
            let mut waiting = self.waiting.borrow_mut();
            if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
    }
}

impl Engine {
    /// Resolves when anything is erased from now on.
    pub(super) fn any_erasure(&self) -> impl Future<Output = ()> {
        let before = self.erasures.count();
        self.erasures.until(move || self.erasures.count() != before)
    }

    /// Resolves when a conversation is erased, or a message of it; with `facts`, when a fact is as well.
    pub(super) fn erasure_of(&self, id: &str, facts: bool) -> impl Future<Output = ()> {
        let (before, facts_before) = (self.life_of(id), self.erasures.facts.get());
        self.erasures.until(move || self.life_of(id) != before || (facts && self.erasures.facts.get() != facts_before))
    }

    /// What changes when a conversation is erased or loses a message: its birth and its removals.
    pub(super) fn life_of(&self, id: &str) -> Option<(u32, Seq)> {
        self.state.borrow().conversation(id).map(Conversation::life)
    }
}
