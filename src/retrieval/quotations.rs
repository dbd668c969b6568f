//! What stands between quotation marks.

/// What opens a quotation, and what closes it.
pub(super) const QUOTATION_MARKS: &[(char, char)] = &[
    ('"', '"'),
    ('“', '”'),
    ('”', '”'),
    ('„', '“'),
    ('„', '”'),
    ('«', '»'),
    ('»', '«'),
    ('‹', '›'),
    ('›', '‹'),
    ('「', '」'),
    ('『', '』'),
    ('＂', '＂'),
    ('‘', '’'),
    ('‚', '‘'),
    ('\'', '\''),
    ('`', '`'),
];

/// A longer quotation is a text given along, in bytes.
const LONGEST: usize = 600;

/// The quotations in a text, in order, without their marks; none inside another.
pub(super) fn quotations(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some((at, open)) =
        text[from..].char_indices().find(|(_, one)| is_opening(*one)).map(|(at, one)| (from + at, one))
    {
        from = at + open.len_utf8();
        if let Some(quoted) = quotation(&text[..at], open, &text[from..]) {
            found.push(quoted);
            from += quoted.len();
            from += text[from..].chars().next().map_or(0, char::len_utf8);
        }
    }
    found
}

fn is_opening(character: char) -> bool {
    QUOTATION_MARKS.iter().any(|(open, _)| *open == character)
}

/// What this mark opens, between the text before and the text behind it.
fn quotation<'a>(before: &str, open: char, rest: &'a str) -> Option<&'a str> {
    // An apostrophe opens nothing, and closes nothing, within a word. Scripts without spaces and Korean have none.
    let is_word = |character: Option<char>| character.is_some_and(|one| one.is_alphanumeric() && one < '\u{E00}');
    let is_apostrophe = |mark: char| matches!(mark, '\'' | '’' | '‘');
    if is_apostrophe(open) && is_word(before.chars().next_back()) {
        return None;
    }
    let closes = |(at, mark): (usize, char)| {
        QUOTATION_MARKS.contains(&(open, mark))
            && !(is_apostrophe(mark) && is_word(rest[at + mark.len_utf8()..].chars().next()))
    };
    // No further, so that a text full of marks that nothing closes is read in a time that follows its length.
    let mut near = rest.char_indices().take_while(|(at, _)| *at <= LONGEST);
    near.find(|found| closes(*found)).map(|(end, _)| &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotations_of_every_kind() {
        for quoted in [
            "\"a b\"",
            "“a b”",
            "”a b”",
            "„a b“",
            "„a b”",
            "«a b»",
            "»a b«",
            "‹a b›",
            "›a b‹",
            "「a b」",
            "『a b』",
            "＂a b＂",
            "‘a b’",
            "‚a b‘",
            "'a b'",
            "`a b`",
        ] {
            assert_eq!(quotations(&format!("Who said {quoted}?")), ["a b"], "{quoted}");
            assert_eq!(quotations(&format!("{quoted}, {quoted}")), ["a b", "a b"], "{quoted}");
        }
        assert_eq!(quotations("彼は「決済サーバー」と言った"), ["決済サーバー"]);
        assert_eq!(quotations("그가‘항구 등불’에 대해"), ["항구 등불"]);
    }

    #[test]
    fn apostrophes_and_single_marks_quote_nothing() {
        for text in ["don't or won't", "the 5\" screen", "rock 'n roll", "it’s the dogs’ bowl", "« a", ""] {
            assert_eq!(quotations(text), [""; 0], "{text}");
        }
        assert_eq!(quotations("who said 'it's over' then"), ["it's over"]);
        assert_eq!(quotations(&format!("\"{}\"", "a ".repeat(400))), [""; 0]);
    }

    proptest! {
        #[test]
        fn quotations_stand_in_the_text(text in "(\\PC|[\"'“”„«»「」`a ]){0,60}") {
            let mut rest = &*text;
            for quoted in quotations(&text) {
                let at = rest.find(quoted);
                prop_assert!(at.is_some());
                rest = &rest[at.unwrap() + quoted.len()..];
            }
        }
    }
}
