//! BM25: its constants, the weight of a term, the weight of a frequency.

/// BM25 term saturation. Chat turns alone would take 0.9 and a length normalisation of 0.4 (Anserini's defaults, one
/// point of recall more than 1.2 and 0.75); once windows and sessions are scored as well it makes no difference to them,
/// and longer documents want 2 and 0.75 (Cranfield nDCG@10 38.5 against 35.9).
pub const K1: f32 = 2.0;
/// BM25 length normalisation; see [`K1`].
pub const B: f32 = 0.75;

/// Robertson's idf, never below 0: `ln(1 + (documents - holders + 0.5) / (holders + 0.5))`.
#[must_use]
pub fn inverse_document_frequency(documents: f32, holders: f32) -> f32 {
    (((documents - holders).max(0.0) + 0.5) / (holders + 0.5)).ln_1p()
}

/// Longer documents count as so many times the mean length. Without it a pasted log among chat turns, which holds every
/// word that was asked for, weighs less than a short turn with the commonest of them.
const LONGEST: f32 = 8.0;

/// BM25's term weight for a frequency in a document of this length: 0 to `K1 + 1`.
#[must_use]
pub fn saturation(frequency: f32, length: f32, mean_length: f32) -> f32 {
    frequency * (K1 + 1.0) / (frequency + K1 * (1.0 - B + B * (length / mean_length).min(LONGEST)))
}
