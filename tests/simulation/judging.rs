//! Whether what the engines answered, and what is stored then, is what the model expects.

use super::explaining::{Outcome, difference, is_fault, name_of, search, take_in_aborted};
use super::model::{Answer, Change, Model};
use super::play::{Play, Stream};
use super::truth;
use throughline::error::{Code, Error};

/// What an import would add to was changed, or what it writes is not there yet.
fn meets_an_import(change: &Change, error: &Error) -> bool {
    matches!(change, Change::Import { .. } | Change::Create { .. }) && error.code == Code::StorageConflict
}

impl Play {
    /// Finds an order of the changes in which the model answers what the engines did.
    pub fn judge(&mut self, outcomes: &[(usize, Change, Outcome)], is_stormy: bool) -> Result<(), String> {
        let mut found = Vec::new();
        for (_, change, outcome) in outcomes {
            match outcome {
                Outcome::Answered(answer, durable) => self.log.push(format!("  {answer:?}, durable {durable}")),
                Outcome::Refused(error) => self.log.push(format!("  {error}")),
                Outcome::Unknown => self.log.push(format!("  no answer to {}", name_of(change))),
            }
            if let Outcome::Refused(error) = outcome
                && is_fault(error)
                && !is_stormy
                && !meets_an_import(change, error)
            {
                return Err(format!("the storage did not fail, and {} failed: {error}", name_of(change)));
            }
        }
        let mut order = Vec::new();
        let mut used = vec![false; outcomes.len()];
        search(outcomes, &self.believed, &mut used, &mut order, &mut found);
        if found.is_empty() {
            // A stream whose writer is gone may have been ended before.
            let mut ended = self.believed.clone();
            take_in_aborted(&mut ended, &truth::read(&self.disk, &mut self.known)?);
            search(outcomes, &ended, &mut used, &mut order, &mut found);
        }
        if found.is_empty() {
            return Err("the model answers otherwise in every order".into());
        }
        for (_, change, outcome) in outcomes {
            if let (Change::Begin { conversation, message }, Outcome::Answered(Answer::Stored(stored), _)) =
                (change, outcome)
                && let Some((id, seq)) = stored.first()
            {
                let raw_start = message.raw.trim_end_matches("\"}").to_owned();
                let (conversation, id, seq) = (conversation.clone(), id.clone(), *seq);
                self.streams.push(Stream { conversation, id, seq, raw_start });
            }
        }
        if self.streams.len() > 6 {
            self.streams.remove(0);
        }
        self.remember(&found);
        let mut ends: Vec<Model> = Vec::new();
        for (model, _) in found.iter().filter_map(|steps: &Vec<(Model, bool)>| steps.last()) {
            if !ends.contains(model) {
                ends.push(model.clone());
            }
        }
        if let Some(first) = found.first()
            && first.is_empty()
        {
            ends.push(self.believed.clone());
        }
        match ends.as_slice() {
            [only] => {
                self.believed = only.clone();
                Ok(())
            }
            _ => self.see_what_is_there(ends),
        }
    }

    /// Which states a power cut may leave from now on.
    fn remember(&mut self, found: &[Vec<(Model, bool)>]) {
        let mut left: Vec<Model> = Vec::new();
        let before = std::mem::take(&mut self.may_be_left);
        for steps in found {
            let durable = steps.iter().rposition(|(_, durable)| *durable);
            if durable.is_none() {
                for model in &before {
                    if !left.contains(model) {
                        left.push(model.clone());
                    }
                }
            }
            for (model, _) in steps.iter().skip(durable.unwrap_or(0)) {
                if !left.contains(model) {
                    left.push(model.clone());
                }
            }
        }
        self.may_be_left = left;
    }

    /// What is in the stores must be one of these, and is believed from then on.
    pub fn see_what_is_there(&mut self, mut expected: Vec<Model>) -> Result<(), String> {
        let truth = truth::read(&self.disk, &mut self.known)?;
        for model in &mut expected {
            take_in_aborted(model, &truth);
        }
        match expected.iter().position(|model| *model == truth) {
            Some(at) => {
                self.believed = expected.swap_remove(at);
                if !self.may_be_left.contains(&self.believed) {
                    self.may_be_left.push(self.believed.clone());
                }
                Ok(())
            }
            None => {
                let nearest = expected.last().map(|model| difference(model, &truth)).unwrap_or_default();
                Err(format!("what is stored is none of {} expected states; of the last: {nearest}", expected.len()))
            }
        }
    }
}
