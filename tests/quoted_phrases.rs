//! A quoted phrase is found first, among messages that have the same words in another order or apart.
//!
//! A store is made from templates in six languages. For each phrase there is one message that has it, short or long, and
//! seven that have its words otherwise: turned round, with others between them, twice, far apart in a long message. The
//! same questions without quotation marks are asked as well: without them nothing tells which message is meant.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(clippy::print_stdout, reason = "a test that says its figures")]

use std::collections::BTreeSet;
use throughline::config::RetrievalPolicy;
use throughline::lexical::Analyzer;
use throughline::message::Role;
use throughline::retrieval::{Document, MessageFilter, MessageIndex, SearchRequest};

struct Language {
    name: &'static str,
    words: [&'static str; 16],
    /// What stands between words.
    space: &'static str,
    /// Sentences about `{}`, the second one with the words of a phrase at `{1}`, `{2}` and `{3}`.
    said: [&'static str; 3],
    apart: [&'static str; 3],
    asked: [&'static str; 3],
    marks: [(&'static str, &'static str); 3],
}

const LANGUAGES: [Language; 6] = [
    Language {
        name: "en",
        words: [
            "harbour", "lantern", "winter", "copper", "ledger", "velvet", "garden", "signal", "market", "feather",
            "canyon", "mirror", "orchard", "thunder", "ribbon", "saddle",
        ],
        space: " ",
        said: ["We called it the {} in the end.", "{} was on the list, I think.", "Is the {} still open?"],
        apart: [
            "The {1} was near the {3}, and the {2} came later.",
            "I saw a {2} and a {1} before the {3} was built.",
            "{3} first, then {1}, and only then {2}, but the {1} is what we need.",
        ],
        asked: ["Where did we talk about {}?", "{}", "What was said of {} again"],
        marks: [("\"", "\""), ("“", "”"), ("'", "'")],
    },
    Language {
        name: "de",
        words: [
            "Hafen",
            "Laterne",
            "Winter",
            "Kupfer",
            "Kassenbuch",
            "Samt",
            "Garten",
            "Signal",
            "Markt",
            "Feder",
            "Schlucht",
            "Spiegel",
            "Obstwiese",
            "Donner",
            "Schleife",
            "Sattel",
        ],
        space: " ",
        said: ["Am Ende hieß es {} bei uns.", "{} stand auf der Liste, glaube ich.", "Gilt {} noch?"],
        apart: [
            "Neben {1} lag {3}, und {2} kam später.",
            "Ich sah {2} und auch {1}, bevor {3} gebaut wurde.",
            "Erst {3}, dann {1}, und dann erst {2}: gebraucht wird {1}.",
        ],
        asked: ["Wo haben wir über {} gesprochen?", "{}", "Was war noch mit {}"],
        marks: [("„", "“"), ("«", "»"), ("»", "«")],
    },
    Language {
        name: "ko",
        words: [
            "항구",
            "등불",
            "겨울",
            "구리",
            "장부",
            "우단",
            "정원",
            "신호",
            "시장",
            "깃털",
            "협곡",
            "거울",
            "과수원",
            "천둥",
            "리본",
            "안장",
        ],
        space: " ",
        said: ["결국 {}라고 불렀어요.", "{}는 목록에 있었던 것 같아요.", "{}는 아직 열려 있나요?"],
        apart: [
            "{1}은 {3} 옆에 있었고 {2}는 나중에 왔어요.",
            "{2}와 {1}을 먼저 보고 {3}을 지었어요.",
            "먼저 {3}, 다음에 {1}, 그리고 {2}: 필요한 것은 {1}예요.",
        ],
        asked: ["{} 얘기를 어디서 했지?", "{}", "{}에 대해 뭐라고 했더라?"],
        marks: [("\"", "\""), ("‘", "’"), ("「", "」")],
    },
    Language {
        name: "ja",
        words: [
            "港",
            "提灯",
            "真冬",
            "銅板",
            "帳簿",
            "ビロード",
            "庭園",
            "信号",
            "市場",
            "羽根",
            "峡谷",
            "鏡台",
            "果樹園",
            "雷雨",
            "リボン",
            "鞍",
        ],
        space: "",
        said: ["結局{}と呼びました。", "{}は一覧にあったと思います。", "{}はまだ開いていますか？"],
        apart: [
            "{1}は{3}の隣で、{2}は後から来ました。",
            "{2}と{1}を見てから{3}が建ちました。",
            "まず{3}、次に{1}、それから{2}です。要るのは{1}です。",
        ],
        asked: ["{}の話はどこでしましたか？", "{}", "{}は何でしたっけ"],
        marks: [("「", "」"), ("『", "』"), ("\"", "\"")],
    },
    Language {
        name: "zh",
        words: [
            "港口",
            "灯笼",
            "冬天",
            "铜板",
            "账本",
            "天鹅绒",
            "花园",
            "信号",
            "市场",
            "羽毛",
            "峡谷",
            "镜子",
            "果园",
            "雷雨",
            "丝带",
            "马鞍",
        ],
        space: "",
        said: ["最后我们叫它{}。", "{}应该在清单上。", "{}还开着吗？"],
        apart: [
            "{1}在{3}旁边，{2}后来才到。",
            "我先看到{2}和{1}，然后才建了{3}。",
            "先是{3}，再是{1}，最后是{2}：我们要的是{1}。",
        ],
        asked: ["我们在哪里说过{}？", "{}", "{}是什么来着"],
        marks: [("“", "”"), ("「", "」"), ("\"", "\"")],
    },
    Language {
        name: "th",
        words: [
            "ท่าเรือ",
            "โคมไฟ",
            "ฤดูหนาว",
            "ทองแดง",
            "บัญชี",
            "กํามะหยี่",
            "สวนหย่อม",
            "สัญญาณ",
            "ตลาด",
            "ขนนก",
            "หุบเขา",
            "กระจก",
            "สวนผลไม้",
            "ฟ้าร้อง",
            "ริบบิ้น",
            "อานม้า",
        ],
        space: "",
        said: ["สุดท้ายเราเรียกว่า{}", "{}อยู่ในรายการแล้ว", "{}ยังเปิดอยู่ไหม"],
        apart: ["{1}อยู่ข้าง{3} ส่วน{2}มาทีหลัง", "ฉันเห็น{2}กับ{1}ก่อนที่{3}จะสร้าง", "เริ่มจาก{3} แล้วก็{1} แล้วค่อย{2} ที่ต้องการคือ{1}นะ"],
        asked: ["เราคุยเรื่อง{}ที่ไหน", "{}", "{}คืออะไรนะ"],
        marks: [("“", "”"), ("\"", "\""), ("«", "»")],
    },
];

const PHRASES: usize = 24;

/// Repeatable numbers (a linear congruential generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
    fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            let at = self.below(last + 1);
            all.swap(last, at);
        }
    }
}

/// Sentences of other words around this one, so that it stands in a message of some hundred words.
fn long(language: &Language, numbers: &mut Numbers, sentence: &str) -> String {
    let mut sentences: Vec<String> = (0..24)
        .map(|_| {
            let mut words = language.words;
            numbers.shuffle(&mut words);
            let apart = language.apart[numbers.below(3)];
            apart.replace("{1}", words[0]).replace("{2}", words[1]).replace("{3}", words[2])
        })
        .collect();
    sentences.insert(numbers.below(24), sentence.to_owned());
    sentences.join(" ")
}

struct Asked {
    language: usize,
    text: String,
    is_quoted: bool,
    place: usize,
}

fn store() -> (Vec<String>, Vec<Asked>) {
    let mut numbers = Numbers(11);
    let mut messages: Vec<(String, Option<usize>)> = Vec::new();
    let mut asked: Vec<Asked> = Vec::new();
    let mut phrases = 0;
    for (language, at) in LANGUAGES.iter().zip(0..) {
        // Neighbours, either way round: no two phrases share them.
        let mut taken: BTreeSet<[&str; 2]> = BTreeSet::new();
        for phrase in 0..PHRASES {
            // Of two words or three.
            let length = 2 + phrase % 2;
            let mut words = language.words;
            numbers.shuffle(&mut words);
            while words[..length].windows(2).any(|pair| taken.contains(pair)) {
                numbers.shuffle(&mut words);
            }
            let row = &words[..length];
            taken.extend(row.windows(2).flat_map(|pair| [[pair[0], pair[1]], [pair[1], pair[0]]]));
            let text = row.join(language.space);
            let sentence = language.said[numbers.below(3)].replace("{}", &text);
            let holder = if phrase % 3 == 0 { long(language, &mut numbers, &sentence) } else { sentence };
            messages.push((holder, Some(phrases)));
            for apart in language.apart.iter().chain(&language.apart) {
                // Turned round in every second one.
                let turned: Vec<&str> = row.iter().rev().copied().collect();
                let order = if numbers.below(2) == 0 { row } else { &turned };
                let third = order.get(2).unwrap_or(&words[8]);
                let sentence = apart.replace("{1}", order[0]).replace("{2}", order[1]).replace("{3}", third);
                let is_long = numbers.below(3) == 0;
                messages.push((if is_long { long(language, &mut numbers, &sentence) } else { sentence }, None));
            }
            let turned: Vec<&str> = row.iter().rev().copied().collect();
            messages.push((language.said[phrase % 3].replace("{}", &turned.join(language.space)), None));
            let marks = language.marks.iter().map(|(open, close)| format!("{open}{text}{close}"));
            for (phrase, is_quoted) in marks.map(|quoted| (quoted, true)).chain([(text.clone(), false)]) {
                let texts = language.asked.map(|frame| frame.replace("{}", &phrase));
                asked.extend(texts.map(|text| Asked { language: at, text, is_quoted, place: phrases }));
            }
            phrases += 1;
        }
    }
    numbers.shuffle(&mut messages);
    let mut places = vec![0; phrases];
    for ((_, phrase), place) in messages.iter().zip(0..) {
        if let Some(phrase) = phrase {
            places[*phrase] = place;
        }
    }
    asked.iter_mut().for_each(|asked| asked.place = places[asked.place]);
    (messages.into_iter().map(|(text, _)| text).collect(), asked)
}

fn index(messages: &[String]) -> MessageIndex {
    let mut index = MessageIndex::new(Analyzer::default(), None);
    for (text, place) in messages.iter().zip(0_u32..) {
        let role = if place.is_multiple_of(2) { Role::User } else { Role::Assistant };
        let created_at_ms = 1.7e12 + f64::from(place) * 600_000.0;
        index.add(&Document { conversation: place / 60, seq: place, role, speaker: None, created_at_ms, text });
    }
    index
}

fn first(index: &MessageIndex, text: &str) -> Option<u32> {
    let policy = RetrievalPolicy::default();
    let request = SearchRequest {
        text,
        vector: None,
        conversation: None,
        current_conversation: None,
        filter: MessageFilter::default(),
        admits: None,
        top_k: 1,
        min_score: 0.0,
        now_ms: 1.8e12,
        policy: &policy,
    };
    index.search(&request).unwrap().hits.first().map(|hit| {
        if text.contains("\"signal thunder") {
            println!("{hit:?}");
        }
        hit.seq
    })
}

#[test]
fn a_quoted_phrase_is_ranked_first() {
    let (messages, asked) = store();
    let index = index(&messages);
    // By language, without and with quotation marks: asked and found.
    let mut tallies = [[(0, 0); 2]; LANGUAGES.len()];
    for asked in &asked {
        let (all, found) = &mut tallies[asked.language][usize::from(asked.is_quoted)];
        *all += 1;
        *found += usize::from(first(&index, &asked.text).is_some_and(|seq| seq as usize == asked.place));
    }
    for (language, [plain, quoted]) in LANGUAGES.iter().zip(tallies) {
        println!("{}: {quoted:?} quoted, {plain:?} without quotation marks", language.name);
        assert!(quoted.0 >= 200 && quoted.1 * 100 >= quoted.0 * 95, "{}: {quoted:?}", language.name);
    }
}
