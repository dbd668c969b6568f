//! What the engine does over a plain store it does over an encrypted one: the same suites once more.
#![cfg(not(target_arch = "wasm32"))]

#[path = "engine_append.rs"]
mod append;
#[path = "engine_erasure.rs"]
mod erasure;
#[path = "engine_segments.rs"]
mod segments;
#[path = "engine_tabs.rs"]
mod tabs;
