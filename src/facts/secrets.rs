//! Secrets, which are never remembered by themselves: passwords, keys, card and account numbers.
//!
//! A scan by rules, in front of which the extracting model is asked to leave the same things out.

use super::fingerprint::{narrow, normalized};
use crate::lexical::lowercase;
use crate::prompt_text::is_hidden;

/// Beginnings of keys and tokens of common services, and the least number of characters that follow.
const KEY_PREFIXES: &[(&str, usize)] = &[
    ("sk-", 16),
    ("sk_live_", 16),
    ("rk_live_", 16),
    ("sk_test_", 16),
    ("pk_live_", 16),
    ("whsec_", 16),
    ("AKIA", 16),
    ("ASIA", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xapp-", 16),
    ("AIza", 30),
    ("ya29.", 16),
    ("hf_", 20),
    ("npm_", 20),
    ("pypi-", 20),
    ("dop_v1_", 20),
    ("SG.", 20),
    ("eyJ", 40),
];

/// Words behind which a secret is told, in the normalised form.
const SECRET_WORDS: &str = "password is|passwords are|my password|password for|passphrase|passcode is|my pin is|\
pin code is|secret key|private key|api key is|seed phrase|recovery phrase|cvv|social security number|passwort ist|\
mein passwort|passwort lautet|mot de passe|contraseña|senha|la mia password|wachtwoord|hasło|пароль|비밀번호|비번|\
パスワード|暗証番号|密码|密碼";

/// Country and IBAN length (ISO 13616 registry).
const IBAN_LENGTHS: &str = "at20 be16 bg22 ch21 cy28 cz24 de22 dk18 ee20 es24 fi18 fr27 gb22 gr27 hr21 hu28 ie22 is26 it27 \
li21 lt20 lu20 lv21 mt31 nl18 no15 pl28 pt25 ro24 se24 si19 sk24 tr26 ua29 ae23 sa24 il23 br29";

/// Whether a text holds a secret: a private key, a service's key or token, a payment card number, an IBAN, or words that
/// introduce a password. Hidden characters and full-width forms do not disguise it.
#[must_use]
pub fn has_secret(text: &str) -> bool {
    let plain: String = text.chars().filter(|c| !is_hidden(*c)).map(narrow).collect();
    let words = format!(" {} ", normalized(text));
    plain.contains("PRIVATE KEY-----")
        || SECRET_WORDS.split('|').any(|word| words.contains(word))
        || plain.split(|c: char| c.is_whitespace() || is_wrapping(c)).any(is_service_key)
        || has_card_number(&plain)
        || has_iban(&plain)
}

fn is_wrapping(character: char) -> bool {
    matches!(character, '"' | '\'' | '`' | ',' | ';' | '(' | ')' | '<' | '>' | '[' | ']' | '{' | '}' | '=' | ':')
}

fn is_service_key(word: &str) -> bool {
    KEY_PREFIXES.iter().any(|(prefix, least)| {
        word.strip_prefix(prefix).is_some_and(|rest| {
            let length =
                rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')).count();
            length >= *least
        })
    })
}

/// A run of 13 to 19 digits, with single spaces, dots or hyphens between them, that begins like a card and passes the
/// Luhn check (ISO/IEC 7812).
fn has_card_number(plain: &str) -> bool {
    let is_card = |digits: &[u32]| {
        let starts_like_card = matches!(
            digits,
            [3, 0 | 4 | 6 | 7 | 8, ..] | [4, ..] | [5, 1..=5, ..] | [6, 0 | 2 | 4 | 5, ..] | [2, 2..=7, ..]
        );
        (13..=19).contains(&digits.len()) && starts_like_card && luhn(digits)
    };
    let mut digits: Vec<u32> = Vec::new();
    let mut is_separated = false;
    for character in plain.chars().chain(['\n']) {
        match character.to_digit(10) {
            Some(digit) => {
                digits.push(digit);
                is_separated = false;
            }
            None if matches!(character, ' ' | '.' | '-' | '\u{A0}') && !digits.is_empty() && !is_separated => {
                is_separated = true;
            }
            None => {
                if is_card(&digits) {
                    return true;
                }
                digits.clear();
                is_separated = false;
            }
        }
    }
    false
}

fn luhn(digits: &[u32]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| match at % 2 {
            0 => *digit,
            _ if *digit > 4 => digit * 2 - 9,
            _ => digit * 2,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Two letters and two digits at the start of a word, of the country's length, with remainder 1 modulo 97 (ISO 13616).
fn has_iban(plain: &str) -> bool {
    let lower = lowercase(plain);
    let starts = std::iter::once(0)
        .chain(lower.char_indices().filter(|(_, c)| !c.is_alphanumeric()).map(|(at, c)| at + c.len_utf8()));
    starts.into_iter().any(|start| {
        let rest = lower.get(start..).unwrap_or_default();
        let length = IBAN_LENGTHS
            .split(' ')
            .filter_map(|entry| entry.split_at_checked(2))
            .find(|(country, _)| rest.starts_with(country))
            .and_then(|(_, length)| length.parse::<usize>().ok());
        length.is_some_and(|length| {
            let number: Vec<u32> = rest
                .chars()
                .take(length * 2)
                .filter(|c| !matches!(c, ' ' | '-' | '\u{A0}'))
                .map_while(|c| c.to_digit(36))
                .take(length)
                .collect();
            number.len() == length && is_iban(&number)
        })
    })
}

fn is_iban(number: &[u32]) -> bool {
    let (head, tail) = number.split_at(4.min(number.len()));
    let has_check_digits = head.iter().skip(2).all(|digit| *digit < 10);
    let remainder = tail
        .iter()
        .chain(head)
        .fold(0_u32, |sum, digit| if *digit < 10 { (sum * 10 + digit) % 97 } else { (sum * 100 + digit) % 97 });
    has_check_digits && remainder == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_seen_through_disguises() {
        for text in [
            "my key is sk-abcdefghijklmnopqrstuvwx",
            "AKIAIOSFODNN7EXAMPLE",
            "-----BEGIN RSA PRIVATE KEY-----",
            "card 4111 1111 1111 1111 ok",
            "4\u{200B}111.1111.1111.1111",
            "４１１１１１１１１１１１１１１１",
            "pay to de89 3704 0044 0532 0130 00 please",
            "GB82WEST12345698765432",
            "My password is hunter2",
            "비밀번호는 1234야",
        ] {
            assert!(has_secret(text), "{text}");
        }
        for text in [
            "User prefers pnpm",
            "port 8080 and 2026-07-28",
            "order 1234567890123456",
            "sk-1 is a short name",
            "the desk is 1234 5678 9012",
            "User works on the password manager project",
            "call +49 30 1234 5678",
        ] {
            assert!(!has_secret(text), "{text}");
        }
    }
}
