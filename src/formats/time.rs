//! Times as messages carry them: numbers in seconds or milliseconds, numeric strings, ISO 8601.

use serde_json::Value;

/// Numbers below this are seconds: as milliseconds it is March 1973, as seconds the year 5138.
const SECONDS_BELOW: f64 = 1e11;
/// The greatest time of a JavaScript `Date`, in milliseconds.
const GREATEST_MS: f64 = 8.64e15;

/// Milliseconds since 1970, or `None` where the value is no usable time (null, negative, beyond a JavaScript `Date`, a
/// word). Numbers, also as strings, are seconds below 1e11, else milliseconds. ISO 8601 text is a date, alone or with a
/// time after `T` or a space, with a zone; without a zone it is UTC.
#[must_use]
pub fn read_time_ms(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64().and_then(from_number),
        Value::String(text) => {
            let text = text.trim();
            decimal(text).and_then(from_number).or_else(|| from_iso(text))
        }
        _ => None,
    }
}

/// A decimal number as JSON writes it: the standard library's reader would bring a second table of 10 KB.
fn decimal(text: &str) -> Option<f64> {
    crate::json_reader::read_json(text).ok()
}

fn from_number(number: f64) -> Option<f64> {
    let ms = if number < SECONDS_BELOW { number * 1_000.0 } else { number };
    (0.0..=GREATEST_MS).contains(&ms).then_some(ms)
}

fn from_iso(text: &str) -> Option<f64> {
    let mut reader = Reader(text.as_bytes());
    let (year, month, day) = (reader.digits(4)?, reader.after(b'-')?, reader.after(b'-')?);
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    let mut ms = days_from_civil(year, month, day) as f64 * 86_400_000.0;
    if reader.take(b"Tt ") {
        let (hour, minute) = (reader.digits(2)?, reader.after(b':')?);
        let second = if reader.take(b":") { reader.digits(2)? } else { 0 };
        let fraction = if reader.take(b".,") { reader.fraction()? } else { 0.0 };
        if hour > 24 || minute > 59 || second > 60 {
            return None;
        }
        ms += (hour * 3_600 + minute * 60 + second) as f64 * 1_000.0 + (fraction * 1_000.0).floor();
        ms -= reader.zone_minutes()? as f64 * 60_000.0;
    }
    (reader.0.is_empty() && (0.0..=GREATEST_MS).contains(&ms)).then_some(ms)
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self, any_of: &[u8]) -> bool {
        match self.0.split_first() {
            Some((first, rest)) if any_of.contains(first) => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        digits.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
    }

    fn after(&mut self, separator: u8) -> Option<i64> {
        if self.take(&[separator]) { self.digits(2) } else { None }
    }

    fn fraction(&mut self) -> Option<f64> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        decimal(&format!("0.{}", std::str::from_utf8(digits).ok()?))
    }

    /// Minutes east of UTC; no zone is UTC.
    fn zone_minutes(&mut self) -> Option<i64> {
        if self.0.is_empty() || self.take(b"Zz") {
            return Some(0);
        }
        let west = self.take(b"-");
        if !west && !self.take(b"+") {
            return None;
        }
        let hours = self.digits(2)?;
        self.take(b":");
        let minutes = if self.0.is_empty() { 0 } else { self.digits(2)? };
        let east = hours * 60 + minutes;
        (hours < 24 && minutes < 60).then_some(if west { -east } else { east })
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 of a date in the proleptic Gregorian calendar, counted in 400-year eras of 146,097 days with
/// years beginning in March, so that the leap day is a year's last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn usable_times() {
        for (value, ms) in [
            (json!(1_700_000_000), 1_700_000_000_000.0),
            (json!(1_700_000_000.5), 1_700_000_000_500.0),
            (json!(1_700_000_000_123_u64), 1_700_000_000_123.0),
            (json!("1700000000.25"), 1_700_000_000_250.0),
            (json!("1970-01-01"), 0.0),
            (json!("2024-02-29T12:34:56.789Z"), 1_709_210_096_789.0),
            (json!("2024-02-29 12:34:56"), 1_709_210_096_000.0),
            (json!("2024-02-29T14:34+02:00"), 1_709_210_040_000.0),
            (json!("2024-02-29T07:04:00-0530"), 1_709_210_040_000.0),
        ] {
            assert_eq!(read_time_ms(&value), Some(ms), "{value}");
        }
    }

    #[test]
    fn unusable_times() {
        for value in [
            json!(null),
            json!(-1),
            json!(1e308),
            json!("yesterday"),
            json!(""),
            json!("2024-02-30"),
            json!("2024-13-01"),
            json!("2024-01-01T"),
            json!("2024-01-01T10:00:00Q"),
            json!("2024-01-01T10:00:00Zmore"),
            json!("NaN"),
            json!("\u{ff12}024-01-01"),
            json!({}),
            json!(true),
        ] {
            assert_eq!(read_time_ms(&value), None, "{value}");
        }
    }
}
