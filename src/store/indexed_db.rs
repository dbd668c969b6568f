//! idb
