//! Things that are written in several ways: dates, numbers, versions, hashes, umlauts. A text with one of them also gives
//! the form that all of its ways have in common.

use super::fold::fold_into;

/// Month names of English, German, French and Spanish, folded.
const MONTHS: [&[&str]; 12] = [
    &["january", "januar", "janvier", "enero", "jan"],
    &["february", "februar", "fevrier", "febrero", "feb"],
    &["march", "marz", "maerz", "mars", "marzo", "mar"],
    &["april", "avril", "abril", "apr"],
    &["mai", "mayo", "may"],
    &["june", "juni", "juin", "junio", "jun"],
    &["july", "juli", "juillet", "julio", "jul"],
    &["august", "aout", "agosto", "aug"],
    &["september", "septembre", "septiembre", "sept", "sep"],
    &["october", "oktober", "octobre", "octubre", "oct"],
    &["november", "novembre", "noviembre", "nov"],
    &["december", "dezember", "decembre", "diciembre", "dec"],
];

/// Number of the month, 1 to 12, that a folded word of English, German, French or Spanish names.
#[must_use]
pub fn month_number(word: &str) -> Option<u32> {
    MONTHS.iter().zip(1..).find(|(names, _)| names.contains(&word)).map(|(_, month)| month)
}

/// The day of the month in "8", "8th", "3rd", "1er"; `None` for anything else.
#[must_use]
pub fn day_of_month(word: &str) -> Option<u32> {
    let digits = word.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let is_day = digits.len() <= 2 && matches!(&word[digits.len()..], "" | "st" | "nd" | "rd" | "th" | "er");
    digits.parse().ok().filter(|day| is_day && (1..=31).contains(day))
}

/// The year in a word of four digits, 1900 to 2199.
#[must_use]
pub fn year_number(word: &str) -> Option<u32> {
    let is_year = word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|year| is_year && (1900..=2199).contains(year))
}

fn push_date(year: u32, month: u32, day: u32, emit: &mut dyn FnMut(&str)) {
    if (1..=12).contains(&month) && (1..=31).contains(&day) {
        emit(&format!("{year}-{month:02}-{day:02}"));
    }
}

/// A number without leading zeros to spare: at most two digits.
fn small_number(digits: &str) -> Option<u32> {
    digits.parse().ok().filter(|_| digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// "10.03.2024", "2024/3/10", "3/10/2024": as 2024-03-10. With slashes or hyphens both readings, where there are two.
fn numeric_date(compound: &str, emit: &mut dyn FnMut(&str)) {
    if !compound.starts_with(|first: char| first.is_ascii_digit()) {
        return;
    }
    let mut parts = compound.split(['.', '/', '-']);
    let (Some(first), Some(second), Some(third), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return;
    };
    if let (Some(year), Some(month), Some(day)) = (year_number(first), small_number(second), small_number(third)) {
        push_date(year, month, day, emit);
    }
    if let (Some(one), Some(other), Some(year)) = (small_number(first), small_number(second), year_number(third)) {
        push_date(year, other, one, emit);
        if !compound.contains('.') && one != other {
            push_date(year, one, other, emit);
        }
    }
}

/// "March 10, 2024", "10 de marzo de 2024": `words` are the two words before the year.
fn date_in_words(words: [&str; 2], year: u32, emit: &mut dyn FnMut(&str)) {
    let mut folded = [String::new(), String::new()];
    for (word, out) in words.iter().zip(&mut folded) {
        fold_into(word, out);
    }
    let [one, other] = &folded;
    let read = |day: &str, month: &str| day_of_month(day).zip(month_number(month));
    if let Some((day, month)) = read(one, other).or_else(|| read(other, one)) {
        push_date(year, month, day, emit);
    }
}

/// "2024年3月10日", "2024년 3월 10일": `rest` is what follows the year.
fn date_after_year(rest: &str, year: u32, emit: &mut dyn FnMut(&str)) {
    let after = |rest: &'_ str, units: [char; 2]| -> Option<usize> {
        let trimmed = rest.trim_start();
        trimmed
            .starts_with(units)
            .then(|| rest.len() - trimmed.len() + trimmed.chars().next().map_or(0, char::len_utf8))
    };
    let number = |rest: &'_ str| -> Option<(u32, usize)> {
        let trimmed = rest.trim_start();
        let length = trimmed.bytes().take_while(u8::is_ascii_digit).count();
        Some((small_number(&trimmed[..length])?, rest.len() - trimmed.len() + length))
    };
    let read = || {
        let rest = &rest[after(rest, ['年', '년'])?..];
        let (month, length) = number(rest)?;
        let rest = &rest[length..];
        let rest = &rest[after(rest, ['月', '월'])?..];
        Some((month, number(rest)?.0))
    };
    if let Some((month, day)) = read() {
        push_date(year, month, day, emit);
    }
}

/// "1,250.00", "1.250,00" and "1250.00" as "1250"; "12,50" as "12.5". `None` for what is no number or plain already.
fn plain_number(compound: &str) -> Option<String> {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let last = compound.rfind(['.', ','])?;
    let (whole, fraction) = (&compound[..last], &compound[last + 1..]);
    let mark = compound[last..].chars().next();
    let separator = whole.chars().find(|letter| !letter.is_ascii_digit());
    let mut groups = whole.split(|letter| Some(letter) == separator);
    let has_short_head = groups.next().is_some_and(|head| is_digits(head) && (separator.is_none() || head.len() <= 3));
    if !has_short_head || !groups.all(|group| is_digits(group) && group.len() == 3) || !is_digits(fraction) {
        return None;
    }
    let is_grouped = fraction.len() == 3 && separator.is_none_or(|separator| Some(separator) == mark);
    let mut number: String = whole.chars().filter(char::is_ascii_digit).collect();
    if is_grouped && (separator.is_some() || whole.len() <= 3) {
        number.push_str(fraction);
    } else if separator.is_some() && separator == mark {
        return None;
    } else {
        let decimals = fraction.trim_end_matches('0');
        if !decimals.is_empty() {
            number.push('.');
            number.push_str(decimals);
        }
    }
    (number != compound).then_some(number)
}

/// Whether a compound is a date or a number whose pieces say nothing by themselves, a year excepted: "1,250.00",
/// "10.03.2024".
pub(super) fn is_date_or_number(compound: &str) -> bool {
    let mut is_date = false;
    numeric_date(compound, &mut |_| is_date = true);
    is_date || (compound.len() >= 5 && plain_number(compound).is_some())
}

/// Letters of a hash by which people name it, and of the longest (SHA-512).
const SHORT_HASH: usize = 7;
const LONGEST_HASH: usize = 128;

/// Whether a piece is a hash or the beginning of one: hexadecimal digits, letters and at least two numerals among them.
pub(super) fn is_hash(piece: &str) -> bool {
    let numerals = piece.bytes().filter(u8::is_ascii_digit).count();
    (SHORT_HASH..=LONGEST_HASH).contains(&piece.len())
        && numerals >= 2
        && numerals < piece.len()
        && piece.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a compound is a UUID.
pub(super) fn is_uuid(compound: &str) -> bool {
    compound.len() == 36
        && compound
            .bytes()
            .enumerate()
            .all(|(at, byte)| if matches!(at, 8 | 13 | 18 | 23) { byte == b'-' } else { byte.is_ascii_hexdigit() })
}

/// Gives the common forms of a compound. `before`: the two words before it, `rest`: the text behind it.
pub(super) fn common_forms(compound: &str, before: [&str; 2], rest: &str, emit: &mut dyn FnMut(&str)) {
    let bytes = compound.as_bytes();
    let Some(first) = bytes.first() else { return };
    if first.is_ascii_digit() {
        if let Some(year) = year_number(compound) {
            date_in_words(before, year, emit);
            date_after_year(rest, year, emit);
        } else if bytes.iter().any(|byte| matches!(byte, b'.' | b',' | b'/' | b'-')) {
            numeric_date(compound, &mut |form| {
                if form != compound {
                    emit(form);
                }
            });
            if let Some(number) = plain_number(compound) {
                emit(&number);
            }
        }
    } else if matches!(first, b'v' | b'V') && bytes.get(1).is_some_and(u8::is_ascii_digit) && bytes.contains(&b'.') {
        emit(&compound[1..]);
    }
    let start = compound.split('-').next().unwrap_or_default();
    if is_hash(start) && (start.len() > SHORT_HASH || start.len() < compound.len()) {
        emit(&start[..SHORT_HASH]);
    }
}

/// The word with its umlauts written as two letters, or two letters that may stand for one as that: "müller" as
/// "mueller", "mueller" as "muller". `folded` is the word folded.
pub(super) fn other_umlauts(word: &str, folded: &str) -> Option<String> {
    let two = |letter: char| match letter {
        'ä' | 'Ä' => "ae",
        'ö' | 'Ö' | 'ø' | 'Ø' => "oe",
        'ü' | 'Ü' => "ue",
        _ => "",
    };
    let mut other = String::new();
    if !word.is_ascii() {
        for letter in word.chars() {
            match two(letter) {
                "" => fold_into(letter.encode_utf8(&mut [0; 4]), &mut other),
                letters => other.push_str(letters),
            }
        }
        return (other != folded).then_some(other);
    }
    // Shorter words are mostly others: "poet" is no "pot".
    if folded.len() < 6 || !["ae", "oe", "ue"].iter().any(|pair| folded.contains(pair)) {
        return None;
    }
    let mut previous = '\0';
    for letter in folded.chars() {
        if !(letter == 'e' && matches!(previous, 'a' | 'o' | 'u')) {
            other.push(letter);
        }
        previous = letter;
    }
    Some(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(compound: &str, before: [&str; 2], rest: &str) -> Vec<String> {
        let mut out = Vec::new();
        common_forms(compound, before, rest, &mut |form| out.push(form.to_owned()));
        out
    }

    #[test]
    fn dates() {
        for (compound, before, rest) in [
            ("10.03.2024", ["", ""], ""),
            ("2024/3/10", ["", ""], ""),
            ("2024", ["March", "10"], ""),
            ("2024", ["10th", "MARCH"], ""),
            ("2024", ["10", "März"], ""),
            ("2024", ["", ""], "年3月10日"),
            ("2024", ["", ""], "년 3월 10일에"),
        ] {
            assert_eq!(forms(compound, before, rest), ["2024-03-10"], "{compound} {before:?} {rest}");
        }
        assert_eq!(forms("3/10/2024", ["", ""], ""), ["2024-10-03", "2024-03-10"]);
        for (compound, before, rest) in [
            ("2024-03-10", ["", ""], ""),
            ("2024", ["since", "March"], ""),
            ("2024", ["32", "March"], ""),
            ("2024", ["", ""], "年13月1日"),
            ("2024", ["", ""], "年3月"),
            ("2024-13-40", ["", ""], ""),
        ] {
            assert_eq!(forms(compound, before, rest), [""; 0], "{compound} {before:?} {rest}");
        }
    }

    #[test]
    fn numbers() {
        for (written, plain) in [
            ("1,250.00", "1250"),
            ("1.250,00", "1250"),
            ("1250.00", "1250"),
            ("1,250", "1250"),
            ("1.250", "1250"),
            ("12,50", "12.5"),
            ("1,234,567.8", "1234567.8"),
            ("0.50", "0.5"),
        ] {
            assert_eq!(plain_number(written).as_deref(), Some(plain), "{written}");
        }
        for written in ["1250", "1.2.3", "12.5", "1,2,3", "80,443,8080", "1.", ".5", "1250.1.2", "a.5"] {
            assert_eq!(plain_number(written), None, "{written}");
        }
    }

    #[test]
    fn versions_and_hashes() {
        assert_eq!(forms("v2.4.1-rc.2", ["", ""], ""), ["2.4.1-rc.2"]);
        assert_eq!(forms("9f8e7d6c5b", ["", ""], ""), ["9f8e7d6"]);
        assert_eq!(forms("vendor.rs", ["", ""], ""), [""; 0]);
        assert!(is_hash("b72ba7c") && !is_hash("deadbeef") && !is_hash("1234567") && !is_hash("b72ba7"));
        assert!(is_uuid("9f8e7d6c-1a2b-3c4d-5e6f-0123456789ab") && !is_uuid("9f8e7d6c-1a2b"));
    }

    #[test]
    fn umlauts() {
        assert_eq!(other_umlauts("Müller", "muller").as_deref(), Some("mueller"));
        assert_eq!(other_umlauts("mueller", "mueller").as_deref(), Some("muller"));
        assert_eq!(other_umlauts("poet", "poet"), None);
        assert_eq!(other_umlauts("café", "cafe"), None);
    }
}
