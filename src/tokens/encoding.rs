//! The byte pair encodings that are counted exactly.

/// A byte pair encoding whose vocabulary is public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// `o200k_base`: GPT-4o, 4.1, 5 and the o series.
    O200kBase,
    /// `cl100k_base`: GPT-4, GPT-3.5 and the embedding models.
    Cl100kBase,
}

impl Encoding {
    /// Every encoding, for loops over all of them.
    pub const ALL: [Self; 2] = [Self::O200kBase, Self::Cl100kBase];

    /// The name in OpenAI's libraries.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
        }
    }

    /// Name and counter version, as it is stored beside a count. The version rises whenever a count could change.
    #[must_use]
    pub fn counter_id(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base/1",
            Self::Cl100kBase => "cl100k_base/1",
        }
    }

    /// The encoding of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.as_str() == name)
    }

    /// Number of ordinary tokens; special tokens are not counted, because user text is always ordinary text.
    #[must_use]
    pub fn vocabulary_size(self) -> u32 {
        match self {
            Self::O200kBase => 199_998,
            Self::Cl100kBase => 100_256,
        }
    }

    /// SHA-256 of the rank file that the vocabulary was made from, as OpenAI's `tiktoken` has it in its source.
    #[must_use]
    pub fn source_sha256(self) -> [u8; 32] {
        match self {
            Self::O200kBase => [
                0x44, 0x6a, 0x95, 0x38, 0xcb, 0x6c, 0x34, 0x8e, 0x35, 0x16, 0x12, 0x0d, 0x7c, 0x08, 0xb0, 0x9f, 0x57,
                0xc3, 0x64, 0x95, 0xe2, 0xac, 0xff, 0xfe, 0x59, 0xa5, 0xbf, 0x8b, 0x0c, 0xfb, 0x1a, 0x2d,
            ],
            Self::Cl100kBase => [
                0x22, 0x39, 0x21, 0xb7, 0x6e, 0xe9, 0x9b, 0xde, 0x99, 0x5b, 0x7f, 0xf7, 0x38, 0x51, 0x3e, 0xef, 0x10,
                0x0f, 0xb5, 0x1d, 0x18, 0xc9, 0x35, 0x97, 0xa1, 0x13, 0xbc, 0xff, 0xe8, 0x65, 0xb2, 0xa7,
            ],
        }
    }
}
