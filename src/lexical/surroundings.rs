//! Which documents stand around which: links within a session.

/// "No document", in links.
pub const NONE: u32 = u32::MAX;

/// One document's place in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The document before it in the session, or [`NONE`].
    pub previous: u32,
    /// The document after it in the session, or [`NONE`].
    pub next: u32,
    /// In a session's first document: terms of the whole session.
    pub session_terms: u32,
    /// It asks something: what follows may be the answer.
    pub asks: bool,
}

/// The links of all documents, by number, apart from what else is known of them: a search reads little else.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    heads: Vec<u32>,
    links: Vec<Link>,
}

impl Surroundings {
    /// Adds the next document, in a session of its own.
    pub fn push(&mut self, asks: bool) {
        self.heads.push(u32::try_from(self.heads.len()).unwrap_or(NONE));
        self.links.push(Link { previous: NONE, next: NONE, session_terms: 0, asks });
    }

    /// Forgets the documents from this number on. None of the others may be linked to them.
    pub fn truncate(&mut self, documents: usize) {
        self.heads.truncate(documents);
        self.links.truncate(documents);
    }

    /// Puts a document after another one of its session, or, with [`NONE`], at the beginning of a session.
    pub fn put(&mut self, document: u32, previous: u32, terms: u16) {
        let head = match self.links.get_mut(previous as usize) {
            Some(link) => {
                link.next = document;
                self.head(previous)
            }
            None => document,
        };
        if let (Some(own), Some(link)) = (self.heads.get_mut(document as usize), self.links.get_mut(document as usize))
        {
            *own = head;
            (link.previous, link.next, link.session_terms) = (previous, NONE, 0);
        }
        if let Some(first) = self.links.get_mut(head as usize) {
            first.session_terms += u32::from(terms);
        }
    }

    /// First document of a document's session.
    #[must_use]
    pub fn head(&self, document: u32) -> u32 {
        self.heads.get(document as usize).copied().unwrap_or(NONE)
    }

    /// A document's links.
    #[must_use]
    pub fn link(&self, document: u32) -> Option<&Link> {
        self.links.get(document as usize)
    }

    /// The documents up to two before and two after it in its session: previous, next, the one before previous, the one
    /// after next; [`NONE`] where there is none.
    #[must_use]
    pub fn neighbours(&self, document: u32) -> [u32; 4] {
        let (previous, next) = self.link(document).map_or((NONE, NONE), |link| (link.previous, link.next));
        let second_before = self.link(previous).map_or(NONE, |link| link.previous);
        let second_after = self.link(next).map_or(NONE, |link| link.next);
        [previous, next, second_before, second_after]
    }

    /// The document before it, where that one asks.
    #[must_use]
    pub fn answered(&self, document: u32) -> Option<u32> {
        let previous = self.link(document)?.previous;
        self.link(previous).filter(|link| link.asks).map(|_| previous)
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.heads.capacity() * size_of::<u32>() + self.links.capacity() * size_of::<Link>()
    }
}
