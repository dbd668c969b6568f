//! How long a transaction waits for others to release its stores. A tab that the browser froze with an open transaction
//! holds them until it wakes.
//!
//! A call can need several transactions, and stand behind other calls. It is told within 5 seconds all the same, since
//! whoever was kept waiting once is soon told from then on: that the stores are held is known.

use js_sys::Date;
use std::cell::Cell;

/// How long a transaction waits. With a second try, and the grace that each is given, it stays within 5 seconds.
const LIMIT_MS: f64 = 4_300.0;

/// How long one waits that begins soon after another has waited in vain.
const AGAIN_LIMIT_MS: f64 = 200.0;

/// What is known of the stores being held, by one tab.
#[derive(Default)]
pub(super) struct Patience {
    /// Milliseconds since 1970: when a transaction waited its whole time.
    gave_up_at: Cell<Option<f64>>,
}

impl Patience {
    /// How long the next transaction may wait. What was learned counts for as long as it took to learn it, so that on a slow
    /// device, where starting takes long by itself, every call has a fair try again.
    pub(super) fn limit_ms(&self) -> f64 {
        let since = self.gave_up_at.get().map(|at| Date::now() - at);
        // A clock that was put back says nothing.
        let is_known = since.is_some_and(|since| (0.0..LIMIT_MS).contains(&since));
        if is_known { AGAIN_LIMIT_MS } else { LIMIT_MS }
    }

    /// A transaction has waited so long for its stores.
    pub(super) fn gave_up(&self, limit_ms: f64) {
        if limit_ms >= LIMIT_MS {
            self.gave_up_at.set(Some(Date::now()));
        }
    }

    /// A transaction that writes holds its stores.
    pub(super) fn regain(&self) {
        self.gave_up_at.set(None);
    }
}
