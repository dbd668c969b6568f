//! Fuzzing of the message edge: messages of every format, broken in small ways, are read, grouped, rendered, repaired
//! and checked. Nothing may panic, and what is repaired passes the checker and can be read again.
//!
//! `FUZZ_SECONDS` says how long (default 3), `FUZZ_START` where to begin (default 1, so that every run of the tests is the
//! same). A failure names the seed of its case: `FUZZ_SEED` runs it alone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod histories;

use histories::{Event, FORMATS, message};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};
use throughline::formats::{
    FormatChoice, GroupInput, Parsed, Profile, Source, Target, counted, parse, references, render, render_repaired,
    shrink_tool_results, turn_groups, user_message_with_evidence, validate, validate_context,
};
use throughline::message::Format;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    fn byte(&mut self) -> u8 {
        self.next() as u8
    }
}

fn event(random: &mut Random) -> Event {
    let pick = random.byte();
    let picks: Vec<u8> = (0..random.below(4)).map(|_| random.byte()).collect();
    let pairs = |random: &mut Random| (0..random.below(4)).map(|_| (random.byte(), random.byte())).collect();
    match random.below(13) {
        0 => Event::System,
        1 | 2 => Event::User(pick),
        3 => Event::UserWithImage(pick),
        4 => Event::Assistant(pick),
        5 => Event::Calls(picks, pick),
        6 => Event::Result(pick),
        7 => Event::Results(picks, pick),
        8 => Event::ProviderRun(pick, random.byte().is_multiple_of(2)),
        9 => Event::Thinking(pick),
        10 => Event::Steps(pairs(random), pick),
        11 => Event::Approval(pick, random.byte()),
        _ if pick.is_multiple_of(2) => Event::Unknown,
        _ => Event::Empty(pick),
    }
}

/// The paths of all values in a value, its own (empty) among them.
fn paths(value: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut pending = vec![(String::new(), value)];
    while let Some((path, value)) = pending.pop() {
        let mut visit = |key: &str, value| {
            let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
            found.push(path.clone());
            pending.push((path, value));
        };
        match value {
            Value::Array(items) => items.iter().enumerate().for_each(|(at, item)| visit(&at.to_string(), item)),
            Value::Object(fields) => fields.iter().for_each(|(key, value)| visit(key, value)),
            _ => {}
        }
    }
    found
}

fn odd_value(random: &mut Random) -> Value {
    match random.below(14) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(u64::MAX),
        3 => json!(-1.5e300),
        4 => json!(""),
        5 => json!(" \u{0}\u{202e}"),
        6 => json!([]),
        7 => json!({}),
        8 => json!([[[[{}]]]]),
        9 => json!("data:image/png;base64,"),
        10 => json!({"type": "text", "text": "spliced"}),
        11 => json!("files/abc"),
        12 => {
            let depth = random.below(80);
            let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            serde_json::from_str(&text).unwrap_or(Value::Null)
        }
        _ => json!(*random.pick(&[
            "user",
            "assistant",
            "tool",
            "system",
            "model",
            "human",
            "ai",
            "function",
            "text",
            "tool_use",
            "tool_result",
            "tool-call",
            "tool-result",
            "function_call",
            "function_call_output",
            "reasoning",
            "item_reference",
            "message",
            "constructor",
            "gemini_call_a_0",
            "a",
            "b",
            "{broken",
            "step-start",
        ])),
    }
}

/// Changes one thing in a message; `other` is where pieces are taken from.
fn mutate(value: &mut Value, other: &Value, random: &mut Random) {
    let path = random.pick(&paths(value)).clone();
    let Some((parent, key)) = path.rsplit_once('/') else {
        *value = other.clone();
        return;
    };
    let key = key.replace("~1", "/").replace("~0", "~");
    let from = random.pick(&paths(other)).clone();
    let donor = other.pointer(&from).cloned().unwrap_or(Value::Null);
    let kind = random.below(7);
    let odd = odd_value(random);
    let second = random.next();
    match value.pointer_mut(parent) {
        Some(Value::Object(fields)) => match kind {
            0 => {
                fields.shift_remove(&key);
            }
            1 => {
                let copy = fields[&key].clone();
                fields.insert(format!("{key}2"), copy);
            }
            2 => {
                let moved = fields.shift_remove(&key).unwrap_or(Value::Null);
                let names = ["id", "type", "content", "parts", "text", "name", "role", "data", "kwargs", "output"];
                fields.insert(names[second as usize % names.len()].to_owned(), moved);
            }
            3 => {
                let wrapped = json!([fields[&key].clone()]);
                fields.insert(key, wrapped);
            }
            4 => {
                fields.insert(key, donor);
            }
            _ => {
                fields.insert(key, odd);
            }
        },
        Some(Value::Array(items)) => {
            let at: usize = key.parse().unwrap();
            let to = second as usize % items.len();
            match kind {
                0 => {
                    items.remove(at);
                }
                1 => items.push(items[at].clone()),
                2 => items.swap(at, to),
                3 => items.insert(to, donor),
                4 => items[at] = donor,
                _ => items[at] = odd,
            }
        }
        _ => {}
    }
}

/// Changes the text itself: flipped bytes, lone surrogates, huge numbers, a cut.
fn mutate_text(raw: &str, random: &mut Random) -> String {
    let mut bytes = raw.as_bytes().to_vec();
    let at = random.below(bytes.len());
    match random.below(5) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes.truncate(at),
        2 => return raw.replacen('e', "\\ud800", 1 + random.below(3)),
        3 => return raw.replacen("1", "1e400", 1),
        _ => return raw.replacen("1", "123456789012345678901234567890.5", 1),
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A few messages, most of one format, some of them broken.
fn messages(random: &mut Random) -> Vec<(String, Format)> {
    let home = *random.pick(&FORMATS);
    let mixed = random.below(4) == 0;
    (0..1 + random.below(9))
        .map(|_| {
            let format = if mixed { *random.pick(&FORMATS) } else { home };
            let mut value = message(&event(random), format);
            for _ in 0..random.below(4) {
                let donor_format = if random.below(2) == 0 { format } else { *random.pick(&FORMATS) };
                let donor = message(&event(random), donor_format);
                mutate(&mut value, &donor, random);
            }
            let raw = value.to_string();
            (if random.below(8) == 0 { mutate_text(&raw, random) } else { raw }, format)
        })
        .collect()
}

fn check(seed: u64) {
    let mut random = Random(seed);
    let mut read: Vec<(String, Parsed)> = Vec::new();
    for (raw, format) in messages(&mut random) {
        for choice in [FormatChoice::Detect, FormatChoice::AiSdk].into_iter().chain(FORMATS.map(FormatChoice::Exact)) {
            let Ok(parsed) = parse(&raw, choice) else { continue };
            let _ = (parsed.message.text(), counted(&parsed.message).count());
            let source = Source { seq: None, format: parsed.format, raw: &raw, message: &parsed.message };
            for reference in references(&source) {
                assert!(reference.part < parsed.message.parts.len());
            }
            let _ = user_message_with_evidence(&raw, parsed.format, "evidence");
            let cut = |text: &str, max: u32| text.chars().take(max as usize).collect();
            if let Some(shrunk) = shrink_tool_results(&raw, parsed.format, 2, &cut).unwrap() {
                let again = parse(&shrunk, parsed.format).unwrap().message;
                assert!(again.result_ids().eq(parsed.message.result_ids()), "{raw}\n{shrunk}");
            }
        }
        let exact = if random.below(4) == 0 { FormatChoice::Detect } else { FormatChoice::Exact(format) };
        read.extend(parse(&raw, exact).ok().map(|parsed| (raw, parsed)));
    }
    let sources: Vec<Source<'_>> = (1..)
        .zip(&read)
        .map(|(seq, (raw, parsed))| Source { seq: Some(seq), format: parsed.format, raw, message: &parsed.message })
        .collect();
    let inputs: Vec<GroupInput> = read.iter().map(|(_, parsed)| GroupInput::of(&parsed.message)).collect();
    assert_eq!(turn_groups(&inputs).iter().map(ExactSizeIterator::len).sum::<usize>(), inputs.len());
    for target in FORMATS {
        for message in render(&sources, target).messages {
            serde_json::from_str::<Value>(&message.json).map_or_else(|_| assert!(message.exact), drop);
        }
        let rendered = render_repaired(&sources, target);
        let raws = || sources.iter().map(|source| source.raw).collect::<Vec<_>>();
        let out: Vec<Value> = rendered
            .messages
            .iter()
            .map(|message| {
                parse(&message.json, target)
                    .unwrap_or_else(|error| panic!("{target:?}: {error}\nin {:#?}\nout {}", raws(), message.json));
                serde_json::from_str(&message.json.replace("\\ud800", "\\ufffd")).unwrap()
            })
            .collect();
        let violations = validate(&out, target);
        assert!(violations.is_empty(), "{target:?}: {violations:?}\nin {:#?}\nout {out:#?}", raws());
    }
    let profile = Profile::ALL[random.below(Profile::ALL.len())];
    let flatten_tools = random.below(2) == 0;
    for format in FORMATS.into_iter().filter(|format| profile.takes(*format)) {
        let rendered = render_repaired(&sources, Target { format, profile, flatten_tools });
        let read = |json: &str| serde_json::from_str(&json.replace("\\ud800", "\\ufffd")).unwrap();
        let out: Vec<Value> = rendered.messages.iter().map(|message| read(&message.json)).collect();
        let violations = validate_context("", &out, format, profile);
        let raws = || sources.iter().map(|source| source.raw).collect::<Vec<_>>();
        let name = profile.name();
        assert!(violations.is_empty(), "{name} {format:?}: {violations:?}\nin {:#?}\nout {out:#?}", raws());
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the clock says how long to fuzz and where to begin, and no verdict")]
fn broken_messages_break_nothing() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let alone = number("FUZZ_SEED");
    let time = Duration::from_secs(number("FUZZ_SECONDS").unwrap_or(3));
    let start = Instant::now();
    let mut seed = alone.or(number("FUZZ_START")).unwrap_or(1);
    loop {
        if catch_unwind(AssertUnwindSafe(|| check(seed))).is_err() {
            panic!("case {seed} failed; replay: FUZZ_SEED={seed} cargo test --test fuzz_messages");
        }
        seed = seed.wrapping_add(1);
        if alone.is_some() || start.elapsed() >= time {
            break;
        }
    }
}
