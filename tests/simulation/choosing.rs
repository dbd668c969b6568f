//! What happens next: chosen by the step's random numbers among what makes sense now and what does not.

use super::model::{Change, New};
use super::play::Play;
use super::truth;
use std::rc::Rc;
use throughline::records::MessageStatus;

/// Something that is no change: read, or worked in the background.
pub enum Errand {
    Work,
    Compact(String, bool),
    Recall(String),
    Context(String),
    History(String),
    List,
    Flush,
}

impl Play {
    pub fn change(&mut self) -> Change {
        let Some(conversation) = self.some_conversation() else {
            return Change::Create { conversation: format!("c{}", self.random.below(6)) };
        };
        let open = self.believed.conversations.get(&conversation).cloned().unwrap_or_default();
        let some_id = |play: &mut Self| {
            let ids: Vec<String> = open.living().map(|(_, message)| message.id.clone()).collect();
            play.random.pick(&ids).cloned()
        };
        match self.random.below(100) {
            0..5 => Change::Create { conversation: format!("c{}", self.random.below(6)) },
            5..8 => Change::Rename { title: format!("Title {}", self.mark()), conversation },
            8..52 => {
                let count = if self.random.happens(600) { 1 } else { 1 + self.random.below(4) };
                let mut messages: Vec<New> = (0..count).map(|_| self.message()).collect();
                // Repeated: the same content, now and then another under the same id.
                if let Some(id) = some_id(self)
                    && self.random.happens(150)
                {
                    let known = open.seq_of(&id).and_then(|seq| open.message(seq)).cloned();
                    // An import may have given it a name that its text does not say.
                    let is_own = !id.starts_with("seq:") && !id.contains('~');
                    if let (Some(known), true) = (known, is_own) {
                        let raw = if self.random.happens(700) { known.known_as } else { self.raw(Some(&id)) };
                        messages.insert(self.random.below(messages.len() + 1), New { id: Some(id), raw });
                        if self.random.happens(300) {
                            messages.retain(|new| open.seq_of(new.id.as_deref().unwrap_or("")).is_some());
                        }
                    }
                }
                let parent = match self.random.below(10) {
                    0 => some_id(self).map(Some),
                    1 if self.random.happens(200) => Some(None),
                    _ => None,
                };
                let imported = self.random.happens(120);
                Change::Append { conversation, messages, parent, activate: !self.random.happens(60), imported }
            }
            52..57 => Change::Begin { conversation, message: self.message() },
            57..69 => self.stream_update().unwrap_or(Change::AddFact { text: "I like tea".into() }),
            69..74 => match some_id(self) {
                Some(id) => Change::Edit { conversation, id, message: self.message() },
                None => Change::Begin { conversation, message: self.message() },
            },
            74..80 => match some_id(self) {
                Some(id) => Change::Leaf { conversation, id, descend: self.random.happens(500) },
                None => Change::Leaf { conversation, id: "none".into(), descend: false },
            },
            80..85 => {
                let id = some_id(self).unwrap_or_else(|| "none".into());
                Change::Remove { conversation, id, descendants: self.random.happens(200) }
            }
            85..88 => {
                let id = some_id(self).unwrap_or_else(|| "none".into());
                Change::EraseMessage { conversation, id }
            }
            88..90 => Change::EraseConversation { conversation },
            90 if self.random.happens(200) => Change::EraseUser,
            94 | 95 if !self.backups.is_empty() => {
                let at = self.random.below(self.backups.len());
                let (trusted, bring_back) = (self.random.happens(500), self.random.happens(250));
                Change::Import { backup: Rc::clone(&self.backups[at]), trusted, bring_back }
            }
            90..96 => Change::AddFact { text: format!("The user likes {}", self.mark()) },
            _ => {
                let facts: Vec<String> = self.believed.facts.iter().cloned().collect();
                let text = self.random.pick(&facts).cloned().unwrap_or_default();
                Change::DropFact { text, erase: self.random.happens(500) }
            }
        }
    }

    fn stream_update(&mut self) -> Option<Change> {
        let at = self.random.below(self.streams.len());
        let stream = self.streams.get(at)?;
        let open = self.believed.conversations.get(&stream.conversation);
        if let Some(message) = open.and_then(|open| open.message(stream.seq))
            && !message.raw.starts_with(&stream.raw_start)
        {
            // Another message of a conversation that was made anew.
            return None;
        }
        let grows = self.random.happens(700);
        let raw = grows.then(|| format!("{}{}\"}}", stream.raw_start, " and on".repeat(self.random.below(40))));
        let status = match self.random.below(6) {
            0 => MessageStatus::Complete,
            1 => MessageStatus::Aborted,
            _ => MessageStatus::Streaming,
        };
        let (conversation, id, seq) = (stream.conversation.clone(), stream.id.clone(), stream.seq);
        Some(Change::Update { conversation, id, seq, raw, status })
    }

    pub fn some_conversation(&mut self) -> Option<String> {
        let ids: Vec<String> = self.believed.conversations.keys().cloned().collect();
        self.random.pick(&ids).cloned()
    }

    /// A word that occurs nowhere else.
    fn mark(&mut self) -> String {
        self.marks += 1;
        truth::mark(self.marks)
    }

    fn message(&mut self) -> New {
        let id = self.random.happens(600).then(|| format!("m{}", self.marks));
        New { raw: self.raw(id.as_deref()), id }
    }

    fn raw(&mut self, id: Option<&str>) -> String {
        let mark = self.mark();
        let role = if self.random.happens(500) { "user" } else { "assistant" };
        let text = *self
            .random
            .pick(&["was asked about the harbour", "naïve “quotes” 漢字 😀", "runs src/main.rs on port 8471", "ok"])
            .unwrap_or(&"");
        let text = if role == "user" && self.random.happens(250) {
            format!("I like {mark} much")
        } else {
            format!("{mark} {text}")
        };
        let space = if self.random.happens(200) { "  " } else { "" };
        let id = id.map(|id| format!("\"id\":\"{id}\",")).unwrap_or_default();
        format!("{{{space}{id}\"role\":\"{role}\",\"content\":\"{text}\"}}")
    }

    pub fn errand(&mut self) -> Errand {
        let conversation = self.some_conversation().unwrap_or_else(|| "none".into());
        match self.random.below(14) {
            0..6 => Errand::Work,
            6 => Errand::Compact(conversation, self.random.happens(500)),
            7 | 8 => Errand::Recall(conversation),
            9 | 10 => Errand::Context(conversation),
            11 => Errand::History(conversation),
            12 => Errand::List,
            _ => Errand::Flush,
        }
    }
}
