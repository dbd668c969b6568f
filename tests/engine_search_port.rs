//! A storage that searches: contexts and recalls are those of an index of the engine's own, to the last bit of every score.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use host::{ManualClock, SUMMARY, ScriptedModel, WordEmbedder, World, append, conversation, message};
use proptest::prelude::*;
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use throughline::engine::{
    ContextRequest, ConversationUpdate, EditRequest, Engine, EraseRequest, LeafRequest, NewConversation, RecallRequest,
    RemoveRequest, message_entry,
};
use throughline::error::{Code, Error, Result};
use throughline::key;
use throughline::lexical::Analyzer;
use throughline::ports::{Pending, SearchPort};
use throughline::store::memory::MemoryStore;
use throughline::store::search::{Finding, FindingKind, LineRange, Lookup, MessageEntry};
use throughline::store::{Commit, Key, KeyPart, Query, Record, Storage, StorageUsage, Store};
use throughline::vector::{TieredIndex, Tiers, VectorIndex};

/// Records in memory with a search port over them, the plainest there is.
#[derive(Clone, Default)]
struct Searching {
    store: MemoryStore,
    /// Entries by the message's key, as they were put.
    entries: Rc<RefCell<BTreeMap<Key, MessageEntry>>>,
    /// Entries are not kept: it is an older version's.
    is_old: Rc<Cell<bool>>,
    fails: Rc<Cell<bool>>,
    /// Messages and vectors that were read.
    read: Rc<Cell<usize>>,
    lookups: Rc<RefCell<Vec<Lookup>>>,
}

fn nfkc(text: &str) -> String {
    unicode_normalization::UnicodeNormalization::nfkc(text).collect()
}

fn place(key: &Key) -> (String, u32) {
    match &key.0[..] {
        [KeyPart::Text(id), KeyPart::Number(seq), ..] => (id.clone(), u32::try_from(*seq).unwrap()),
        _ => unreachable!("{key:?}"),
    }
}

impl Searching {
    async fn records(&self, store: Store) -> Result<BTreeMap<Key, Record>> {
        Ok(self.store.scan(Query::prefix(store, key![])).await?.into_iter().collect())
    }

    fn failure(&self) -> Result<()> {
        if self.fails.get() { Err(Error::new(Code::StorageUnavailable, "the search fails")) } else { Ok(()) }
    }

    /// The entries of messages that are stored.
    async fn present(&self) -> Result<Vec<(String, u32, MessageEntry)>> {
        let stored = self.records(Store::Messages).await?;
        let entries = self.entries.borrow();
        let present = entries.iter().filter(|(key, _)| stored.contains_key(key));
        Ok(present.map(|(key, entry)| (place(key).0, place(key).1, entry.clone())).collect())
    }

    async fn near(&self, model: &str, vector: &[f32]) -> Result<BTreeMap<String, Vec<u8>>> {
        let mut best: BTreeMap<(String, u32), f32> = BTreeMap::new();
        for (key, record) in self.records(Store::Embeddings).await? {
            let body: serde_json::Value = serde_json::from_str(&record.body).unwrap();
            let numbers = record.blob.unwrap();
            let row: Vec<f32> =
                numbers.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
            let mut index = TieredIndex::new(vector.len(), Tiers::EXACT);
            if body["model"] != model || index.insert(0, &row).is_err() {
                continue;
            }
            if let Some(similarity) = index.similarities(vector, &[0])?[0] {
                let best = best.entry(place(&key)).or_insert(f32::MIN);
                *best = best.max(similarity);
            }
        }
        let mut found: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for ((id, seq), similarity) in best {
            let bytes = found.entry(id).or_default();
            bytes.extend(seq.to_be_bytes());
            bytes.extend(similarity.to_be_bytes());
        }
        Ok(found)
    }

    async fn found(&self, lookup: Lookup) -> Result<Vec<Finding>> {
        self.failure()?;
        self.lookups.borrow_mut().push(lookup.clone());
        let mut found: BTreeMap<(usize, String), Vec<u8>> = BTreeMap::new();
        // In an order that is nobody's.
        for (id, seq, entry) in self.present().await?.into_iter().rev() {
            let mut holds = false;
            for (term, count) in &entry.terms {
                let Some(at) = lookup.terms.iter().position(|asked| asked == term) else { continue };
                holds = true;
                let bytes = found.entry((at, id.clone())).or_default();
                bytes.extend(seq.to_be_bytes());
                bytes.extend(count.to_be_bytes());
            }
            if holds && lookup.marks {
                let bytes = found.entry((usize::MAX, id.clone())).or_default();
                bytes.extend(seq.to_be_bytes());
                bytes.extend((entry.marks.len() as u32).to_be_bytes());
                bytes.extend(&entry.marks);
            }
        }
        let kind = |at: usize| if at == usize::MAX { FindingKind::Marks } else { FindingKind::Term(at) };
        let mut findings: Vec<Finding> = found
            .into_iter()
            .map(|((at, conversation_id), bytes)| Finding { conversation_id, kind: kind(at), bytes })
            .collect();
        if let Some((model, vector)) = &lookup.vector {
            let near = self.near(model, vector).await?;
            let finding = |(conversation_id, bytes)| Finding { conversation_id, kind: FindingKind::Near, bytes };
            findings.extend(near.into_iter().map(finding));
        }
        Ok(findings)
    }
}

impl SearchPort for Searching {
    fn compares_vectors(&self) -> bool {
        true
    }

    fn lines<'a>(&'a self, ranges: Vec<LineRange>) -> Pending<'a, Vec<Vec<u8>>> {
        Box::pin(async move {
            self.failure()?;
            let present = self.present().await?;
            let list = |range: &LineRange| {
                let mut bytes = Vec::new();
                for (id, seq, entry) in &present {
                    if *id == range.conversation_id && (range.from..=range.to).contains(seq) {
                        bytes.extend(seq.to_be_bytes());
                        bytes.extend((entry.line.len() as u32).to_be_bytes());
                        bytes.extend(&entry.line);
                    }
                }
                bytes
            };
            Ok(ranges.iter().map(list).collect())
        })
    }

    fn find<'a>(&'a self, lookup: Lookup) -> Pending<'a, Vec<Finding>> {
        Box::pin(self.found(lookup))
    }
}

impl Storage for Searching {
    fn get<'a>(&'a self, keys: Vec<(Store, Key)>) -> Pending<'a, Vec<Option<Record>>> {
        self.store.get(keys)
    }

    fn scan<'a>(&'a self, query: Query) -> Pending<'a, Vec<(Key, Record)>> {
        let counts = matches!(query.store, Store::Messages | Store::Embeddings);
        Box::pin(async move {
            let found = self.store.scan(query).await?;
            self.read.set(self.read.get() + if counts { found.len() } else { 0 });
            Ok(found)
        })
    }

    fn count<'a>(&'a self, store: Store, prefix: Key) -> Pending<'a, u64> {
        self.store.count(store, prefix)
    }

    fn commit<'a>(&'a self, commit: Commit) -> Pending<'a, bool> {
        Box::pin(async move {
            let puts: Vec<(Key, Record)> = commit
                .puts
                .iter()
                .filter(|(store, ..)| *store == Store::Messages)
                .map(|(_, key, record)| (key.clone(), record.clone()))
                .collect();
            let is_done = self.store.commit(commit).await?;
            for (key, record) in puts.into_iter().filter(|_| is_done) {
                self.entries.borrow_mut().remove(&key);
                if let Some(entry) = message_entry(&record, &Analyzer::new(nfkc)).filter(|_| !self.is_old.get()) {
                    self.entries.borrow_mut().insert(key, entry);
                }
            }
            Ok(is_done)
        })
    }

    fn usage<'a>(&'a self) -> Pending<'a, StorageUsage> {
        self.store.usage()
    }

    fn destroy<'a>(&'a self) -> Pending<'a, ()> {
        self.store.destroy()
    }

    fn close(&self) {
        self.store.close();
    }

    fn is_durable(&self) -> bool {
        true
    }

    fn search(&self) -> Option<&dyn SearchPort> {
        Some(self)
    }
}

/// Messages of several languages, with identifiers, dates, quotations and what stands in many of them.
const PIECES: [&str; 30] = [
    "the staging server listens on port 8471",
    "we deploy with ./scripts/deploy.sh every Tuesday",
    "my sister Katerina lives in Lisbon",
    "Ticket ABC-1234 is about the importer",
    "the budget is 4,500 euros",
    "do you remember what I said about the importer?",
    "Der Bahnhof in Köln ist am 14. März gesperrt",
    "meine Allergie gegen Erdnüsse",
    "wir treffen uns übermorgen",
    "결제 서버는 내일 점검합니다",
    "강아지 이름은 초코예요",
    "지난주에 말한 포트 번호",
    "決済サーバーの点検は明日です",
    "猫の名前はタマです",
    "付款服务器明天检查",
    "我喜欢喝绿茶",
    "ตรวจเซิร์ฟเวอร์พรุ่งนี้",
    "сервер оплаты проверим завтра",
    "le serveur de paiement tombe souvent",
    "config.toml has max_retries = 5",
    "she said \"never again on a Friday\"",
    "version v2.14.0-rc.1 broke it",
    "Wow, great!",
    "user@example.com wrote to us",
    "on 2025-06-03 the invoice came",
    "it costs $19.99 a month",
    "the cat sat on the mat",
    "yes",
    "thank you",
    "remind me to water the plants",
];
const QUESTIONS: [&str; 16] = [
    "Which port does the staging server listen on?",
    "What is ABC-1234?",
    "who said \"never again on a Friday\"?",
    "Where does Katerina live?",
    "what did I say last about the importer",
    "What was on June 3rd 2025?",
    "초코는 누구예요?",
    "결제 서버 점검은 언제?",
    "猫の名前は?",
    "付款服务器什么时候检查",
    "Wann ist der Bahnhof gesperrt?",
    "quand tombe le serveur de paiement ?",
    "max_retries in config.toml",
    "\"plants to water\" \"the mat\"",
    "did you say anything about a feline called what?",
    "hello",
];
const NAMES: [&str; 4] = ["work", "home", "trip", "secret"];

fn text(number: usize) -> String {
    let piece = |at: usize| PIECES[(number * 7 + at * 11) % PIECES.len()];
    let pieces: Vec<&str> = (0..1 + number % 4).map(piece).collect();
    format!("{}. n{}", pieces.join(". "), number % 23)
}

#[derive(Clone, Debug)]
enum Step {
    Append(usize, usize),
    Wait(u32),
    Edit(usize, usize),
    Remove(usize, usize),
    Leaf(usize, usize),
    Erase(usize),
    Forget(usize, bool),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..4_usize, 1..9_usize).prop_map(|(of, count)| Step::Append(of, count)),
        3 => (1..20_u32).prop_map(Step::Wait),
        1 => (0..4_usize, 0..99_usize).prop_map(|(of, at)| Step::Edit(of, at)),
        1 => (0..4_usize, 0..99_usize).prop_map(|(of, at)| Step::Remove(of, at)),
        1 => (0..4_usize, 0..99_usize).prop_map(|(of, at)| Step::Leaf(of, at)),
        1 => (0..4_usize).prop_map(Step::Erase),
        1 => (0..3_usize, any::<bool>()).prop_map(|(of, remember)| Step::Forget(of, remember)),
        1 => Just(Step::Reopen),
    ]
}

struct Side {
    world: World,
    engine: Engine,
    number: usize,
}

impl Side {
    async fn new(storage: Rc<dyn Fn() -> Rc<dyn Storage>>, has_embedder: bool) -> Self {
        let model = ScriptedModel::answering(|_| Some(SUMMARY.to_owned()));
        let embedder = WordEmbedder {
            dimensions: 48,
            synonyms: vec![("feline", "cat")],
            max_input_tokens: 12,
            ..WordEmbedder::default()
        };
        let world = World {
            storage,
            embedder: has_embedder.then(|| Rc::new(embedder)),
            clock: Rc::new(ManualClock::at(1_750_000_000_000.0)),
            ..World::default()
        };
        let world = world.with_model(model);
        let engine = world.open().await;
        for (at, id) in NAMES.iter().enumerate() {
            let project_id = (at < 2).then(|| "p".to_owned());
            let new =
                NewConversation { id: (*id).into(), project_id, remember: Some(at < 3), ..NewConversation::default() };
            engine.create_conversation(new).await.unwrap();
        }
        Self { world, engine, number: 0 }
    }

    /// The id of some message that is there.
    async fn message_id(&self, of: usize, at: usize) -> Option<String> {
        let history = self.engine.history_entries(NAMES[of], None, None, None).await.ok()?;
        (!history.is_empty()).then(|| history[at % history.len()].id.clone())
    }

    async fn play(&mut self, step: &Step) {
        let engine = &self.engine;
        match *step {
            Step::Append(of, count) => {
                let messages = (0..count).map(|at| {
                    let role = if (self.number + at).is_multiple_of(2) { "user" } else { "assistant" };
                    let name = (self.number + at).is_multiple_of(5).then_some("Katerina");
                    json!({ "role": role, "content": text(self.number + at), "name": name })
                        .to_string()
                        .replace(",\"name\":null", "")
                });
                let _ = engine.append(append(NAMES[of], messages.collect())).await;
                self.number += count;
            }
            Step::Wait(hours) => self.world.clock.advance(f64::from(hours) * 3_600_000.0),
            Step::Edit(of, at) => {
                if let Some(message_id) = self.message_id(of, at).await {
                    self.number += 1;
                    let message = message("user", &text(self.number));
                    let _ = engine
                        .edit(EditRequest {
                            conversation_id: NAMES[of].into(),
                            message_id,
                            message,
                            ..EditRequest::default()
                        })
                        .await;
                }
            }
            Step::Remove(of, at) => {
                if let Some(message_id) = self.message_id(of, at).await {
                    engine
                        .remove(RemoveRequest {
                            conversation_id: NAMES[of].into(),
                            message_id,
                            descendants: at.is_multiple_of(3),
                        })
                        .await
                        .unwrap();
                }
            }
            Step::Leaf(of, at) => {
                if let Some(message_id) = self.message_id(of, at).await {
                    let _ = engine
                        .set_active_leaf(LeafRequest { conversation_id: NAMES[of].into(), message_id, descend: true })
                        .await;
                }
            }
            Step::Erase(of) => {
                engine
                    .erase(EraseRequest { conversation_id: Some(NAMES[of].into()), ..EraseRequest::default() })
                    .await
                    .unwrap();
                let _ = engine
                    .create_conversation(NewConversation { id: NAMES[of].into(), ..NewConversation::default() })
                    .await;
            }
            Step::Forget(of, remember) => {
                let update = ConversationUpdate {
                    id: NAMES[of].into(),
                    remember: Some(remember),
                    ..ConversationUpdate::default()
                };
                let _ = engine.update_conversation(update).await;
            }
            Step::Reopen => self.engine = self.world.open().await,
        }
    }

    /// What it answers to a question, in every way of asking, freshly opened.
    async fn answers(&mut self, question: &str, of: usize) -> Vec<String> {
        self.engine.settled().await.unwrap();
        self.engine = self.world.open().await;
        let mut answers = Vec::new();
        for request in [
            json!({ "query": question, "topK": 20 }),
            json!({ "query": question, "conversationId": NAMES[of] }),
            json!({ "query": question, "filter": { "projectId": "p" } }),
            json!({ "query": question, "before": 0, "after": 0, "filter": { "roles": ["user"], "since": 1_750_020_000_000_f64 } }),
            json!({ "query": question, "filter": { "from": 3, "to": 9 } }),
        ] {
            let request: RecallRequest = serde_json::from_value(request).unwrap();
            answers.push(format!("{:?}", self.engine.recall(request).await));
        }
        for window in [600.0, 4_000.0] {
            let request =
                ContextRequest { window: Some(window), reserve: Some(100.0), ..host::ask(NAMES[of], question) };
            answers.push(format!("{:?}", self.engine.build_context(request).await));
        }
        answers
    }
}

async fn compare(steps: &[Step], questions: &[(usize, usize)], has_embedder: bool) {
    let (searching, plain) = (Searching::default(), MemoryStore::default());
    let handle = searching.clone();
    let mut outside = Side::new(Rc::new(move || Rc::new(handle.clone())), has_embedder).await;
    let mut inside = Side::new(Rc::new(move || Rc::new(plain.clone())), has_embedder).await;
    for step in steps {
        outside.play(step).await;
        inside.play(step).await;
    }
    for (question, of) in questions {
        let question = QUESTIONS[*question];
        let (outside, inside) = (outside.answers(question, *of).await, inside.answers(question, *of).await);
        for (outside, inside) in outside.iter().zip(&inside) {
            assert_eq!(outside, inside, "{question}");
        }
    }
    assert!(!searching.lookups.borrow().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_is_that_of_an_index_of_the_engines_own(
        steps in prop::collection::vec(step(), 4..40),
        questions in prop::collection::vec((0..QUESTIONS.len(), 0..4_usize), 1..4),
        has_embedder: bool,
    ) {
        block_on(compare(&steps, &questions, has_embedder));
    }
}

/// Every question over several hundred messages.
#[test]
fn every_question_over_many_messages_is_answered_alike() {
    let mut steps: Vec<Step> = (0..90).flat_map(|at| [Step::Append(at % 4, 5), Step::Wait((at % 9) as u32)]).collect();
    steps.extend([Step::Edit(0, 7), Step::Remove(1, 3), Step::Leaf(2, 20), Step::Append(2, 3)]);
    let questions: Vec<(usize, usize)> = (0..QUESTIONS.len()).map(|at| (at, at % 4)).collect();
    block_on(compare(&steps, &questions, true));
}

fn filled(searching: &Searching) -> (World, Engine) {
    let handle = searching.clone();
    let world = World { storage: Rc::new(move || Rc::new(handle.clone())), ..World::default() }.with_embedder();
    let engine = block_on(async {
        let engine = world.open().await;
        for id in ["a", "b"] {
            conversation(&engine, id).await;
            engine.append(append(id, (0..40).map(|at| message("user", &text(at))).collect())).await.unwrap();
        }
        engine.settled().await.unwrap();
        engine
    });
    (world, engine)
}

async fn hits(engine: &Engine, query: &str) -> Result<usize> {
    let request: RecallRequest = serde_json::from_value(json!({ "query": query })).unwrap();
    Ok(engine.recall(request).await?.len())
}

#[test]
fn no_message_and_no_vector_is_read_to_search() {
    let searching = Searching::default();
    let (world, _) = filled(&searching);
    block_on(async {
        let engine = world.open().await;
        searching.read.set(0);
        assert!(hits(&engine, "staging server port").await.unwrap() > 0);
        assert_eq!(searching.read.get(), 0);
        assert!(searching.entries.borrow().values().all(|entry| !entry.line.is_empty()));
    });
}

/// The gate and the evidence are about the same words. A vector is made once it is known that evidence is wanted.
#[test]
fn the_words_of_a_question_are_looked_up_once_for_a_context() {
    for has_embedder in [false, true] {
        let searching = Searching::default();
        let (world, _) = filled(&searching);
        let world = World { embedder: world.embedder.filter(|_| has_embedder), ..world };
        block_on(async {
            let engine = world.open().await;
            let request =
                ContextRequest { window: Some(600.0), ..host::ask("a", "Which port has the staging server?") };
            let context = engine.build_context(request).await.unwrap();
            assert_eq!(context.receipt.retrieval.mode, if has_embedder { "hybrid" } else { "lexical" });
            let lookups = searching.lookups.borrow();
            let kinds: Vec<(bool, bool)> =
                lookups.iter().map(|lookup| (!lookup.terms.is_empty(), lookup.vector.is_some())).collect();
            assert_eq!(kinds, if has_embedder { vec![(true, false), (false, true)] } else { vec![(true, false)] });
        });
    }
}

#[test]
fn a_search_that_fails_is_told_and_the_next_one_answers() {
    let searching = Searching::default();
    let (_, engine) = filled(&searching);
    block_on(async {
        searching.fails.set(true);
        assert_eq!(hits(&engine, "staging server").await.unwrap_err().code, Code::StorageUnavailable);
        let context = engine.build_context(host::ask("a", "Which port has the staging server?")).await;
        assert_eq!(context.unwrap_err().code, Code::StorageUnavailable);
        searching.fails.set(false);
        assert!(hits(&engine, "staging server").await.unwrap() > 0);
    });
}

#[test]
fn messages_without_an_entry_are_read_and_get_one() {
    let searching = Searching::default();
    searching.is_old.set(true);
    let (world, _) = filled(&searching);
    assert!(searching.entries.borrow().is_empty());
    searching.is_old.set(false);
    block_on(async {
        let engine = world.open().await;
        assert!(hits(&engine, "staging server port").await.unwrap() > 0);
        assert_eq!(searching.entries.borrow().len(), 80);
        searching.entries.borrow_mut().clear();
        world.open().await.settled().await.unwrap();
        assert_eq!(searching.entries.borrow().len(), 80);
        // One is lost, as by a tool that knows the records alone.
        let key = key!["a", 17_u32];
        searching.entries.borrow_mut().remove(&key);
        let engine = world.open().await;
        assert!(hits(&engine, "staging server port").await.unwrap() > 0);
        assert!(searching.entries.borrow().contains_key(&key));
    });
}
