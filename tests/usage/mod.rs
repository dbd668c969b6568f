//! Bills beside counts: what is learned from them, what is added up, and that nothing else moves.

use crate::host::{World, append, ask, conversation, message};
use futures_executor::block_on;
use proptest::prelude::*;
use serde_json::{Value, json};
use throughline::context::Context;
use throughline::engine::{ContextRequest, Engine, EraseRequest, Lesson, ModelUsage, UsageReport, UsageTaken};
use throughline::error::{Code, Error};

fn billed(model: &str, input_tokens: Option<u32>) -> UsageReport {
    serde_json::from_value(json!({
        "conversationId": "c", "provider": "acme", "model": model, "inputTokens": input_tokens, "outputTokens": 20,
    }))
    .unwrap()
}

fn chat(count: usize) -> Vec<String> {
    let said = |number: usize| match number % 2 {
        0 => message("user", &format!("Which step of chapter {number} is left out, and who has to know about it?")),
        _ => message("assistant", &format!("Step {number} is left out; the printer in hall {number} has to know.")),
    };
    (0..count).map(said).collect()
}

async fn filled(world: &World) -> Engine {
    let engine = world.open().await;
    conversation(&engine, "c").await;
    engine.append(append("c", chat(60))).await.unwrap();
    engine
}

/// Builds a context and reports a bill of so many times its count.
async fn turn(engine: &Engine, model: &str, ratio: f64) -> (Context, UsageTaken) {
    let context = engine.build_context(ask("c", "Is that all?")).await.unwrap();
    let taken =
        engine.report_usage(billed(model, Some((f64::from(context.count.tokens) * ratio) as u32))).await.unwrap();
    (context, taken)
}

async fn usage(engine: &Engine) -> Vec<ModelUsage> {
    engine.stats().await.unwrap().usage
}

#[test]
fn contexts_are_counted_as_the_model_bills_and_the_receipt_says_so() {
    block_on(async {
        let world = World::default();
        let engine = filled(&world).await;
        let (first, taken) = turn(&engine, "m", 1.3).await;
        assert_eq!((first.receipt.tokens.correction, taken.lesson), (1.0, Lesson::Learned));
        let (second, taken) = turn(&engine, "m", 1.3).await;
        // The first bill is worth half, rounded up to a step.
        assert_eq!(second.receipt.tokens.correction, 148.0 / 128.0);
        assert_eq!(taken.correction, 167.0 / 128.0);
        let third = engine.build_context(ask("c", "Is that all?")).await.unwrap();
        let tokens = third.receipt.tokens;
        assert_eq!((tokens.correction, tokens.exact, tokens.total), (taken.correction, false, third.tokens));
        assert_eq!(third.count, first.count, "there is room for all, so the same is sent");
        assert_eq!(third.tokens, (f64::from(first.tokens) * taken.correction).ceil() as u32);
        let listed: u32 = third.receipt.sections.iter().map(|section| section.tokens).sum();
        assert_eq!(i64::from(tokens.total) - i64::from(listed), i64::from(tokens.overhead));
        for section in &third.receipt.sections {
            assert!(section.tokens <= section.cap || section.name == "system", "{}", section.name);
        }
        // Stored counts are as they were.
        assert_eq!(engine.stats().await.unwrap().tokens, filled(&World::default()).await.stats().await.unwrap().tokens);
    });
}

#[test]
fn a_bill_that_is_not_for_the_last_context_is_only_added_up() {
    block_on(async {
        let world = World::default();
        let engine = filled(&world).await;
        let lesson = async |report| engine.report_usage(report).await.unwrap().lesson;
        assert_eq!(lesson(billed("m", Some(1_000))).await, Lesson::NoContext);
        let context = engine.build_context(ask("c", "Is that all?")).await.unwrap();
        let count = context.count.tokens;
        assert_eq!(lesson(billed("m", Some(count))).await, Lesson::Learned);
        // The second call of the same turn, with results of tools behind the context.
        assert_eq!(lesson(billed("m", Some(count + 300))).await, Lesson::NoContext);
        assert_eq!(turn(&engine, "m", 2.5).await.1.lesson, Lesson::Implausible);
        assert_eq!(turn(&engine, "m", 0.3).await.1.lesson, Lesson::Implausible);
        engine.build_context(ask("c", "Is that all?")).await.unwrap();
        assert_eq!(lesson(billed("m", None)).await, Lesson::NoInputTokens);
        conversation(&engine, "short").await;
        engine.build_context(ask("short", "Is that all?")).await.unwrap();
        let short = UsageReport { conversation_id: "short".into(), ..billed("m", Some(40)) };
        assert_eq!(lesson(short).await, Lesson::TooShort);
        let told = usage(&engine).await;
        assert_eq!((told.len(), told[0].calls, told[0].output_tokens), (1, 7, 140));
        assert_eq!((told[0].billed_per_thousand.as_slice(), told[0].correction), ([1_000].as_slice(), 1.0));
    });
}

#[test]
fn sums_and_corrections_are_there_after_a_reload_and_in_another_tab() {
    block_on(async {
        let world = World::default();
        let (engine, other) = (filled(&world).await, world.open().await);
        for _ in 0..3 {
            turn(&engine, "m", 1.2).await;
            turn(&other, "m", 1.2).await;
        }
        let told = usage(&engine).await;
        assert_eq!(told, usage(&other).await);
        assert_eq!((told[0].calls, told[0].billed_per_thousand.len()), (6, 6));
        assert_eq!(told[0].since, 1_750_000_000_000.0);
        let reopened = world.open().await;
        assert_eq!(usage(&reopened).await, told);
        let context = reopened.build_context(ask("c", "Is that all?")).await.unwrap();
        assert_eq!(context.receipt.tokens.correction, 154.0 / 128.0);
        // Both at once: neither is lost.
        let reports = [&engine, &other].map(|tab| tab.report_usage(billed("m", Some(9))));
        assert!(futures_util::future::join_all(reports).await.into_iter().all(|taken| taken.is_ok()));
        assert_eq!(usage(&reopened).await[0].calls, 8);
    });
}

#[test]
fn each_model_has_its_own_correction() {
    block_on(async {
        let world = World::default();
        let engine = filled(&world).await;
        for _ in 0..2 {
            turn(&engine, "dear", 1.5).await;
        }
        turn(&engine, "cheap", 1.0).await;
        let corrections = async |model: Option<&str>| {
            let named = model.map(|model| json!({ "provider": "acme", "model": model }));
            let request = json!({ "conversationId": "c", "question": "Is that all?", "model": named });
            let request: ContextRequest = serde_json::from_value(request).unwrap();
            engine.build_context(request).await.unwrap().receipt.tokens.correction
        };
        assert_eq!(corrections(Some("dear")).await, 1.5);
        assert_eq!(corrections(Some("cheap")).await, 1.0);
        assert_eq!(corrections(Some("unheard")).await, 1.0);
        assert_eq!(corrections(None).await, 1.0, "the model reported last");
        assert_eq!(usage(&engine).await.iter().map(|one| one.model.as_str()).collect::<Vec<_>>(), ["cheap", "dear"]);
    });
}

#[test]
fn a_report_that_cannot_be_used_changes_nothing() {
    block_on(async {
        let engine = filled(&World::default()).await;
        let refused = async |fields: Value| -> Error {
            let mut report = json!({ "conversationId": "c", "provider": "acme", "model": "m", "inputTokens": 10 });
            for (name, value) in fields.as_object().unwrap() {
                report[name] = value.clone();
            }
            match serde_json::from_value::<UsageReport>(report) {
                Ok(report) => engine.report_usage(report).await.unwrap_err(),
                Err(_) => Error::invalid_argument("not even read"),
            }
        };
        for fields in [
            json!({ "provider": "" }),
            json!({ "model": "" }),
            json!({ "model": "m".repeat(600) }),
            json!({ "inputTokens": -1 }),
            json!({ "inputTokens": 1.5 }),
            json!({ "inputTokens": "NaN" }),
            json!({ "outputTokens": 1e12 }),
            json!({ "cachedTokens": 11 }),
        ] {
            assert_eq!(refused(fields.clone()).await.code, Code::InvalidArgument, "{fields}");
        }
        assert_eq!(refused(json!({ "conversationId": "none" })).await.code, Code::NotFound);
        assert_eq!(usage(&engine).await, []);
    });
}

#[test]
fn what_was_billed_goes_with_the_user() {
    block_on(async {
        let world = World::default();
        let (engine, other) = (filled(&world).await, world.open().await);
        turn(&engine, "m", 1.2).await;
        assert_eq!(usage(&other).await.len(), 1);
        engine.erase(EraseRequest { user: true, ..EraseRequest::default() }).await.unwrap();
        assert_eq!((usage(&engine).await, usage(&other).await), (Vec::new(), Vec::new()));
    });
}

#[test]
fn a_drifting_ratio_leaves_the_prefix_as_it_is() {
    block_on(async {
        let world = World::default();
        let engine = filled(&world).await;
        let mut hashes = Vec::new();
        for number in 0..40 {
            let ratio = 1.2 + f64::from(number * 7 % 11 - 5) / 500.0;
            hashes.push(turn(&engine, "m", ratio).await.0.receipt.prefix_hash);
        }
        let moves = hashes.windows(2).skip(3).filter(|pair| pair[0] != pair[1]).count();
        assert!(moves <= 1, "{moves}");
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever was reported: what the model would bill stays within the window, once the correction is its own.
    #[test]
    fn the_budget_holds_as_it_is_billed(ratios in prop::collection::vec(0.2_f64..2.4, 1..6), window in 900_u32..6_000) {
        block_on(async {
            let engine = filled(&World::default()).await;
            for ratio in ratios {
                turn(&engine, "m", ratio).await;
                let asked = ContextRequest { window: Some(f64::from(window)), ..ask("c", "What of chapter 2?") };
                let context = engine.build_context(asked).await.unwrap();
                let tokens = context.receipt.tokens;
                let limit = tokens.window - tokens.reserve;
                assert!(context.tokens <= limit);
                assert!(f64::from(context.count.tokens) * tokens.correction <= f64::from(limit));
                for section in &context.receipt.sections {
                    let listed: u32 = section.items.iter().map(|item| item.tokens).sum();
                    assert!(listed <= section.tokens && (section.tokens <= section.cap || section.name == "system"));
                }
            }
        });
    }
}
