//! lexical
