//! Properties of the formats over generated histories, well- and ill-formed: whatever the history and wherever it is
//! cut, what is repaired and rendered passes the independent checker in every target format.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use proptest::prelude::*;
use serde_json::{Value, json};
use throughline::formats::{
    FormatChoice, GroupInput, Parsed, Profile, Source, Target, TurnGroups, parse, render, render_repaired,
    shrink_tool_results, turn_groups, user_message_with_evidence, validate, validate_context,
};
use throughline::message::{Format, Role};

mod histories;

use histories::{Event, FORMATS, message, text};

fn event() -> impl Strategy<Value = Event> {
    let picks = || prop::collection::vec(any::<u8>(), 0..4);
    prop_oneof![
        1 => Just(Event::System),
        4 => any::<u8>().prop_map(Event::User),
        1 => any::<u8>().prop_map(Event::UserWithImage),
        3 => any::<u8>().prop_map(Event::Assistant),
        5 => (picks(), any::<u8>()).prop_map(|(picks, said)| Event::Calls(picks, said)),
        6 => any::<u8>().prop_map(Event::Result),
        4 => (picks(), any::<u8>()).prop_map(|(picks, said)| Event::Results(picks, said)),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(pick, answered)| Event::ProviderRun(pick, answered)),
        1 => any::<u8>().prop_map(Event::Thinking),
        3 => (prop::collection::vec((any::<u8>(), any::<u8>()), 0..4), any::<u8>()).prop_map(|(steps, said)| Event::Steps(steps, said)),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(pick, which)| Event::Approval(pick, which)),
        1 => Just(Event::Unknown),
        1 => any::<u8>().prop_map(Event::Empty),
    ]
}

/// A history in one format, or (`None`) with the format changing from message to message.
fn history() -> impl Strategy<Value = Vec<(String, Parsed)>> {
    let format = prop_oneof![(0..7_usize).prop_map(Some), Just(None)];
    (format, prop::collection::vec((event(), 0..7_usize), 0..14)).prop_map(|(format, events)| {
        events
            .iter()
            .map(|(event, own)| {
                let format = FORMATS[format.unwrap_or(*own)];
                let raw = message(event, format).to_string();
                let parsed = parse(&raw, format).unwrap_or_else(|error| panic!("{error}: {raw}"));
                (raw, parsed)
            })
            .collect()
    })
}

fn targets() -> Vec<(Profile, Format)> {
    let pairs = Profile::ALL.into_iter().flat_map(|profile| FORMATS.map(|format| (profile, format)));
    pairs.filter(|(profile, format)| profile.takes(*format)).collect()
}

fn sources(history: &[(String, Parsed)]) -> Vec<Source<'_>> {
    history
        .iter()
        .enumerate()
        .map(|(index, (raw, parsed))| Source {
            seq: Some(index as u32 + 1),
            format: parsed.format,
            raw,
            message: &parsed.message,
        })
        .collect()
}

fn any_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        "[a-z_]{0,8}",
        prop::sample::select(vec![
            "role",
            "content",
            "parts",
            "type",
            "text",
            "tool_calls",
            "id",
            "function",
            "name",
            "arguments",
            "toolCallId",
            "toolName",
            "input",
            "output",
            "state",
            "tool_use_id",
            "tool_call_id",
            "source",
            "data",
            "__proto__",
            "constructor",
            "created_at",
            "toolInvocation",
            "thinking",
            "image_url",
            "url",
            "function_call",
            "audio",
            "refusal",
            "call_id",
            "summary",
            "action",
            "functionCall",
            "function_response",
            "inlineData",
            "thoughtSignature",
            "response",
            "args",
            "additional_kwargs",
            "kwargs",
            "lc",
        ])
        .prop_map(str::to_owned),
    ];
    let word = prop_oneof![
        any::<String>(),
        prop::sample::select(vec![
            "user",
            "assistant",
            "tool",
            "system",
            "text",
            "tool_use",
            "tool_result",
            "tool-call",
            "tool-result",
            "tool-x",
            "image",
            "file",
            "image_url",
            "dynamic-tool",
            "output-available",
            "step-start",
            "reasoning",
            "server_tool_use",
            "web_search_tool_result",
            "function",
            "custom",
            "tool-invocation",
            "result",
            "base64",
            "url",
            "data:x;base64,é",
            "function_call",
            "function_call_output",
            "item_reference",
            "shell_call",
            "model",
            "human",
            "ai",
            "constructor",
        ])
        .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn repaired_windows_pass_the_checker(history in history(), cut in 0..14_usize) {
        let all = sources(&history);
        let window = &all[cut.min(all.len())..];
        for target in FORMATS {
            let rendered = render_repaired(window, target);
            let messages: Vec<Value> = rendered.messages.iter().map(|message| serde_json::from_str(&message.json).unwrap()).collect();
            let violations = validate(&messages, target);
            prop_assert!(violations.is_empty(), "{target:?}: {violations:?}\nin {:#?}\nout {messages:#?}", window.iter().map(|source| source.raw).collect::<Vec<_>>());
            // What comes out can be read again, and keeps the order of what went in.
            let mut last = 0;
            for message in &rendered.messages {
                parse(&message.json, target).unwrap_or_else(|error| panic!("{error}: {}", message.json));
                for seq in &message.seqs { prop_assert!(window.iter().any(|source| source.seq == Some(*seq))); }
                if message.exact && !parse(&message.json, target).unwrap().message.has_tools() {
                    prop_assert!(message.seqs[0] > last);
                    last = message.seqs[0];
                    prop_assert_eq!(&message.json, all[last as usize - 1].raw);
                }
            }
            if rendered.repairs.is_empty() && window.iter().all(|source| source.format == target) {
                prop_assert!(rendered.messages.iter().all(|message| message.exact));
            }
            // The turn groups that come out are those that went in, in their order, some left out.
            let read: Vec<Parsed> = rendered.messages.iter().map(|message| parse(&message.json, target).unwrap()).collect();
            let inputs: Vec<GroupInput> = read.iter().map(|parsed| GroupInput::of(&parsed.message)).collect();
            let mut opened = 0;
            for group in turn_groups(&inputs) {
                let seq = rendered.messages[group.start].seqs[0];
                prop_assert!(seq > opened && all[seq as usize - 1].message.opens_group());
                opened = seq;
            }
        }
    }

    #[test]
    fn repaired_windows_pass_the_checker_of_every_profile(history in history(), cut in 0..14_usize, flatten_tools in any::<bool>()) {
        let all = sources(&history);
        let window = &all[cut.min(all.len())..];
        for (profile, format) in targets() {
            let rendered = render_repaired(window, Target { format, profile, flatten_tools });
            let messages: Vec<Value> = rendered.messages.iter().map(|message| serde_json::from_str(&message.json).unwrap()).collect();
            let violations = validate_context("", &messages, format, profile);
            prop_assert!(violations.is_empty(), "{} {format:?}: {violations:?}\nin {:#?}\nout {messages:#?}", profile.name(), window.iter().map(|source| source.raw).collect::<Vec<_>>());
            let read: Vec<(String, Parsed)> = rendered.messages.into_iter()
                .map(|message| { let parsed = parse(&message.json, format).unwrap(); (message.json, parsed) }).collect();
            if flatten_tools { prop_assert!(read.iter().all(|(_, parsed)| !parsed.message.has_tools())); }
            // What passes is left as it is.
            let again = render_repaired(&sources(&read), Target { format, profile, flatten_tools });
            prop_assert!(again.repairs.is_empty(), "{} {format:?}: {:?}\n{read:#?}", profile.name(), again.repairs);
            prop_assert!(again.messages.iter().all(|message| message.exact));
        }
    }

    #[test]
    fn a_question_at_the_end_is_always_sent(history in history()) {
        for format in FORMATS {
            let raw = message(&Event::User(3), format).to_string();
            let parsed = parse(&raw, format).unwrap();
            let mut window = sources(&history);
            window.push(Source { seq: None, format, raw: &raw, message: &parsed.message });
            for target in FORMATS {
                let rendered = render_repaired(&window, target);
                let last = rendered.messages.last().expect("the question is there");
                prop_assert!(last.json.contains(text(3)));
                if format == target { prop_assert_eq!(&last.json, &raw); prop_assert!(last.exact); }
            }
        }
    }

    #[test]
    fn repair_is_idempotent_and_leaves_valid_windows_alone(history in history()) {
        for target in FORMATS {
            let once = render_repaired(&sources(&history), target);
            let again: Vec<(String, Parsed)> = once.messages.iter()
                .map(|message| (message.json.clone(), parse(&message.json, target).unwrap())).collect();
            let twice = render_repaired(&sources(&again), target);
            prop_assert!(twice.repairs.is_empty(), "{:?}", twice.repairs);
            prop_assert!(!twice.lossy);
            let texts = |rendered: &[throughline::formats::RenderedMessage]| rendered.iter().map(|message| message.json.clone()).collect::<Vec<_>>();
            prop_assert_eq!(texts(&once.messages), texts(&twice.messages));
            prop_assert!(twice.messages.iter().all(|message| message.exact));
        }
    }

    #[test]
    fn same_format_goes_out_byte_for_byte(history in history()) {
        let all = sources(&history);
        for target in FORMATS {
            let own: Vec<Source<'_>> = all.iter().filter(|source| source.format == target && source.message.role != Role::System).copied().collect();
            let rendered = render(&own, target);
            prop_assert_eq!(rendered.messages.len(), own.len());
            for (message, source) in rendered.messages.iter().zip(&own) { prop_assert_eq!(&message.json, source.raw); }
            prop_assert!(!rendered.lossy);
            let _ = render(&all, target);
        }
    }

    #[test]
    fn whole_groups_never_tear_calls_from_their_results(history in history()) {
        // A history that is valid as a whole stays so from any group on, without a result lost.
        for target in FORMATS {
            let whole: Vec<(String, Parsed)> = render_repaired(&sources(&history), target).messages.into_iter()
                .map(|message| { let parsed = parse(&message.json, target).unwrap(); (message.json, parsed) }).collect();
            let inputs: Vec<GroupInput> = whole.iter().map(|(_, parsed)| GroupInput::of(&parsed.message)).collect();
            let groups = turn_groups(&inputs);
            let mut incremental = TurnGroups::default();
            inputs.iter().for_each(|input| incremental.push(*input));
            prop_assert_eq!(incremental.iter().collect::<Vec<_>>(), groups.clone());
            for group in groups {
                let window = &whole[group.start..];
                let rendered = render_repaired(&sources(window), target);
                let provider_half = |repair: &throughline::formats::Repair| repair.what.contains("provider");
                if !rendered.repairs.iter().any(provider_half) {
                    prop_assert!(rendered.repairs.is_empty(), "{:?}", rendered.repairs);
                    prop_assert_eq!(rendered.messages.len(), window.len());
                }
            }
        }
    }

    #[test]
    fn shrinking_keeps_ids_and_bounds_outputs(history in history()) {
        let cut = |text: &str, max: u32| if text.chars().count() > max as usize { text.chars().take(max as usize).collect() } else { text.to_owned() };
        for (raw, parsed) in &history {
            let Some(shrunk) = shrink_tool_results(raw, parsed.format, 3, &cut).unwrap() else { continue };
            let again = parse(&shrunk, parsed.format).unwrap().message;
            prop_assert_eq!(again.result_ids().collect::<Vec<_>>(), parsed.message.result_ids().collect::<Vec<_>>());
            prop_assert_eq!(again.call_ids().collect::<Vec<_>>(), parsed.message.call_ids().collect::<Vec<_>>());
            prop_assert_eq!(again.role, parsed.message.role);
            prop_assert_eq!(shrink_tool_results(&shrunk, parsed.format, 3, &cut).unwrap(), None);
        }
    }

    #[test]
    fn no_json_makes_anything_panic(value in any_json(), role in prop::sample::select(vec!["user", "assistant", "tool", "system", "model"]), cut in 0..200_usize) {
        let mut value = value;
        if let Value::Object(object) = &mut value { object.insert("role".to_owned(), json!(role)); }
        let raw = value.to_string();
        let broken: String = raw.chars().take(cut).collect();
        for raw in [&raw, &broken] {
            for choice in [FormatChoice::Detect, FormatChoice::AiSdk].into_iter().chain(FORMATS.map(FormatChoice::Exact)) {
                let Ok(parsed) = parse(raw, choice) else { continue };
                let source = Source { seq: None, format: parsed.format, raw, message: &parsed.message };
                for target in FORMATS {
                    for rendered in [render(&[source], target), render_repaired(&[source, source], target)] {
                        for message in rendered.messages { serde_json::from_str::<Value>(&message.json).unwrap(); }
                    }
                    let _ = validate(std::slice::from_ref(&value), target);
                    let _ = user_message_with_evidence(raw, target, "evidence");
                    let _ = shrink_tool_results(raw, target, 1, &|text, _| text.chars().take(1).collect());
                }
                let _ = throughline::formats::counted(&parsed.message).count();
                let _ = parsed.message.text();
            }
        }
    }

    #[test]
    fn no_text_makes_reading_panic(raw in any::<String>(), escapes in "[\\\\ud8efc0-9{}\":\\[\\]]{0,40}") {
        let _ = parse(&raw, None);
        let _ = parse(&escapes, None);
        let _ = parse(&format!("{{\"role\":\"user\",\"content\":\"{escapes}\"}}"), None);
    }
}
