//! What is compared where nothing else happens: the stores and every tab against the model.

use super::backups::Backup;
use super::explaining::take_in_aborted;
use super::model::Conversation;
use super::play::Play;
use super::running::{context, finish, recall};
use super::truth;
use std::collections::BTreeSet;
use std::rc::Rc;
use throughline::engine::Engine;
use throughline::error::Error;
use throughline::records::MessageStatus;

impl Play {
    pub fn compare_everything(&mut self) -> Result<(), String> {
        self.see_what_is_there(vec![self.believed.clone()])?;
        self.open()?;
        self.check_words()?;
        self.derived = std::array::from_fn(|at| self.derived[at].max(truth::derived(&self.disk)[at]));
        self.check_cursors()?;
        for tab in 0..self.tabs.len() {
            let engine = Rc::clone(&self.tabs[tab].engine);
            self.check_tab(&engine).map_err(|problem| format!("tab {}: {problem}", self.tabs[tab].number))?;
        }
        if self.random.happens(300) {
            self.make_backup()?;
        }
        self.see_what_is_there(vec![self.believed.clone()])
    }

    fn make_backup(&mut self) -> Result<(), String> {
        let engine = Rc::clone(&self.tabs[0].engine);
        let made = finish(Box::pin(Backup::made(engine, self.believed.clone())))?;
        self.backups.push(Rc::new(made.map_err(|error| format!("no backup: {error}"))?));
        if self.backups.len() > 3 {
            self.backups.remove(0);
        }
        Ok(())
    }

    /// No record says anything that was erased, or that was never stored.
    fn check_words(&self) -> Result<(), String> {
        let mut expected: BTreeSet<String> =
            self.believed.facts.iter().flat_map(|fact| truth::marks_of(fact)).collect();
        for conversation in self.believed.conversations.values() {
            expected.extend(conversation.title.iter().flat_map(|title| truth::marks_of(title)));
            expected.extend(conversation.living().flat_map(|(_, message)| truth::marks_of(&message.raw)));
        }
        if let Some(word) = truth::stray_word(&self.disk, &expected) {
            return Err(format!("what was erased, or never stored, is in a record: {word}"));
        }
        match truth::readable_without_key(&self.disk) {
            Some(place) => Err(format!("without the key one can read {place}")),
            None => Ok(()),
        }
    }

    /// R12: what a summary's cursor has passed was read by a summary call that succeeded.
    fn check_cursors(&self) -> Result<(), String> {
        let read = self.read.borrow();
        for (id, cursor) in truth::cursors(&self.disk) {
            let Some(conversation) = self.believed.conversations.get(&id) else { continue };
            let path = conversation.path();
            if cursor != 0 && !path.contains(&cursor) {
                return Err(format!("the summary of {id} ends at {cursor}, which is not on its path {path:?}"));
            }
            for seq in path.into_iter().filter(|seq| *seq <= cursor) {
                let raw = conversation.message(seq).map_or("", |message| &message.raw);
                if truth::marks_of(raw).iter().any(|mark| !read.contains(mark)) {
                    return Err(format!("the summary of {id} passed message {seq}, and no summary read it"));
                }
            }
        }
        Ok(())
    }

    fn check_tab(&mut self, engine: &Rc<Engine>) -> Result<(), String> {
        let fail = |error: Error| format!("a read failed: {error}");
        let page = finish(Box::pin(engine.list_conversations(Some(100), None)))?.map_err(fail)?;
        let listed: BTreeSet<String> = page.items.iter().map(|item| item.id.clone()).collect();
        if listed != self.believed.conversations.keys().cloned().collect() {
            return Err(format!("lists {listed:?}, expected {:?}", self.believed.conversations.keys()));
        }
        let facts = finish(Box::pin(engine.list_facts(Default::default())))?.map_err(fail)?;
        let written = facts.into_iter().filter(|fact| fact.source.kind == "explicit");
        let facts: Vec<String> = written.map(|fact| fact.fact).collect();
        if facts.len() != self.believed.facts.len() || facts.iter().any(|fact| !self.believed.facts.contains(fact)) {
            return Err(format!("has the facts {facts:?}, expected {:?}", self.believed.facts));
        }
        let ids: Vec<String> = listed.into_iter().collect();
        let Some(id) = self.random.pick(&ids).cloned() else { return Ok(()) };
        let all = finish(Box::pin(engine.history_of_all_branches(&id, None, None, None)))?.map_err(fail)?;
        let truth = truth::read(&self.disk, &mut self.known)?;
        take_in_aborted(&mut self.believed, &truth);
        let conversation = self.believed.conversations.get(&id).cloned().unwrap_or_default();
        let seen: Vec<(&str, u32, &str, MessageStatus)> =
            all.iter().map(|entry| (entry.id.as_str(), entry.seq, entry.message.as_str(), entry.status)).collect();
        let living: Vec<(&str, u32, &str, MessageStatus)> = conversation
            .living()
            .map(|(seq, message)| (message.id.as_str(), seq, message.raw.as_str(), message.status))
            .collect();
        if seen != living {
            return Err(format!("reads of {id} {seen:?}, expected {living:?}"));
        }
        let path = finish(Box::pin(engine.history_entries(&id, None, None, None)))?.map_err(fail)?;
        let path: Vec<u32> = path.iter().map(|entry| entry.seq).collect();
        if path != conversation.path() {
            return Err(format!("reads the path {path:?} of {id}, expected {:?}", conversation.path()));
        }
        self.check_search(engine, &id, &conversation)?;
        self.check_context(engine, &id, &conversation)
    }

    fn check_search(&mut self, engine: &Rc<Engine>, id: &str, conversation: &Conversation) -> Result<(), String> {
        let path = conversation.path();
        let words = |seq: &u32| truth::marks_of(conversation.message(*seq).map_or("", |message| &message.raw));
        if let Some(seq) = self.random.pick(&path)
            && let Some(word) = words(seq).first()
        {
            let groups = finish(Box::pin(engine.recall(recall(word, Some(id)))))?;
            let groups = groups.map_err(|error| format!("recall failed: {error}"))?;
            if !groups.iter().any(|group| group.hits.iter().any(|hit| hit.seq == *seq)) {
                return Err(format!("does not find message {seq} of {id} by {word}"));
            }
        }
        let word = truth::mark(self.random.below(self.marks as usize + 1) as u32 + 1);
        let groups = finish(Box::pin(engine.recall(recall(&word, None))))?;
        let groups = groups.map_err(|error| format!("recall failed: {error}"))?;
        let alive = |raw: &String| {
            self.believed
                .conversations
                .values()
                .any(|open| open.path().iter().any(|seq| open.message(*seq).is_some_and(|message| message.raw == *raw)))
        };
        match groups.iter().flat_map(|group| &group.messages).find(|raw| !alive(raw)) {
            Some(raw) => Err(format!("finds {raw}, which is on no path")),
            None => Ok(()),
        }
    }

    fn check_context(&mut self, engine: &Rc<Engine>, id: &str, conversation: &Conversation) -> Result<(), String> {
        let context = finish(Box::pin(engine.build_context(context(id))))?;
        let context = context.map_err(|error| format!("no context of {id}: {error}"))?;
        let sent = truth::marks_of(&context.messages.concat());
        let marks = |seq: &u32| truth::marks_of(conversation.message(*seq).map_or("", |message| &message.raw));
        // What an import brought as a branch may say the same as a message of the path.
        let on_path: BTreeSet<String> = conversation.path().iter().flat_map(marks).collect();
        for (seq, message) in conversation.living() {
            let words = truth::marks_of(&message.raw);
            if words.iter().any(|mark| sent.contains(mark) && !on_path.contains(mark)) {
                return Err(format!("sends message {seq} of {id}, which is on another branch"));
            }
        }
        Ok(())
    }
}
