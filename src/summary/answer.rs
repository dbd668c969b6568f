//! Whether a summarising model's answer may replace the summary.

use super::SECTIONS;
use crate::error::{Error, Result};
use crate::json_text::value_text;
use crate::lexical::lowercase;
use crate::model_answer;
use crate::prompt_text::single_line;
use crate::records::SummarySection;
use serde_json::{Map, Value};

/// What an answer is measured against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerLimits {
    /// Tokens of what was to be summarised: the existing summary and the range. The answer must not be longer.
    pub input_tokens: u32,
    /// Longest summary ([`crate::config::CompactionPolicy::max_summary_tokens`]).
    pub max_summary_tokens: u32,
}

/// From this input length on, an answer must say something.
const MINIMUM_APPLIES_TOKENS: u32 = 500;
/// Least tokens of the items of such an answer.
const MINIMUM_TOKENS: u32 = 8;

/// Spellings of the section names, letters only and in lower case.
const ALIASES: &[(&str, &str)] = &[
    ("currentgoal", "goal"),
    ("goals", "goal"),
    ("objective", "goal"),
    ("confirmedfacts", "confirmed"),
    ("confirmedfindings", "confirmed"),
    ("facts", "confirmed"),
    ("findings", "confirmed"),
    ("decision", "decisions"),
    ("decisionsmade", "decisions"),
    ("decisionswithreasons", "decisions"),
    ("constraint", "constraints"),
    ("failedattempts", "failed"),
    ("failures", "failed"),
    ("openquestions", "open"),
    ("openquestion", "open"),
    ("questions", "open"),
    ("nextsteps", "next"),
    ("nextstep", "next"),
    ("todo", "next"),
    ("identifier", "identifiers"),
    ("keyidentifiers", "identifiers"),
];

/// Beginnings of refusals, lower case, straight apostrophes.
const REFUSALS: &[&str] = &[
    "i'm sorry",
    "i am sorry",
    "sorry, ",
    "i apologize",
    "i apologise",
    "i can't",
    "i cannot",
    "i can not",
    "i'm unable",
    "i am unable",
    "i'm not able",
    "i am not able",
    "i won't",
    "i will not",
    "i must decline",
    "as an ai",
    "as a language model",
    "unfortunately, i ca",
    "es tut mir leid",
    "tut mir leid",
    "ich kann nicht",
    "ich kann dir",
    "ich kann ihnen",
    "leider kann ich",
    "ich bin nicht in der lage",
    "als ki",
    "je suis désolé",
    "désolé",
    "je ne peux pas",
    "je ne suis pas en mesure",
    "en tant qu'ia",
    "lo siento",
    "no puedo",
    "lamento",
    "como modelo de lenguaje",
    "desculpe",
    "sinto muito",
    "não posso",
    "mi dispiace",
    "non posso",
    "het spijt me",
    "sorry, ik",
    "ik kan niet",
    "ik kan u",
    "przykro mi",
    "przepraszam",
    "nie mogę",
    "извините",
    "простите",
    "к сожалению, я",
    "я не могу",
    "на жаль",
    "抱歉",
    "很抱歉",
    "对不起",
    "對不起",
    "我无法",
    "我無法",
    "我不能",
    "作为一个",
    "作为人工智能",
    "申し訳",
    "すみません",
    "ごめんなさい",
    "お手伝いできません",
    "죄송",
    "미안",
    "도와드릴 수 없",
    "저는 도와",
    "üzgünüm",
    "özür dilerim",
    "maalesef",
    "آسف",
    "عذرا",
    "عذرًا",
    "لا أستطيع",
    "لا يمكنني",
    "क्षमा करें",
    "माफ़ करें",
    "मुझे खेद",
    "xin lỗi",
    "rất tiếc",
    "tôi không thể",
    "maaf",
    "ขออภัย",
    "ขอโทษ",
];

/// Marks of a tool call in the text formats of common models.
const TOOL_CALL_MARKS: &[&str] =
    &["<tool_call", "<function_call", "<invoke ", "[tool_calls]", "<|python_tag|>", "<|tool_call", "<｜tool▁call"];

/// The sections of a model's answer, in the fixed order and with whole, cleaned items; JSON or headed lists.
///
/// # Errors
/// [`crate::error::Code::ModelOutputInvalid`] for an answer that is empty, a refusal, an HTML page, a tool call, cut off,
/// without any known section, longer than its input or than the policy allows, or too short to hold anything. The message
/// names the reason and repeats nothing of the answer. Nothing is applied in part.
pub fn parse_and_validate(
    answer: &str,
    limits: AnswerLimits,
    count_tokens: &dyn Fn(&str) -> u32,
) -> Result<Vec<SummarySection>> {
    let mut text = model_answer::visible_answer(answer)?;
    if text.starts_with('"')
        && let Ok(inner) = crate::json_reader::read_json::<String>(&text)
    {
        text = model_answer::visible_answer(&inner)?;
    }
    let sections = if is_html(&text) {
        return Err(Error::model_output("the answer is an HTML page, not a summary"));
    } else if text.starts_with(['{', '[']) || text.starts_with("```") {
        match (model_answer::json(&text), text.starts_with("```")) {
            (Ok(value), _) => from_json(&value)?,
            (Err(error), false) => return Err(error),
            (Err(_), true) => from_text(&text)?,
        }
    } else {
        match model_answer::json(&text).ok().map(|value| from_json(&value)) {
            Some(Ok(sections)) if !sections.is_empty() => sections,
            _ => from_text(&text)?,
        }
    };
    check(&sections, limits, count_tokens)?;
    Ok(sections)
}

fn check(sections: &[SummarySection], limits: AnswerLimits, count_tokens: &dyn Fn(&str) -> u32) -> Result<()> {
    let items: Vec<&str> = sections.iter().flat_map(|section| &section.items).map(String::as_str).collect();
    if items.is_empty() {
        return Err(Error::model_output("the answer has none of the sections that were asked for"));
    }
    if items.iter().all(|item| is_refusal(item)) {
        return Err(Error::model_output("the model refused to summarise"));
    }
    let tokens = count_tokens(&items.join("\n"));
    if tokens > limits.input_tokens {
        return Err(Error::model_output(format!(
            "the summary is longer than its input ({tokens} tokens for {})",
            limits.input_tokens
        )));
    }
    if tokens > limits.max_summary_tokens {
        return Err(Error::model_output(format!(
            "the summary has {tokens} tokens; policy.compaction.maxSummaryTokens allows {}",
            limits.max_summary_tokens
        )));
    }
    if limits.input_tokens >= MINIMUM_APPLIES_TOKENS && tokens < MINIMUM_TOKENS {
        return Err(Error::model_output(format!(
            "the summary has only {tokens} tokens for an input of {}",
            limits.input_tokens
        )));
    }
    Ok(())
}

fn is_html(text: &str) -> bool {
    let head: String = lowercase(&text.chars().take(2_000).collect::<String>());
    let head = head.trim_start_matches("```html").trim_start();
    head.starts_with("<!doctype html")
        || head.starts_with("<html")
        || head.starts_with('<') && ["<head", "<body", "</div>", "<script"].iter().any(|tag| head.contains(tag))
}

fn is_refusal(text: &str) -> bool {
    let start: String = lowercase(&text.chars().take(80).collect::<String>()).replace(['\u{2019}', '\u{2BC}'], "'");
    let start = start.trim_start_matches(|c: char| !c.is_alphanumeric());
    REFUSALS.iter().any(|refusal| start.starts_with(refusal))
}

/// The known section that a key or heading names.
fn section_name(heading: &str) -> Option<&'static str> {
    let letters = lowercase(&heading.chars().filter(|c| c.is_alphabetic()).collect::<String>());
    let known = SECTIONS.iter().map(|(name, _)| *name).find(|name| *name == letters);
    known.or_else(|| ALIASES.iter().find(|(alias, _)| *alias == letters).map(|(_, name)| *name))
}

fn from_json(value: &Value) -> Result<Vec<SummarySection>> {
    let mut found: Vec<(&'static str, String)> = Vec::new();
    collect(value, 0, &mut found)?;
    Ok(in_order(found))
}

/// Takes an object with the section names as keys, one nested once under another key, or a list of `{name, items}`.
fn collect(value: &Value, depth: u32, found: &mut Vec<(&'static str, String)>) -> Result<()> {
    match value {
        Value::Object(map) if is_tool_call(map) => Err(Error::model_output("the answer is a tool call, not a summary")),
        Value::Object(map) => {
            if let (Some(Value::String(name)), Some(items)) = (map.get("name"), map.get("items")) {
                found.extend(section_name(name).into_iter().flat_map(|name| items_of(items).map(move |i| (name, i))));
                return Ok(());
            }
            for (key, inner) in map {
                if let Some(name) = section_name(key) {
                    found.extend(items_of(inner).map(|item| (name, item)));
                } else if depth < 2 && matches!(inner, Value::Object(_) | Value::Array(_)) {
                    collect(inner, depth + 1, found)?;
                }
            }
            Ok(())
        }
        Value::Array(values) if depth < 2 => values.iter().try_for_each(|inner| collect(inner, depth + 1, found)),
        _ => Ok(()),
    }
}

fn is_tool_call(map: &Map<String, Value>) -> bool {
    let has = |key: &str| map.contains_key(key);
    has("tool_calls")
        || has("function_call")
        || has("tool_use_id")
        || has("name") && (has("arguments") || has("parameters") || has("input"))
        || map.get("type").and_then(Value::as_str).is_some_and(|kind| kind == "tool_use" || kind == "function")
}

/// The items of a section: a list of texts, one text, or objects such as `{decision, reason}` joined to one text.
fn items_of(value: &Value) -> impl Iterator<Item = String> {
    let values = match value {
        Value::Array(values) => values.as_slice(),
        other => std::slice::from_ref(other),
    };
    values.iter().filter_map(|value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) => Some(value_text(value)),
        Value::Object(map) => Some(map.values().filter_map(Value::as_str).collect::<Vec<_>>().join("; ")),
        Value::Null | Value::Bool(_) | Value::Array(_) => None,
    })
}

fn from_text(text: &str) -> Result<Vec<SummarySection>> {
    if is_refusal(text) {
        return Err(Error::model_output("the model refused to summarise"));
    }
    let lower = lowercase(text);
    if TOOL_CALL_MARKS.iter().any(|mark| lower.contains(mark)) {
        return Err(Error::model_output("the answer is a tool call, not a summary"));
    }
    let mut found = Vec::new();
    let mut current = None;
    for line in text.lines() {
        if let Some((name, rest)) = heading(line) {
            current = Some(name);
            found.push((name, rest.to_owned()));
        } else if let Some(name) = current {
            if line.trim_start().starts_with('#') {
                current = None;
            } else if !line.trim_start().starts_with("```") {
                found.push((name, without_bullet(line).to_owned()));
            }
        }
    }
    Ok(in_order(found))
}

/// A line that names a known section, as `## Goal`, `**Goal:** text` or `3. Goal: text`; with what follows the name.
fn heading(line: &str) -> Option<(&'static str, &str)> {
    let is_mark = |c: char| matches!(c, '#' | '*' | '_' | '-') || c.is_whitespace();
    let line = line.trim_start_matches(|c| is_mark(c) || c.is_ascii_digit() || c == '.').trim_end();
    let (name, rest) = match line.split_once([':', '：']) {
        Some((name, rest)) => (name, rest),
        None => (line, ""),
    };
    let is_name = |c: char| c.is_alphabetic() || is_mark(c);
    let name = name.trim_matches(is_mark);
    (name.len() <= 40 && name.chars().all(is_name)).then_some(())?;
    Some((section_name(name)?, rest.trim_matches(|c| matches!(c, '*' | '_') || c.is_whitespace())))
}

/// A list line without its bullet or number.
fn without_bullet(line: &str) -> &str {
    let line = line.trim();
    let bulleted = line.strip_prefix(['-', '*', '•', '–']).filter(|rest| rest.starts_with(char::is_whitespace));
    let numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < line.len()).then(|| rest.strip_prefix(['.', ')'])).flatten().filter(|rest| rest.starts_with(' '))
    };
    bulleted.or_else(numbered).unwrap_or(line).trim()
}

/// Sections in the fixed order, items cleaned, without empty ones, "none" and repetitions.
fn in_order(found: Vec<(&'static str, String)>) -> Vec<SummarySection> {
    let mut sections: Vec<SummarySection> =
        SECTIONS.iter().map(|(name, _)| SummarySection { name: (*name).to_owned(), items: Vec::new() }).collect();
    for (name, item) in found {
        let item = single_line(&item);
        let is_nothing = matches!(
            lowercase(item.trim_matches(|c: char| !c.is_alphanumeric())).as_str(),
            "" | "none" | "n/a" | "null" | "undefined" | "nothing"
        );
        if let Some(section) = sections.iter_mut().find(|section| section.name == name)
            && !is_nothing
            && !section.items.contains(&item)
        {
            section.items.push(item);
        }
    }
    sections.retain(|section| !section.items.is_empty());
    sections
}
