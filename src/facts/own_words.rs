//! What of a user's message is the user's own: without what is pasted, quoted or forwarded.
//!
//! Whoever asks for a summary of a mail sends the mail in the same message, so that a message of the user can speak with
//! anybody's voice. By rules of form and of a few words in ten languages; where it is in doubt, a text counts as pasted.
//! A text that somebody pastes without any sign of it cannot be told from the user's own.

use super::passing::FIRST_PERSON;
use super::sensitive::{padded, tells_any};
use super::voices::POSSESSIVES;
use crate::lexical::lowercase;

/// Longer messages, in characters, are pasted but for their first and last paragraph.
const LONGEST_SAID_CHARS: usize = 2_000;
/// Longest such paragraph, in characters.
const LONGEST_PARAGRAPH_CHARS: usize = 600;
/// A shorter quotation is a name or a word that is spoken about. In letters of Latin script; those of scripts in which a
/// letter is a word or a syllable count twice.
const SHORTEST_QUOTATION_CHARS: usize = 12;

/// How the lines of a mail's head begin, and lines above a forwarded or answered one.
const MAIL_HEADS: &str = "from:|to:|cc:|subject:|sent:|date:|reply-to:|von:|an:|betreff:|gesendet:|datum:|de:|para:|asunto:|\
enviado:|objet:|envoyé:|à:|보낸사람:|보낸 사람:|받는사람:|받는 사람:|제목:|差出人:|宛先:|件名:|发件人:|收件人:|主题:|от:|кому:|тема:|\
-----original message|---------- forwarded|begin forwarded message|-----ursprüngliche nachricht|----- 원본 메시지|\
-----mensaje original";

/// How lines end above which somebody else is quoted.
const WRITERS: &str = "wrote:|writes:|says:|said:|schrieb:|schreibt:|escribió:|dice:|a écrit :|a écrit:|님이 작성:|さんの発言:|写道:|пишет:";

/// Words by which one speaks about a text that stands in the same message.
const ABOUT: &str = "summari|translat|proofread|rewrite|paraphras|this email|this e-mail|this mail|the email|the mail|this page|\
this article|this text|this letter|this message|this document|this website|this post|this thread|this tweet|this review|\
this comment|this transcript|the following|reply to|answer this|explain this|what does this|what do you think of this|\
review this|grammar|correct this|here is the|here's the|here is what|here's what|i got this|i received|pasted|copied|\
zusammenfass|fasse |übersetz|korrigier|diese mail|diese e-mail|dieser text|diesen text|diese seite|diesen artikel|dieses \
dokument|folgende|antworte auf|resume |resúme|resumen|traduc|traduis|résum|corrige|este correo|este texto|esta página|\
este artículo|este mensaje|siguiente|ce texte|cet article|ce mail|cette page|요약|번역|이 메일|이메일|이 글|이 문서|이 페이지|이 기사|다음 글|\
다음 내용|교정|要約|翻訳|このメール|この文|この記事|このページ|次の文|以下の|校正|总结|翻译|这封|这篇|邮件|以下|переведи|перескажи|это письмо|\
этот текст";

/// Marks of quotations, opening and closing.
const QUOTATIONS: [(char, char); 7] = [
    ('"', '"'),
    ('\u{201C}', '\u{201D}'),
    ('\u{201E}', '\u{201C}'),
    ('«', '»'),
    ('「', '」'),
    ('『', '』'),
    ('`', '`'),
];

/// Words that point at something: a question that has one, with a text below it, asks about that text.
const POINTERS: &str = "this|that|these|those|here|it|he|she|him|her|his|they|them|their|dies*|das|hier|er|sie|ihm|ihn|ihr|ihre|esto|esta|\
este|eso|esa|ese|aquí|él|ella|ce|cet|cette|ça|ceci|cela|ici|il|elle|lui|questo|questa|qui|isto|aqui|이거|이게|이것|여기| 이 | 그 |그분|これ|この|\
ここ|それ|その|彼|这|那|他|她|это|этот|эта|здесь";

/// The one who asks, as an object.
const OBJECTS: &str =
    "me|us|mir|mich|uns|moi|nos|mí|conmigo|저를|저에게|제게|나를|나에게|私を|私に|私も|我们|мне|меня|нам";

/// Beginnings of a letter's first line.
const GREETINGS: &str = "dear|hi|hello|hey|hallo|liebe|lieber|sehr geehrte*|guten|hola|estimad*|querid*|buenos|buenas|bonjour|salut|cher|\
chère|ciao|gentile|caro|cara|olá|prezad*|안녕하세요|안녕|친애하는|님|様|御中|拝啓|お世話に|您好|你好|尊敬的|亲爱的|здравствуйте|уважаем*|привет";

/// Words in a label by which the user begins to speak, not somebody else.
const INTRODUCTIONS: &str = "remember|note|btw|by the way|ps|p s|fyi|also|update|news|correction|important|merke|merk dir|notiz|übrigens|wichtig|\
neuigkeit|neuigkeiten|korrektur|recuerda|novedad|corrección|nota|por cierto|importante|rappel|au fait|nouvelle|ricorda|novità|lembre|novidade|\
소식|정정|報告|訂正|更正|новость|참고|참고로|기억해|기억해 줘|メモ|ちなみに|覚えて|备注|顺便|记住|请记住|запомни|кстати";

/// Longest label of a line, in characters, and longest line of a letter's end.
const LABEL_CHARS: usize = 32;
const LETTER_END_CHARS: usize = 20;

/// The user's own words in a message, line by line.
#[must_use]
pub fn own_words(text: &str) -> String {
    let lines = spoken_lines(text);
    let lines = before_other_text(&lines);
    let is_about_text = lines.iter().any(asks_about);
    let is_long = text.chars().count() > LONGEST_SAID_CHARS || paragraphs(lines) > 2;
    let (first, last) = (first_paragraph(lines), last_paragraph(lines));
    let mut own = String::new();
    let mut is_own_list = false;
    for (number, line) in lines.iter().enumerate() {
        let is_own = match (is_about_text, is_long) {
            (true, _) => asks_about(line),
            (false, true) => (number < first || number >= last) && line.chars().count() <= LONGEST_PARAGRAPH_CHARS,
            (false, false) => true,
        };
        let is_item = is_list_item(line);
        if !is_item && !is_blank(line) {
            is_own_list = has(line, FIRST_PERSON) || has(line, POSSESSIVES);
        }
        if is_own && (!is_item || is_own_list) && (is_about_text || !is_labelled(line)) {
            // What the line is about may stand behind its colon.
            let said = if is_about_text { line.split([':', '：']).next().unwrap_or_default() } else { line };
            own.push_str(&without_quotations(said));
            own.push('\n');
        }
    }
    own
}

/// The lines that are no code, data, table, markup, quotation or mail.
fn spoken_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            is_code = !is_code;
            continue;
        }
        let is_indented = !trimmed.is_empty() && (line.starts_with("  ") || line.starts_with('\t'));
        if is_code
            || is_indented
            || trimmed.starts_with(['>', '|', '<', '[', '{', '}', '/', '#', '$'])
            || is_call(trimmed)
        {
            continue;
        }
        let small = lowercase(trimmed);
        if MAIL_HEADS.split('|').any(|head| small.starts_with(head))
            || WRITERS.split('|').any(|writer| small.ends_with(writer))
        {
            break;
        }
        lines.push(line);
    }
    lines
}

/// The lines in front of a letter, and those of a question about the text below it; else all.
fn before_other_text<'a, 'b>(lines: &'b [&'a str]) -> &'b [&'a str] {
    let said = || lines.iter().enumerate().filter(|(_, line)| !is_blank(line));
    let is_letter = ends_as_letter(lines);
    let greeting =
        said().find(|(number, line)| (*number > 0 || is_letter) && is_greeting(line)).map(|(number, _)| number);
    let end = match greeting {
        Some(number) => number,
        None if is_letter && paragraphs(lines) > 1 => first_paragraph(lines),
        None if is_letter => 0,
        None => lines.len(),
    };
    let lines = lines.get(..end).unwrap_or_default();
    let first = lines.iter().position(|line| !is_blank(line)).unwrap_or(0);
    match lines.get(first) {
        Some(line) if points_below(line, lines.get(first + 1).is_some_and(is_blank)) => {
            // Where the last line asks about the text above it, the first one may be that text.
            let last = lines.iter().rposition(|line| !is_blank(line)).unwrap_or(first);
            let is_above = last > first && lines.get(last).is_some_and(asks_about);
            if is_above { &[] } else { lines.get(..=first).unwrap_or_default() }
        }
        _ => lines,
    }
}

/// Whether a line speaks about a text that stands in the same message.
fn asks_about(line: &&str) -> bool {
    let line = lowercase(line);
    ABOUT.split('|').any(|words| line.contains(words))
}

/// A short line of greeting that ends in a comma or colon, or in a form of address.
fn is_greeting(line: &&str) -> bool {
    let line = line.trim();
    let is_ended = line.ends_with([',', ':', '，', '：', '、', '様', '님']);
    is_ended && line.chars().count() <= LABEL_CHARS && has(line, GREETINGS)
}

/// Two short lines at the end, the last one without a full stop: regards and a name.
fn ends_as_letter(lines: &[&str]) -> bool {
    let mut said = lines.iter().rev().filter(|line| !is_blank(line)).map(|line| line.trim());
    let (Some(name), Some(regards), Some(_)) = (said.next(), said.next(), said.next()) else { return false };
    let is_short = |line: &str| line.chars().count() <= LETTER_END_CHARS;
    is_short(name) && is_short(regards) && !name.ends_with(['.', '?', '!', '。', '？', '！', ':', ','])
}

/// A question or an unfinished line that points at something, or is not about the one who asks and stands `apart`.
fn points_below(line: &str, apart: bool) -> bool {
    let line = line.trim();
    let is_open = !line.ends_with(['.', '!', '。', '！', ',']);
    let is_of_others = || !has(line, POSSESSIVES) && !has(line, OBJECTS);
    is_open && !has(line, FIRST_PERSON) && (has(line, POINTERS) || apart && is_of_others())
}

fn is_list_item(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    ["- ", "* ", "• ", "– "].iter().any(|mark| line.starts_with(mark))
        || digits.len() < line.len() && [". ", ") "].iter().any(|mark| digits.starts_with(mark))
}

/// Who or what speaks stands in front of a colon, and it is not the user.
fn is_labelled(line: &str) -> bool {
    let Some((label, said)) = line.split_once([':', '：']) else { return false };
    let is_label = label.chars().count() <= LABEL_CHARS && !label.contains(['.', '?', '!', ',', '。']);
    let is_text = !said.trim().is_empty() && !said.starts_with(|c: char| c == '/' || c.is_ascii_digit());
    is_label && is_text && ![FIRST_PERSON, POSSESSIVES, INTRODUCTIONS].iter().any(|list| has(label, list))
}

/// Whether a line has a word of a list, in normalised form.
fn has(line: &str, list: &str) -> bool {
    tells_any(&padded(line), list)
}

fn paragraphs(lines: &[&str]) -> usize {
    let begins = |at: usize| lines.get(at).is_some_and(|line| !is_blank(line));
    (0..lines.len()).filter(|at| begins(*at) && (*at == 0 || !begins(*at - 1))).count()
}

/// `name(...)`, `name=value` or `name = "value"`, as programs have it.
fn is_call(line: &str) -> bool {
    let name = line.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.' | '-'));
    let rest = name.filter(|at| *at > 0).and_then(|at| line.get(at..)).unwrap_or_default();
    let value = rest.trim_start().strip_prefix('=').map(str::trim_start);
    rest.starts_with(['(', '=']) || value.is_some_and(|value| value.starts_with(['"', '\'', '`']))
}

fn is_blank(line: &&str) -> bool {
    line.trim().is_empty()
}

/// Number of lines of the first paragraph.
fn first_paragraph(lines: &[&str]) -> usize {
    lines.iter().position(is_blank).unwrap_or(lines.len().min(1))
}

/// Where the last paragraph begins.
fn last_paragraph(lines: &[&str]) -> usize {
    lines.iter().rposition(is_blank).map_or(lines.len().saturating_sub(1), |blank| blank + 1)
}

fn without_quotations(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((open, closing)) = opening_mark(rest) {
        let (before, quoted) = rest.split_at(open);
        let opening = quoted.chars().next().unwrap_or_default();
        let inner = quoted.get(opening.len_utf8()..).unwrap_or_default();
        out.push_str(before);
        let closed = closing_mark(inner, closing);
        let (quotation, behind) = inner.split_at(closed.unwrap_or(inner.len()));
        let is_open = closed.is_none() && matches!(opening, '`' | '\'' | '\u{2018}');
        let behind = behind.strip_prefix(closing).unwrap_or(behind);
        if is_open || weight(quotation) < SHORTEST_QUOTATION_CHARS {
            // What looked like a mark was an apostrophe: what follows may hold others.
            let shown = if is_open { 0 } else { inner.len() - behind.len() };
            out.push(opening);
            out.push_str(inner.get(..shown).unwrap_or_default());
            rest = inner.get(shown..).unwrap_or_default();
        } else {
            out.push(' ');
            rest = behind;
        }
    }
    out.push_str(rest);
    out
}

/// The first mark that opens a quotation, and the one that closes it. A single mark is one where no word stands before it and
/// one begins behind it.
fn opening_mark(text: &str) -> Option<(usize, char)> {
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        let double = QUOTATIONS.iter().find(|(opening, _)| *opening == character).map(|(_, closing)| *closing);
        let single = || {
            let closing = [('\'', '\''), ('\u{2018}', '\u{2019}')].into_iter().find(|(mark, _)| *mark == character)?.1;
            let behind = text.get(at + character.len_utf8()..).and_then(|rest| rest.chars().next());
            (!before.is_alphanumeric() && behind.is_some_and(char::is_alphanumeric)).then_some(closing)
        };
        if let Some(closing) = double.or_else(single) {
            return Some((at, closing));
        }
        before = character;
    }
    None
}

/// Where a quotation ends; a single mark between letters is an apostrophe.
fn closing_mark(inner: &str, closing: char) -> Option<usize> {
    let is_end = |at: &usize| {
        let behind = inner.get(at + closing.len_utf8()..).and_then(|rest| rest.chars().next());
        !matches!(closing, '\'' | '\u{2019}') || !behind.is_some_and(char::is_alphanumeric)
    };
    inner.match_indices(closing).map(|(at, _)| at).find(is_end)
}

fn weight(text: &str) -> usize {
    text.chars().map(|c| if u32::from(c) < 0x1100 { 1 } else { 2 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pasted_is_not_said() {
        for (text, own) in [
            ("I prefer tea.\nCall me Alex", "I prefer tea.\nCall me Alex\n"),
            ("Summarise this mail:\nI prefer VendorX", "Summarise this mail\n"),
            ("I prefer VendorX\n\nSummarise the text above, please", "Summarise the text above, please\n"),
            ("Translate to French: I always buy VendorX", "Translate to French\n"),
            ("See:\n> I prefer VendorX\nok", "See:\nok\n"),
            ("```\nI prefer VendorX\n```\nwhy?", "why?\n"),
            ("From: eve@example.com\nI prefer VendorX", ""),
            ("Eve wrote:\nI prefer VendorX", ""),
            ("He said \"I really prefer VendorX\" and left", "He said   and left\n"),
            ("My editor is called \"Zed\" and I like it", "My editor is called \"Zed\" and I like it\n"),
            ("이 메일을 요약해 줘: 저는 VendorX를 좋아해요", "이 메일을 요약해 줘\n"),
            ("News: I work in Halle now", "News: I work in Halle now\n"),
            ("Neuigkeit: Ich bin jetzt in Halle", "Neuigkeit: Ich bin jetzt in Halle\n"),
            ("<p>I prefer VendorX</p>", ""),
            ("x = 'I prefer VendorX'\nprint(x)\nwhy?", "why?\n"),
            ("INSERT INTO t VALUES ('I prefer VendorX'); ok?", "INSERT INTO t VALUES ( ); ok?\n"),
            ("She said ‘I don’t buy but from VendorX’ again", "She said   again\n"),
            ("The kids' coach is Jo and I don't use 'var'", "The kids' coach is Jo and I don't use 'var'\n"),
            ("'tis true that I don't like it", "'tis true that I don't like it\n"),
            ("兄に「いつもVで買うよ」と言われた", "兄に と言われた\n"),
        ] {
            assert_eq!(own_words(text), own, "{text}");
        }
        let long = format!("I like tea.\n\n{}\n\nCall me Alex.", "I prefer VendorX. ".repeat(200));
        assert_eq!(own_words(&long).replace('\n', ""), "I like tea.Call me Alex.");
    }
}
