//! Days named in a question: "8 May 2023", "May 8", "2023-05-08", "in June"; [`super::relative_times`] reads
//! "yesterday" and "3 weeks ago".

use super::relative_times::relative_times;
use crate::lexical::{day_of_month, month_number, year_number};

/// Milliseconds of a day.
const DAY_MS: f64 = 86_400_000.0;

/// A question says "on 5 July" and the message that tells of it was often written some days later: how many days after
/// a named day (not a named week) a message still counts, at [`LATER`] of the full match.
const LATER_DAYS: i32 = 7;
const LATER: f32 = 0.65;
/// What a match of the month alone counts; of the year alone.
const MONTH: f32 = 0.45;
const YEAR: f32 = 0.2;

/// A stretch of time that a question names. Days count from 1970-01-01, UTC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NamedTime {
    /// These days, both ends included.
    Days(i32, i32),
    /// A day of a month in any year.
    DayOfMonth(u32, u32),
    /// A month, of this year where one is given.
    Month(u32, Option<i32>),
    /// A year.
    Year(i32),
}

/// Days since 1970-01-01 of a date of the Gregorian calendar (Howard Hinnant's `days_from_civil`).
pub(super) fn day_number(year: i32, month: u32, day: u32) -> i32 {
    let (month, day) = (month.cast_signed(), day.cast_signed());
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of a number of days since 1970-01-01 (the inverse of [`day_number`]).
pub(super) fn civil(day: i32) -> (i32, u32, u32) {
    let shifted = i64::from(day) + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (i32::try_from(year).unwrap_or(0), u32::try_from(month).unwrap_or(1), u32::try_from(day_of_month).unwrap_or(1))
}

/// Year, month and day of a time in milliseconds since 1970; `None` for what is no usable time.
#[must_use]
pub fn calendar_day(time_ms: f64) -> Option<(i32, u32, u32)> {
    day_of(time_ms).map(civil)
}

/// The day of a time in milliseconds since 1970; `None` for what is no usable time.
pub(super) fn day_of(time_ms: f64) -> Option<i32> {
    let day = (time_ms / DAY_MS).floor();
    (day.abs() < 10_000_000.0).then_some(day as i32)
}

fn year_of(word: &str) -> Option<i32> {
    year_number(word).map(u32::cast_signed)
}

/// Reads the times that a text names; `words` are its folded words, `text` is the text in NFKC. `now_ms` is what
/// "yesterday" is counted from.
#[must_use]
pub fn named_times(words: &[&str], text: &str, now_ms: f64) -> Vec<NamedTime> {
    let mut times = Vec::new();
    let mut used_years = Vec::new();
    for (position, word) in words.iter().enumerate() {
        let near = |offset: isize| position.checked_add_signed(offset).and_then(|at| words.get(at)).copied();
        if let Some(time) = iso_date(word) {
            times.push(time);
            continue;
        }
        let Some(month) = month_number(word) else { continue };
        let is_word_too = matches!(*word, "may" | "march" | "mar" | "mars" | "sep" | "dec" | "jan");
        let year = [1, 2, -1].into_iter().find_map(|offset| near(offset).and_then(year_of));
        let day = [-1, 1, -2]
            .into_iter()
            .filter(|offset| *offset != -2 || matches!(near(-1), Some("of" | "de")))
            .find_map(|offset| near(offset).and_then(day_of_month));
        if let Some(year) = year {
            used_years.push(year);
        }
        match (day, year) {
            (Some(day), Some(year)) => {
                let day = day_number(year, month, day);
                times.push(NamedTime::Days(day, day));
            }
            (Some(day), None) => times.push(NamedTime::DayOfMonth(month, day)),
            (None, year) => {
                let named = matches!(near(-1), Some("in" | "im" | "en" | "of" | "last" | "since" | "during" | "this"));
                if !is_word_too || year.is_some() || named {
                    times.push(NamedTime::Month(month, year));
                }
            }
        }
    }
    let years = words.iter().filter_map(|word| year_of(word)).filter(|year| !used_years.contains(year));
    times.extend(years.map(NamedTime::Year));
    let relative = day_of(now_ms).map(|today| relative_times(text, today)).unwrap_or_default();
    // "last May" is read as a month of any year too.
    let is_named_better = |time: &NamedTime| match time {
        NamedTime::Month(month, None) => {
            relative.iter().any(|other| matches!(other, NamedTime::Month(named, _) if named == month))
        }
        _ => false,
    };
    times.retain(|time| !is_named_better(time));
    times.extend(relative);
    times
}

fn iso_date(word: &str) -> Option<NamedTime> {
    let mut parts = word.split(['-', '/', '.']);
    let year = parts.next().and_then(year_of)?;
    let month = parts.next()?.parse().ok().filter(|month| (1..=12).contains(month))?;
    let Some(day) = parts.next() else { return Some(NamedTime::Month(month, Some(year))) };
    let day = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let day = day_number(year, month, day);
    Some(NamedTime::Days(day, day))
}

impl NamedTime {
    /// How well a message of this day fits, 0 to 1.
    #[must_use]
    pub fn fit(&self, day: i32) -> f32 {
        let (year, month, _) = civil(day);
        match *self {
            Self::Days(from, to) if (from..=to).contains(&day) => 1.0,
            Self::Days(from, to) if from == to && day > to && day - to <= LATER_DAYS => LATER,
            Self::Days(from, _) => {
                let (named_year, named_month, _) = civil(from);
                if (named_year, named_month) == (year, month) { MONTH } else { 0.0 }
            }
            Self::DayOfMonth(named_month, named_day) => {
                let named = day_number(year, named_month, named_day);
                Self::Days(named, named).fit(day)
            }
            Self::Month(named_month, named_year) => {
                let is_year = named_year.is_none_or(|named| named == year);
                if named_month == month && is_year { MONTH } else { 0.0 }
            }
            Self::Year(named) => {
                if named == year {
                    YEAR
                } else {
                    0.0
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_go_there_and_back() {
        assert_eq!(day_number(1970, 1, 1), 0);
        assert_eq!(day_number(2023, 5, 8), 19_485);
        for day in (-800_000..800_000).step_by(97) {
            let (year, month, day_of_month) = civil(day);
            assert_eq!(day_number(year, month, day_of_month), day);
        }
    }

    fn times(text: &str) -> Vec<NamedTime> {
        named_times(&text.split(' ').collect::<Vec<_>>(), text, f64::from(day_number(2024, 3, 10)) * DAY_MS)
    }

    #[test]
    fn times_are_read() {
        let day = |year, month, day| NamedTime::Days(day_number(year, month, day), day_number(year, month, day));
        assert_eq!(times("what happened on 8 may 2023"), [day(2023, 5, 8)]);
        assert_eq!(times("on may 8th 2023"), [day(2023, 5, 8)]);
        assert_eq!(times("the 2023-05-08 deploy"), [day(2023, 5, 8)]);
        assert_eq!(times("am 3 juli"), [NamedTime::DayOfMonth(7, 3)]);
        assert_eq!(times("in june"), [NamedTime::Month(6, None)]);
        assert_eq!(times("you may go"), []);
        assert_eq!(times("in 2022"), [NamedTime::Year(2022)]);
        assert_eq!(times("yesterday"), [day(2024, 3, 9)]);
        assert_eq!(times("99999999 may 99999"), [NamedTime::Month(5, None)].repeat(0));
        let [NamedTime::Days(from, to)] = times("two weeks ago")[..] else { panic!("two weeks ago") };
        assert!(from <= day_number(2024, 2, 25) && to >= day_number(2024, 2, 25));
    }

    #[test]
    fn fit_falls_with_distance() {
        let time = NamedTime::Days(100, 100);
        assert!(time.fit(100) > time.fit(103) && time.fit(103) > time.fit(98) && time.fit(300) == 0.0);
    }
}
