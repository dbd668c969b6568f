//! What a floor on the score costs and keeps out.

use crate::data::Question;
use crate::measures::{Tally, share};
use crate::searching::{Found, Ranking};
use serde_json::{Map, Value};
use throughline::retrieval::Hit;

/// Hits that one context considers, by default.
const MOST_HITS: usize = 24;
const FLOORS: [f32; 9] = [0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5];
/// Hits below this share of the best score are left out as well.
const SHARES: [f32; 5] = [0.0, 0.3, 0.4, 0.5, 0.6];
const ASKED: [&str; 4] = ["own conversation", "another one", "anew, all", "anew, without its own"];

/// Sums by floor, for questions asked in their own conversation, in another one, in a new conversation about all, and
/// about all but their own.
#[derive(Default)]
pub struct Floors(Vec<(String, Tally)>);

impl Floors {
    fn tally(&mut self, name: String) -> &mut Tally {
        let at = self.0.iter().position(|(other, _)| *other == name).unwrap_or_else(|| {
            self.0.push((name, Tally::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    pub fn add(&mut self, question: &Question, ranking: Ranking<'_>, found: [Found; 4]) {
        let conversation = question.conversation as u32;
        for (asked, mut found) in ASKED.into_iter().zip(found) {
            found.rank(ranking);
            found.hits.truncate(MOST_HITS);
            let best = found.hits.first().map_or(0.0, |hit| hit.score);
            let lowest: Vec<(String, f32)> = FLOORS
                .iter()
                .map(|floor| (format!("{floor}"), *floor))
                .chain(SHARES.iter().map(|share| (format!("0.15, {share} of best"), (share * best).max(0.15))))
                .collect();
            for (name, lowest) in lowest {
                let kept: Vec<&Hit> = found.hits.iter().filter(|hit| hit.score > 0.0 && hit.score >= lowest).collect();
                let own = kept.iter().filter(|hit| hit.conversation == conversation);
                let places: Vec<usize> = own.map(|hit| hit.seq as usize - 1).collect();
                let is_own_asked = matches!(asked, "own conversation" | "anew, all");
                let tally = self.tally(name);
                if is_own_asked {
                    tally.add(format!("{asked}: R@10"), share(question, &places, 10));
                    tally.add(format!("{asked}: R@24"), share(question, &places, MOST_HITS));
                } else {
                    tally.add(format!("{asked}: nothing found"), f64::from(u8::from(kept.is_empty())));
                }
                tally.add(format!("{asked}: hits (x 100)"), kept.len() as f64);
            }
        }
    }

    pub fn results(&self) -> Value {
        Value::Object(self.0.iter().map(|(name, tally)| (name.clone(), tally.percent())).collect::<Map<_, _>>())
    }
}
