//! Words of many scripts and forms, and identifiers, are found: what was stored as one message is found by one word of it.

use throughline::lexical::{Analyzer, LexicalIndex};

/// An index of these messages among filler, so that being found means something.
fn index_of(messages: &[&str]) -> (Analyzer, LexicalIndex) {
    let analyzer = Analyzer::default();
    let mut index = LexicalIndex::new();
    for message in messages {
        index.add(&analyzer, message);
    }
    for number in 0..200 {
        index.add(
            &analyzer,
            &format!("Filler message number {number} about the weather, lunch and the news of day {number}."),
        );
    }
    (analyzer, index)
}

#[track_caller]
fn found_first(message: &str, question: &str) {
    let (analyzer, index) = index_of(&["an unrelated line", message, "another unrelated line"]);
    let hits = index.search(&analyzer, question, 3);
    assert_eq!(hits.first().map(|hit| hit.document), Some(1), "{question:?} must find {message:?}, got {hits:?}");
}

#[test]
fn identifiers_exact_and_lower_cased() {
    for identifier in [
        "buildApiMessages",
        "HTTPServerError2",
        "ERR_HTTP2_STREAM_CANCEL",
        "src/engine/main.rs:42",
        "user.name@example.com",
        "v2.13.4-beta.1",
        "2024-03-10",
        "localhost:8443",
        "C:\\Users\\alex\\notes.txt",
        "TLG-4821",
        "0xDEADBEEF",
    ] {
        let message = format!("It broke in {identifier} again.");
        found_first(&message, &format!("why does {identifier} fail?"));
        found_first(&message, &format!("why does {} fail?", identifier.to_lowercase()));
    }
}

#[test]
fn identifiers_by_their_parts() {
    found_first("we call spliceCouponRoster() there", "splice coupon roster");
    found_first("see src/index.ts:42", "index");
    found_first("ERR_HTTP2_STREAM came up", "stream error http");
    found_first("std::collections::BTreeMap is ordered", "tree map");
}

#[test]
fn one_word_of_many_scripts() {
    for (message, question) in [
        ("데이터베이스를 어제 옮겼습니다", "데이터베이스"),
        ("서버에서 오류가 났어요", "서버는 왜 그래?"),
        ("我们昨天迁移了数据库服务器", "数据库"),
        ("昨日データベースを移行しました", "データベース"),
        ("私の猫は黒いです", "猫"),
        ("เมื่อวานแมวของฉันป่วย", "แมว"),
        ("ยินดีต้อนรับสู่ปีใหม่", "ปี"),
        ("нам нужно перенести базу данных завтра", "данных"),
        ("قمنا بنقل قاعدة البيانات أمس", "قاعدة"),
        ("אנחנו מעבירים את מסד הנתונים", "הנתונים"),
        ("हमने कल डेटाबेस बदला", "डेटाबेस"),
        ("η βάση δεδομένων άλλαξε", "ΒΆΣΗ"),
    ] {
        found_first(message, question);
    }
}

#[test]
fn the_same_word_in_another_form() {
    for (message, question) in [
        ("le cafe\u{301} est ferme\u{301}", "café"),
        ("le café est fermé", "cafe\u{301}"),
        ("le café est fermé", "CAFE"),
        ("the pass\u{200B}phrase is blue", "passphrase"),
        ("the passphrase is blue", "pass\u{200D}phrase"),
        ("safe\u{202E}gpj.exe was opened", "safegpj"),
        ("İstanbul'da kaldık", "istanbul"),
        ("ISPARTA gül kokar", "ısparta"),
        ("die Straße ist gesperrt", "STRASSE"),
        ("call １２３４５ now", "12345"),
        ("the ｃｏｎｆｉｇ file", "config"),
        ("she was running late", "run"),
        ("we bought two bicycles", "when did I buy the bicycle?"),
        ("Caroline's children", "child"),
    ] {
        found_first(message, question);
    }
}

#[test]
fn a_question_of_stop_words_only_still_finds() {
    found_first("to be or not to be", "to be or not to be");
}

#[test]
fn nothing_in_nothing_out() {
    let analyzer = Analyzer::default();
    let mut index = LexicalIndex::new();
    assert!(index.search(&analyzer, "anything", 10).is_empty());
    index.add(&analyzer, "a message");
    for question in ["", " ", "!?", "\u{200B}", "zzz"] {
        assert!(index.search(&analyzer, question, 10).is_empty(), "{question:?}");
    }
    assert!(index.search(&analyzer, "message", 0).is_empty());
    assert_eq!(index.search(&analyzer, "message", usize::MAX).len(), 1);
}

#[test]
fn a_rare_word_outvotes_fillers() {
    let (analyzer, index) = index_of(&["the zeppelin landed"]);
    let hits = index.search(
        &analyzer,
        "tell me the number of the filler message about lunch, weather, news and a zeppelin",
        1,
    );
    assert_eq!(hits[0].document, 0);
}

#[test]
fn memory_stays_small() {
    let analyzer = Analyzer::default();
    let mut index = LexicalIndex::new();
    for number in 0..10_000_u32 {
        let word = number.wrapping_mul(2_654_435_761) % 20_000;
        index.add(
            &analyzer,
            &format!(
                "Message about w{word} and topic{} with term{} plus some common words of a chat",
                word % 500,
                word % 97
            ),
        );
    }
    let per_message = index.memory_bytes() / index.len();
    assert!(per_message <= 160, "{per_message} bytes per message");
}
