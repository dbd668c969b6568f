//! In which order did the changes happen? Two tabs do not say; the answers must fit one order at least.

use super::model::{Answer, Change, Conversation, Model};
use std::collections::BTreeSet;
use std::rc::Rc;
use throughline::error::{Code, Error};
use throughline::records::MessageStatus;

/// What became of one change.
pub enum Outcome {
    /// The answer, and whether it was said to be on disk.
    Answered(Answer, bool),
    Refused(Error),
    /// Its tab was gone before the answer.
    Unknown,
}

pub fn is_fault(error: &Error) -> bool {
    error.message.contains("simulated disk") || error.code.as_str().starts_with("storage_")
}

pub fn name_of(change: &Change) -> String {
    format!("{change:?}").chars().take_while(|c| c.is_alphabetic()).collect()
}

/// Every order of the changes that explains the answers: the states after each, and whether that one is surely on disk.
pub fn search(
    outcomes: &[(usize, Change, Outcome)],
    before: &Model,
    used: &mut [bool],
    steps: &mut Vec<(Model, bool)>,
    found: &mut Vec<Vec<(Model, bool)>>,
) {
    let mut is_end = true;
    for at in 0..outcomes.len() {
        if used[at] {
            continue;
        }
        is_end = false;
        let (tab, change, outcome) = &outcomes[at];
        // One tab's appends are stored in the order of the calls.
        let is_append = |change: &Change| matches!(change, Change::Append { .. } | Change::Begin { .. });
        let overtakes = (0..at).any(|other| {
            !used[other] && outcomes[other].0 == *tab && is_append(change) && is_append(&outcomes[other].1)
        });
        if overtakes {
            continue;
        }
        used[at] = true;
        let mut after = before.clone();
        let answer = after.apply(change);
        let mut go = |model: Model, durable: bool| {
            steps.push((model.clone(), durable));
            search(outcomes, &model, used, steps, found);
            steps.pop();
        };
        match outcome {
            Outcome::Answered(given, durable) => {
                // Another tab may drop the fact between the look for its id and the call.
                let is_gone = matches!(change, Change::DropFact { .. }) && answer == Err(Code::NotFound);
                if answer.as_ref() == Ok(given) || is_gone {
                    // What changes nothing writes nothing; only a message that is said to be on disk must be there.
                    let is_barrier = matches!(given, Answer::Stored(_)) || after != *before;
                    go(after, *durable && is_barrier);
                }
            }
            Outcome::Refused(error) if is_fault(error) => {
                go(before.clone(), false);
                if answer.is_ok() {
                    go(after, false);
                }
            }
            Outcome::Refused(error) => {
                if answer == Err(error.code) {
                    go(before.clone(), false);
                } else if let (Change::Update { conversation, seq, .. }, Code::Conflict) = (change, error.code) {
                    // Its writer was taken for gone.
                    let mut ended = before.clone();
                    let open = ended.conversations.get_mut(conversation).map(Rc::make_mut);
                    if let Some(message) = open.and_then(|open| open.message_mut(*seq)) {
                        message.status = MessageStatus::Aborted;
                        message.known_as.clone_from(&message.raw);
                        go(ended, false);
                    }
                }
            }
            Outcome::Unknown => {
                go(before.clone(), false);
                if answer.is_ok() {
                    go(after, false);
                }
            }
        }
        used[at] = false;
    }
    if is_end {
        found.push(steps.clone());
    }
}

/// Messages whose writer is gone were ended by whoever met them.
pub fn take_in_aborted(model: &mut Model, truth: &Model) {
    for (id, conversation) in &mut model.conversations {
        let Some(real) = truth.conversations.get(id) else { continue };
        let ended: Vec<usize> = conversation
            .messages
            .iter()
            .zip(&real.messages)
            .enumerate()
            .filter(|(_, (message, real))| {
                message.status == MessageStatus::Streaming
                    && real.status == MessageStatus::Aborted
                    && real.raw == message.raw
            })
            .map(|(at, _)| at)
            .collect();
        for at in ended {
            let message = Rc::make_mut(&mut Rc::make_mut(conversation).messages[at]);
            message.status = MessageStatus::Aborted;
            message.known_as.clone_from(&message.raw);
        }
    }
}

pub fn difference(expected: &Model, truth: &Model) -> String {
    if expected.facts != truth.facts {
        return format!("facts {:?}, expected {:?}", truth.facts, expected.facts);
    }
    let ids: BTreeSet<&String> = expected.conversations.keys().chain(truth.conversations.keys()).collect();
    for id in ids {
        let (wanted, real) = (expected.conversations.get(id), truth.conversations.get(id));
        if wanted == real {
            continue;
        }
        let (Some(wanted), Some(real)) = (wanted, real) else {
            return format!("{id} is {}there", if real.is_some() { "" } else { "not " });
        };
        for seq in 1..=wanted.messages.len().max(real.messages.len()) as u32 {
            if wanted.message(seq) != real.message(seq) {
                return format!("{id} has {:?}, expected {:?}", real.message(seq), wanted.message(seq));
            }
        }
        let end = |one: &Conversation| format!("at {} ({:?}), without {:?}", one.leaf, one.title, one.gone);
        return format!("{id} ends {}, expected {}", end(real), end(wanted));
    }
    "nothing".into()
}
