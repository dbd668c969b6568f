//! Keys that are secrets by their form or by where they stand: of services, in addresses, in configurations.

use super::{Place, SecretKind, Shown, is_word};

/// Beginnings of keys and tokens of common services, each with the least number of characters that follow.
const PREFIXES: &str = "sk-16 sk_live_16 rk_live_16 sk_test_16 pk_live_16 whsec_16 AKIA16 ASIA16 ghp_20 gho_20 ghs_20 ghu_20 \
ghr_20 github_pat_20 glpat-16 xoxb-16 xoxp-16 xoxa-16 xapp-16 AIza30 ya29.16 GOCSPX-20 hf_20 npm_20 pypi-20 dop_v1_20 SG.16 \
shpat_20 sq0atp-16 EAACEdEose0cBA16 AGE-SECRET-KEY-20 dckr_pat_16 lin_api_16 figd_16 gsk_20 r8_20 key-20 \
xai-20 pplx-20 nvapi-20 tvly-16 ATATT20 PMAK-20 sntrys_20 shpss_20 sq0csp-16 rk_test_16 hvs.20 tskey-16 nfp_20";

/// Addresses behind which the key to a channel stands.
const WEBHOOKS: &str = "hooks.slack.com/services/|hooks.slack.com/workflows/|hooks.slack.com/triggers/|hooks.zapier.com/hooks/catch/|\
discord.com/api/webhooks/|discordapp.com/api/webhooks/|\
outlook.office.com/webhook/|api.telegram.org/bot";

/// What a name has in it whose value is a secret.
const SECRET_NAMES: &str = "secret|_pass|token|passw|passwd|pwd|apikey|api_key|api-key|accesskey|access_key|access-key|privatekey|\
private_key|private-key|auth_key|credential|encryption_key|signing_key";

/// What a value has in it that only stands for one.
const PLACEHOLDERS: &str = "your|xxx|example|changeme|change_me|placeholder|redacted|***|...|<|${|{{|%(|env|null|none|undefined|dummy|foobar|this.";

fn is_key_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

pub(super) fn is_token_character(character: char) -> bool {
    is_key_character(character) || matches!(character, '.' | '+' | '/' | '=' | '~')
}

/// Whether a run looks drawn by chance: a digit or a capital in it, or no hyphens as names have; and not one letter over
/// and over.
fn is_random(run: &[char]) -> bool {
    let has = |is: fn(&char) -> bool| run.iter().any(is);
    let is_varied = || (1..run.len()).filter(|at| !run[..*at].contains(&run[*at])).count() >= 5;
    (has(char::is_ascii_digit) || has(char::is_ascii_uppercase) || !run.contains(&'-')) && is_varied()
}

fn has_digit_and_letter(run: &[char]) -> bool {
    run.iter().any(char::is_ascii_digit) && run.iter().any(char::is_ascii_alphabetic)
}

pub(super) fn is_placeholder(run: &[char]) -> bool {
    let text: String = run.iter().map(char::to_ascii_lowercase).collect();
    PLACEHOLDERS.split('|').any(|placeholder| text.contains(placeholder))
}

/// `-----BEGIN ... PRIVATE KEY-----`; where it ends, [`private_key_end`] finds in the text.
pub(super) fn private_key(shown: &Shown<'_>, at: usize) -> Option<Place> {
    let name = shown.reads(at, "-----begin ")?;
    let end = shown.run(name, 60, |c| c != '\n');
    let is_private = (name..end).any(|at| shown.reads(at, "private key").is_some());
    is_private.then_some((SecretKind::PrivateKey, at, end))
}

/// Behind the line that ends a key, else behind the lines of one word each that follow.
pub(super) fn private_key_end(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    if let Some(at) = rest.find("-----END") {
        let end = rest.get(at..).and_then(|tail| tail.find('\n')).map_or(rest.len(), |line| at + line);
        return from + end;
    }
    let mut end = 0;
    for line in rest.split_inclusive('\n').skip(1) {
        if line.trim().contains(' ') {
            break;
        }
        end += line.len();
    }
    let first = rest.find('\n').map_or(rest.len(), |at| at + 1);
    from + if end == 0 { first.min(rest.len()) } else { (first + end).min(rest.len()) }
}

pub(super) fn service_key(shown: &Shown<'_>, at: usize) -> Option<Place> {
    PREFIXES.split(' ').find_map(|entry| {
        let prefix = entry.trim_end_matches(|c: char| c.is_ascii_digit());
        let least = entry.get(prefix.len()..)?.parse::<usize>().ok()?;
        let is_here = prefix.chars().enumerate().all(|(index, c)| shown.get(at + index) == c);
        let start = is_here.then_some(at + prefix.len())?;
        let end = trimmed(shown, start, shown.run(start, 400, |c| is_key_character(c) || c == '.'));
        let is_key = end >= start + least && is_random(shown.slice(start, end));
        is_key.then_some((SecretKind::ServiceKey, at, end))
    })
}

/// A bot's token: eight to ten digits, a colon and 35 characters of a key.
pub(super) fn bot_token(shown: &Shown<'_>, at: usize) -> Option<Place> {
    let colon = shown.run(at, 11, |c| c.is_ascii_digit());
    let end = shown.run(colon + 1, 40, is_key_character);
    let is_token = (8..=10).contains(&(colon - at))
        && shown.get(colon) == ':'
        && (33..=37).contains(&(end - colon - 1))
        && has_digit_and_letter(shown.slice(colon + 1, end));
    is_token.then_some((SecretKind::ServiceKey, at, end))
}

/// A token of three parts with dots between them: an id, a time and a key, as chats give to bots.
pub(super) fn dotted_token(shown: &Shown<'_>, at: usize) -> Option<Place> {
    if !matches!(shown.get(at), 'M' | 'N' | 'O') {
        return None;
    }
    let id = shown.run(at, 31, is_key_character);
    let time = shown.run(id + 1, 8, is_key_character);
    let end = shown.run(time + 1, 45, is_key_character);
    let is_token = (23..=30).contains(&(id - at))
        && shown.get(id) == '.'
        && shown.get(time) == '.'
        && (5..=7).contains(&(time - id - 1))
        && (27..=42).contains(&(end.saturating_sub(time + 1)))
        && has_digit_and_letter(shown.slice(time + 1, end));
    is_token.then_some((SecretKind::ServiceKey, at, end))
}

/// Without the dots and hyphens at the end of a run.
pub(super) fn trimmed(shown: &Shown<'_>, start: usize, mut end: usize) -> usize {
    while end > start && matches!(shown.get(end - 1), '.' | '-') {
        end -= 1;
    }
    end
}

pub(super) fn web_token(shown: &Shown<'_>, at: usize) -> Option<Place> {
    // Base64 of `{"`.
    if !(shown.get(at) == 'e' && shown.get(at + 1) == 'y' && shown.get(at + 2) == 'J') {
        return None;
    }
    let head = shown.run(at, 2_000, is_key_character);
    let body = shown.run(head + 1, 8_000, is_key_character);
    let end = if shown.get(body) == '.' { shown.run(body + 1, 2_000, is_key_character) } else { body };
    let is_token = shown.get(head) == '.' && head >= at + 10 && body >= head + 9;
    is_token.then_some((SecretKind::WebToken, at, end))
}

pub(super) fn webhook(shown: &Shown<'_>, at: usize) -> Option<Place> {
    WEBHOOKS.split('|').find_map(|address| {
        let start = shown.reads(at, address)?;
        let end = trimmed(shown, start, shown.run(start, 300, |c| is_token_character(c) || matches!(c, ':' | '@')));
        let is_key = end >= start + 16 && has_digit_and_letter(shown.slice(start, end));
        is_key.then_some((SecretKind::Webhook, start, end))
    })
}

/// `://user:password@`, from its first colon.
pub(super) fn connection(shown: &Shown<'_>, at: usize) -> Option<Place> {
    if !(shown.get(at + 1) == '/' && shown.get(at + 2) == '/') {
        return None;
    }
    let is_part =
        |c: char| !c.is_whitespace() && !matches!(c, '\0' | '/' | '@' | ':' | '"' | '\'' | '<' | '>' | '`' | '{');
    let user = shown.run(at + 3, 100, is_part);
    if shown.get(user) != ':' {
        return None;
    }
    let start = user + 1;
    let end = shown.run(start, 200, |c| is_part(c) || c == ':');
    let password: String = shown.slice(start, end).iter().map(char::to_ascii_lowercase).collect();
    let is_told = !matches!(password.as_str(), "password" | "pass" | "passwd" | "pwd" | "secret")
        && password.len() >= 3
        && !is_placeholder(shown.slice(start, end));
    (shown.get(end) == '@' && is_told).then_some((SecretKind::Connection, start, end))
}

/// `name = value`, `"name": "value"` where the name says that the value is secret.
pub(super) fn assignment(shown: &Shown<'_>, at: usize) -> Option<Place> {
    let name_end = shown.run(at, 64, |c| is_word(c) || c == '-');
    let mut next = name_end;
    while matches!(shown.get(next), '"' | '\'' | ']') {
        next += 1;
    }
    next = shown.run(next, 4, |c| c == ' ');
    // `ENV API_KEY value`, as build files have it.
    let is_spaced = next > name_end && is_constant(shown.slice(at, name_end)) && !matches!(shown.get(next), ':' | '=');
    if !is_spaced && (!matches!(shown.get(next), ':' | '=') || shown.get(next + 1) == '=') {
        return None;
    }
    // What counts or makes tokens is none.
    let is_about_tokens =
        (at..name_end).any(|start| shown.reads(start, "tokens").or(shown.reads(start, "tokeni")).is_some());
    let is_named = !is_about_tokens
        && SECRET_NAMES.split('|').any(|name| (at..name_end).any(|start| shown.reads(start, name).is_some()));
    if !is_named {
        return None;
    }
    if !is_spaced {
        next = shown.run(next + 1, 6, |c| matches!(c, ' ' | '>' | '='));
    }
    let quote = shown.get(next);
    let is_quoted = matches!(quote, '"' | '\'' | '`');
    let start = next + usize::from(is_quoted);
    let end = shown.run(start, 500, |c| match is_quoted {
        true => c != quote && c != '\n',
        false => is_token_character(c) || matches!(c, '!' | '@' | '#' | '$' | '%' | '^' | '&' | '*'),
    });
    let value = shown.slice(start, end);
    let least = match (is_quoted, is_spaced) {
        (_, true) => 16,
        (true, _) => 6,
        _ => 8,
    };
    let is_value = value.len() >= least
        && (has_digit_and_letter(value) || value.iter().any(|c| matches!(c, '!' | '@' | '#' | '$' | '%' | '^' | '&')))
        && value.iter().any(char::is_ascii_alphabetic)
        && !value.contains(&' ')
        && !matches!(shown.get(end), '(' | '[')
        && !(!is_quoted && value.contains(&'.') && !value.contains(&'='))
        && !is_placeholder(value);
    is_value.then_some((SecretKind::Assignment, start, trimmed(shown, start, end)))
}

/// `-u user:password`, as programs take it, from its hyphen.
pub(super) fn option(shown: &Shown<'_>, at: usize) -> Option<Place> {
    let user = shown.reads(at, "-u ").or_else(|| shown.reads(at, "--user "))?;
    let is_part = |c: char| !c.is_whitespace() && !matches!(c, ':' | '"' | '\'' | '$' | '<' | '{');
    let colon = shown.run(user, 100, is_part);
    let end = shown.run(colon + 1, 200, is_part);
    let is_told = colon > user && shown.get(colon) == ':' && end >= colon + 5;
    (is_told && !is_placeholder(shown.slice(colon + 1, end))).then_some((SecretKind::Connection, colon + 1, end))
}

/// A name in capitals, as of a variable of the environment.
fn is_constant(name: &[char]) -> bool {
    name.contains(&'_') && name.iter().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || *c == '_')
}

/// What follows `Bearer`, or `Authorization: Basic`, from the place behind it.
pub(super) fn authorization(shown: &Shown<'_>, behind: usize, least: usize) -> Option<Place> {
    let start = shown.run(behind, 3, |c| matches!(c, ' ' | ':'));
    let end = trimmed(shown, start, shown.run(start, 2_000, is_token_character));
    let value = shown.slice(start, end);
    let is_value = start > behind && value.len() >= least && has_digit_and_letter(value) && !is_placeholder(value);
    is_value.then_some((SecretKind::Authorization, start, end))
}
