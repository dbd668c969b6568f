//! What of a session may be told in other conversations.
//!
//! An episode goes where its messages do not, without anybody asking for it. So it is made of what the user said in their own
//! words, and of the assistant's answers to that: not of what was pasted, quoted or attached, nor of an answer that may repeat
//! it, since anybody may have written that; not of a special category of personal data without the user's agreement; and not of
//! a message whose fact the user has taken back.

use super::append::parse_stored;
use super::compaction::is_summarized;
use crate::error::Result;
use crate::facts::{own_words, without_sensitive};
use crate::message::{Message, Part, Role, Seq};
use crate::records::{MessageRecord, SummarySection, Trust};
use crate::summary::{Entry, trust_of};

/// The words of a session, and the lowest trust of what is made of them. `allowed`: special categories that the user agreed to;
/// `is_taken_back`: whether a message told what is to be forgotten.
pub(super) fn session_words(
    records: &[MessageRecord],
    allowed: &[String],
    is_taken_back: &dyn Fn(Seq) -> bool,
) -> Result<(Vec<Entry>, Trust)> {
    let mut entries = Vec::with_capacity(records.len());
    let mut trust = Trust::AssistantInferred;
    // What is answered to such a message may repeat it.
    let mut is_unfit = false;
    for record in records.iter().filter(|record| is_summarized(record)) {
        let message = parse_stored(record)?;
        trust = trust.min(trust_of(&message, record.imported));
        let own = said(&message);
        if message.opens_group() {
            is_unfit = is_taken_back(record.seq) || has_more(&message, &own);
        }
        if is_taken_back(record.seq) || (is_unfit && message.role == Role::Assistant) {
            continue;
        }
        let mut entry = Entry::new(record.seq, &own);
        entry.text = without_sensitive(&entry.text, allowed).into_owned();
        entries.push(entry);
    }
    Ok((entries, trust))
}

/// A message without what tools answered, and of the user's their own words alone.
fn said(message: &Message) -> Message {
    let own = |part: &Part| match part {
        Part::ToolResult { .. } => None,
        Part::Text(text) if message.role == Role::User => Some(Part::Text(own_words(text))),
        part => Some(part.clone()),
    };
    Message { parts: message.parts.iter().filter_map(own).collect(), ..message.clone() }
}

/// Whether a message has more than the user's own words.
fn has_more(message: &Message, own: &Message) -> bool {
    let letters = |message: &Message| {
        let texts = message.parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(text) } else { None });
        texts.map(|text| text.chars().filter(|one| one.is_alphanumeric()).count()).sum::<usize>()
    };
    message.parts.iter().any(|part| matches!(part, Part::Media { .. })) || letters(own) < letters(message)
}

/// Takes the items that `tells` holds for out of sections; answers whether there were any.
pub(super) fn take_out(sections: &mut Vec<SummarySection>, tells: &dyn Fn(&str) -> bool) -> bool {
    let count = |sections: &[SummarySection]| sections.iter().map(|section| section.items.len()).sum::<usize>();
    let before = count(sections);
    sections.iter_mut().for_each(|section| section.items.retain(|item| !tells(item)));
    sections.retain(|section| !section.items.is_empty());
    count(sections) < before
}
