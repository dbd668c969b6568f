//! A hundred markers through every door: what is erased is in no record, in no key, and nowhere in what the engines of two
//! tabs hold in memory. The allocator of this test knows every living block and looks through all of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(unsafe_code, reason = "an allocator that can be looked through")]

mod host;
mod markers;

use futures_executor::block_on;
use host::{ScriptedModel, World, append, ask, conversation, message_with_id};
use markers::{Disk, marker as m, markers_in};
use serde_json::{Value, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeSet;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::Mutex;
use throughline::engine::{
    AppendRequest, CatchUp, EditRequest, Engine, EraseRequest, NewConversation, NewFact, NewNote, RecallRequest,
    StreamUpdate,
};
use throughline::records::MessageStatus;

/// Stands in front of every block, but of those with wider alignments: queues of the test runner's threads.
struct Header {
    before: *mut Header,
    after: *mut Header,
    bytes: usize,
}

struct Newest(*mut Header);
// It is only followed under the lock.
unsafe impl Send for Newest {}

static NEWEST: Mutex<Newest> = Mutex::new(Newest(null_mut()));
const HEADER_BYTES: usize = 32;

struct Watched;

#[global_allocator]
static ALLOCATOR: Watched = Watched;

fn outer(layout: Layout) -> Layout {
    Layout::from_size_align(layout.size() + HEADER_BYTES, HEADER_BYTES).unwrap()
}

unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe {
            if layout.align() > HEADER_BYTES {
                return System.alloc(layout);
            }
            let header = System.alloc_zeroed(outer(layout)).cast::<Header>();
            let mut newest = NEWEST.lock().unwrap();
            header.write(Header { before: newest.0, after: null_mut(), bytes: layout.size() });
            if let Some(before) = newest.0.as_mut() {
                before.after = header;
            }
            newest.0 = header;
            header.cast::<u8>().add(HEADER_BYTES)
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe {
            if layout.align() > HEADER_BYTES {
                return System.dealloc(block, layout);
            }
            let header = block.sub(HEADER_BYTES).cast::<Header>();
            let mut newest = NEWEST.lock().unwrap();
            if let Some(before) = (*header).before.as_mut() {
                before.after = (*header).after;
            }
            match (*header).after.as_mut() {
                Some(after) => after.before = (*header).before,
                None => newest.0 = (*header).before,
            }
            System.dealloc(header.cast(), outer(layout));
        }
    }
}

/// The markers in all that is allocated.
fn in_memory() -> BTreeSet<usize> {
    let mut found = Vec::with_capacity(1_000_000);
    {
        let newest = NEWEST.lock().unwrap();
        let mut next = newest.0;
        while let Some(header) = unsafe { next.as_ref() } {
            let block = unsafe { next.cast::<u8>().add(HEADER_BYTES) };
            let bytes = unsafe { std::slice::from_raw_parts(block, header.bytes) };
            // Nothing may be allocated while the list is followed, so places are noted first.
            let starts = (0..bytes.len()).filter(|at| bytes[*at] == markers::PREFIX.as_bytes()[0]);
            for at in starts {
                if found.len() == found.capacity() {
                    break;
                }
                let mut window = [0_u8; 16];
                let rest = &bytes[at..bytes.len().min(at + 16)];
                window[..rest.len()].copy_from_slice(rest);
                found.push(window);
            }
            next = header.before;
        }
    }
    let mut numbers = BTreeSet::new();
    found.iter().for_each(|window| markers_in(window, &mut numbers));
    numbers
}

fn within(found: &BTreeSet<usize>, range: Range<usize>) -> Vec<usize> {
    found.range(range).copied().collect()
}

async fn erase(engine: &Engine, what: Value) -> Value {
    let request: EraseRequest = serde_json::from_value(what).unwrap();
    Value::Object(engine.erase(request).await.unwrap().erased)
}

async fn said(engine: &Engine, id: &str, format: &str, message: Value) {
    let format = Some(format.to_owned());
    engine.append(AppendRequest { format, ..append(id, vec![message.to_string()]) }).await.unwrap();
}

async fn recalled(engine: &Engine, query: &str) -> String {
    let request: RecallRequest = serde_json::from_value(json!({ "query": query, "topK": 20 })).unwrap();
    engine.recall(request).await.unwrap().into_iter().flat_map(|group| group.messages).collect()
}

/// Markers 0 to 59 through every door of one conversation.
async fn fill(engine: &Engine) {
    let id = m(0);
    engine
        .create_conversation(NewConversation {
            id: id.clone(),
            title: Some(m(1)),
            project_id: Some(m(2)),
            source: Some(m(3)),
            import_hash: Some(m(4)),
            ..NewConversation::default()
        })
        .await
        .unwrap();
    let imported = AppendRequest {
        imported: true,
        parent_ids: Some(vec![None]),
        ..append(&id, vec![message_with_id(&m(5), "user", &m(6))])
    };
    engine.append(imported).await.unwrap();
    said(
        engine,
        &id,
        "openai",
        json!({ "role": "user", "id": m(7), "name": m(8), "content": format!("I like {} a lot", m(9)) }),
    )
    .await;
    said(
        engine,
        &id,
        "openai",
        json!({ "role": "assistant", "content": m(10), "tool_calls": [{ "id": m(11), "type": "function",
        "function": { "name": m(12), "arguments": json!({ "path": m(13) }).to_string() } }] }),
    )
    .await;
    said(engine, &id, "openai", json!({ "role": "tool", "tool_call_id": m(11), "content": m(14) })).await;
    said(
        engine,
        &id,
        "anthropic",
        json!({ "role": "assistant", "content": [{ "type": "text", "text": m(15) },
        { "type": "tool_use", "id": m(16), "name": m(17), "input": { "file": m(18) } }] }),
    )
    .await;
    said(
        engine,
        &id,
        "anthropic",
        json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": m(16), "content": m(19) }] }),
    )
    .await;
    said(engine, &id, "gemini", json!({ "role": "user", "parts": [{ "text": m(20) }] })).await;
    said(
        engine,
        &id,
        "gemini",
        json!({ "role": "model", "parts": [{ "functionCall": { "name": m(21), "args": { "x": m(22) } } }] }),
    )
    .await;
    said(engine, &id, "openai-responses", json!({ "type": "function_call", "call_id": m(23), "name": m(24), "arguments": format!("{{\"a\":\"{}\"}}", m(25)) })).await;
    said(engine, &id, "openai-responses", json!({ "type": "function_call_output", "call_id": m(23), "output": m(26) }))
        .await;
    said(engine, &id, "langchain", json!({ "type": "human", "data": { "content": m(27) } })).await;
    said(engine, &id, "ai-sdk", json!({ "id": m(28), "role": "user", "parts": [{ "type": "text", "text": m(29) }] }))
        .await;
    // A branch, a stream that ends, one that is aborted, one that goes on.
    let branch = EditRequest {
        conversation_id: id.clone(),
        message_id: m(28),
        message: json!({ "id": m(30), "role": "user", "parts": [{ "type": "text", "text": m(31) }] }).to_string(),
        ..EditRequest::default()
    };
    engine.edit(branch).await.unwrap();
    for (number, status) in
        [(32, MessageStatus::Complete), (34, MessageStatus::Aborted), (36, MessageStatus::Streaming)]
    {
        let begun =
            AppendRequest { streaming: true, ..append(&id, vec![message_with_id(&m(number), "assistant", "")]) };
        let begun = engine.append(begun).await.unwrap().remove(0);
        let message = Some(message_with_id(&m(number), "assistant", &format!("Well, {} it is.", m(number + 1))));
        for status in [MessageStatus::Streaming, status] {
            let update = StreamUpdate {
                conversation_id: id.clone(),
                id: begun.id.clone(),
                seq: begun.seq,
                message: message.clone(),
                status,
            };
            engine.update_stream(update).await.unwrap();
        }
    }
}

/// A conversation that is long enough to be sealed and summarised.
async fn fill_long(engine: &Engine) {
    let id = m(40);
    let new = NewConversation { id: id.clone(), project_id: Some(m(2)), ..NewConversation::default() };
    engine.create_conversation(new).await.unwrap();
    for start in (0..700).step_by(100) {
        let messages = (start..start + 100).map(|n| {
            let marked = if n % 50 == 7 { m(41 + n / 50) } else { String::from("nothing") };
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            json!({ "role": role, "name": m(56), "content": format!("Line {n} has {marked} to say and some more words.") }).to_string()
        });
        engine.append(append(&id, messages.collect())).await.unwrap();
    }
}

#[test]
fn nothing_erased_is_found_in_any_store_or_in_the_memory_of_two_tabs() {
    block_on(async {
        let disk = Disk::default();
        let mut world = World::default()
            .with_embedder()
            .with_model(ScriptedModel::answering(|request| Some(markers::echo(request))));
        world.storage = markers::opener(&disk);
        world.policy.compaction.high_water_tokens = 600;
        world.policy.budget.recent_tokens = 300;
        let (tab, other) = (world.open().await, world.open().await);

        fill(&tab).await;
        let note = NewNote { conversation_id: m(0), id: m(38), content: Some(m(39)), is_json: false };
        tab.set_note(note).await.unwrap();
        fill_long(&tab).await;
        // Both are of one project, whose summary says what was said in either.
        for id in [m(0), m(40)] {
            assert!(tab.end_episode(&id).await.unwrap().is_some());
        }
        // What stays until it is erased by itself: 60 to 99.
        conversation(&tab, "kept").await;
        let kept = [
            json!({ "role": "user", "id": m(60), "name": m(61), "content": format!("I like {} very much", m(62)) }),
            json!({ "role": "assistant", "id": m(63), "content": m(64), "tool_calls": [{ "id": m(65), "type": "function",
                "function": { "name": "look", "arguments": json!({ "at": m(66) }).to_string() } }] }),
            json!({ "role": "tool", "id": m(67), "tool_call_id": m(65), "content": m(68) }),
            json!({ "role": "user", "id": m(69), "content": format!("I like {} too", m(70)) }),
        ];
        tab.append(append("kept", kept.iter().map(Value::to_string).collect())).await.unwrap();
        let more = (0..60).map(|n| {
            host::message(
                if n % 2 == 0 { "assistant" } else { "user" },
                &format!("Some more is said, as number {n} of many."),
            )
        });
        tab.append(append("kept", more.collect())).await.unwrap();
        let fact = |value: Value| serde_json::from_value::<NewFact>(value).unwrap();
        tab.add_fact(fact(json!({ "fact": m(80), "key": m(81), "category": m(82), "subject": m(83) }))).await.unwrap();
        let newer = tab.add_fact(fact(json!({ "fact": m(84), "key": m(81) }))).await.unwrap();
        let forgotten = tab.add_fact(fact(json!({ "fact": m(85), "key": m(86), "subject": m(87) }))).await.unwrap();
        tab.add_fact(fact(json!({ "fact": m(88) }))).await.unwrap();
        // Of both conversations: one source goes.
        tab.append(append("kept", vec![message_with_id(&m(89), "user", &format!("I like {} a lot", m(9)))]))
            .await
            .unwrap();
        tab.settled().await.unwrap();
        tab.compact("kept", true).await.unwrap();
        assert!(tab.summary("kept").await.unwrap().text.contains(&m(62)), "the summary says what was said");
        assert!(tab.stats().await.unwrap().segments.count > 0);

        for engine in [&tab, &other] {
            for question in [m(9), m(31), m(41), m(62), m(90)] {
                recalled(engine, &question).await;
                for id in [m(0), m(40), "kept".to_owned()] {
                    let request = throughline::engine::ContextRequest { system: Some(m(91)), ..ask(&id, &question) };
                    engine.build_context(request).await.unwrap();
                }
            }
        }
        let strange = engine_errors(&tab).await;
        assert!(!strange.contains(markers::PREFIX), "{strange}");

        let forget_the_host = || {
            world.embedder.as_ref().unwrap().texts.take();
            world.model.as_ref().unwrap().requests.take();
            world.events.take().iter().map(|event| event.payload.to_string()).collect::<String>()
        };
        let told = forget_the_host();
        let mut in_events = BTreeSet::new();
        markers_in(told.as_bytes(), &mut in_events);
        assert!(
            within(&in_events, 6..100).iter().all(|number| [32, 34, 36, 40].contains(number)),
            "ids only: {in_events:?}"
        );
        drop((told, kept));
        let stored = disk.markers();
        let doors: Vec<usize> = (0..55).chain(56..57).chain(60..71).chain(80..90).collect();
        let missing: Vec<&usize> = doors.iter().filter(|number| !stored.contains(number)).collect();
        assert!(missing.is_empty(), "a door that stores nothing tests nothing: {missing:?}");
        let held = in_memory();
        assert!(held.contains(&0) && held.contains(&61) && held.contains(&90) == stored.contains(&90));

        // One conversation, then the long one.
        let counts = erase(&tab, json!({ "conversationId": m(0) })).await;
        for store in [
            "conversations",
            "messages",
            "message_ids",
            "embeddings",
            "jobs",
            "fact_sources",
            "episodes",
            "notes",
            "segments",
            "segment_chunks",
        ] {
            assert!(counts[store].as_u64() > Some(0), "{store} in {counts}");
        }
        let counts = erase(&tab, json!({ "conversationId": m(40) })).await;
        for store in ["messages", "summaries", "summary_heads", "episodes"] {
            assert!(counts[store].as_u64() > Some(0), "{store} in {counts}");
        }
        other.catch_up(CatchUp { conversation_ids: vec![m(0), m(40)], all: false }).await.unwrap();
        tab.settled().await.unwrap();
        drop(forget_the_host());
        let gone = |found: &BTreeSet<usize>, but: &[usize]| -> Vec<usize> {
            within(found, 0..60).into_iter().filter(|number| !but.contains(number)).collect()
        };
        // Marker 9 is said in the other conversation as well.
        assert_eq!(gone(&disk.markers(), &[9]), [0_usize; 0], "in storage");
        assert_eq!(gone(&in_memory(), &[9]), [0_usize; 0], "in memory");
        {
            let facts = tab.list_facts(Default::default()).await.unwrap();
            let liked = facts.iter().find(|fact| fact.fact.contains(&m(9))).unwrap();
            assert_eq!(liked.source.conversation_id.as_deref(), Some("kept"), "another source shows it");
        }

        // A message: its own texts, the fact that it alone shows, the summary that covers it, the result of its call.
        let counts = erase(&tab, json!({ "messageId": m(60) })).await;
        assert_eq!((&counts["messages"], &counts["facts"]), (&json!(1), &json!(1)), "{counts}");
        let counts = erase(&tab, json!({ "conversationId": "kept", "messageId": m(63) })).await;
        assert_eq!(counts["messages"], 2, "the result of its call goes along: {counts}");
        other.catch_up(CatchUp { conversation_ids: vec!["kept".into()], all: false }).await.unwrap();
        tab.settled().await.unwrap();
        drop(forget_the_host());
        assert_eq!(within(&disk.markers(), 60..69), [0_usize; 0]);
        assert_eq!(within(&in_memory(), 60..69), [0_usize; 0]);
        assert!(disk.markers().contains(&70), "what else was said stays");

        // Facts: erased with the one that it replaced, forgotten with a tombstone.
        erase(&tab, json!({ "factId": newer.id })).await;
        tab.forget_fact(&forgotten.id).await.unwrap();
        assert!(tab.get_fact(&newer.id).await.is_err(), "an erased fact is not found");
        drop((newer, forgotten));
        other.catch_up(CatchUp::default()).await.unwrap();
        drop(forget_the_host());
        assert_eq!(within(&disk.markers(), 80..88), [0_usize; 0]);
        assert_eq!(within(&in_memory(), 80..88), [0_usize; 0]);
        assert!(disk.markers().contains(&88));

        erase(&tab, json!({ "user": true })).await;
        other.catch_up(CatchUp { conversation_ids: Vec::new(), all: true }).await.unwrap();
        tab.settled().await.unwrap();
        drop(forget_the_host());
        assert!(disk.markers().is_empty(), "{:?}", disk.markers());
        assert!(in_memory().is_empty(), "{:?}", in_memory());
    });
}

/// What the engine says to calls that cannot be carried out.
async fn engine_errors(engine: &Engine) -> String {
    let with_id = message_with_id(&m(60), "user", &m(95));
    let of_no_role = json!({ "role": m(97), "content": [m(98)] }).to_string();
    let erased = EraseRequest { message_id: Some(m(96)), ..EraseRequest::default() };
    let errors = [
        engine.get_conversation(&m(92)).await.unwrap_err(),
        engine.get_fact(&m(93)).await.unwrap_err(),
        engine.append(append("kept", vec![format!("{{\"role\":\"{}\"", m(94))])).await.unwrap_err(),
        engine.append(append("kept", vec![with_id])).await.unwrap_err(),
        engine.erase(erased).await.unwrap_err(),
        engine.append(append("kept", vec![of_no_role])).await.unwrap_err(),
    ];
    let mut said = errors.map(|error| error.message.clone()).to_vec();
    said.push(serde_json::from_value::<EraseRequest>(json!({ "user": m(99) })).unwrap_err().to_string());
    assert_eq!(said.len(), 7);
    said.join("\n")
}
