//! What of a user's message is the user's own: without what is pasted, quoted or forwarded.
//!
//! Whoever asks for a summary of a mail sends the mail in the same message, so that a message of the user can speak with
//! anybody's voice. By rules of form and of a few words in seven languages; where it is in doubt, a text counts as pasted.
//! A text that somebody pastes without any sign of it cannot be told from the user's own.

use crate::lexical::lowercase;

/// Longer messages, in characters, are pasted but for their first and last paragraph.
const LONGEST_SAID_CHARS: usize = 2_000;
/// Longest such paragraph, in characters.
const LONGEST_PARAGRAPH_CHARS: usize = 600;
/// A shorter quotation is a name or a word that is spoken about.
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

/// The user's own words in a message, line by line.
#[must_use]
pub fn own_words(text: &str) -> String {
    let lines = spoken_lines(text);
    let asks_about = |line: &&str| ABOUT.split('|').any(|words| lowercase(line).contains(words));
    let is_about_text = lines.iter().any(asks_about);
    let is_long = text.chars().count() > LONGEST_SAID_CHARS;
    let (first, last) = (first_paragraph(&lines), last_paragraph(&lines));
    let mut own = String::new();
    for (number, line) in lines.iter().enumerate() {
        let is_own = match (is_about_text, is_long) {
            (true, _) => asks_about(line),
            (false, true) => (number < first || number >= last) && line.chars().count() <= LONGEST_PARAGRAPH_CHARS,
            (false, false) => true,
        };
        if is_own {
            // What the line is about may stand behind its colon.
            let said = if is_about_text { line.split([':', '：']).next().unwrap_or_default() } else { line };
            own.push_str(&without_quotations(said));
            own.push('\n');
        }
    }
    own
}

/// The lines that are no code, table, markup, quotation or mail.
fn spoken_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            is_code = !is_code;
            continue;
        }
        if is_code || trimmed.starts_with(['>', '|', '<']) {
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
    while let Some(open) = rest.find(|c| QUOTATIONS.iter().any(|(opening, _)| *opening == c)) {
        let (before, quoted) = rest.split_at(open);
        let opening = quoted.chars().next().unwrap_or_default();
        let inner = quoted.get(opening.len_utf8()..).unwrap_or_default();
        let closing = QUOTATIONS.iter().find(|(mark, _)| *mark == opening).map_or(opening, |(_, closing)| *closing);
        out.push_str(before);
        let end = inner.find(closing).map(|end| end + closing.len_utf8());
        let (quotation, behind) = inner.split_at(end.unwrap_or(inner.len()));
        if quotation.chars().count() < SHORTEST_QUOTATION_CHARS || (end.is_none() && opening == '`') {
            out.push(opening);
            out.push_str(quotation);
        } else {
            out.push(' ');
        }
        rest = behind;
    }
    out.push_str(rest);
    out
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
            ("<p>I prefer VendorX</p>", ""),
        ] {
            assert_eq!(own_words(text), own, "{text}");
        }
        let long = format!("I like tea.\n\n{}\n\nCall me Alex.", "I prefer VendorX. ".repeat(200));
        assert_eq!(own_words(&long).replace('\n', ""), "I like tea.Call me Alex.");
    }
}
