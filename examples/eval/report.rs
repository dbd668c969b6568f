//! What is measured of every ranking, and how it is shown.

use crate::Failure;
use crate::data::{CATEGORIES, Conversation, Locomo, Question, Vectors};
use crate::fit::LeftOut;
use crate::floors::Floors;
use crate::measures::{Tally, share, tally_question};
use crate::searching::{Asked, Found, Ranking, find, locomo_index};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use throughline::config::RankingChoice;
use throughline::retrieval::{GateRequest, MessageIndex, RetrievalChoice, Weights, decide};

/// Results of one run: with weights that never saw the question's conversation, as shipped, and with the seeds' ranking.
/// A line for each question goes to `kept`.
pub fn locomo(
    run: &str,
    locomo: &Locomo,
    vectors: Option<&Vectors>,
    left_out: &LeftOut,
    kept: &mut Vec<String>,
) -> Result<Vec<Value>, Failure> {
    let index = locomo_index(locomo, vectors)?;
    let unseen: Vec<Weights> = locomo
        .conversations
        .iter()
        .map(|conversation| left_out.weights(&conversation.id))
        .collect::<Result<_, Failure>>()?;
    let mut tallies: [BTreeMap<&str, Tally>; 3] = Default::default();
    let mut floors = Floors::default();
    for question in &locomo.questions {
        let conversation = &locomo.conversations[question.conversation];
        let number = u32::try_from(question.conversation)?;
        let vector = vectors.and_then(|vectors| vectors.question(question.row));
        let search = |asked| find(&index, &question.text, vector, asked);
        let (mut own, mut all) = (search(Asked::Within(number))?, search(Asked::From(number))?);
        let rankings = [
            Ranking { choice: RankingChoice::Fitted, weights: &unseen[question.conversation] },
            Ranking { choice: RankingChoice::Fitted, weights: &Weights::FITTED },
            Ranking { choice: RankingChoice::Seeds, weights: &Weights::FITTED },
        ];
        for (ranking, tallies) in rankings.into_iter().zip(&mut tallies) {
            own.rank(ranking);
            all.rank(ranking);
            let order = own.places();
            let among_all: Vec<usize> = all
                .hits
                .iter()
                .take(10)
                .filter(|hit| hit.conversation == number)
                .map(|hit| hit.seq as usize - 1)
                .collect();
            for name in ["all", CATEGORIES[question.category]] {
                let tally = tallies.entry(name).or_default();
                tally_question(tally, question, conversation, &order);
                tally.add("turn R@10 among all conversations", share(question, &among_all, 10));
                tally.add("gate retrieves", f64::from(u8::from(gate_retrieves(&index, conversation, question))));
            }
        }
        own.rank(rankings[0]);
        kept.push(line(run, question, conversation, &own));
        let next = (number + 1) % u32::try_from(locomo.conversations.len())?;
        floors.add(
            question,
            rankings[0],
            [own, search(Asked::Within(next))?, search(Asked::Anew)?, search(Asked::Without(number))?],
        );
    }
    let mut report: Vec<Value> = ["left out", "shipped", "seeds"]
        .into_iter()
        .zip(&tallies)
        .map(|(ranking, tallies)| {
            let results: serde_json::Map<String, Value> =
                tallies.iter().map(|(name, tally)| ((*name).to_owned(), tally.percent())).collect();
            json!({ "data": "locomo", "run": run, "ranking": ranking, "results": results })
        })
        .collect();
    report.push(json!({ "data": "locomo", "run": run, "ranking": "floors", "results": floors.results() }));
    Ok(report)
}

/// One question: where its evidence is, and what came first.
fn line(run: &str, question: &Question, conversation: &Conversation, found: &Found) -> String {
    let order = found.places();
    let evidence: Vec<Value> = question
        .evidence
        .iter()
        .map(|place| {
            let rank = order.iter().position(|hit| hit == place).map(|rank| rank + 1);
            json!({ "id": conversation.turns[*place].id, "rank": rank })
        })
        .collect();
    let top: Vec<Value> = found
        .hits
        .iter()
        .take(10)
        .map(|hit| json!({ "id": conversation.turns[hit.seq as usize - 1].id, "score": hit.score, "scores": hit.scores }))
        .collect();
    let category = CATEGORIES[question.category];
    format!(
        "{}\n",
        json!({ "run": run, "question": question.id, "category": category, "evidence": evidence, "top": top })
    )
}

/// What the gate says to the question when the recent window is the conversation's last 20 turns.
fn gate_retrieves(index: &MessageIndex, conversation: &Conversation, question: &Question) -> bool {
    let first = conversation.turns.len().saturating_sub(20);
    let seqs = first as u32 + 1..=conversation.turns.len() as u32;
    let recent: Vec<u32> = seqs.filter_map(|seq| index.find(question.conversation as u32, seq)).collect();
    let admits = |number: u32, seq: u32| number == question.conversation as u32 && seq as usize <= first;
    decide(&GateRequest {
        question: &question.text,
        choice: RetrievalChoice::Auto,
        recent: &recent,
        admits: &admits,
        messages_outside: conversation.turns.len() - recent.len(),
        index,
        has_vectors: index.vectors().is_some_and(|vectors| !vectors.is_empty()),
        told_by_summary: false,
    })
    .retrieve
}

/// A table for each run and ranking; first of all the figures that are compared.
pub fn print(report: &[Value]) {
    println!("{:32}{:>12}{:>10}{:>10}{:>10}{:>10}{:>10}", "", "ranking", "R@5", "R@10", "R@20", "any@10", "all@10");
    for entry in report.iter().filter(|entry| entry["ranking"] != "floors") {
        let name = format!("{} / {}", entry["data"].as_str().unwrap_or(""), entry["run"].as_str().unwrap_or(""));
        let all = &entry["results"]["all"];
        let cells: String = match all["nDCG@10"].as_f64() {
            Some(value) => format!("{value:>10} nDCG@10"),
            None => ["turn R@5", "turn R@10", "turn R@20", "turn any@10", "turn all@10"]
                .map(|measure| format!("{:>10}", all[measure].to_string()))
                .concat(),
        };
        println!("{name:32}{:>12}{cells}", entry["ranking"].as_str().unwrap_or(""));
    }
    for entry in report.iter().filter(|entry| entry["data"] == "locomo") {
        print_table(entry);
    }
}

fn print_table(entry: &Value) {
    println!("\nlocomo / {} / {}", entry["run"].as_str().unwrap_or(""), entry["ranking"].as_str().unwrap_or(""));
    let Some(results) = entry["results"].as_object() else { return };
    println!("{:44}{}", "", results.keys().map(|name| format!("{name:>13}")).collect::<String>());
    let rows = results.values().next().and_then(Value::as_object);
    for row in rows.into_iter().flat_map(serde_json::Map::keys) {
        let cells: String = results.values().map(|cells| format!("{:>13}", cells[row].to_string())).collect();
        println!("{row:44}{cells}");
    }
}
