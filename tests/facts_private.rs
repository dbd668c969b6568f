//! What is not to be remembered: secrets, special categories without agreement, and what is to stay on this device. On sets
//! of texts (tests/sensitive), and end to end: nothing of it reaches a callback, a vector, a term, a fact, an event or an
//! error.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod host;

use futures_executor::block_on;
use host::{Answer, SUMMARY, ScriptedModel, World, append, ask, conversation, message};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use throughline::Code;
use throughline::engine::{AppendRequest, Destination, Engine, FactFilter, RecallRequest};
use throughline::facts::sensitive_category;
use throughline::ports::Purpose;
use throughline::records::FactStatus;
use throughline::secrets::{SecretKind, secrets, without_secrets};

const SECRETS: &str = include_str!("sensitive/secrets.txt");
const CATEGORIES: &str = include_str!("sensitive/categories.txt");
/// Sets that the rules were not written for: categories, secrets, the languages of the first, and how much of both is to be
/// found, in per cent.
const HELD_OUT: [(&str, &str, &[&str], [usize; 2]); 5] = [
    (
        include_str!("sensitive/held_out_categories.txt"),
        include_str!("sensitive/held_out_secrets.txt"),
        &["de", "en", "es", "ja", "ko"],
        [95, 95],
    ),
    (include_str!("sensitive/held_out_a.txt"), include_str!("sensitive/held_out_secrets_a.txt"), &SEVEN, [95, 95]),
    (include_str!("sensitive/held_out_b.txt"), include_str!("sensitive/held_out_secrets_b.txt"), &SEVEN, [95, 85]),
    (include_str!("sensitive/held_out_c.txt"), include_str!("sensitive/held_out_secrets_c.txt"), &SEVEN, [90, 95]),
    ("", include_str!("sensitive/held_out_secrets_d.txt"), &[], [0, 95]),
];
const SEVEN: [&str; 7] = ["de", "en", "es", "fr", "ja", "ko", "zh"];

/// Numbers that only look random: the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn text(&mut self, alphabet: &str, length: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..length).map(|_| letters[self.below(letters.len() as u64) as usize]).collect()
    }

    fn digits(&mut self, length: usize) -> String {
        self.text("0123456789", length)
    }

    /// Letters and digits, both of them.
    fn token(&mut self, length: usize) -> String {
        format!(
            "{}7{}",
            self.text("abcdefghijkmnpqrstuvwxyzABCDEFGHJK", 3),
            self.text("abcdefghijkmnpqrstuvwxyzABCDEFGHJK123456789", length - 4)
        )
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }
}

fn luhn(head: &str) -> String {
    let sum: u32 = head
        .chars()
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            let digit = digit.to_digit(10).unwrap();
            if at % 2 == 0 { (digit * 2) / 10 + (digit * 2) % 10 } else { digit }
        })
        .sum();
    format!("{head}{}", (10 - sum % 10) % 10)
}

fn card(dice: &mut Dice) -> String {
    let (start, length) =
        [("4", 16), ("51", 16), ("37", 15), ("6011", 16), ("2221", 16), ("36", 14)][dice.below(6) as usize];
    let head = format!("{start}{}", dice.digits(length - 1 - start.len()));
    dressed(&luhn(&head), dice)
}

/// The number as people write it, and as somebody writes it who wants it to pass.
fn dressed(number: &str, dice: &mut Dice) -> String {
    let by_four = |mark: &str| {
        let digits: Vec<char> = number.chars().collect();
        digits.chunks(4).map(String::from_iter).collect::<Vec<_>>().join(mark)
    };
    let wide = |c: char| char::from_u32(u32::from(c) + 0xFEE0).unwrap();
    match dice.below(8) {
        0 => by_four(" "),
        1 => by_four("-"),
        2 => by_four("."),
        3 => by_four("\u{A0}"),
        4 => number.chars().map(wide).collect(),
        5 => number.chars().flat_map(|c| [c, '\u{200B}']).collect(),
        6 => by_four("–"),
        _ => number.to_owned(),
    }
}

fn iban(dice: &mut Dice) -> String {
    let (country, body) = match dice.below(3) {
        0 => ("DE", dice.digits(18)),
        1 => ("GB", format!("WEST{}", dice.digits(14))),
        _ => ("FR", dice.digits(23)),
    };
    let value = |text: &str| {
        text.chars().fold(0_u64, |sum, c| {
            let digit = u64::from(c.to_digit(36).unwrap());
            if digit < 10 { (sum * 10 + digit) % 97 } else { (sum * 100 + digit) % 97 }
        })
    };
    let check = 98 - value(&format!("{body}{country}00"));
    let number = format!("{country}{check:02}{body}");
    let spaced = number
        .as_bytes()
        .chunks(4)
        .map(|four| String::from_utf8_lossy(four).into_owned())
        .collect::<Vec<_>>()
        .join(" ");
    match dice.below(3) {
        0 => spaced,
        1 => number.to_lowercase(),
        _ => number,
    }
}

fn citizen(dice: &mut Dice) -> String {
    let head = format!("11010519{}0{}1{}{}", 40 + dice.below(50), 1 + dice.below(9), dice.below(10), dice.digits(3));
    let weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let sum: u32 = head.chars().zip(weights).map(|(c, weight)| c.to_digit(10).unwrap() * weight).sum();
    format!("{head}{}", "10X98765432".chars().nth((sum % 11) as usize).unwrap())
}

fn value(name: &str, dice: &mut Dice) -> String {
    const WORDS: &str = "abandon ability able about above absent absorb abstract absurd abuse access accident account accuse achieve acid";
    const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    match name {
        "base64" => dice.text(BASE64, 64),
        "service" => {
            let prefix = dice.pick(&[
                "sk-",
                "sk_live_",
                "AKIA",
                "ghp_",
                "github_pat_",
                "glpat-",
                "xoxb-",
                "AIza",
                "hf_",
                "npm_",
                "SG.",
                "gsk_",
            ]);
            format!("{prefix}{}", dice.token(36))
        }
        "jwt" => format!("eyJ{}.eyJ{}.{}", dice.token(20), dice.token(60), dice.token(43)),
        "token" => dice.token(32),
        "basic" => format!("{}==", dice.token(22)),
        "key40" => dice.token(40),
        "hex" => format!("a1{}", dice.text("0123456789abcdef", 30)),
        "upper" => dice.text("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789", 9),
        "digits" => dice.digits(18),
        "password" => match dice.below(4) {
            0 => format!("{}{}", dice.pick(&["tiger", "summer", "blue", "river", "cobalt"]), dice.digits(4)),
            1 => format!("{}!{}", dice.text("abcdefgh", 4), dice.text("stuvwxyz", 4)),
            2 => dice.token(14),
            _ => format!("{}-{}-{}", dice.pick(&["correct", "lamp"]), dice.pick(&["horse", "desk"]), dice.digits(2)),
        },
        "pin" => {
            let length = 4 + 2 * dice.below(2) as usize;
            dice.digits(length)
        }
        "code" => dice.digits(6),
        "cvv" => {
            let length = 3 + dice.below(2) as usize;
            dice.digits(length)
        }
        "words" => WORDS.split(' ').take(12).collect::<Vec<_>>().join(dice.pick(&[" ", ", "])),
        "card" => card(dice),
        "iban" => iban(dice),
        "ssn" => format!("{}-{}-{}", 100 + dice.below(500), 10 + dice.below(90), 1000 + dice.below(9000)),
        "rrn" => format!(
            "{}0{}1{}-{}{}",
            50 + dice.below(49),
            1 + dice.below(9),
            dice.below(10),
            1 + dice.below(4),
            dice.digits(6)
        ),
        "cnid" => citizen(dice),
        "passport" => format!("X{}", dice.digits(8)),
        "hex64" => format!("a1{}", dice.text("0123456789abcdef", 62)),
        "azure" => format!("{}7==", dice.text(BASE64, 85)),
        "telegram" => format!("{}:AA{}", dice.digits(9), dice.token(33)),
        "discord" => format!("M{}.{}.{}", dice.token(23), dice.token(6), dice.token(27)),
        "backup" => format!("{}-{}", dice.digits(4), dice.digits(4)),
        _ => String::new(),
    }
}

const NAMES: [&str; 25] = [
    "{base64}",
    "{service}",
    "{jwt}",
    "{token}",
    "{basic}",
    "{key40}",
    "{hex}",
    "{upper}",
    "{digits}",
    "{password}",
    "{pin}",
    "{code}",
    "{cvv}",
    "{words}",
    "{card}",
    "{iban}",
    "{ssn}",
    "{rrn}",
    "{cnid}",
    "{passport}",
    "{hex64}",
    "{azure}",
    "{telegram}",
    "{discord}",
    "{backup}",
];

/// Every line of a kind other than `none`, with made-up values: the kind, the text and the values.
fn generated(rounds: usize, set: &'static str) -> Vec<(&'static str, String, Vec<String>)> {
    let mut dice = Dice(7);
    let mut cases = Vec::new();
    for _ in 0..rounds {
        for (kind, template) in lines(set).filter(|(kind, _)| *kind != "none") {
            let (mut text, mut values) = (template.replace("\\n", "\n"), Vec::new());
            while let Some((name, at)) =
                NAMES.iter().filter_map(|name| Some((name, text.find(*name)?))).min_by_key(|(_, at)| *at)
            {
                let made = value(name.trim_matches(['{', '}']), &mut dice);
                text.replace_range(at..at + name.len(), &made);
                values.push(made);
            }
            cases.push((kind, text, values));
        }
    }
    cases
}

fn lines(set: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    set.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('|'))
}

fn is_left_out(text: &str, values: &[String]) -> bool {
    let without = without_secrets(text, "*");
    // Of an address only the last part is the key. Neither end of a long one may be left.
    values.last().is_some_and(|value| {
        let has_end = value.is_ascii() && value.len() >= 24 && {
            let (first, last) = (&value[..12], &value[value.len() - 12..]);
            without.contains(first) || without.contains(last)
        };
        !has_end && !without.contains(value.as_str())
    })
}

#[test]
fn fifteen_kinds_of_secrets_are_found_in_generated_texts() {
    let cases = generated(5, SECRETS);
    assert!(cases.len() >= 500, "{}", cases.len());
    let mut by_kind: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (kind, text, values) in &cases {
        let (found, all) = by_kind.entry(kind).or_default();
        let hit = is_left_out(text, values);
        if !hit {
            println!("missed {kind}: {text}");
        }
        (*found, *all) = (*found + usize::from(hit), *all + 1);
    }
    println!("{by_kind:?}");
    assert_eq!(by_kind.len(), SecretKind::ALL.len());
    assert!(SecretKind::ALL.iter().all(|kind| by_kind.contains_key(kind.as_str())));
    let found: usize = by_kind.values().map(|(found, _)| found).sum();
    assert!(found * 100 >= cases.len() * 95, "{found} of {}", cases.len());
    assert!(by_kind.values().all(|(found, all)| found * 10 >= all * 9), "{by_kind:?}");
}

#[test]
fn what_only_looks_like_a_secret_is_left_alone() {
    let innocent: Vec<&str> = lines(SECRETS).filter(|(kind, _)| *kind == "none").map(|(_, text)| text).collect();
    let flagged: Vec<_> = innocent.iter().filter(|text| !secrets(text).is_empty()).collect();
    println!("{} of {}: {flagged:?}", flagged.len(), innocent.len());
    assert!(flagged.is_empty(), "{flagged:?}");
}

/// Our own code and documents, without what is about secrets.
#[test]
fn code_and_prose_raise_hardly_an_alarm() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut bytes, mut alarms) = (0, Vec::new());
    let mut folders =
        vec![root.join("src"), root.join("js"), root.join("docs"), root.join("www"), root.join("scripts")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !["secrets", "node_modules", "dist"].contains(&name.as_str()) {
                folders.push(path);
            } else if [".rs", ".ts", ".js", ".mjs", ".md", ".html", ".css"].iter().any(|end| name.ends_with(end)) {
                let text = std::fs::read_to_string(&path).unwrap();
                let found = secrets(&text);
                bytes += text.len();
                alarms.extend(
                    found.iter().map(|one| format!("{name} {}: {:.60}", one.kind.as_str(), &text[one.start..])),
                );
            }
        }
    }
    println!("{} alarms in {bytes} bytes: {alarms:#?}", alarms.len());
    assert!(alarms.len() <= bytes.div_ceil(1_000_000), "{alarms:#?}");
}

/// What a set of sentences gave.
#[derive(Debug, Default)]
struct Told {
    /// Found and asked, by category and by language.
    sums: BTreeMap<&'static str, (usize, usize)>,
    missed: Vec<&'static str>,
    /// What was flagged of the sentences that only look so, and as what.
    alarms: Vec<(&'static str, &'static str)>,
}

fn told_of(set: &'static str) -> Told {
    let mut told = Told::default();
    for (category, rest) in lines(set) {
        let (language, sentence) = rest.split_once('|').unwrap();
        let found = sensitive_category(sentence, &[]);
        if category == "none" {
            told.alarms.extend(found.map(|found| (found, sentence)));
            continue;
        }
        for key in [category, language] {
            let (hits, all) = told.sums.entry(key).or_default();
            (*hits, *all) = (*hits + usize::from(found.is_some()), *all + 1);
        }
        told.missed.extend(found.is_none().then_some(sentence));
    }
    told
}

#[test]
fn special_categories_are_found_in_five_languages() {
    let told = told_of(CATEGORIES);
    println!("{told:?}");
    let Told { sums, alarms, .. } = told;
    assert_eq!(sums.len(), 8 + 5);
    assert!(sums.values().all(|(hits, all)| hits * 10 >= all * 9 && *all >= 40), "{sums:?}");
    assert!(alarms.len() <= 2, "{alarms:?}");
}

/// The floors are what was measured, less a little; BENCHMARKS.md says what each set gave before anything was mended by it.
#[test]
fn held_out_sets_are_found_too() {
    let mut poor = Vec::new();
    for (categories, secret_texts, languages, [told, kept]) in HELD_OUT {
        let Told { sums, missed, alarms } = told_of(categories);
        let some = languages.iter().map(|language| sums[language]);
        let (hits, all) = some.fold((0, 0), |(hits, all), one| (hits + one.0, all + one.1));
        println!("categories: {hits} of {all}, {} alarms; {sums:?} {missed:#?} {alarms:#?}", alarms.len());
        let cases = generated(5, secret_texts);
        let missed_secrets: Vec<&str> = cases
            .iter()
            .filter(|(_, text, values)| !is_left_out(text, values))
            .map(|(_, text, _)| text.as_str())
            .collect();
        let flagged: Vec<&str> = lines(secret_texts)
            .filter(|(kind, text)| *kind == "none" && !secrets(text).is_empty())
            .map(|(_, text)| text)
            .collect();
        println!("secrets: {} of {} missed {missed_secrets:#?}; {flagged:#?}", missed_secrets.len(), cases.len());
        let is_told = hits * 100 >= all * told && alarms.len() <= 10;
        let is_kept = missed_secrets.len() * 100 <= cases.len() * (100 - kept) && flagged.len() <= 5;
        poor.extend((!is_told || !is_kept).then_some((hits, all, alarms.len(), missed_secrets.len(), flagged.len())));
    }
    assert!(poor.is_empty(), "{poor:?}");
}

/// A title is made of a message, as all else: no secret comes into it, nor a piece of one that the cut leaves.
#[test]
fn titles_are_made_without_secrets() {
    block_on(async {
        let engine = World::default().open().await;
        for (id, said, title) in [
            ("a", "my password is Zebra!9911x ok?", "my password is [secret left out] ok?"),
            (
                "b",
                "why does this fail: api key 9d5378a1b2c34d5e6f708192a3b4c5d6",
                "why does this fail: api key [secret left out]",
            ),
            ("c", "\n\n  Plan a trip to Rome  \nmy pin is 4821", "Plan a trip to Rome"),
        ] {
            conversation(&engine, id).await;
            engine.append(append(id, vec![message("user", said)])).await.unwrap();
            assert_eq!(engine.get_conversation(id).await.unwrap().title, title);
        }
    });
}

async fn facts(engine: &Engine) -> Vec<String> {
    engine.list_facts(FactFilter::default()).await.unwrap().into_iter().map(|fact| fact.fact).collect()
}

fn statement(fact: &str, quote: &str, category: &str, seq: u32) -> Answer {
    let fact = json!({ "fact": fact, "category": category, "confidence": 0.9, "quote": quote, "seq": seq, "kind": "statement" });
    Answer::Text(json!({ "facts": [fact] }).to_string())
}

/// A thousand secrets through every door.
#[test]
fn no_secret_reaches_a_callback_a_vector_a_term_a_fact_or_an_event() {
    block_on(async {
        let mut world =
            World::default().with_embedder().with_model(ScriptedModel::answering(|request| match request.purpose {
                Purpose::Summarize => Some(SUMMARY.into()),
                _ => Some("{\"facts\":[],\"operations\":[],\"findings\":[]}".into()),
            }));
        world.policy.compaction.high_water_tokens = 2_000;
        world.policy.budget.recent_tokens = 1_000;
        let model = world.model.clone().unwrap();
        let embedder = world.embedder.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let cases: Vec<_> = generated(8, SECRETS)
            .into_iter()
            .filter(|(_, text, values)| is_left_out(text, values))
            .take(1_000)
            .collect();
        assert_eq!(cases.len(), 1_000);
        for some in cases.chunks(100) {
            let messages = some
                .iter()
                .enumerate()
                .map(|(at, (_, text, _))| message(["user", "assistant"][at % 2], text))
                .collect();
            engine.append(append("c", messages)).await.unwrap();
            engine.settled().await.unwrap();
        }
        // By words alone: an embedder finds whatever went without a secret, too.
        let by_words = World { storage: world.storage.clone(), ..World::default() }.open().await;
        let (mut refused, mut found) = (0, 0);
        let mut errors = String::new();
        for (_, text, values) in cases.iter().step_by(20) {
            let context = engine.build_context(ask("c", &format!("what was {text}?"))).await.unwrap();
            drop(context);
            let secret = values.last().unwrap();
            let fact = serde_json::from_value(json!({ "fact": format!("Remember {text}") })).unwrap();
            let error = engine.add_fact(fact).await.unwrap_err();
            assert_eq!(error.code, Code::InvalidArgument);
            errors.push_str(&error.message);
            refused += 1;
            // Found by its words it would be the best hit.
            let recall: RecallRequest = serde_json::from_value(json!({ "query": secret, "threshold": 0.5 })).unwrap();
            found += usize::from(!by_words.recall(recall).await.unwrap().is_empty());
        }
        assert_eq!(refused, 50);
        assert!(found <= 2, "{found} were found by the secret itself");
        let requests: String =
            model.requests.borrow().iter().map(|request| format!("{}{}", request.system, request.prompt)).collect();
        let embedded = embedder.texts.borrow().join("\n");
        let events: String = world.events.borrow().iter().map(|event| event.payload.to_string()).collect();
        let log = serde_json::to_string(&engine.fact_log(1_000_000, None).await.unwrap()).unwrap();
        assert!(model.calls(Purpose::Summarize) > 0 && model.calls(Purpose::Extract) > 0);
        assert!(embedded.len() > 10_000 && requests.len() > 10_000);
        // Short numbers occur by chance.
        for (kind, _, values) in cases.iter().filter(|(_, _, values)| values.last().unwrap().len() >= 8) {
            let secret = values.last().unwrap().as_str();
            for (place, texts) in [
                ("requests", &requests),
                ("embedded", &embedded),
                ("events", &events),
                ("log", &log),
                ("errors", &errors),
            ] {
                assert!(!texts.contains(secret), "{kind} in {place}: {secret}");
            }
        }
        assert!(facts(&engine).await.is_empty());
        // What was said is there, word for word.
        let history = engine.history("c", Some(1), Some(1), None).await.unwrap();
        assert_eq!(serde_json::from_str::<Value>(&history[0]).unwrap()["content"], cases[0].1);
    });
}

async fn consent(engine: &Engine, category: &str, allow: bool) -> (Vec<String>, u32) {
    let request = serde_json::from_value(json!({ "category": category, "allow": allow })).unwrap();
    let consent = engine.consent(request).await.unwrap();
    (consent.opted_in, consent.removed)
}

#[test]
fn special_categories_are_remembered_by_agreement_and_go_with_it() {
    block_on(async {
        let mut world = World::default().with_model(ScriptedModel::default());
        // The app cannot agree for the user.
        world.policy.facts.categories.push("health".into());
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let said = "I was diagnosed with asthma. I prefer tea.";
        let asthma = || statement("User was diagnosed with asthma", "I was diagnosed with asthma", "health", 1);
        model.then(Purpose::Extract, asthma());
        engine.append(append("c", vec![message("user", said)])).await.unwrap();
        engine.settled().await.unwrap();
        assert!(facts(&engine).await.is_empty());
        let prompt = model.requests.borrow()[0].prompt.clone();
        assert!(!prompt.contains("asthma") && prompt.contains("I prefer tea"), "{prompt}");
        let explicit =
            |text: &str, category: &str| serde_json::from_value(json!({ "fact": text, "category": category })).unwrap();
        for (text, category) in
            [("I have asthma", "identity"), ("Takes it easy", "health"), ("Takes it easy", "Health")]
        {
            let error = engine.add_fact(explicit(text, category)).await.unwrap_err();
            assert_eq!(error.code, Code::InvalidArgument);
            assert!(error.message.contains("facts.optIn(\"health\")") && !error.message.contains(text), "{error}");
        }

        assert_eq!(consent(&engine, "health", true).await, (vec!["health".to_owned()], 0));
        model.then(
            Purpose::Extract,
            statement("User was diagnosed with asthma", "I was diagnosed with asthma", "health", 2),
        );
        engine.append(append("c", vec![message("user", said)])).await.unwrap();
        engine.settled().await.unwrap();
        engine.add_fact(explicit("Has asthma and needs an inhaler", "identity")).await.unwrap();
        engine.add_fact(explicit("Prefers tea", "preference")).await.unwrap();
        assert_eq!(facts(&engine).await.len(), 3);
        assert!(engine.add_fact(explicit("User is Muslim", "identity")).await.is_err(), "each by itself");

        // Another tab revokes it.
        let other = world.open().await;
        assert_eq!(consent(&other, "health", false).await, (vec![], 2));
        assert_eq!(facts(&engine).await, ["Prefers tea"]);
        let log = serde_json::to_string(&engine.fact_log(100, None).await.unwrap()).unwrap();
        assert!(!log.contains("asthma"), "{log}");
        assert!(engine.add_fact(explicit("I have asthma", "identity")).await.is_err());
        // Agreed to once more, it can be learned again: it was not forgotten, only not agreed to.
        consent(&engine, "health", true).await;
        engine.add_fact(explicit("Has asthma and needs an inhaler", "identity")).await.unwrap();
        engine.erase(serde_json::from_value(json!({ "user": true })).unwrap()).await.unwrap();
        assert!(
            world.open().await.consent(serde_json::from_value(json!({})).unwrap()).await.unwrap().opted_in.is_empty()
        );
        let unknown = serde_json::from_value(json!({ "category": "shoes", "allow": true })).unwrap();
        assert_eq!(engine.consent(unknown).await.unwrap_err().code, Code::InvalidArgument);
    });
}

fn local(id: &str, messages: Vec<String>) -> AppendRequest {
    AppendRequest { local_only: true, ..append(id, messages) }
}

/// Every text that left the device.
fn sent(world: &World) -> String {
    let requests = world.model.as_ref().unwrap().requests.borrow();
    let prompts: String = requests.iter().map(|request| request.prompt.clone()).collect();
    format!("{prompts}{}", world.embedder.as_ref().unwrap().texts.borrow().join("\n"))
}

#[test]
fn what_is_local_only_goes_nowhere_and_the_receipt_says_only_that() {
    block_on(async {
        let world =
            World::default().with_embedder().with_model(ScriptedModel::answering(|request| match request.purpose {
                Purpose::Summarize => Some(SUMMARY.into()),
                _ => Some("{\"facts\":[],\"operations\":[],\"findings\":[]}".into()),
            }));
        let engine = world.open().await;
        conversation(&engine, "c").await;
        conversation(&engine, "d").await;
        engine.append(local("c", vec![message("user", "The vault code word is zebrafish")])).await.unwrap();
        // What is answered to it stays with it; what is said next does not.
        engine
            .append(append(
                "c",
                vec![message("assistant", "Noted, zebrafish it is"), message("user", "We use port 8471 here")],
            ))
            .await
            .unwrap();
        engine.append(append("c", vec![message("assistant", "Port 8471, fine")])).await.unwrap();
        let fact = serde_json::from_value(json!({ "fact": "User keeps zebrafish", "localOnly": true })).unwrap();
        engine.add_fact(fact).await.unwrap();
        engine.settled().await.unwrap();
        engine.check_facts().await.unwrap();
        engine.compact("c", true).await.unwrap();
        for id in ["c", "d"] {
            for destination in [Destination::Remote, Destination::Local] {
                let mut request = ask(id, "What was the vault code word, and which port?");
                (request.destination, request.retrieval) =
                    (destination, throughline::retrieval::RetrievalChoice::Always);
                let context = engine.build_context(request).await.unwrap();
                let text = serde_json::to_string(&context).unwrap();
                assert_eq!(text.contains("zebrafish"), destination == Destination::Local, "{id} {text}");
                assert_eq!(context.receipt.held_back, destination == Destination::Remote);
                assert!(text.contains("8471"), "{text}");
                let ids: Vec<&str> = context
                    .receipt
                    .sections
                    .iter()
                    .flat_map(|section| {
                        section
                            .dropped
                            .iter()
                            .map(|one| one.id.as_str())
                            .chain(section.items.iter().map(|one| one.id.as_str()))
                    })
                    .collect();
                assert_eq!(
                    ids.iter().any(|id| ["seq:1", "seq:2", "f1"].contains(id)),
                    destination == Destination::Local,
                    "{ids:?}"
                );
            }
        }
        assert!(!sent(&world).contains("zebrafish"), "{}", sent(&world));
        assert!(sent(&world).contains("8471"));
        assert!(!engine.get_conversation("c").await.unwrap().title.contains("zebrafish"));
        // The question itself.
        engine.append(local("c", vec![message("user", "And my zebrafish?")])).await.unwrap();
        let newest = |destination| throughline::engine::ContextRequest {
            conversation_id: "c".into(),
            destination,
            ..Default::default()
        };
        assert_eq!(engine.build_context(newest(Destination::Remote)).await.unwrap_err().code, Code::InvalidArgument);
        engine.build_context(newest(Destination::Local)).await.unwrap();
        assert!(!sent(&world).contains("zebrafish"));
        // Here, it is found.
        let recall: RecallRequest = serde_json::from_value(json!({ "query": "zebrafish" })).unwrap();
        assert!(!engine.recall(recall).await.unwrap().is_empty());
        // Another tab, and what is edited or made from a copy, knows it too.
        let other = world.open().await;
        let edit = serde_json::from_value(json!({ "conversationId": "c", "messageId": "seq:5", "message": message("user", "And my other zebrafish?") })).unwrap();
        other.edit(edit).await.unwrap();
        other.settled().await.unwrap();
        assert_eq!(other.build_context(newest(Destination::Remote)).await.unwrap_err().code, Code::InvalidArgument);
        assert!(!sent(&world).contains("other zebrafish"));
        let without = ask("d", "hello");
        let fact = engine
            .list_facts(FactFilter { status: Some(FactStatus::Active), ..FactFilter::default() })
            .await
            .unwrap()
            .remove(0);
        engine
            .update_fact(serde_json::from_value(json!({ "id": fact.id, "localOnly": false })).unwrap())
            .await
            .unwrap();
        assert!(engine.build_context(without).await.unwrap().system.contains("zebrafish"));
    });
}

#[test]
fn a_model_on_this_device_may_see_what_stays_on_it() {
    block_on(async {
        let model = ScriptedModel { is_local: true, ..ScriptedModel::default() };
        let world = World::default().with_model(model);
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        model.then(Purpose::Extract, statement("User keeps zebrafish", "I keep zebrafish", "preference", 1));
        engine.append(local("c", vec![message("user", "I keep zebrafish")])).await.unwrap();
        engine.settled().await.unwrap();
        let learned = engine.get_fact("f1").await.unwrap();
        assert!(learned.local_only && model.requests.borrow()[0].prompt.contains("zebrafish"));
        let context = engine.build_context(ask("c", "hello")).await.unwrap();
        assert!(!context.system.contains("zebrafish") && context.receipt.held_back);
    });
}
