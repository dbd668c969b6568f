//! What a person may expect of the memory: a few maps. Nothing here knows how the engine does it.

use super::backups::Backup;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use throughline::error::Code;
use throughline::records::MessageStatus;

/// Everything of one user. Copies share what they have in common, since every step makes some and compares them.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub conversations: BTreeMap<String, Rc<Conversation>>,
    /// Texts of the facts that were written down.
    pub facts: Rc<BTreeSet<String>>,
    /// Conversations that no import brings back, by id and creation. Not compared: a hash of them is stored.
    pub erased: Rc<BTreeSet<(String, u32)>>,
    /// Conversations that were ever made.
    made: u32,
}

impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        self.conversations == other.conversations && self.facts == other.facts
    }
}

#[derive(Clone, Debug, Default)]
pub struct Conversation {
    pub title: Option<String>,
    /// By position, from 1.
    pub messages: Vec<Rc<Message>>,
    /// Where the active path ends; 0: nowhere.
    pub leaf: u32,
    /// Ids of removed messages, as they are stored, with the message that each followed.
    pub gone: BTreeMap<String, u32>,
    /// Which creation it comes from, whatever brought it here. Not compared: storage has the time of it.
    pub made: u32,
}

impl PartialEq for Conversation {
    fn eq(&self, other: &Self) -> bool {
        let seen = |one: &Self| (one.leaf, one.title.clone());
        seen(self) == seen(other) && self.messages == other.messages && self.gone == other.gone
    }
}

#[derive(Clone, Debug)]
pub struct Message {
    pub id: String,
    pub raw: String,
    /// With this text again it is a repeat. Not compared: it is stored as a hash.
    pub known_as: String,
    pub parent: u32,
    pub removed: bool,
    pub status: MessageStatus,
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        let seen = |one: &Self| (one.parent, one.removed, one.status);
        seen(self) == seen(other) && self.id == other.id && self.raw == other.raw
    }
}

impl Eq for Message {}

/// A message to be appended: its own id, and its JSON text.
#[derive(Clone, Debug, PartialEq)]
pub struct New {
    pub id: Option<String>,
    pub raw: String,
}

/// What is asked of the memory, and changes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Create { conversation: String },
    Rename { conversation: String, title: String },
    Append { conversation: String, messages: Vec<New>, parent: Option<Option<String>>, activate: bool, imported: bool },
    Begin { conversation: String, message: New },
    Update { conversation: String, id: String, seq: u32, raw: Option<String>, status: MessageStatus },
    Edit { conversation: String, id: String, message: New },
    Leaf { conversation: String, id: String, descend: bool },
    Remove { conversation: String, id: String, descendants: bool },
    EraseMessage { conversation: String, id: String },
    EraseConversation { conversation: String },
    EraseUser,
    AddFact { text: String },
    DropFact { text: String, erase: bool },
    Import { backup: Rc<Backup>, trusted: bool, bring_back: bool },
}

/// What the memory answers to a change.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Done,
    /// Ids and positions.
    Stored(Vec<(String, u32)>),
}

impl Conversation {
    pub fn message(&self, seq: u32) -> Option<&Message> {
        self.messages.get((seq as usize).checked_sub(1)?).map(Rc::as_ref)
    }

    pub fn message_mut(&mut self, seq: u32) -> Option<&mut Message> {
        self.messages.get_mut((seq as usize).checked_sub(1)?).map(Rc::make_mut)
    }

    pub fn seq_of(&self, id: &str) -> Option<u32> {
        let at = self.messages.iter().position(|message| !message.removed && message.id == id)?;
        Some(at as u32 + 1)
    }

    /// The message before one that was removed, if that is there still; 0: none.
    pub fn before_removed(&self, id: &str) -> Option<u32> {
        let before = *self.gone.get(&removed_id(id))?;
        Some(if self.message(before).is_some_and(|before| !before.removed) { before } else { 0 })
    }

    pub fn living(&self) -> impl Iterator<Item = (u32, &Message)> {
        (1..).zip(self.messages.iter().map(Rc::as_ref)).filter(|(_, message)| !message.removed)
    }

    /// From the root to a message.
    pub fn path_to(&self, leaf: u32) -> Vec<u32> {
        let mut path = Vec::new();
        let mut at = leaf;
        while let Some(message) = self.message(at) {
            path.push(at);
            at = message.parent;
        }
        path.reverse();
        path
    }

    pub fn path(&self) -> Vec<u32> {
        self.path_to(self.leaf)
    }

    /// A message and all below it.
    fn below(&self, seq: u32) -> Vec<u32> {
        let mut found = vec![seq];
        for (at, message) in self.living() {
            if at > seq && found.contains(&message.parent) {
                found.push(at);
            }
        }
        found
    }

    fn store(&mut self, new: &New, parent: u32, status: MessageStatus) -> u32 {
        let seq = self.messages.len() as u32 + 1;
        let id = new.id.clone().unwrap_or_else(|| format!("seq:{seq}"));
        let (raw, known_as) = (new.raw.clone(), new.raw.clone());
        self.messages.push(Rc::new(Message { id, raw, known_as, parent, removed: false, status }));
        seq
    }

    fn remove(&mut self, seq: u32, descendants: bool) {
        let gone = if descendants { self.below(seq) } else { vec![seq] };
        let parent = self.message(seq).map_or(0, |message| message.parent);
        for at in &gone {
            let id = self.message(*at).map(|message| message.id.clone()).unwrap_or_default();
            if !id.starts_with("seq:") {
                self.gone.insert(removed_id(&id), parent);
            }
        }
        if gone.contains(&self.leaf) {
            let before = self.path().into_iter().rev().find(|on| !gone.contains(on));
            let newest = self.living().map(|(at, _)| at).filter(|at| !gone.contains(at)).last();
            self.leaf = before.or(newest).unwrap_or(0);
        }
        for (at, message) in (1..).zip(&mut self.messages) {
            if gone.contains(&at) {
                *message = Rc::new(tombstone());
            } else if !message.removed && gone.contains(&message.parent) {
                Rc::make_mut(message).parent = parent;
            }
        }
    }
}

/// What is left of the id of a removed message.
pub fn removed_id(id: &str) -> String {
    format!("removed:{:016x}", fnv1a(id))
}

/// FNV-1a of 64 bits.
pub fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// What is left of a removed message.
pub fn tombstone() -> Message {
    Message {
        id: String::new(),
        raw: String::new(),
        known_as: String::new(),
        parent: 0,
        removed: true,
        status: MessageStatus::Complete,
    }
}

impl Model {
    fn open(&mut self, id: &str) -> Result<&mut Conversation, Code> {
        self.conversations.get_mut(id).map(Rc::make_mut).ok_or(Code::NotFound)
    }

    /// Carries a change out, or refuses it and is as it was.
    pub fn apply(&mut self, change: &Change) -> Result<Answer, Code> {
        match change {
            Change::Create { conversation } => {
                if self.conversations.contains_key(conversation) {
                    return Err(Code::Conflict);
                }
                self.made += 1;
                let new = Conversation { made: self.made, ..Conversation::default() };
                self.conversations.insert(conversation.clone(), Rc::new(new));
            }
            Change::Rename { conversation, title } => self.open(conversation)?.title = Some(title.clone()),
            Change::Append { conversation, messages, parent, activate, imported } => {
                return self.append(conversation, messages, parent.as_ref(), *activate, *imported);
            }
            Change::Begin { conversation, message } => {
                let open = self.open(conversation)?;
                if message.id.as_ref().is_some_and(|id| open.seq_of(id).is_some()) {
                    return Err(Code::Conflict);
                }
                let leaf = open.leaf;
                open.leaf = open.store(message, leaf, MessageStatus::Streaming);
                let id = open.message(open.leaf).map(|stored| stored.id.clone()).unwrap_or_default();
                return Ok(Answer::Stored(vec![(id, open.leaf)]));
            }
            Change::Update { conversation, id, seq, raw, status } => {
                let message = self.open(conversation)?.message_mut(*seq).filter(|found| found.id == *id);
                let message = message.ok_or(Code::NotFound)?;
                if message.status != MessageStatus::Streaming {
                    let is_same = message.status == *status && raw.as_ref().is_none_or(|raw| *raw == message.raw);
                    return if is_same { Ok(Answer::Stored(vec![(id.clone(), *seq)])) } else { Err(Code::Conflict) };
                }
                message.raw = raw.clone().unwrap_or_else(|| message.raw.clone());
                message.status = *status;
                if *status != MessageStatus::Streaming {
                    message.known_as.clone_from(&message.raw);
                }
                return Ok(Answer::Stored(vec![(id.clone(), *seq)]));
            }
            Change::Edit { conversation, id, message } => {
                let open = self.open(conversation)?;
                let seq = open.seq_of(id).ok_or(Code::NotFound)?;
                let same = message.id.as_ref().and_then(|own| open.seq_of(own));
                if let Some(same) = same {
                    let is_same = open.message(same).is_some_and(|stored| stored.known_as == message.raw);
                    let own = message.id.clone().unwrap_or_default();
                    return if is_same { Ok(Answer::Stored(vec![(own, same)])) } else { Err(Code::Conflict) };
                }
                let parent = open.message(seq).map_or(0, |old| old.parent);
                open.leaf = open.store(message, parent, MessageStatus::Complete);
                let id = open.message(open.leaf).map(|stored| stored.id.clone()).unwrap_or_default();
                return Ok(Answer::Stored(vec![(id, open.leaf)]));
            }
            Change::Leaf { conversation, id, descend } => {
                let open = self.open(conversation)?;
                let seq = open.seq_of(id).ok_or(Code::NotFound)?;
                open.leaf = if *descend { open.below(seq).into_iter().last().unwrap_or(seq) } else { seq };
            }
            Change::Remove { conversation, id, descendants } => {
                let open = self.open(conversation)?;
                if let Some(seq) = open.seq_of(id) {
                    open.remove(seq, *descendants);
                }
            }
            Change::EraseMessage { conversation, id } => {
                let open = self.open(conversation)?;
                if let Some(seq) = open.seq_of(id) {
                    open.remove(seq, false);
                }
            }
            Change::EraseConversation { conversation } => {
                let erased = self.conversations.remove(conversation).ok_or(Code::NotFound)?;
                Rc::make_mut(&mut self.erased).insert((conversation.clone(), erased.made));
            }
            Change::EraseUser => *self = Self { made: self.made, ..Self::default() },
            Change::Import { backup, bring_back, .. } => backup.apply(self, *bring_back),
            Change::AddFact { text } => {
                Rc::make_mut(&mut self.facts).insert(text.clone());
            }
            Change::DropFact { text, .. } => {
                if !Rc::make_mut(&mut self.facts).remove(text) {
                    return Err(Code::NotFound);
                }
            }
        }
        Ok(Answer::Done)
    }

    fn append(
        &mut self,
        conversation: &str,
        messages: &[New],
        parent: Option<&Option<String>>,
        activate: bool,
        imported: bool,
    ) -> Result<Answer, Code> {
        let open = self.open(conversation)?;
        let mut next = open.clone();
        let mut previous = match parent {
            None => open.leaf,
            Some(None) => 0,
            Some(Some(id)) => {
                let removed = if imported { open.before_removed(id) } else { None };
                open.seq_of(id).or(removed).ok_or(Code::NotFound)?
            }
        };
        let mut stored = Vec::new();
        for new in messages {
            let same = new.id.as_ref().and_then(|id| Some((id.clone(), next.seq_of(id)?)));
            if let Some((id, seq)) = same {
                if next.message(seq).is_some_and(|message| message.known_as != new.raw) {
                    return Err(Code::Conflict);
                }
                if parent.is_some() {
                    previous = seq;
                }
                stored.push((id, seq));
                continue;
            }
            // An import does not bring back what was removed.
            let gone = new.id.as_ref().filter(|_| imported).and_then(|id| next.before_removed(id));
            if let (Some(id), Some(before)) = (&new.id, gone) {
                if parent.is_some() {
                    previous = before;
                }
                stored.push((id.clone(), before));
                continue;
            }
            previous = next.store(new, previous, MessageStatus::Complete);
            let id = next.message(previous).map(|message| message.id.clone()).unwrap_or_default();
            stored.push((id, previous));
        }
        if activate && next.messages.len() > open.messages.len() {
            next.leaf = next.messages.len() as u32;
        }
        *open = next;
        Ok(Answer::Stored(stored))
    }
}
