//! What a question names decides where words do not: the time, the role, the speaker.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use throughline::config::RetrievalPolicy;
use throughline::lexical::Analyzer;
use throughline::message::Role;
use throughline::retrieval::{Document, MessageFilter, MessageIndex, SearchRequest};

const DAY_MS: f64 = 86_400_000.0;
/// Sunday 10 March 2024, noon.
const NOW_MS: f64 = 19_792.5 * DAY_MS;

/// The seq of the best hit.
#[track_caller]
fn best(index: &MessageIndex, question: &str) -> u32 {
    let result = index
        .search(&SearchRequest {
            text: question,
            vector: None,
            conversation: None,
            current_conversation: None,
            admits: None,
            filter: MessageFilter::default(),
            top_k: 3,
            min_score: 0.0,
            now_ms: NOW_MS,
            policy: &RetrievalPolicy::default(),
        })
        .unwrap();
    result.hits[0].seq
}

/// What was said about the release, in each language; only the day differs.
const RELEASE: [&str; 8] = [
    "The release went out without a problem.",
    "Das Release ging ohne Probleme raus.",
    "La release est sortie sans problème.",
    "La release salió sin problemas.",
    "릴리스가 문제없이 나갔습니다.",
    "リリースは問題なく出ました。",
    "发布顺利完成，没有问题。",
    "ปล่อยรีลีสออกไปโดยไม่มีปัญหา",
];
/// Days ago, and how each language names that.
const ASKED: [(f64, [&str; 8]); 6] = [
    (
        1.0,
        [
            "How did the release go yesterday?",
            "Wie lief das Release gestern?",
            "Comment était la release hier ?",
            "¿Cómo fue la release ayer?",
            "어제 릴리스 어땠지?",
            "昨日のリリースはどうでしたか？",
            "昨天的发布怎么样？",
            "รีลีสเมื่อวานเป็นอย่างไร",
        ],
    ),
    (
        9.0,
        [
            "How did the release go last week?",
            "Wie lief das Release letzte Woche?",
            "Comment était la release la semaine dernière ?",
            "¿Cómo fue la release la semana pasada?",
            "지난주 릴리스 어땠지?",
            "先週のリリースはどうでしたか？",
            "上周的发布怎么样？",
            "รีลีสสัปดาห์ที่แล้วเป็นอย่างไร",
        ],
    ),
    (
        21.0,
        [
            "How was the release three weeks ago?",
            "Wie war das Release vor drei Wochen?",
            "Comment était la release il y a trois semaines ?",
            "¿Cómo fue la release hace tres semanas?",
            "3주 전 릴리스 어땠지?",
            "3週間前のリリースはどうでしたか？",
            "三周前的发布怎么样？",
            "รีลีสสามสัปดาห์ก่อนเป็นอย่างไร",
        ],
    ),
    (
        301.0,
        [
            "How was the release last May?",
            "Wie war das Release letzten Mai?",
            "Comment était la release en mai dernier ?",
            "¿Cómo fue la release de mayo pasado?",
            "작년 5월 릴리스 어땠지?",
            "去年の5月のリリースはどうでしたか？",
            "去年五月的发布怎么样？",
            "รีลีสพฤษภาคมปีที่แล้วเป็นอย่างไร",
        ],
    ),
    (
        220.0,
        [
            "How was the release last summer?",
            "Wie war das Release letzten Sommer?",
            "Comment était la release l'été dernier ?",
            "¿Cómo fue la release el verano pasado?",
            "지난여름 릴리스 어땠지?",
            "去年の夏のリリースはどうでしたか？",
            "去年夏天的发布怎么样？",
            "รีลีสหน้าร้อนที่แล้วเป็นอย่างไร",
        ],
    ),
    (
        6.0,
        [
            "How was the release on Monday?",
            "Wie war das Release am Montag?",
            "Comment était la release lundi ?",
            "¿Cómo fue la release el lunes?",
            "월요일 릴리스 어땠지?",
            "月曜日のリリースはどうでしたか？",
            "星期一的发布怎么样？",
            "รีลีสวันจันทร์เป็นอย่างไร",
        ],
    ),
];

#[test]
fn the_time_decides_where_only_it_differs() {
    for (language, text) in RELEASE.iter().enumerate() {
        let mut index = MessageIndex::new(Analyzer::default(), None);
        for days_ago in [400.0_f64, 301.0, 220.0, 100.0, 21.0, 9.0, 6.0, 1.0] {
            let seq = days_ago as u32;
            let created_at_ms = NOW_MS - days_ago * DAY_MS;
            index.add(&Document { conversation: seq, seq, role: Role::User, speaker: None, created_at_ms, text });
        }
        for (days_ago, questions) in &ASKED {
            assert_eq!(best(&index, questions[language]), *days_ago as u32, "{}", questions[language]);
        }
    }
}

#[test]
fn the_role_decides_where_only_it_differs() {
    for (text, assistant, user) in [
        (
            "A tent by the lake for the weekend",
            "What did you suggest for the weekend?",
            "What did I say about the weekend?",
        ),
        (
            "Ein Zelt am See für das Wochenende",
            "Was hast du fürs Wochenende empfohlen?",
            "Was habe ich zum Wochenende gesagt?",
        ),
        ("Une tente au bord du lac ce week-end", "Qu'as-tu proposé pour le week-end ?", "Qu'ai-je dit du week-end ?"),
        (
            "Una tienda junto al lago el fin de semana",
            "¿Qué sugeriste para el fin de semana?",
            "¿Qué te dije del fin de semana?",
        ),
        ("주말에는 호숫가에 텐트", "주말에 네가 추천한 게 뭐였지?", "주말에 대해 내가 뭐라고 했지?"),
        ("週末は湖畔でテント", "週末にあなたが提案したのは何でしたか？", "週末について私が言ったのは何でしたか？"),
        ("周末去湖边搭帐篷", "周末的事你建议了什么？", "周末的事我说了什么？"),
        ("สุดสัปดาห์กางเต็นท์ริมทะเลสาบ", "สุดสัปดาห์คุณแนะนำอะไร", "สุดสัปดาห์ฉันบอกว่าอะไร"),
    ] {
        for assistant_first in [false, true] {
            let mut index = MessageIndex::new(Analyzer::default(), None);
            for (seq, is_assistant) in [(1, assistant_first), (2, !assistant_first)] {
                let role = if is_assistant { Role::Assistant } else { Role::User };
                let created_at_ms = NOW_MS - (60.0 - f64::from(seq)) * DAY_MS;
                index.add(&Document { conversation: seq, seq, role, speaker: None, created_at_ms, text });
            }
            let of = |is_assistant: bool| if is_assistant == assistant_first { 1 } else { 2 };
            assert_eq!(best(&index, assistant), of(true), "{assistant}");
            assert_eq!(best(&index, user), of(false), "{user}");
        }
    }
}

#[test]
fn the_speaker_decides_where_only_the_name_differs() {
    let speakers = ["Anna", "Björn", "민수", "田中", "小红", "สมชาย"];
    let mut index = MessageIndex::new(Analyzer::default(), None);
    for (speaker, seq) in speakers.iter().zip(1_u32..) {
        let created_at_ms = NOW_MS - f64::from(seq) * 9.0 * DAY_MS;
        let text = "The deploy key is kept in the vault.";
        index.add(&Document { conversation: seq, seq, role: Role::User, speaker: Some(speaker), created_at_ms, text });
    }
    for (question, seq) in [
        ("Where does Anna keep the deploy key?", 1),
        ("What did bjorn say of the deploy key?", 2),
        ("민수가 deploy key 어디 있다고 했지?", 3),
        ("田中さんは deploy key について何と言いましたか？", 4),
        ("小红说 deploy key 在哪里？", 5),
        ("สมชาย บอกว่า deploy key อยู่ที่ไหน", 6),
    ] {
        assert_eq!(best(&index, question), seq, "{question}");
    }
}
