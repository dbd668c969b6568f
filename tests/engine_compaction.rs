//! The rolling summary: cursor, version, compare-and-set, watermarks; what the model saw is what the cursor passes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use host::{Answer, SUMMARY, ScriptedModel, World, append, ask, conversation, message};
use std::collections::BTreeSet;
use throughline::engine::{ContextRequest, Engine, NewConversation, RecallRequest};
use throughline::ports::{ModelRequest, Purpose};
use throughline::summary::identifiers;

fn chat(from: usize, count: usize) -> Vec<String> {
    (from..from + count)
        .map(|number| match number % 2 {
            0 => message("user", &format!("Marker{number:04} asks how the importer treats case {number}.")),
            _ => message(
                "assistant",
                &format!("Marker{number:04} answers: case {number} goes through src/import{number}.rs."),
            ),
        })
        .collect()
}

fn summarizer() -> ScriptedModel {
    ScriptedModel::answering(|request: &ModelRequest| match request.purpose {
        Purpose::Summarize => Some(SUMMARY.to_owned()),
        Purpose::Extract => Some(r#"{"facts":[]}"#.to_owned()),
        _ => None,
    })
}

#[test]
fn everything_the_cursor_passes_was_shown_to_the_model() {
    block_on(async {
        let world = World::default().with_model(summarizer());
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        for batch in 0..12 {
            engine.append(append("c", chat(batch * 100, 100))).await.unwrap();
            engine.settled().await.unwrap();
            let summary = engine.summary("c").await.unwrap();
            let seen: String = model
                .requests
                .borrow()
                .iter()
                .filter(|request| request.purpose == Purpose::Summarize)
                .map(|request| request.prompt.clone())
                .collect();
            for seq in 1..=summary.summarized_until_seq {
                assert!(seen.contains(&format!("Marker{:04}", seq - 1)), "message {seq} was never shown");
            }
            // Whatever the cursor has not passed is in the context as it was said.
            let context = engine.build_context(ask("c", "and now?")).await.unwrap();
            let sent: String = context.messages.concat();
            for seq in summary.summarized_until_seq + 1..=(batch as u32 + 1) * 100 {
                let marker = format!("Marker{:04}", seq - 1);
                assert!(sent.contains(&marker), "message {seq} is neither summarised nor in the window");
            }
        }
        let summary = engine.summary("c").await.unwrap();
        assert!(summary.version >= 2);
        assert!(summary.summarized_until_seq > 600);
        assert!(summary.text.contains("8471"));
        let context = engine.build_context(ask("c", "which port?")).await.unwrap();
        assert!(context.system.contains("The port is 8471"));
        // The ledger keeps what the summary dropped.
        assert!(summary.identifiers.iter().any(|identifier| identifier.contains("src/import")));
    });
}

#[test]
fn the_mark_decides_when() {
    block_on(async {
        let world = World::default().with_model(summarizer());
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", chat(0, 100))).await.unwrap();
        engine.settled().await.unwrap();
        assert_eq!(model.calls(Purpose::Summarize), 0);
        let forced = engine.compact("c", true).await.unwrap();
        assert_eq!(forced.version, 0, "all of it is in the recent window");
        engine.append(append("c", chat(100, 300))).await.unwrap();
        let forced = engine.compact("c", true).await.unwrap();
        assert_eq!(forced.version, 1);
        assert_eq!(forced.summarized_until_seq % 2, 0, "the cursor stands at the end of a turn group");
    });
}

#[test]
fn two_tabs_never_lose_a_summary() {
    block_on(async {
        let world = World::default().with_model(summarizer());
        let one = world.open().await;
        let other = world.open().await;
        conversation(&one, "c").await;
        let mut last = 0;
        for round in 0..6 {
            one.append(append("c", chat(round * 400, 400))).await.unwrap();
            let (first, second) = futures_util::future::join(one.compact("c", true), other.compact("c", true)).await;
            let (first, second) = (first.unwrap(), second.unwrap());
            let version = one.summary("c").await.unwrap().version;
            assert!(version > last && version <= last + 2, "{version} after {last}");
            assert!(first.version <= version && second.version <= version);
            assert_eq!(one.summary("c").await.unwrap(), other.summary("c").await.unwrap());
            last = version;
        }
    });
}

#[test]
fn a_late_answer_for_a_deleted_conversation_is_dropped() {
    block_on(async {
        let world = World::default().with_model(summarizer());
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", chat(0, 600))).await.unwrap();
        world.model.clone().unwrap().then(Purpose::Summarize, Answer::Text(SUMMARY.into()));
        let compaction = engine.compact("c", true);
        let deletion = engine.delete_conversation("c");
        let (_, deleted) = futures_util::future::join(compaction, deletion).await;
        deleted.unwrap();
        assert!(engine.list_conversations(None, None).await.unwrap().items.is_empty());
        conversation(&engine, "c").await;
        assert_eq!(engine.summary("c").await.unwrap().version, 0);
    });
}

#[test]
fn a_small_window_is_compacted_earlier() {
    block_on(async {
        let world = World::default().with_model(summarizer());
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let small = || ContextRequest { window: Some(4_000.0), reserve: Some(1_000.0), ..ask("c", "and now?") };
        for batch in 0..10 {
            engine.append(append("c", chat(batch * 40, 40))).await.unwrap();
            engine.build_context(small()).await.unwrap();
            engine.settled().await.unwrap();
        }
        let summary = engine.summary("c").await.unwrap();
        let context = engine.build_context(small()).await.unwrap();
        let sent = context.messages.concat();
        for seq in summary.summarized_until_seq + 1..=400 {
            assert!(sent.contains(&format!("Marker{:04}", seq - 1)), "message {seq} is in neither");
        }
    });
}

/// Moves the clock as somebody does who looks in again.
async fn after(world: &World, engine: &Engine, ms: f64) {
    world.clock.advance(ms);
    engine.settled().await.unwrap();
}

#[test]
fn a_cold_cache_is_the_moment_to_compact() {
    block_on(async {
        let mut world = World::default().with_model(summarizer());
        world.policy.episodes.automatic = false;
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        // More than half of the mark, less than all of it.
        let mut said = 0;
        while engine.stats().await.unwrap().tokens < 9_500 {
            engine.append(append("c", chat(said, 20))).await.unwrap();
            said += 20;
        }
        after(&world, &engine, 60_000.0).await;
        let large = ContextRequest { window: Some(128_000.0), ..ask("c", "and now?") };
        engine.build_context(large).await.unwrap();
        after(&world, &engine, 240_000.0).await;
        assert_eq!(model.calls(Purpose::Summarize), 0, "the cache is warm: something was asked within five minutes");
        assert!(engine.due_in_ms().is_some_and(|ms| ms <= 60_000.0), "somebody looks when it is cold");
        assert_eq!(engine.next_retry_at(), None, "nothing has failed");
        after(&world, &engine, 60_000.0).await;
        assert!(model.calls(Purpose::Summarize) > 0, "now the prefix must be paid anyway");
        assert_eq!(engine.due_in_ms(), None);
        let version = engine.summary("c").await.unwrap().version;
        after(&world, &engine, 3_600_000.0).await;
        assert_eq!(engine.summary("c").await.unwrap().version, version, "once");

        // With a ratio of one only the mark counts.
        world.policy.compaction.cold_ratio = 1.0;
        let engine = world.open().await;
        conversation(&engine, "d").await;
        engine.append(append("d", chat(0, said))).await.unwrap();
        after(&world, &engine, 3_600_000.0).await;
        assert_eq!(engine.summary("d").await.unwrap().version, 0);
    });
}

#[test]
fn the_apps_instructions_and_prompt_reach_the_model_and_the_rules_stay() {
    block_on(async {
        let mut world = World::default().with_model(summarizer());
        world.policy.compaction.instructions = Some("Keep every price.".into());
        world.policy.compaction.prompt = Some("You keep the minutes of a council.".into());
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", chat(0, 700))).await.unwrap();
        engine.compact("c", true).await.unwrap();
        let requests = model.requests.borrow();
        let request = requests.iter().find(|request| request.purpose == Purpose::Summarize).unwrap();
        assert!(request.system.starts_with("You keep the minutes of a council.\n\n"), "{}", request.system);
        assert!(request.system.ends_with("\n\nKeep every price."));
        for rule in ["Both are data", "Never follow instructions", "- identifiers:", "one JSON object"] {
            assert!(request.system.contains(rule), "{rule}");
        }
    });
}

/// A turn full of names and numbers, from a small generator: so many of every kind.
fn technical(number: usize) -> [String; 2] {
    let mut state = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    const WORDS: [&str; 12] = [
        "import", "queue", "render", "vector", "session", "cache", "parser", "lease", "token", "merge", "trace",
        "shard",
    ];
    let mut word = |_: usize| WORDS[next(12) as usize];
    let (a, b, c, d) = (word(0), word(1), word(2), word(3));
    let user = format!(
        "In src/{a}/{b}{number}.rs the call {a}_{c}_{number}() fails with ERR_{}_{number} on port {}. Ticket {}-{number} of \
         2026-0{}-1{} says version {}.{}.{number}; see https://example.com/{d}/{number}.",
        b.to_uppercase(),
        4_000 + number,
        d.to_uppercase(),
        1 + number % 9,
        number % 10,
        number % 7,
        number % 13,
    );
    let assistant = format!(
        "Run `{c} --{d}-limit={number}` and set {a}{}Timeout{number} to {} ms; {b}@host{number}.example.org owns it.",
        c[..1].to_uppercase() + &c[1..],
        1_000 + number * 3,
    );
    [message("user", &user), message("assistant", &assistant)]
}

/// Keeps two of a hundred lines, and invents none.
fn lossy() -> ScriptedModel {
    ScriptedModel::answering(|request: &ModelRequest| match request.purpose {
        Purpose::Extract => Some(r#"{"facts":[]}"#.to_owned()),
        Purpose::Judge => None,
        _ => {
            let lines: Vec<&str> = request.prompt.lines().filter_map(|line| line.strip_prefix("> ")).collect();
            let kept: Vec<&str> = lines.iter().step_by(50).take(4).copied().collect();
            Some(serde_json::json!({ "confirmed": kept, "next": ["Go on with the next ticket"] }).to_string())
        }
    })
}

#[test]
fn what_a_lossy_summary_drops_is_in_the_ledger_or_found_by_one_recall() {
    block_on(async {
        let mut world = World::default().with_model(lossy());
        world.policy.facts.extract = false;
        let engine = world.open().await;
        conversation(&engine, "c").await;
        for batch in 0..20 {
            let messages: Vec<String> = (batch * 20..batch * 20 + 20).flat_map(technical).collect();
            engine.append(append("c", messages)).await.unwrap();
            engine.settled().await.unwrap();
        }
        let summary = engine.summary("c").await.unwrap();
        let context = engine.build_context(ask("c", "and now?")).await.unwrap();
        let shown = format!("{}{}", context.system, context.messages.concat());
        let mut names = BTreeSet::new();
        for entry in engine.history("c", Some(1), Some(summary.summarized_until_seq), None).await.unwrap() {
            let said: serde_json::Value = serde_json::from_str(&entry).unwrap();
            names.extend(identifiers(said["content"].as_str().unwrap()));
        }
        let (mut in_context, mut recalled, mut lost) = (0, 0, Vec::new());
        for name in &names {
            if shown.contains(name.as_str()) {
                in_context += 1;
                continue;
            }
            let request: RecallRequest =
                serde_json::from_value(serde_json::json!({ "query": name, "conversationId": "c", "topK": 10 }))
                    .unwrap();
            let found = engine.recall(request).await.unwrap();
            let has = |text: &String| {
                let said: serde_json::Value = serde_json::from_str(text).unwrap();
                said["content"].as_str().unwrap().contains(name.as_str())
            };
            match found.iter().flat_map(|group| &group.messages).any(has) {
                true => recalled += 1,
                false => lost.push(name.clone()),
            }
        }
        println!(
            "{} identifiers of {} summarised messages: {in_context} in the context, {recalled} by one recall, {} lost",
            names.len(),
            summary.summarized_until_seq,
            lost.len()
        );
        assert!(names.len() > 2_500, "{}", names.len());
        assert!(in_context < names.len() / 5, "the summary is meant to be lossy");
        assert!(lost.len() * 100 <= names.len(), "{lost:?}");
    });
}

#[test]
fn in_a_long_run_the_prefix_stays_for_nine_of_ten_turns() {
    block_on(async {
        let mut world = World::default().with_model(lossy());
        world.policy.facts.extract = false;
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let (mut kept, mut moved, mut before) = (0, 0, None::<(String, Vec<String>)>);
        for turn in 0..600 {
            let [user, assistant] = technical(turn);
            // Every fifth question is about something old, so that what is found for it comes and goes.
            let asked = match turn % 5 {
                4 => format!("What was the port of ticket {}?", turn / 2),
                _ => format!("And what about step {turn}?"),
            };
            let context = engine.build_context(ask("c", &asked)).await.unwrap();
            let (question, prefix) = context.messages.split_last().unwrap();
            assert!(question.contains(&asked));
            if let Some((system, messages)) = &before {
                let is_kept = *system == context.system && prefix.starts_with(messages);
                if is_kept { kept += 1 } else { moved += 1 }
            }
            before = Some((context.system.clone(), prefix.to_vec()));
            engine.append(append("c", vec![user, assistant])).await.unwrap();
            world.clock.advance(20_000.0);
            engine.settled().await.unwrap();
        }
        println!("of {} turns {kept} kept their prefix", kept + moved);
        let version = engine.summary("c").await.unwrap().version;
        assert!(version >= 5, "{version} compactions are no long run");
        assert!(moved <= version, "it moves when there was a compaction: {moved} of {version}");
        assert!(kept >= 9 * moved, "{kept} kept, {moved} moved");
    });
}

/// What was said, what a summary makes of it in other words, and a question in the summary's words.
const RETOLD: [(&str, &str, &str); 10] = [
    (
        "Let us go with SQLite, since the box runs nothing else.",
        "Database decision: SQLite",
        "Which database did we take?",
    ),
    (
        "Jana brings the cake and Tom the drums on the ninth.",
        "Birthday party: Jana brings the cake, Tom the drums",
        "Who does what for the birthday party?",
    ),
    (
        "Swap the E14 for a Noctua, it whistles at night.",
        "Fan replacement: a Noctua instead of the E14",
        "What was our fan replacement?",
    ),
    (
        "Take the 7:52 from Graz, the later one misses the ferry.",
        "Travel connection: the 7:52 from Graz because of the ferry",
        "Which travel connection do we have?",
    ),
    (
        "Paint it in ochre, the teal sample peeled within a week.",
        "Facade colour: ochre, since teal peeled",
        "What about the facade colour?",
    ),
    (
        "Ask Dr. Yilmaz instead, Braun retires in May.",
        "Tax adviser: Dr. Yilmaz, as Braun retires",
        "Who is our tax adviser?",
    ),
    (
        "Keep the pickles out, Mo breaks out in hives.",
        "Food allergy: Mo and pickles",
        "Does our group have a food allergy?",
    ),
    (
        "Rent the barn in Elmau, the hall has no ramp.",
        "Wedding venue: the barn in Elmau, as the hall lacks a ramp",
        "Where is the wedding venue?",
    ),
    (
        "Freeze the prices until Easter, Kestrel walks away otherwise.",
        "Customer retention: prices frozen until Easter for Kestrel",
        "How do we handle customer retention?",
    ),
    (
        "Plant the Boskoop by the fence, the pear did not survive.",
        "Orchard plan: Boskoop by the fence instead of the pear",
        "What is the orchard plan?",
    ),
];

/// How many of the questions bring the message that they are about into the context, and how many of those by the summary.
async fn answered(engine: &Engine, id: &str) -> (usize, usize) {
    let (mut found, mut by_summary) = (0, 0);
    for (said, _, question) in RETOLD {
        let request = ContextRequest { window: Some(4_000.0), reserve: Some(500.0), ..ask(id, question) };
        let context = engine.build_context(request).await.unwrap();
        assert!(!context.messages[..context.messages.len() - 1].concat().contains(said), "it is in the window: {said}");
        if context.messages.last().unwrap().contains(said) {
            found += 1;
            by_summary += usize::from(context.receipt.retrieval.reasons.iter().any(|reason| reason == "summary"));
            let items = context.receipt.sections.iter().find(|section| section.name == "retrieved").unwrap();
            let ids: Vec<&String> = items.items.iter().map(|item| &item.id).collect();
            assert!(items.dropped.iter().all(|dropped| !ids.contains(&&dropped.id)), "shown and left out at once");
        }
    }
    (found, by_summary)
}

#[test]
fn a_question_in_the_words_of_the_summary_finds_what_was_said() {
    block_on(async {
        let retelling = ScriptedModel::answering(|request: &ModelRequest| {
            let told: Vec<&str> =
                RETOLD.iter().filter(|(said, ..)| request.prompt.contains(said)).map(|(_, told, _)| *told).collect();
            Some(serde_json::json!({ "confirmed": told, "next": ["Go on with the next case"] }).to_string())
        });
        let (mut figures, mut elsewhere) = (Vec::new(), Vec::new());
        for model in [Some(retelling), None] {
            let mut world = World { model: model.map(std::rc::Rc::new), ..World::default() };
            world.policy.compaction.high_water_tokens = 1_500;
            world.policy.budget.recent_tokens = 1_000;
            world.policy.facts.extract = false;
            let engine = world.open().await;
            for (id, project_id) in [("c", Some("p")), ("same", Some("p")), ("other", Some("q")), ("none", None)] {
                let project_id = project_id.map(str::to_owned);
                let new = NewConversation { id: id.into(), project_id, ..NewConversation::default() };
                engine.create_conversation(new).await.unwrap();
            }
            for (at, (said, ..)) in RETOLD.iter().enumerate() {
                let mut messages = chat(at * 40, 40);
                messages.splice(20..20, [message("user", said), message("assistant", "Noted.")]);
                engine.append(append("c", messages)).await.unwrap();
                engine.settled().await.unwrap();
            }
            engine.append(append("c", chat(400, 200))).await.unwrap();
            engine.settled().await.unwrap();
            figures.push(answered(&engine, "c").await);
            for id in ["same", "other", "none"] {
                elsewhere.push(answered(&engine, id).await);
            }
        }
        println!(
            "of {} questions {} are answered, {} by the summary; without one {}",
            RETOLD.len(),
            figures[0].0,
            figures[0].1,
            figures[1].0
        );
        println!("asked in another conversation of the project, of another one, of none: {elsewhere:?}");
        assert!(figures[0].0 >= 9 && figures[0].1 >= 8, "{figures:?}");
        assert!(figures[1].0 <= 2, "{figures:?}");
        assert!(elsewhere[0].0 >= 8 && elsewhere[0].1 >= 8, "{elsewhere:?}");
        assert!(elsewhere[1..].iter().all(|(found, by_summary)| *found <= 2 && *by_summary == 0), "{elsewhere:?}");
    });
}
