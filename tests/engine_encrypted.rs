//! What the engine does over a plain store it does over an encrypted one: the same suites once more.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::duplicate_mod, reason = "each suite brings the simulated host along")]

#[path = "engine_append.rs"]
mod append;
#[path = "engine_erasure.rs"]
mod erasure;
#[path = "engine_segments.rs"]
mod segments;
#[path = "engine_tabs.rs"]
mod tabs;
