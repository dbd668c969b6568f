//! Exact things are found first: identifiers, paths, ports, versions, dates, amounts, names, phrases, among near misses.
//!
//! A store of some thousand messages is made from templates. Each class has values, what they are asked by, and values
//! that are almost the same and stand in other messages. A question counts as answered only when the one message that
//! has the value is ranked first of all.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(clippy::print_stdout, reason = "a test that says its figures")]

use std::collections::BTreeMap;
use throughline::config::RetrievalPolicy;
use throughline::lexical::Analyzer;
use throughline::message::Role;
use throughline::retrieval::{Document, MessageFilter, MessageIndex, SearchRequest};

/// A value as it stands in its message, what it is asked by besides itself, and what almost looks like it.
struct Thing {
    value: String,
    asked: Vec<String>,
    near: Vec<String>,
}

fn thing(value: String, asked: &[String], near: &[String]) -> Thing {
    Thing { value, asked: asked.to_vec(), near: near.to_vec() }
}

/// Repeatable numbers (a linear congruential generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
    fn hex(&mut self, length: usize) -> String {
        (0..length).map(|_| char::from(b"0123456789abcdef"[self.below(16)])).collect()
    }
}

#[rustfmt::skip] // words in lines, not one to a line
const VERBS: [&str; 24] = [
    "splice", "fetch", "render", "merge", "parse", "flush", "rotate", "build", "count", "drop", "encode", "filter",
    "group", "hash", "index", "join", "load", "move", "open", "pack", "queue", "reset", "send", "trim",
];
#[rustfmt::skip] // words in lines, not one to a line
const NOUNS: [&str; 30] = [
    "coupon", "roster", "ledger", "invoice", "session", "cookie", "widget", "parcel", "ticket", "profile", "cache",
    "cursor", "banner", "avatar", "folder", "basket", "shelf", "signal", "socket", "buffer", "marker", "legend",
    "window", "thread", "bucket", "voucher", "planner", "ribbon", "beacon", "cabin",
];

fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

type Maker = fn(&mut Numbers, usize) -> Thing;

fn camel_case(numbers: &mut Numbers, at: usize) -> Thing {
    let (verb, one, two) = (VERBS[at % 24], NOUNS[at % 30], NOUNS[(at * 7 + 3) % 30]);
    let other = numbers.pick(&NOUNS[5..10]);
    let name = format!("{verb}{}{}", capital(one), capital(two));
    let near = [format!("{verb}{}{}", capital(one), capital(other)), format!("{name}Again{}", capital(other))];
    thing(name, &[format!("{verb} {one} {two}"), format!("{verb}_{one}_{two}")], &near)
}

fn snake_case(_: &mut Numbers, at: usize) -> Thing {
    let (one, two, three) = (NOUNS[(at + 11) % 30], VERBS[(at * 5 + 1) % 24], NOUNS[(at * 11 + 4) % 30]);
    let name = format!("{one}_{two}_{three}_ms");
    let near = [format!("{one}_{two}_{three}_px"), format!("{one}_{two}_ms"), format!("{three}_{two}_{one}")];
    thing(name, &[format!("{one} {two} {three} ms")], &near)
}

fn error_code(numbers: &mut Numbers, at: usize) -> Thing {
    let (one, two) = (NOUNS[(at * 3) % 30].to_uppercase(), VERBS[(at + 6) % 24].to_uppercase());
    let number = 10 + numbers.below(80);
    let near = [format!("ERR_{one}_{two}_{}", number + 1), format!("WARN_{one}_{two}"), format!("ERR_{two}_{one}")];
    thing(format!("ERR_{one}_{two}_{number}"), &[], &near)
}

fn path(_: &mut Numbers, at: usize) -> Thing {
    let (one, two) = (NOUNS[(at + 3) % 30], NOUNS[(at * 7 + 8) % 30]);
    let near = [format!("src/{two}/{one}/index.ts"), format!("src/{one}/{two}.test.ts"), format!("lib/{one}/{two}.ts")];
    thing(format!("src/{one}/{two}.ts"), &[format!("./src/{one}/{two}.ts")], &near)
}

fn path_with_line(numbers: &mut Numbers, at: usize) -> Thing {
    let file = format!("server/{}/{}_{}.rs", NOUNS[(at + 1) % 30], VERBS[at % 24], NOUNS[(at * 13) % 30]);
    let line = 20 + numbers.below(900);
    let near = [format!("{file}:{}", line + 1), format!("{file}:{line}0"), file.clone()];
    thing(format!("{file}:{line}"), &[], &near)
}

fn port(_: &mut Numbers, at: usize) -> Thing {
    let port = 3_017 + at * 211;
    let near = [format!("port {}", port + 10), format!("port 1{}", port / 10), format!("{port}1 points")];
    thing(format!("port {port}"), &[format!(":{port}"), format!("localhost:{port}")], &near)
}

fn e_mail(_: &mut Numbers, at: usize) -> Thing {
    let name = format!("{}.{}", NOUNS[(at * 7 + 2) % 30], VERBS[(at * 5) % 24]);
    let near = [format!("{name}@example.org"), format!("{name}.jr@example.com"), format!("{name}2@example.com")];
    thing(format!("{name}@example.com"), &[], &near)
}

fn url(numbers: &mut Numbers, at: usize) -> Thing {
    let page = format!("https://shop.example.com/{}/{}", NOUNS[(at + 9) % 30], NOUNS[(at * 11 + 1) % 30]);
    let (id, step) = (100 + numbers.below(800), numbers.below(9));
    let near = [format!("{page}?id={id}&step={}", step + 11), format!("{page}?id=9{id}&step={step}"), page.clone()];
    thing(format!("{page}?id={id}&step={step}"), &[], &near)
}

fn version(numbers: &mut Numbers, at: usize) -> Thing {
    let (minor, patch) = (at + 1, 1 + numbers.below(8));
    let number = format!("4.{minor}.{patch}");
    let near = [format!("v{number}0"), format!("v{number}-rc.2"), format!("v3.{minor}.{patch}"), format!("1.{number}")];
    thing(format!("v{number}"), &[number], &near)
}

fn release_candidate(numbers: &mut Numbers, at: usize) -> Thing {
    let number = format!("5.{}.{}", at + 1, 1 + numbers.below(8));
    let near = [format!("{number}-rc.3"), number.clone(), format!("{number}-beta.2"), format!("{number}-rc.20")];
    thing(format!("{number}-rc.2"), &[format!("v{number}-rc.2")], &near)
}

fn hash(numbers: &mut Numbers, _: usize) -> Thing {
    let start = format!("{}7c", numbers.hex(5));
    let (full, other) = (start.clone() + &numbers.hex(33), numbers.hex(40));
    let near = [other, start[..6].to_owned() + "9e" + &numbers.hex(32)];
    thing(full.clone(), &[start, full[..10].to_owned()], &near)
}

fn uuid(numbers: &mut Numbers, _: usize) -> Thing {
    let [start, one, two, three, end] = [8, 4, 4, 4, 12].map(|length| numbers.hex(length));
    let near = [
        format!("{start}-{one}-{two}-{three}-{}", numbers.hex(12)),
        format!("{}-{one}-{two}-{three}-{end}", numbers.hex(8)),
    ];
    thing(format!("{start}-{one}-{two}-{three}-{end}"), &[], &near)
}

fn address(numbers: &mut Numbers, at: usize) -> Thing {
    let (one, two) = (40 + at, 8 + numbers.below(20));
    let near = [format!("10.{two}.{one}.7"), format!("10.{one}.{two}.70"), format!("10.{one}.7.{two}")];
    thing(format!("10.{one}.{two}.7"), &[], &near)
}

fn date(_: &mut Numbers, at: usize) -> Thing {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let (year, month, day) = (2_019 + at % 6, (at * 5) % 12 + 1, (at * 11) % 28 + 1);
    let name = MONTHS[month - 1];
    let forms = [
        format!("{year}-{month:02}-{day:02}"),
        format!("{day} {name} {year}"),
        format!("{name} {day}, {year}"),
        format!("{day:02}.{month:02}.{year}"),
        format!("{year}년 {month}월 {day}일"),
        format!("{year}年{month}月{day}日"),
    ];
    let near = [
        format!("{}-{month:02}-{day:02}", year + 10),
        format!("{day} {} {year}", MONTHS[(month + 4) % 12]),
        format!("{year}-{month:02}-{:02}", (day + 13) % 28 + 1),
    ];
    thing(forms[at % forms.len()].clone(), &forms, &near)
}

fn amount(numbers: &mut Numbers, at: usize) -> Thing {
    let (thousands, rest) = (1 + at, 100 + numbers.below(800));
    let forms = [
        format!("{thousands},{rest}.00"),
        format!("{thousands}.{rest},00"),
        format!("{thousands}{rest}"),
        format!("{thousands},{rest}"),
        format!("{thousands}{rest}.00"),
    ];
    let near = [
        format!("{thousands},{rest}.50"),
        format!("{thousands}{rest}0"),
        format!("{},{rest}.00", thousands + 40),
        format!("{rest}.{thousands}00"),
    ];
    thing(forms[at % forms.len()].clone(), &forms, &near)
}

fn command(_: &mut Numbers, at: usize) -> Thing {
    let (verb, noun, flag) = (VERBS[at % 24], NOUNS[(at * 7 + 5) % 30], NOUNS[(at * 11 + 2) % 30]);
    let near = [format!("{verb}ctl {noun} --{flag}"), format!("{verb}ctl --no-{noun} {flag}")];
    let asked = [format!("{verb}ctl --no-{flag}"), format!("{verb}ctl with --no-{flag} {noun}")];
    thing(format!("{verb}ctl {noun} --no-{flag}"), &asked, &near)
}

fn ticket(_: &mut Numbers, at: usize) -> Thing {
    let number = 1_034 + at * 37;
    if at.is_multiple_of(2) {
        let near = [format!("PROJ-{number}1"), format!("PLAN-{number}"), format!("PROJ-{}", number + 20_000)];
        return thing(format!("PROJ-{number}"), &[], &near);
    }
    let near = [format!("CVE-2023-{number}7"), format!("CVE-2024-{number}71"), format!("CWE-{number}7")];
    thing(format!("CVE-2024-{number}7"), &[], &near)
}

fn accents(_: &mut Numbers, at: usize) -> Thing {
    const NAMES: [(&str, &[&str], &str); 26] = [
        ("Café Lumière", &["Cafe Lumiere"], "Calumet"),
        ("Herr Müller", &["Herr Mueller", "Herr Muller"], "Herr Miller"),
        ("Frau Köhler", &["Frau Koehler", "Frau Kohler"], "Frau Kohl"),
        ("Graf Mueller-Lüdens", &["Graf Müller-Lüdens"], "Lueck"),
        ("Señor Peñalver", &["Senor Penalver"], "Penal"),
        ("Łukasz Wójcik", &["Lukasz Wojcik"], "Lukas"),
        ("Zoë Brändle", &["Zoe Braendle", "Zoe Brandle"], "Zora"),
        ("São Tomé", &["Sao Tome"], "Santome"),
        ("Ångström", &["Angstrom"], "Armstrong"),
        ("Jürgen Groß", &["Juergen Gross", "Jurgen Gross"], "Jörg"),
        ("Dvořák", &["Dvorak"], "Dvora"),
        ("Nguyễn Thị Hà", &["Nguyen Thi Ha"], "Nguba"),
        ("İzmir", &["Izmir"], "Izmail"),
        ("Reykjavík", &["Reykjavik"], "Reykholt"),
        ("Strauß", &["Strauss"], "Straub"),
        ("Gdańsk", &["Gdansk"], "Gdynia"),
        ("Besançon", &["Besancon"], "Besan"),
        ("Øresund", &["Oeresund", "Oresund"], "Orebro"),
        ("Kraków", &["Krakow"], "Kraken"),
        ("Málaga", &["Malaga"], "Malaya"),
        ("Düsseldorf", &["Duesseldorf", "Dusseldorf"], "Dussek"),
        ("Béla Szűcs", &["Bela Szucs"], "Bell Szabo"),
        ("Göteborg", &["Goeteborg", "Goteborg"], "Gotland"),
        ("façade", &["facade"], "faction"),
        ("Škoda", &["Skoda"], "Skopje"),
        ("Ümit Çelik", &["Umit Celik"], "Umbrie"),
    ];
    let (value, asked, near) = NAMES[at % 26];
    let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
    thing(value.to_owned(), &asked, &[near.to_owned()])
}

/// Words of one language with particles: the value stands in a sentence, and is asked with another particle.
fn in_language(words: &[&str], at: usize, asked: &[&str], near: &[&str]) -> Thing {
    let (one, two) = (words[at % words.len()], words[(at * 7 + 5) % words.len()]);
    let fill = |frames: &[&str]| -> Vec<String> {
        frames.iter().map(|frame| frame.replace("{1}", one).replace("{2}", two)).collect()
    };
    thing(format!("{one}{two}"), &fill(asked), &fill(near))
}

const KOREAN: [&str; 26] = [
    "포트",
    "서버",
    "결제",
    "회의",
    "계약",
    "배송",
    "냉장고",
    "고양이",
    "자전거",
    "도서관",
    "데이터",
    "백업",
    "로그인",
    "버튼",
    "사진",
    "여행",
    "예산",
    "선물",
    "피아노",
    "커피",
    "토마토",
    "지도",
    "암호",
    "화면",
    "이웃",
    "우산",
];
const JAPANESE: [&str; 26] = [
    "ポート",
    "サーバー",
    "決済",
    "会議",
    "契約",
    "配送",
    "冷蔵庫",
    "子猫",
    "自転車",
    "図書館",
    "データ",
    "バックアップ",
    "ログイン",
    "ボタン",
    "写真",
    "旅行",
    "予算",
    "贈り物",
    "ピアノ",
    "コーヒー",
    "トマト",
    "地図",
    "暗号",
    "画面",
    "隣人",
    "雨傘",
];
const CHINESE: [&str; 26] = [
    "端口",
    "服务器",
    "付款",
    "会议",
    "合同",
    "送货",
    "冰箱",
    "小猫",
    "单车",
    "图书馆",
    "数据",
    "备份",
    "登录",
    "按钮",
    "照片",
    "旅行",
    "预算",
    "礼物",
    "钢琴",
    "咖啡",
    "番茄",
    "地图",
    "密码",
    "屏幕",
    "邻居",
    "雨伞",
];

fn korean(_: &mut Numbers, at: usize) -> Thing {
    in_language(
        &KOREAN,
        at,
        &["{1}{2}는 왜 그래?", "{1}{2}를 뭐라고 했더라?", "{1}{2}에서요"],
        &["{1} 상자", "{2} 상자"],
    )
}

fn japanese(_: &mut Numbers, at: usize) -> Thing {
    in_language(&JAPANESE, at, &["{1}{2}はどうでしたっけ？", "{1}{2}を教えてください"], &["{1}の箱", "{2}の箱"])
}

fn chinese(_: &mut Numbers, at: usize) -> Thing {
    in_language(&CHINESE, at, &["{1}{2}是什么来着？", "为什么{1}{2}不行？"], &["{1}的箱子", "{2}的箱子"])
}

const CLASSES: [(&str, Maker); 21] = [
    ("camelCase", camel_case),
    ("snake_case", snake_case),
    ("error code", error_code),
    ("path", path),
    ("path and line", path_with_line),
    ("port", port),
    ("e-mail", e_mail),
    ("URL", url),
    ("version", version),
    ("release candidate", release_candidate),
    ("hash", hash),
    ("UUID", uuid),
    ("IP address", address),
    ("date", date),
    ("amount", amount),
    ("command", command),
    ("ticket", ticket),
    ("accents", accents),
    ("Korean", korean),
    ("Japanese", japanese),
    ("Chinese", chinese),
];
const THINGS: usize = 26;

/// Sentences that a value stands in.
const FRAMES: [&str; 12] = [
    "Yesterday I came across {} and noted it for the release.",
    "{} is what the customer complained about this morning.",
    "For the record: {} belongs on the list.",
    "We talked about {} in the stand-up, nobody objected.",
    "Please look at {} when you have a minute, it can wait.",
    "I am not sure that {} is right, but it was in the report.",
    "Anna wrote that {} should be enough for now.",
    "It turned out to be {} after all, and the tests are green now.",
    // Short ones that ask: what answers them has none of the words, and must not come before them.
    "{}?",
    "And {}?",
    "Is {} still right?",
    "Hm, {}, who wrote that?",
];
/// What asks for a value. A bare value and these.
const ASKING: [&str; 4] = ["{}", "why does {} fail?", "What was {} again?", "do you remember where we noted {}"];

/// Class, whether it is the bare value, question, and the place of the message that answers.
type Asked = (&'static str, bool, String, usize);

fn messages_and_questions() -> (Vec<String>, Vec<Asked>) {
    let mut numbers = Numbers(7);
    let mut messages: Vec<(String, Option<usize>)> = Vec::new();
    let mut asked: Vec<Asked> = Vec::new();
    let mut things = 0;
    for (name, make) in &CLASSES {
        for at in 0..THINGS {
            let made = make(&mut numbers, at);
            messages.push((numbers.pick(&FRAMES).replace("{}", &made.value), Some(things)));
            for near in &made.near {
                messages.push((numbers.pick(&FRAMES).replace("{}", near), None));
            }
            for value in std::iter::once(&made.value).chain(&made.asked) {
                for frame in ASKING {
                    let question = frame.replace("{}", value);
                    let is_plain = frame == "{}" && *value == made.value;
                    asked.push((name, is_plain, question.to_lowercase(), things));
                    asked.push((name, is_plain, question, things));
                }
            }
            things += 1;
        }
    }
    for _ in 0..1_200 {
        let (verb, one, two) = (numbers.pick(&VERBS), numbers.pick(&NOUNS), numbers.pick(&NOUNS));
        let filler = [
            format!("Could you {verb} the {one} once more before the {two} goes out?"),
            format!("The {one} looks fine to me, only the {two} takes {} minutes to {verb}.", numbers.below(60)),
            format!("I would rather {verb} it by hand, the {one} is older than the {two}."),
        ];
        messages.push((filler[numbers.below(3)].clone(), None));
    }
    for last in (1..messages.len()).rev() {
        messages.swap(last, numbers.below(last + 1));
    }
    let mut places = vec![0; things];
    for ((_, thing), place) in messages.iter().zip(0..) {
        if let Some(thing) = thing {
            places[*thing] = place;
        }
    }
    let questions = asked.into_iter().map(|(name, plain, text, thing)| (name, plain, text, places[thing])).collect();
    (messages.into_iter().map(|(text, _)| text).collect(), questions)
}

#[test]
fn exact_things_are_ranked_first() {
    let (messages, questions) = messages_and_questions();
    let mut index = MessageIndex::new(Analyzer::default(), None);
    for (text, place) in messages.iter().zip(0_u32..) {
        let role = if place.is_multiple_of(2) { Role::User } else { Role::Assistant };
        let created_at_ms = 1.7e12 + f64::from(place) * 600_000.0;
        index.add(&Document { conversation: place / 60, seq: place, role, speaker: None, created_at_ms, text });
    }
    let mut classes: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let (mut plain, mut plain_found) = (0, 0);
    for (class, is_plain, question, place) in &questions {
        let hits = index
            .search(&SearchRequest {
                text: question,
                vector: None,
                conversation: None,
                current_conversation: None,
                filter: MessageFilter::default(),
                admits: None,
                top_k: 1,
                min_score: 0.0,
                now_ms: 1.8e12,
                policy: &RetrievalPolicy::default(),
            })
            .unwrap()
            .hits;
        let is_first = hits.first().is_some_and(|hit| hit.seq as usize == *place);
        let (asked, found) = classes.entry(class).or_default();
        *asked += 1;
        *found += usize::from(is_first);
        plain += usize::from(*is_plain);
        plain_found += usize::from(*is_plain && is_first);
    }
    let (asked, found) = classes.values().fold((0, 0), |sum, class| (sum.0 + class.0, sum.1 + class.1));
    for (class, (asked, found)) in &classes {
        println!("{class:20} {found:5} of {asked:5}  {:.1} %", 100.0 * *found as f64 / *asked as f64);
    }
    println!("{} messages; all {found} of {asked}, plain {plain_found} of {plain}", messages.len());
    assert_eq!(plain_found, plain, "a plain look-up failed");
    for (class, (asked, found)) in &classes {
        assert!(*asked >= 200 && found * 100 >= asked * 99, "{class}: {found} of {asked}");
    }
}
