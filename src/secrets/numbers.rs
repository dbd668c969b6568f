//! Numbers that are secrets by their form: cards, accounts, persons.

use super::{Place, SecretKind, Shown, is_word};

/// Country and IBAN length (ISO 13616 registry).
const IBAN_LENGTHS: &str = "ad24 ae23 at20 az28 ba20 be16 bg22 bh22 br29 by28 ch21 cr22 cy28 cz24 de22 dk18 ee20 eg29 es24 \
fi18 fo18 fr27 gb22 ge22 gi23 gl18 gr27 hr21 hu28 ie22 il23 is26 it27 jo30 kw30 kz20 lb28 li21 lt20 lu20 lv21 mc27 md24 \
me22 mk19 mt31 nl18 no15 pk24 pl28 pt25 qa29 ro24 rs22 sa24 se24 si19 sk24 sm27 tn24 tr26 ua29 xk20";

/// Digits behind the check digits in every country's form (the registry's least: Malta, 4 letters, 5 digits, 18 of either).
const LEAST_IBAN_DIGITS: usize = 5;

/// Digits from a place on, with single spaces, dots or hyphens between them, each with the place behind it.
fn digits(shown: &Shown<'_>, at: usize, most: usize) -> Vec<(u32, usize)> {
    let mut found = Vec::with_capacity(most);
    let mut next = at;
    while found.len() < most {
        if let Some(digit) = shown.get(next).to_digit(10) {
            next += 1;
            found.push((digit, next));
        } else if matches!(shown.get(next), ' ' | '.' | '-') && shown.get(next + 1).is_ascii_digit() {
            next += 1;
        } else {
            break;
        }
    }
    found
}

/// A number ends here: what follows is no part of it.
fn is_end(shown: &Shown<'_>, at: usize) -> bool {
    !is_word(shown.get(at))
}

/// 13 to 19 digits that begin and are as long as a card scheme's, and pass the Luhn check (ISO/IEC 7812).
pub(super) fn card(shown: &Shown<'_>, at: usize) -> Option<Place> {
    // The digits behind a decimal point are no number of their own.
    let is_fraction =
        |at: usize| at >= 2 && matches!(shown.get(at - 1), '.' | ',') && shown.get(at - 2).is_ascii_digit();
    if is_fraction(at) {
        return None;
    }
    let found = digits(shown, at, 19);
    let values: Vec<u32> = found.iter().map(|(value, _)| *value).collect();
    (13..=found.len()).rev().find_map(|length| {
        let (_, end) = *found.get(length - 1)?;
        let number = values.get(..length)?;
        (is_end(shown, end) && is_card(number)).then_some((SecretKind::Card, at, end))
    })
}

fn is_card(number: &[u32]) -> bool {
    let length = number.len();
    let first_four = number.iter().take(4).fold(0, |sum, digit| sum * 10 + digit);
    let is_length_of_scheme = match first_four {
        4000..=4999 => matches!(length, 13 | 16 | 19),
        5100..=5599 | 2221..=2720 | 2200..=2204 | 6011 | 6440..=6599 | 3528..=3589 => length == 16,
        3400..=3499 | 3700..=3799 => length == 15,
        3000..=3059 | 3600..=3699 | 3800..=3999 => length == 14,
        6200..=6299 => (16..=19).contains(&length),
        5000..=5099 | 5600..=5899 | 6304 | 6759..=6763 => (13..=19).contains(&length),
        _ => false,
    };
    is_length_of_scheme && luhn(number)
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

/// Two letters and two digits, of the country's length, with remainder 1 modulo 97 (ISO 13616).
pub(super) fn iban(shown: &Shown<'_>, at: usize) -> Option<Place> {
    if !shown.get(at + 2).is_ascii_digit() || !shown.get(at + 3).is_ascii_digit() {
        return None;
    }
    let length = IBAN_LENGTHS
        .split(' ')
        .filter_map(|entry| entry.split_at_checked(2))
        .find(|(country, _)| shown.reads(at, country).is_some())
        .and_then(|(_, length)| length.parse::<usize>().ok())?;
    let mut number = Vec::with_capacity(length);
    let mut next = at;
    while number.len() < length {
        match shown.get(next).to_digit(36) {
            Some(digit) => number.push(digit),
            None if matches!(shown.get(next), ' ' | '-') && shown.get(next + 1).is_ascii_alphanumeric() => {}
            None => return None,
        }
        next += 1;
    }
    // Words behind something like a country and two digits pass the check once in 97 times.
    let digits = number.iter().skip(4).filter(|digit| **digit < 10).count();
    (digits >= LEAST_IBAN_DIGITS && is_end(shown, next) && has_check_digits(&number)).then_some((
        SecretKind::Iban,
        at,
        next,
    ))
}

fn has_check_digits(number: &[u32]) -> bool {
    let (head, tail) = number.split_at(4.min(number.len()));
    let add = |sum: u32, digit: &u32| if *digit < 10 { (sum * 10 + digit) % 97 } else { (sum * 100 + digit) % 97 };
    tail.iter().chain(head).fold(0, add) == 1
}

/// A social security number of the United States in its written form, a resident number of Korea, or a citizen number of
/// China.
pub(super) fn national_id(shown: &Shown<'_>, at: usize) -> Option<Place> {
    social_security(shown, at).or_else(|| resident(shown, at)).or_else(|| citizen(shown, at))
}

/// The value of so many digits at a place.
fn number(shown: &Shown<'_>, at: usize, digits: usize) -> Option<u32> {
    (at..at + digits).try_fold(0_u32, |sum, at| Some(sum * 10 + shown.get(at).to_digit(10)?))
}

fn social_security(shown: &Shown<'_>, at: usize) -> Option<Place> {
    let (area, group, serial) = (number(shown, at, 3)?, number(shown, at + 4, 2)?, number(shown, at + 7, 4)?);
    let is_written = shown.get(at + 3) == '-' && shown.get(at + 6) == '-' && is_end(shown, at + 11);
    let continues = shown.get(at + 11) == '-' || at > 0 && shown.get(at - 1) == '-';
    let is_given_out = !matches!(area, 0 | 666 | 900..) && group != 0 && serial != 0;
    (is_written && !continues && is_given_out).then_some((SecretKind::NationalId, at, at + 11))
}

fn is_date(month: u32, day: u32) -> bool {
    (1..=12).contains(&month) && (1..=31).contains(&day)
}

/// Six digits of a birthday and seven more; without the hyphen, the check digit that numbers had until 2020 must fit.
fn resident(shown: &Shown<'_>, at: usize) -> Option<Place> {
    let (month, day) = (number(shown, at + 2, 2)?, number(shown, at + 4, 2)?);
    number(shown, at, 2)?;
    let is_hyphenated = shown.get(at + 6) == '-';
    let rest = at + 6 + usize::from(is_hyphenated);
    let century = number(shown, rest, 1)?;
    number(shown, rest, 7)?;
    let end = rest + 7;
    let all = || (at..at + 6).chain(rest..end).filter_map(|at| shown.get(at).to_digit(10));
    let sum: u32 = all().zip([2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]).map(|(digit, weight)| digit * weight).sum();
    let fits = all().next_back() == Some((11 - sum % 11) % 10);
    let holds = is_date(month, day) && (1..=8).contains(&century) && (is_hyphenated || fits) && is_end(shown, end);
    holds.then_some((SecretKind::NationalId, at, end))
}

/// 17 digits with a birthday and a check character (GB 11643).
fn citizen(shown: &Shown<'_>, at: usize) -> Option<Place> {
    let (year, month, day) = (number(shown, at + 6, 4)?, number(shown, at + 10, 2)?, number(shown, at + 12, 2)?);
    if !(1900..2100).contains(&year) || !is_date(month, day) || !is_end(shown, at + 18) {
        return None;
    }
    let weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let sum = weights.iter().zip(at..).try_fold(0, |sum, (weight, at)| Some(sum + weight * number(shown, at, 1)?))?;
    let check = "10X98765432".chars().nth((sum % 11) as usize)?;
    (shown.get(at + 17).to_ascii_uppercase() == check).then_some((SecretKind::NationalId, at, at + 18))
}
