//! What the user takes back, by forgetting or erasing a fact or ending an agreement, goes from episodes and projects as well.
//!
//! An episode that is about a message that told it is made again without that message. Of the others, the items that say it go.

use super::Engine;
use super::projects::forget_project;
use super::session_words::take_out;
use super::stored::encode;
use crate::error::Result;
use crate::facts::{bury_at, similarity};
use crate::message::Seq;
use crate::ports::{Commit, Store};
use crate::records::FactRecord;

/// An item that is so similar to a fact, or to its quote, says it. By words alone, on facts of a few words: those of one
/// subject with another object, as of two cities, have less.
const SAYS_IT: f64 = 0.6;

/// What a commit changes in episodes, to be told to the memory after it.
#[derive(Default)]
pub(super) struct Withdrawal {
    conversation_ids: Vec<String>,
}

impl Engine {
    /// Adds to a commit that facts are taken back: `facts` as they were, `tombstones` what is left of them, which learn of the
    /// messages that told them.
    pub(super) async fn withdraw_facts(
        &self,
        facts: &[FactRecord],
        tombstones: &mut [FactRecord],
        commit: &mut Commit,
    ) -> Result<Withdrawal> {
        if facts.is_empty() {
            return Ok(Withdrawal::default());
        }
        let mut places = Vec::new();
        for fact in facts {
            for place in self.sources_of(&fact.id).await? {
                let left = tombstones.iter_mut().filter(|tombstone| tombstone.id == fact.id);
                left.for_each(|tombstone| bury_at(&mut tombstone.fingerprint, &place.conversation_id, place.seq));
                places.push(place);
            }
        }
        let texts = facts.iter().flat_map(|fact| [Some(fact.fact.as_str()), fact.source.quote.as_deref()]).flatten();
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        let says = |item: &str| texts.iter().any(|text| similarity(item, text) >= SAYS_IT);
        let tells = |id: &str, first: Seq, last: Seq| {
            places.iter().any(|place| place.conversation_id == id && (first..=last).contains(&place.seq))
        };
        self.withdraw(&says, &tells, commit).await
    }

    /// Adds to a commit that what `says` holds for goes from every episode, and that those are made again that are about a
    /// range of a conversation that `tells` holds for.
    pub(super) async fn withdraw(
        &self,
        says: &dyn Fn(&str) -> bool,
        tells: &dyn Fn(&str, Seq, Seq) -> bool,
        commit: &mut Commit,
    ) -> Result<Withdrawal> {
        self.refresh_conversations().await?;
        let mut withdrawal = Withdrawal::default();
        for (check, stored) in self.read_episodes(&|_| true, usize::MAX).await? {
            let mut episode = stored.value;
            episode.redo = tells(&episode.conversation_id, episode.first_seq, episode.last_seq);
            if !take_out(&mut episode.sections, &|item| says(item) || episode.redo) && !episode.redo {
                continue;
            }
            let id = episode.conversation_id.clone();
            let key = check.key.clone();
            commit.checks.push(check);
            if episode.sections.is_empty() && !episode.redo {
                commit.deletes.push((Store::Episodes, key));
            } else {
                commit.puts.push((Store::Episodes, key, encode(&episode)?));
            }
            let project_id = self.state.borrow().conversation(&id).and_then(|one| one.stored.value.project_id.clone());
            forget_project(project_id.as_deref(), commit);
            withdrawal.conversation_ids.push(id);
        }
        Ok(withdrawal)
    }

    /// After the commit: what is to be made again is known.
    pub(super) fn take_withdrawal_in(&self, withdrawal: Withdrawal) {
        let state = &mut *self.state.borrow_mut();
        for id in withdrawal.conversation_ids {
            state.unsettle_project_of(&id);
            state.unsettled.insert(id);
        }
    }
}
