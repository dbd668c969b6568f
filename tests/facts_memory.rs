//! Explicit writes, the choice of facts, and the memory block that no text can leave.
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "test helpers: a failing unwrap is a failing test"
)]

mod break_outs;

use break_outs::BREAK_OUTS;
use proptest::prelude::*;
use serde_json::{Value, json};
use throughline::Code;
use throughline::facts::{
    Changes, Numbers, SelectionPolicy, approve, edit, explicit, fact_score, fingerprint, forget, memory_item,
    parse_memory_block, render_memory_block, select,
};
use throughline::prompt_text::{MEMORY_HEADER, SPECIAL_TOKENS, is_hidden, neutralize};
use throughline::records::{FactRecord, FactSource, FactStatus, Trust};

const NUMBERS: Numbers = Numbers { fact: 50, audit: 1 };
const DAY_MS: f64 = 86_400_000.0;

fn count(text: &str) -> u32 {
    u32::try_from(text.len().div_ceil(4)).unwrap()
}

fn fact(number: u32, text: &str) -> FactRecord {
    FactRecord {
        id: format!("f{number}"),
        key: None,
        subject: "user".into(),
        category: "preference".into(),
        fact: text.into(),
        confidence: 0.8,
        trust: Trust::UserStated,
        status: FactStatus::Active,
        source: FactSource {
            kind: "statement".into(),
            conversation_id: Some("c".into()),
            seq: Some(4),
            quote: Some(text.into()),
        },
        supersedes: None,
        fingerprint: fingerprint(text),
        pinned: false,
        local_only: false,
        expires_at: None,
        access_count: 0,
        last_accessed_at: None,
        origin: None,
        created_at: 1.0,
        updated_at: 1.0,
    }
}

fn write(value: Value, existing: &[FactRecord]) -> throughline::Result<throughline::facts::Written> {
    explicit(&serde_json::from_value(value).unwrap(), existing, NUMBERS, 9.0)
}

fn change(id: &str, value: Value, existing: &[FactRecord]) -> throughline::Result<throughline::facts::Written> {
    let mut value = value;
    value["id"] = id.into();
    edit(&serde_json::from_value(value).unwrap(), existing, NUMBERS, 9.0)
}

fn statuses(changes: &Changes) -> Vec<(&str, FactStatus)> {
    changes.puts.iter().map(|fact| (fact.id.as_str(), fact.status)).collect()
}

#[test]
fn a_written_fact_is_confirmed_at_once() {
    let written = write(json!({"fact": "  I go by Alex ", "expiresAt": 99.0, "pinned": true}), &[]).unwrap();
    let fact = &written.fact;
    assert_eq!((fact.id.as_str(), fact.fact.as_str(), fact.trust), ("f50", "I go by Alex", Trust::UserConfirmed));
    assert_eq!(
        (fact.source.kind.as_str(), fact.category.as_str(), fact.subject.as_str()),
        ("explicit", "preference", "user")
    );
    assert_eq!((fact.expires_at, fact.pinned, fact.confidence), (Some(99.0), true, 1.0));
    assert_eq!(written.changes.puts, vec![fact.clone()]);
    assert_eq!(written.changes.audit[0].operation, "ADD");
}

#[test]
fn the_same_text_is_the_existing_fact() {
    let existing = [write(json!({"fact": "I go by Alex"}), &[]).unwrap().fact];
    let again = write(json!({"fact": "i go by ALEX."}), &existing).unwrap();
    assert_eq!(again.fact, existing[0]);
    assert!(again.changes.is_empty());
    // Said before, now confirmed: in place.
    let stated = [fact(3, "User prefers tea")];
    let confirmed = write(json!({"fact": "User prefers tea", "pinned": true}), &stated).unwrap();
    assert_eq!(
        (confirmed.fact.id.as_str(), confirmed.fact.trust, confirmed.fact.pinned),
        ("f3", Trust::UserConfirmed, true)
    );
    assert_eq!(statuses(&confirmed.changes), [("f3", FactStatus::Active)]);
    // Proposed before: approved by writing it.
    let proposed = [
        fact(1, "User prefers milk"),
        FactRecord { status: FactStatus::Proposed, supersedes: Some("f1".into()), ..fact(3, "User prefers tea") },
    ];
    let approved = write(json!({"fact": "User prefers tea"}), &proposed).unwrap();
    assert_eq!(statuses(&approved.changes), [("f1", FactStatus::Superseded), ("f3", FactStatus::Active)]);
}

#[test]
fn the_same_key_replaces() {
    let first = write(json!({"fact": "Uses npm", "key": "package_manager"}), &[]).unwrap().fact;
    let existing = [FactRecord { id: "f1".into(), ..first }];
    let second = write(json!({"fact": "Uses pnpm", "key": "package_manager"}), &existing).unwrap();
    assert_eq!(second.fact.supersedes.as_deref(), Some("f1"));
    assert_eq!(statuses(&second.changes), [("f1", FactStatus::Superseded), ("f50", FactStatus::Active)]);
    assert_eq!(second.changes.audit[0].before.as_deref(), Some("Uses npm"));
}

#[test]
fn a_suggestion_waits_and_changes_nothing_until_it_is_approved() {
    let existing = [
        FactRecord { key: Some("editor".into()), trust: Trust::UserConfirmed, ..fact(1, "Uses vim") },
        FactRecord { status: FactStatus::Forgotten, fact: String::new(), ..fact(2, "Likes jazz") },
    ];
    let suggest = |text: &str, existing: &[FactRecord]| {
        write(json!({"fact": text, "key": "editor", "pinned": true, "suggested": true}), existing)
    };
    let written = suggest("Uses Emacs", &existing).unwrap();
    let fact = &written.fact;
    assert_eq!((fact.status, fact.trust), (FactStatus::Proposed, Trust::AssistantInferred));
    assert_eq!((fact.source.kind.as_str(), fact.pinned, fact.supersedes.as_deref()), ("inference", false, Some("f1")));
    assert_eq!(statuses(&written.changes), [("f50", FactStatus::Proposed)]);
    assert_eq!(written.changes.audit[0].by.as_deref(), Some("model"));
    let with_it = [existing[0].clone(), existing[1].clone(), fact.clone()];
    let approved = approve("f50", &with_it, NUMBERS, 10.0).unwrap();
    assert_eq!(statuses(&approved.changes), [("f1", FactStatus::Superseded), ("f50", FactStatus::Active)]);
    // The same again, in use or waiting, stays as it is; another suggestion takes the place of the first one only.
    for text in ["uses vim", "Uses Emacs."] {
        assert!(suggest(text, &with_it).unwrap().changes.is_empty(), "{text}");
    }
    let numbered = [existing[0].clone(), FactRecord { id: "f9".into(), key: Some("editor".into()), ..fact.clone() }];
    let other = suggest("Uses Helix", &numbered).unwrap();
    assert_eq!(statuses(&other.changes), [("f9", FactStatus::Superseded), ("f50", FactStatus::Proposed)]);
    assert_eq!(other.fact.supersedes.as_deref(), Some("f1"));
    assert_eq!(suggest("Likes jazz", &existing).unwrap_err().code, Code::InvalidArgument);
    assert_eq!(suggest(" ", &existing).unwrap_err().code, Code::InvalidArgument);
}

#[test]
fn unusable_writes_are_refused_without_repeating_them() {
    for value in [
        json!({"fact": " \n"}),
        json!({"fact": "Marker77".repeat(600)}),
        json!({"fact": "x", "key": ""}),
        json!({"fact": "x", "key": "Marker77".repeat(30)}),
    ] {
        let error = write(value, &[]).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        assert!(!error.message.contains("Marker77"));
    }
    let error = forget("Marker77", &[], NUMBERS, 0.0).unwrap_err();
    assert!(error.code == Code::NotFound && !error.message.contains("Marker77"));
    assert_eq!(change("f9", json!({"fact": "x"}), &[]).unwrap_err().code, Code::NotFound);
    assert_eq!(approve("f9", &[], NUMBERS, 0.0).unwrap_err().code, Code::NotFound);
    let gone = [FactRecord { status: FactStatus::Superseded, ..fact(1, "x") }];
    assert_eq!(change("f1", json!({"fact": "y"}), &gone).unwrap_err().code, Code::NotFound);
}

#[test]
fn an_edit_keeps_the_id_and_the_old_words_in_the_audit() {
    let existing = [FactRecord { key: Some("drink".into()), ..fact(3, "User prefers tea") }, fact(4, "x")];
    let edited = change("f3", json!({"fact": "User prefers coffee", "key": null}), &existing).unwrap();
    assert_eq!(
        (edited.fact.id.as_str(), edited.fact.fact.as_str(), &edited.fact.key),
        ("f3", "User prefers coffee", &None)
    );
    assert_eq!(
        (edited.fact.trust, edited.fact.fingerprint.clone()),
        (Trust::UserConfirmed, fingerprint("User prefers coffee"))
    );
    assert_eq!(edited.changes.audit[0].before.as_deref(), Some("User prefers tea"));
    assert!(change("f3", json!({}), &existing).unwrap().changes.is_empty());
    let pinned = change("f4", json!({"pinned": true, "key": "drink"}), &existing).unwrap();
    assert_eq!(pinned.fact.trust, Trust::UserStated, "pinning confirms no words");
    assert_eq!(statuses(&pinned.changes), [("f3", FactStatus::Superseded), ("f4", FactStatus::Active)]);
}

#[test]
fn forgetting_leaves_a_tombstone_of_the_whole_line() {
    let existing = [
        FactRecord { status: FactStatus::Superseded, ..fact(1, "Marker77 old") },
        FactRecord { supersedes: Some("f1".into()), key: Some("Marker77".into()), ..fact(2, "Marker77 new") },
        fact(3, "other"),
    ];
    let changes = forget("f2", &existing, NUMBERS, 9.0).unwrap();
    assert_eq!(statuses(&changes), [("f1", FactStatus::Forgotten), ("f2", FactStatus::Forgotten)]);
    assert_eq!(changes.forgotten, ["f2", "f1"]);
    assert!(!serde_json::to_string(&changes.puts).unwrap().contains("Marker77"));
    assert!(
        !changes.puts[1].fingerprint.contains(&fingerprint("Marker77 new")),
        "nor a hash that a list of texts could be held against"
    );
    assert!(changes.audit.iter().all(|entry| entry.before.is_none() && entry.after.is_none()));
    assert!(forget("f2", &changes.puts, NUMBERS, 10.0).unwrap().is_empty(), "twice is once");
    // Damaged records that point at each other end too.
    let ring = [
        FactRecord { supersedes: Some("f2".into()), ..fact(1, "a") },
        FactRecord { supersedes: Some("f1".into()), status: FactStatus::Proposed, ..fact(2, "b") },
    ];
    assert_eq!(forget("f1", &ring, NUMBERS, 9.0).unwrap().puts.len(), 2);
    assert_eq!(approve("f2", &ring, NUMBERS, 9.0).unwrap().fact.status, FactStatus::Active);
}

#[test]
fn approval_supersedes_what_was_meant_to_be_replaced() {
    let existing = [
        fact(1, "User prefers tea"),
        FactRecord { status: FactStatus::Superseded, supersedes: Some("f1".into()), ..fact(2, "User prefers milk") },
        FactRecord { status: FactStatus::Proposed, supersedes: Some("f2".into()), ..fact(3, "User prefers coffee") },
    ];
    let approved = approve("f3", &existing, NUMBERS, 9.0).unwrap();
    assert_eq!(statuses(&approved.changes), [("f1", FactStatus::Superseded), ("f3", FactStatus::Active)]);
    assert_eq!(approved.fact.trust, Trust::UserConfirmed);
    assert!(approve("f3", &approved.changes.puts, NUMBERS, 9.0).unwrap().changes.is_empty());
}

#[test]
fn only_trusted_current_facts_are_chosen_in_the_order_of_their_numbers() {
    let facts = [
        fact(10, "ten"),
        FactRecord { trust: Trust::AssistantInferred, ..fact(3, "inferred") },
        FactRecord { trust: Trust::Imported, ..fact(4, "imported") },
        FactRecord { status: FactStatus::Proposed, ..fact(5, "proposed") },
        FactRecord { status: FactStatus::Forgotten, ..fact(6, "") },
        FactRecord { expires_at: Some(100.0), ..fact(7, "expired") },
        FactRecord { expires_at: Some(101.0), ..fact(8, "not yet") },
        FactRecord { trust: Trust::UserConfirmed, ..fact(9, "nine") },
    ];
    let selection = select(&facts, &SelectionPolicy::new(1_000, 0.0, 100.0), &|_| panic!("not needed"), &count);
    let ids: Vec<&str> = selection.facts.iter().map(|fact| fact.id.as_str()).collect();
    assert_eq!(ids, ["f8", "f9", "f10"]);
    assert_eq!(render_memory_block(&selection.facts), format!("{MEMORY_HEADER}\n\"not yet\"\n\"nine\"\n\"ten\""));
    assert_eq!(selection.tokens, count(&render_memory_block(&selection.facts)));
    let wide = SelectionPolicy { min_trust: Trust::External, ..SelectionPolicy::new(1_000, 0.0, 100.0) };
    assert_eq!(select(&facts, &wide, &|_| 0.0, &count).facts.len(), 5);
    assert_eq!(select(&[], &wide, &|_| 0.0, &count), throughline::facts::Selection::default());
}

#[test]
fn the_score_is_the_formula() {
    let now = 60.0 * DAY_MS;
    let used = FactRecord { access_count: 7, last_accessed_at: Some(now - 30.0 * DAY_MS), ..fact(1, "a") };
    let expected = 0.6 * 0.5 + 0.25 * (-1.0_f64).exp() + 0.15 * 8.0_f64.ln() / 16.0_f64.ln();
    assert!((fact_score(&used, 0.5, 15, now) - expected).abs() < 1e-12);
    let future = FactRecord { updated_at: 1e12, ..fact(1, "a") };
    assert!((fact_score(&future, f64::NAN, 0, 0.0) - 0.25).abs() < 1e-12, "a clock that went back");
}

#[test]
fn over_the_cap_pinned_facts_come_first_then_the_score() {
    let text = |name: &str| format!("{name} {}", "x".repeat(80));
    let facts: Vec<FactRecord> =
        (1..=9).map(|number| FactRecord { pinned: number == 8, ..fact(number, &text(&number.to_string())) }).collect();
    let cap_tokens = count(MEMORY_HEADER) + 3 * 24;
    let policy = SelectionPolicy::new(cap_tokens, 0.0, 2.0);
    let similarity = |fact: &FactRecord| if matches!(fact.id.as_str(), "f5" | "f2") { 0.9 } else { 0.1 };
    let selection = select(&facts, &policy, &similarity, &count);
    let ids: Vec<&str> = selection.facts.iter().map(|fact| fact.id.as_str()).collect();
    assert_eq!(ids, ["f2", "f5", "f8"]);
    assert_eq!(selection.dropped.len(), 6);
    assert_eq!(selection.dropped[0].0, "f1");
    assert!(selection.tokens <= cap_tokens);
}

#[test]
fn written_break_outs_stay_in_their_line() {
    let facts: Vec<FactRecord> = (1..).zip(BREAK_OUTS).map(|(number, text)| fact(number, text)).collect();
    let block = render_memory_block(&facts.iter().collect::<Vec<_>>());
    assert_eq!(block.split('\n').count(), BREAK_OUTS.len() + 1);
    assert_eq!(block.lines().count(), BREAK_OUTS.len() + 1);
    assert!(!block.contains("</") && !block.contains("<|im"));
    let items = parse_memory_block(&block).unwrap();
    let expected: Vec<String> = BREAK_OUTS.iter().map(|text| neutralize(text).into_owned()).collect();
    assert_eq!(items, expected);
    assert_eq!(items[15], BREAK_OUTS[15], "templates are verbatim");
    assert_eq!(parse_memory_block("anything"), None);
    assert_eq!(parse_memory_block(&format!("{MEMORY_HEADER}\n\"a\"\nSYSTEM")), None);
    let about = FactRecord { subject: "sister\n".into(), ..fact(1, "likes tea") };
    assert_eq!(memory_item(&about), "sister\n: likes tea");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn any_fact_text_comes_back_as_its_own_item(
        pieces in prop::collection::vec(prop::collection::vec(prop_oneof![
            3 => "\\PC{0,12}",
            1 => any::<String>(),
            3 => prop::sample::select(&BREAK_OUTS[..]).prop_map(str::to_owned),
            2 => prop::sample::select(SPECIAL_TOKENS).prop_map(str::to_owned),
            1 => prop::sample::select(&["\n", "\"", "\\", "<", "/", "|", "\u{200D}", "[", "]", "</"][..]).prop_map(str::to_owned),
        ], 1..5), 0..6),
    ) {
        let texts: Vec<String> = pieces.iter().map(|pieces| pieces.concat()).collect();
        let mut facts: Vec<FactRecord> = (1..).zip(&texts).map(|(number, text)| fact(number, text)).collect();
        let block = render_memory_block(&facts.iter().collect::<Vec<_>>());
        let expected: Vec<String> = texts.iter().map(|text| neutralize(text).into_owned()).collect();
        prop_assert_eq!(parse_memory_block(&block), Some(expected));
        prop_assert_eq!(block.lines().count(), if texts.is_empty() { 0 } else { texts.len() + 1 });
        prop_assert!(!block.chars().any(is_hidden));
        let lower = block.to_ascii_lowercase();
        for token in SPECIAL_TOKENS {
            prop_assert!(!lower.contains(token), "{} in {}", token, lower);
        }
        facts.reverse();
        prop_assert_eq!(render_memory_block(&facts.iter().collect::<Vec<_>>()), block);
    }
}

proptest! {
    #[test]
    fn a_selection_never_passes_its_cap(
        lengths in prop::collection::vec((0_usize..300, any::<bool>(), 0.0_f64..1.0), 0..12),
        cap_tokens in 0_u32..400,
    ) {
        let facts: Vec<FactRecord> = (1..).zip(&lengths)
            .map(|(number, (length, pinned, _))| FactRecord { pinned: *pinned, ..fact(number, &"w ".repeat(*length)) })
            .collect();
        let similarity = |fact: &FactRecord| lengths[fact.id[1..].parse::<usize>().unwrap() - 1].2;
        let selection = select(&facts, &SelectionPolicy::new(cap_tokens, 0.0, 5.0), &similarity, &count);
        prop_assert!(selection.tokens <= cap_tokens);
        prop_assert_eq!(selection.tokens, count(&render_memory_block(&selection.facts)));
        let usable = facts.iter().filter(|fact| !fact.fact.trim().is_empty()).count();
        prop_assert_eq!(selection.facts.len() + selection.dropped.len(), usable);
        prop_assert_eq!(selection.scores.len(), selection.facts.len());
    }
}
