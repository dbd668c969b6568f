//! One at a time, in the order of arrival: writes of one engine pass through here, so that messages appended without
//! waiting are stored in the order of the calls.

use crate::sorted_map::{SortedMap, SortedSet};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A first-in, first-out lock for one thread.
#[derive(Debug, Default)]
pub(crate) struct Turnstile {
    next_ticket: Cell<u64>,
    serving: Cell<u64>,
    waiting: RefCell<SortedMap<u64, Waker>>,
    abandoned: RefCell<SortedSet<u64>>,
}

impl Turnstile {
    /// Takes a place in the queue now; the future resolves when it is this caller's turn.
    pub(crate) fn enter(&self) -> Entering<'_> {
        let ticket = self.next_ticket.get();
        self.next_ticket.set(ticket + 1);
        Entering { turnstile: self, ticket, passed: false }
    }

    fn leave(&self) {
        let mut serving = self.serving.get() + 1;
        while self.abandoned.borrow_mut().remove(&serving) {
            serving += 1;
        }
        self.serving.set(serving);
        let next = self.waiting.borrow_mut().remove(&serving);
        if let Some(waker) = next {
            waker.wake();
        }
    }
}

/// Waiting for one's turn. Dropping it gives the place up.
pub(crate) struct Entering<'a> {
    turnstile: &'a Turnstile,
    ticket: u64,
    passed: bool,
}

impl Entering<'_> {
    /// The place in the queue: one more than that of whoever came before.
    pub(crate) fn ticket(&self) -> u64 {
        self.ticket
    }
}

impl<'a> Future for Entering<'a> {
    type Output = Turn<'a>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Turn<'a>> {
        if self.turnstile.serving.get() == self.ticket {
            self.passed = true;
            return Poll::Ready(Turn { turnstile: self.turnstile });
        }
        self.turnstile.waiting.borrow_mut().insert(self.ticket, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Entering<'_> {
    fn drop(&mut self) {
        if self.passed {
            return;
        }
        if self.turnstile.serving.get() == self.ticket {
            self.turnstile.leave();
        } else {
            self.turnstile.waiting.borrow_mut().remove(&self.ticket);
            self.turnstile.abandoned.borrow_mut().insert(self.ticket);
        }
    }
}

/// One's turn. Dropping it lets the next one in.
pub(crate) struct Turn<'a> {
    turnstile: &'a Turnstile,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turnstile.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_executor::block_on;
    use futures_util::future::{FutureExt, join_all};

    #[test]
    fn serves_in_order_of_arrival_and_skips_those_who_left() {
        let turnstile = Turnstile::default();
        let order = RefCell::new(Vec::new());
        let first = turnstile.enter();
        let leaver = turnstile.enter();
        let visits = (0..3).map(|visitor| {
            let entering = turnstile.enter();
            let order = &order;
            async move {
                let _turn = entering.await;
                order.borrow_mut().push(visitor);
            }
        });
        let visits: Vec<_> = visits.collect();
        drop(leaver);
        let turn = block_on(first);
        drop(turn);
        block_on(join_all(visits.into_iter().rev()));
        assert_eq!(*order.borrow(), [0, 1, 2]);
        assert!(turnstile.enter().now_or_never().is_some());
    }
}
