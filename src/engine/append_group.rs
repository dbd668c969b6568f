//! Appends that wait for one another share a transaction. Waiting for the disk costs about the same for one message as for
//! many, so whose turn it is takes along the appends that stand right behind it, of any conversation. Each is placed and
//! answered by itself; where the shared transaction fails, or another tab was faster, each goes alone, as if none had stood
//! behind it. What does more than add to the end of a conversation always goes alone.

use super::Engine;
use super::append::{AppendRequest, Appended, Placed, Prepared};
use super::event::Event;
use super::stored::Stored;
use crate::error::{Code, Error, Result};
use crate::key;
use crate::ports::{Commit, Store};
use crate::records::{ConversationRecord, JobRecord, MessageIdRecord};
use crate::sorted_map::SortedMap;
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Messages that share a transaction: short ones hold nobody up (other tabs wait for it).
const MOST_MESSAGES: usize = 64;
/// Bytes that share one.
const MOST_BYTES: usize = 1 << 20;

/// What is to be stored.
pub(super) struct Work {
    pub(super) request: AppendRequest,
    pub(super) prepared: Vec<Prepared>,
}

impl Work {
    fn is_simple(&self) -> bool {
        let AppendRequest { parent_id, parent_ids, activate, imported, .. } = &self.request;
        parent_id.is_none() && parent_ids.is_none() && *activate != Some(false) && !imported
    }

    /// Stored a second time, it is recognised as the same.
    fn is_known_again(&self) -> bool {
        let has_names = self.request.call.is_some() || self.prepared.iter().all(|message| message.own_id);
        has_names && (!self.request.streaming || self.request.call.is_some())
    }

    fn bytes(&self) -> usize {
        self.request.messages.iter().map(String::len).sum()
    }
}

/// One append: what is left to do, or its answer.
#[derive(Default)]
struct Place {
    ticket: u64,
    work: Cell<Option<Work>>,
    answer: Cell<Option<Result<Vec<Appended>>>>,
}

/// Appends that wait for their turn, in order.
#[derive(Default)]
pub(super) struct Waiting(RefCell<Vec<Rc<Place>>>);

/// One's own place among them. Dropping it gives it up.
pub(super) struct Standing<'a> {
    waiting: &'a Waiting,
    place: Rc<Place>,
}

impl Standing<'_> {
    pub(super) fn ticket(&self) -> u64 {
        self.place.ticket
    }

    /// What is left to do; `Err`: the answer, where another append has taken this one along.
    pub(super) fn leave(self) -> std::result::Result<Work, Result<Vec<Appended>>> {
        match (self.place.answer.take(), self.place.work.take()) {
            (Some(answer), _) => Err(answer),
            (None, Some(work)) => Ok(work),
            // Whoever had it in hand is gone in the middle of it: nobody knows whether it was stored.
            (None, None) => Err(Err(super::conversations::overtaken())),
        }
    }
}

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        self.waiting.0.borrow_mut().retain(|place| !Rc::ptr_eq(place, &self.place));
    }
}

/// An append whose work was taken out of its place, and goes back there unless it was answered.
struct Member {
    place: Rc<Place>,
    work: Option<Work>,
}

impl Member {
    fn refuse(&mut self, error: &Error) {
        self.work = None;
        self.place.answer.set(Some(Err(error.clone())));
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.place.work.set(Some(work));
        }
    }
}

/// A conversation that a group adds to.
struct Touched {
    before: Stored<ConversationRecord>,
    record: ConversationRecord,
    known: SortedMap<String, MessageIdRecord>,
    calls: Vec<String>,
    /// Something is to be stored of a named call, so that the notes of those before go.
    is_named: bool,
}

/// What is to be stored together.
#[derive(Default)]
struct Group {
    placed: Vec<Placed>,
    touched: Vec<Touched>,
}

impl Engine {
    /// Takes a place among those that wait.
    pub(super) fn stand(&self, ticket: u64, work: Work) -> Standing<'_> {
        let place = Rc::new(Place { ticket, work: Cell::new(Some(work)), answer: Cell::default() });
        self.waiting.0.borrow_mut().push(Rc::clone(&place));
        Standing { waiting: &self.waiting, place }
    }

    /// This append and those right behind it that can go with it.
    fn standing_behind(&self, ticket: u64) -> Vec<Member> {
        let waiting = self.waiting.0.borrow();
        let (mut members, mut messages, mut bytes) = (Vec::new(), 0, 0);
        let behind = waiting.iter().filter(|place| place.ticket >= ticket);
        for (place, _) in behind.zip(ticket..).take_while(|(place, next)| place.ticket == *next) {
            let Some(work) = place.work.take() else { break };
            messages += work.prepared.len();
            bytes += work.bytes();
            let is_with = work.is_simple() && messages <= MOST_MESSAGES && bytes <= MOST_BYTES;
            let member = Member { place: Rc::clone(place), work: Some(work) };
            if !is_with {
                break;
            }
            members.push(member);
        }
        members
    }

    /// Stores the append of this ticket with those behind it, where there are any. Those that were stored have their
    /// answers then, and all where another tab holds the storage: each would wait for it again. For the others nothing was
    /// changed.
    pub(super) async fn append_together(&self, ticket: u64) {
        let mut members = self.standing_behind(ticket);
        if members.len() < 2 {
            return;
        }
        // Where it fails otherwise, each goes alone and is told its own reason.
        if let Err(error) = self.store_together(&mut members).await
            && error.code == Code::StorageBlocked
        {
            members.iter_mut().for_each(|member| member.refuse(&error));
        }
    }

    async fn store_together(&self, members: &mut [Member]) -> Result<()> {
        let known = self.located_together(members).await?;
        let group = self.group_of(members, known);
        let Some((commit, jobs)) = self.commit_of(&group, members)? else { return Ok(()) };
        let added = group.touched.iter().map(|one| u64::from(one.record.last_seq - one.before.value.last_seq));
        let positions = self.positions() + added.sum::<u64>();
        let stored = self.commit(commit).await;
        if let Err(error) = &stored {
            // It may have been carried out: what would then be stored twice, or be in its own way, is not tried again.
            let is_doubtful = |member: &&mut Member| member.work.as_ref().is_some_and(|work| !work.is_known_again());
            members.iter_mut().filter(is_doubtful).for_each(|member| member.refuse(error));
        }
        if stored? {
            return self.take_group_in(group, members, jobs, positions);
        }
        self.overtaken.set(1);
        Ok(())
    }

    /// Where the ids of each member are, from one reading.
    async fn located_together(&self, members: &[Member]) -> Result<Vec<SortedMap<String, MessageIdRecord>>> {
        let works = || members.iter().filter_map(|member| member.work.as_ref());
        let ids: Vec<Vec<String>> =
            works().map(|work| super::message_ids::ids_of(&work.request, &work.prepared)).collect();
        let keys = works().zip(&ids).flat_map(|(work, ids)| {
            let id = work.request.conversation_id.as_str();
            ids.iter().map(move |own| (Store::MessageIds, key![id, own.as_str()]))
        });
        let mut records = self.host.storage.get(keys.collect()).await?.into_iter();
        let mut known = Vec::with_capacity(ids.len());
        for (work, ids) in works().zip(&ids) {
            let mut found = SortedMap::new();
            for id in ids {
                if let Some(record) = records.next().flatten() {
                    found.insert(id.clone(), self.read_located(&work.request.conversation_id, id, &record).await?);
                }
            }
            known.push(found);
        }
        Ok(known)
    }

    /// Places the members one behind the other, up to the first that has to go alone.
    fn group_of(&self, members: &mut [Member], known: Vec<SortedMap<String, MessageIdRecord>>) -> Group {
        let mut group = Group::default();
        for (member, mut known) in members.iter_mut().zip(known) {
            let Some(work) = &mut member.work else { break };
            let id = work.request.conversation_id.as_str();
            let at = group.touched.iter().position(|one| one.record.id == id);
            let before = match at.and_then(|at| group.touched.get(at)) {
                Some(touched) => {
                    for (id, located) in touched.known.iter() {
                        known.insert(id.clone(), located.clone());
                    }
                    touched.record.clone()
                }
                None => match self.state.borrow().conversation(id) {
                    Some(conversation) => conversation.stored.value.clone(),
                    None => break,
                },
            };
            let is_behind = known.values().any(|located| located.seq > before.last_seq);
            // Where something stays on this device, what follows is placed by what is stored.
            let goes_alone = !before.is_linear() || before.has_local;
            if is_behind || goes_alone || self.is_promise_broken(&before) {
                break;
            }
            let Ok(placed) = self.place(&work.request, &mut work.prepared, known, &before, None) else { break };
            if placed.turns_at.is_some() {
                break;
            }
            let at = at.unwrap_or(group.touched.len());
            if at == group.touched.len() {
                let Some(stored) = self.state.borrow().conversation(id).map(|one| one.stored.clone()) else { break };
                group.touched.push(Touched {
                    before: stored,
                    record: before,
                    known: SortedMap::new(),
                    calls: Vec::new(),
                    is_named: false,
                });
            }
            if let Some(touched) = group.touched.get_mut(at) {
                touched.record = placed.record.clone();
                touched.is_named |= !placed.fresh.is_empty() && work.request.call.is_some();
                touched.calls.extend(work.request.call.clone());
                for index in &placed.fresh {
                    let record = &work.prepared[*index].record;
                    let located = MessageIdRecord { seq: record.seq, content_hash: record.content_hash.clone() };
                    touched.known.insert(record.id.clone(), located);
                }
            }
            group.placed.push(placed);
        }
        group
    }

    /// One transaction for all; `None` where fewer than two have something to store.
    #[expect(clippy::type_complexity, reason = "it is used once")]
    fn commit_of(
        &self,
        group: &Group,
        members: &[Member],
    ) -> Result<Option<(Commit, Vec<(String, Stored<JobRecord>)>)>> {
        if group.placed.iter().filter(|placed| !placed.fresh.is_empty()).count() < 2 {
            return Ok(None);
        }
        let mut commit = Commit { strict: self.is_strict(), ..Commit::default() };
        let mut jobs = Vec::new();
        for Touched { before, record, .. } in &group.touched {
            let id = record.id.as_str();
            commit.checks.push(before.check(Store::Conversations, key![id]));
            let changed = self.change_jobs(id, &mut commit, &|job| self.revive(job))?;
            jobs.extend(changed.into_iter().map(|job| (id.to_owned(), job)));
        }
        for (placed, member) in group.placed.iter().zip(members) {
            let stored = member.work.as_ref().filter(|_| !placed.fresh.is_empty());
            if let Some(Work { request, prepared }) = stored {
                self.forget_calls(request, &mut commit);
                super::append::put_messages(request, prepared, &placed.fresh, &mut commit)?;
            }
        }
        for Touched { record, .. } in &group.touched {
            commit.puts.push((Store::Conversations, key![record.id.as_str()], super::stored::encode(record)?));
        }
        Ok(Some((commit, jobs)))
    }

    /// The shared transaction has succeeded.
    fn take_group_in(
        &self,
        group: Group,
        members: &mut [Member],
        jobs: Vec<(String, Stored<JobRecord>)>,
        positions: u64,
    ) -> Result<()> {
        if self.is_strict() {
            self.acknowledge(positions);
        }
        for Touched { before, record, calls, is_named, .. } in group.touched {
            if !self.is_strict() {
                self.promise(&record, (record.last_seq - before.value.last_seq) as usize);
            }
            self.remember_calls(&record.id, calls, is_named);
            self.state.borrow_mut().put_conversation(Stored::new(record)?);
        }
        for (placed, member) in group.placed.into_iter().zip(members) {
            let Some(Work { request, prepared }) = member.work.take() else { continue };
            for index in placed.fresh {
                self.take_message_in(&prepared[index].record);
            }
            let payload = json!({ "conversationId": request.conversation_id, "count": placed.appended.len() });
            self.emit(&Event::new("append", payload));
            member.place.answer.set(Some(Ok(placed.appended)));
        }
        for (id, job) in jobs {
            self.put_job(&id, job);
        }
        Ok(())
    }
}
