//! What happens to an open database from outside: the four events that make tabs share it.

use std::rc::Rc;

/// An event in the life of an open database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    /// The stores were created or their layout changed.
    Upgraded {
        /// The version before; 0: there was no database.
        from: u32,
        /// Chromium found the database damaged and replaced it with an empty one.
        data_lost: bool,
    },
    /// Opening or deleting waits until another tab closes its connection.
    Blocked,
    /// Another tab upgrades or deletes the database; this connection was closed to let it.
    Blocking {
        /// It is deleted, and everything in it.
        deleting: bool,
    },
    /// The browser closed the connection.
    Terminated,
}

/// Who is told.
pub(super) type Listener = Rc<dyn Fn(Lifecycle)>;
