//! The adapter to JavaScript.
