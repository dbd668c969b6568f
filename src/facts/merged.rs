//! Facts of another store among those that are here: what one makes of them is what the other makes of them.
//!
//! Of two versions of one fact a forgotten one counts, else the one that was changed last. Of two facts in use that have
//! one key, or the same words about the same subject, the one that the user confirmed counts, then the one that was changed
//! last; the other is superseded by it. Nothing here depends on the order in which facts come, nor on how often.

use super::changes::Draft;
use super::{Changes, Numbers, fingerprint};
use crate::hash::fnv1a;
use crate::records::{FactRecord, FactStatus, Trust};
use crate::sorted_map::SortedMap;
use crate::sorting;
use std::cmp::Ordering;

/// A fact of another store. Its id means nothing here, and `supersedes` is a name.
#[derive(Clone, Debug)]
pub struct NamedFact {
    /// Its name among all stores.
    pub name: String,
    /// The fact.
    pub fact: FactRecord,
}

/// A fact's name among all stores: where it was first written, or the name that it came under.
#[must_use]
pub fn fact_name(own: &str, fact: &FactRecord) -> String {
    fact.origin.clone().unwrap_or_else(|| format!("{own}.{}", fact.id))
}

/// What says which of two versions of a fact counts.
fn standing(fact: &FactRecord) -> (bool, f64, u8, String) {
    let rank = match fact.status {
        FactStatus::Active => 0,
        FactStatus::Proposed => 1,
        FactStatus::Superseded => 2,
        FactStatus::Deleted => 3,
        FactStatus::Forgotten => 4,
    };
    (fact.status == FactStatus::Forgotten, fact.updated_at, rank, said(fact))
}

/// What a fact says, as one text.
fn said(fact: &FactRecord) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {} {:?}",
        fact.fact, fact.key, fact.subject, fact.category, fact.trust, fact.confidence, fact.pinned, fact.expires_at
    )
}

fn compared(one: &FactRecord, other: &FactRecord) -> Ordering {
    let (one, other) = (standing(one), standing(other));
    let later = one.0.cmp(&other.0).then(one.1.total_cmp(&other.1));
    later.then_with(|| (one.2, &one.3).cmp(&(other.2, &other.3)))
}

/// A digest of all facts that other stores may have: the same where they are the same.
#[must_use]
pub fn facts_digest(own: &str, facts: &[FactRecord]) -> u64 {
    let names: SortedMap<&str, String> = facts.iter().map(|fact| (fact.id.as_str(), fact_name(own, fact))).collect();
    facts.iter().filter(|fact| !fact.local_only).fold(0, |sum, fact| {
        let before = fact.supersedes.as_ref().and_then(|id| names.get(id.as_str()));
        let text = format!("{} {:?} {} {before:?}", fact_name(own, fact), standing(fact), fact.created_at);
        sum.wrapping_add(fnv1a(text.bytes()))
    })
}

/// Whether a fact says something that is not here yet.
#[must_use]
pub fn is_news(incoming: &NamedFact, own: &str, existing: &[FactRecord]) -> bool {
    match existing.iter().find(|fact| fact_name(own, fact) == incoming.name) {
        Some(here) => !here.local_only && compared(&incoming.fact, here).is_gt(),
        // One that was first written here, and is not here any more, was erased with what showed it.
        None => !incoming.name.strip_prefix(own).is_some_and(|rest| rest.starts_with(".f")),
    }
}

/// What becomes of the facts here with those of another store.
#[must_use]
pub fn merged(
    incoming: &[NamedFact],
    own: &str,
    existing: &[FactRecord],
    numbers: Numbers,
    now_ms: f64,
) -> (Changes, SortedMap<String, String>) {
    let mut draft = Draft::new(existing, numbers, now_ms, "import");
    let mut ids: SortedMap<String, String> =
        existing.iter().map(|fact| (fact_name(own, fact), fact.id.clone())).collect();
    for one in incoming.iter().filter(|one| is_news(one, own, existing)) {
        take(one, &mut draft, &mut ids);
    }
    for one in incoming {
        let before = one.fact.supersedes.as_ref().and_then(|name| Some((name, ids.get(name)?.clone())));
        let here = ids.get(&one.name).and_then(|id| draft.get(id)).cloned();
        let (Some((name, before)), Some(mut fact)) = (before, here) else { continue };
        let known = fact.supersedes.as_ref().and_then(|id| draft.get(id)).map(|known| fact_name(own, known));
        if fact.status != FactStatus::Forgotten && !fact.local_only && known.is_none_or(|known| known < *name) {
            fact.supersedes = Some(before);
            draft.put_as_it_is(fact);
        }
    }
    settle(&mut draft, &ids);
    (draft.finish(), ids)
}

/// Puts a fact that says something new.
fn take(one: &NamedFact, draft: &mut Draft<'_>, ids: &mut SortedMap<String, String>) {
    let here = ids.get(&one.name).and_then(|id| draft.get(id)).cloned();
    let is_forgotten = one.fact.status == FactStatus::Forgotten;
    let id = here.as_ref().map_or_else(|| draft.next_fact_id(), |here| here.id.clone());
    let mut fact = FactRecord { id: id.clone(), supersedes: None, local_only: false, ..one.fact.clone() };
    match &here {
        Some(here) => {
            fact.origin.clone_from(&here.origin);
            fact.supersedes = here.supersedes.clone().filter(|_| !is_forgotten);
            (fact.access_count, fact.last_accessed_at) = (here.access_count, here.last_accessed_at);
            if here.fact == fact.fact {
                fact.source = here.source.clone();
            }
        }
        None => {
            fact.origin = Some(one.name.clone());
            (fact.access_count, fact.last_accessed_at) = (0, None);
            ids.insert(one.name.clone(), id.clone());
        }
    }
    if !is_forgotten {
        fact.fingerprint = fingerprint(&fact.fact);
    }
    let before = here.as_ref().map(|here| here.fact.clone()).filter(|_| !is_forgotten);
    match &here {
        Some(here) if is_forgotten && here.status != FactStatus::Forgotten => {
            draft.mark_forgotten(&id);
            draft.audit("FORGET", Some(&id), None, None, None);
        }
        Some(_) if !is_forgotten => draft.audit("UPDATE", Some(&id), before, Some(fact.fact.clone()), Some("synced")),
        None if !is_forgotten => draft.audit("ADD", Some(&id), None, Some(fact.fact.clone()), Some("synced")),
        _ => {}
    }
    draft.put_as_it_is(fact);
}

/// Of facts in use that cannot stand side by side, one stays in use.
fn settle(draft: &mut Draft<'_>, ids: &SortedMap<String, String>) {
    let facts = ids.iter().filter_map(|(name, id)| Some((name, draft.get(id)?.clone())));
    let mut active: Vec<(&String, FactRecord)> =
        facts.filter(|(_, fact)| fact.status == FactStatus::Active && !fact.local_only).collect();
    let is_confirmed = |fact: &FactRecord| fact.trust == Trust::UserConfirmed;
    sorting::sort_by(&mut active, &|(name, fact), (other_name, other)| {
        let later = is_confirmed(other).cmp(&is_confirmed(fact)).then(other.updated_at.total_cmp(&fact.updated_at));
        later.then_with(|| other_name.cmp(name))
    });
    let mut by_key: SortedMap<String, String> = SortedMap::new();
    let mut by_words: SortedMap<(String, String), String> = SortedMap::new();
    for (_, mut fact) in active {
        let words = (fact.subject.clone(), fact.fingerprint.clone());
        let winner = fact.key.as_ref().and_then(|key| by_key.get(key)).or_else(|| by_words.get(&words)).cloned();
        let Some(winner) = winner.and_then(|id| draft.get(&id)).cloned() else {
            if let Some(key) = &fact.key {
                by_key.insert(key.clone(), fact.id.clone());
            }
            by_words.insert(words, fact.id);
            continue;
        };
        fact.status = FactStatus::Superseded;
        if winner.supersedes.is_none() && !follows(draft, &fact, &winner.id) {
            draft.put_as_it_is(FactRecord { supersedes: Some(fact.id.clone()), ..winner });
        }
        draft.put_as_it_is(fact);
    }
}

/// Whether a fact replaced this one, through others.
fn follows(draft: &Draft<'_>, fact: &FactRecord, id: &str) -> bool {
    let mut next = Some(fact.clone());
    for _ in 0..10_000 {
        let Some(fact) = next else { return false };
        if fact.id == id {
            return true;
        }
        next = fact.supersedes.as_ref().and_then(|id| draft.get(id)).cloned();
    }
    true
}
