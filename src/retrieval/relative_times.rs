//! Times that a question names by their distance from the time of asking: "yesterday", "two weeks ago", "last summer",
//! "since Monday", 2주 전, 去年の5月, 上周, สัปดาห์ที่แล้ว.

use super::dates::{NamedTime, civil, day_number};
use crate::lexical::{fold_into, month_number};

/// Days of a stretch, counted back from today, both ends included.
type Back = (i32, i32);

/// Phrases for days, folded; those between spaces are words, the others stand anywhere.
#[rustfmt::skip] // words in lines, not one to a line
const DAYS: &[(Back, &[&str])] = &[
    ((0, 0), &[" today ", " heute ", " aujourdhui ", " hoy ", "오늘", "今日", "今天", "วันนี้"]),
    ((1, 0), &[" last night ", " gestern abend ", " hier soir ", " anoche ", "어젯밤", "昨夜", "昨晩", "昨晚", "เมื่อคืน"]),
    ((1, 1), &[" yesterday ", " gestern ", " hier ", " ayer ", "어제", "昨日", "昨天", "เมื่อวาน"]),
    ((2, 2), &[
        " day before yesterday ", " vorgestern ", " avant-hier ", " avant hier ", " anteayer ", "그저께", "그제", "이틀 전", "一昨日",
        "おととい", "前天", "เมื่อวานซืน",
    ]),
    ((3, 3), &["사흘 전"]),
];

/// Phrases for the week, the month and the year before this one, and for this one.
#[rustfmt::skip] // words in lines, not one to a line
const LAST_WEEK: &[&str] = &[
    " last week ", " letzte woche ", " letzten woche ", " vorige woche ", " semaine derniere ", " semana pasada ", "지난주", "지난 주",
    "저번 주", "저번주", "先週", "上周", "上星期", "上个星期", "สัปดาห์ที่แล้ว", "อาทิตย์ที่แล้ว", "สัปดาห์ก่อน",
];
#[rustfmt::skip] // words in lines, not one to a line
const THIS_WEEK: &[&str] = &[
    " this week ", " diese woche ", " dieser woche ", " cette semaine ", " esta semana ", "이번 주", "이번주", "今週", "这周", "本周",
    "สัปดาห์นี้",
];
#[rustfmt::skip] // words in lines, not one to a line
const LAST_MONTH: &[&str] = &[
    " last month ", " letzten monat ", " vorigen monat ", " mois dernier ", " mes pasado ", "지난달", "지난 달", "저번 달", "先月",
    "上个月", "上月", "เดือนที่แล้ว", "เดือนก่อน",
];
#[rustfmt::skip] // words in lines, not one to a line
const LAST_YEAR: &[&str] = &[
    " last year ", " letztes jahr ", " letzten jahr ", " voriges jahr ", " annee derniere ", " lannee derniere ", " lan dernier ", " an dernier ", " ano pasado ", "작년",
    "지난해", "去年", "昨年", "ปีที่แล้ว",
];
const THIS_YEAR: &[&str] = &[" this year ", " dieses jahr ", " cette annee ", " este ano ", "올해", "今年", "ปีนี้"];

/// First month of a season of the northern half, and its names.
#[rustfmt::skip] // words in lines, not one to a line
const SEASONS: [(u32, &[&str]); 4] = [
    (3, &["spring", "fruhling", "fruhjahr", "printemps", "primavera", "봄", "春", "ฤดูใบไม้ผลิ"]),
    (6, &["summer", "sommer", "ete", "lete", "verano", "여름", "夏", "ฤดูร้อน", "หน้าร้อน"]),
    (9, &["autumn", "fall", "herbst", "automne", "lautomne", "otono", "가을", "秋", "ฤดูใบไม้ร่วง"]),
    (12, &["winter", "hiver", "lhiver", "invierno", "겨울", "冬", "ฤดูหนาว", "หน้าหนาว"]),
];
/// What says that the season or month before this one is meant.
#[rustfmt::skip] // words in lines, not one to a line
const LAST: &[&str] = &[
    " last ", " letzten ", " letztes ", " vorigen ", " dernier ", " derniere ", " pasado ", " pasada ", "지난", "작년", "去年", "昨年", "上个",
    "ที่แล้ว",
];

/// Names of the days of the week from Monday on.
#[rustfmt::skip] // words in lines, not one to a line
const WEEKDAYS: [&[&str]; 7] = [
    &[" monday ", " montag ", " lundi ", " lunes ", "월요일", "月曜", "星期一", "周一", "วันจันทร์"],
    &[" tuesday ", " dienstag ", " mardi ", " martes ", "화요일", "火曜", "星期二", "周二", "วันอังคาร"],
    &[" wednesday ", " mittwoch ", " mercredi ", " miercoles ", "수요일", "水曜", "星期三", "周三", "วันพุธ"],
    &[" thursday ", " donnerstag ", " jeudi ", " jueves ", "목요일", "木曜", "星期四", "周四", "วันพฤหัส"],
    &[" friday ", " freitag ", " vendredi ", " viernes ", "금요일", "金曜", "星期五", "周五", "วันศุกร์"],
    &[" saturday ", " samstag ", " samedi ", " sabado ", "토요일", "土曜", "星期六", "周六", "วันเสาร์"],
    &[" sunday ", " sonntag ", " dimanche ", " domingo ", "일요일", "日曜", "星期日", "星期天", "周日", "วันอาทิตย์"],
];
const SINCE: &[&str] = &[" since ", " seit ", " depuis ", " desde ", "부터", "이후", "から", "以来", "ตั้งแต่"];
/// A day of the week to come is none that messages tell of.
#[rustfmt::skip] // words in lines, not one to a line
const COMING: &[&str] = &[
    " next ", " nachsten ", " nachste ", " kommenden ", " prochain ", " proximo ", " que viene ", "다음", "来週", "次の", "下周", "下个",
];

/// Words for numbers: before a unit of time.
#[rustfmt::skip] // words in lines, not one to a line
const NUMBERS: [&[&str]; 10] = [
    &["a", "an", "one", "ein", "einem", "einer", "un", "une", "una", "한", "일", "一", "หนึ่ง"],
    &["two", "couple", "zwei", "deux", "dos", "두", "二", "两", "สอง"],
    &["three", "drei", "trois", "tres", "세", "三", "สาม"],
    &["four", "vier", "quatre", "cuatro", "네", "四", "สี่"],
    &["five", "funf", "cinq", "cinco", "다섯", "五", "ห้า"],
    &["six", "sechs", "seis", "여섯", "六", "หก"],
    &["seven", "sieben", "sept", "siete", "일곱", "七", "เจ็ด"],
    &["eight", "acht", "huit", "ocho", "여덟", "八", "แปด"],
    &["nine", "neun", "neuf", "nueve", "아홉", "九", "เก้า"],
    &["ten", "zehn", "dix", "diez", "열", "十", "สิบ"],
];

/// Days of one unit of time, and days that "so many ago" may be off.
type Unit = (i32, i32);

/// Units of time, in words with spaces and in other scripts.
#[rustfmt::skip] // words in lines, not one to a line
const UNITS: [(Unit, &[&str], &[&str]); 4] = [
    ((1, 1), &["day", "tag", "tage", "tagen", "jour", "dia"], &["일", "日", "天", "วัน"]),
    ((7, 4), &["week", "woche", "wochen", "semaine", "semana"], &["주일", "주", "週間", "个星期", "星期", "周", "สัปดาห์", "อาทิตย์"]),
    ((30, 16), &["month", "monat", "monaten", "moi", "mes", "mese"], &["개월", "달", "か月", "ヶ月", "カ月", "个月", "เดือน"]),
    ((365, 120), &["year", "jahr", "jahre", "jahren", "an", "annee", "ano"], &["년", "年", "ปี"]),
];
/// What follows a unit: "before now".
const AGO: &[&str] = &["전", "前", "ก่อน", "ที่แล้ว"];

#[rustfmt::skip] // words in lines, not one to a line
const THAI_MONTHS: [&str; 12] = [
    "มกราคม", "กุมภาพันธ์", "มีนาคม", "เมษายน", "พฤษภาคม", "มิถุนายน", "กรกฎาคม", "สิงหาคม", "กันยายน", "ตุลาคม", "พฤศจิกายน", "ธันวาคม",
];

/// A question's text, folded, words between single spaces.
struct Text {
    text: String,
    today: i32,
}

/// The times that a text names by their distance from a day. `text` is in NFKC.
pub(super) fn relative_times(text: &str, today: i32) -> Vec<NamedTime> {
    let mut folded = String::new();
    fold_into(text, &mut folded);
    let mut spaced = String::from(" ");
    for word in folded.split(|letter: char| letter.is_whitespace() || (letter.is_ascii_punctuation() && letter != '-'))
    {
        if !word.is_empty() {
            spaced.push_str(word);
            spaced.push(' ');
        }
    }
    let text = Text { text: spaced, today };
    let mut times = text.months();
    if times.is_empty() {
        times.extend(text.seasons());
    }
    if times.is_empty() {
        times.extend(text.ago());
    }
    if times.is_empty() {
        times.extend(text.phrases());
    }
    if times.is_empty() {
        times.extend(text.weekday());
    }
    if times.is_empty() {
        times.extend(text.day_of_this_month());
    }
    times
}

impl Text {
    fn has(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.text.contains(phrase))
    }

    fn days(&self, (from, to): Back) -> NamedTime {
        NamedTime::Days(self.today - from, self.today - to)
    }

    fn phrases(&self) -> Option<NamedTime> {
        // The longest of those that match: "day before yesterday" has "yesterday" in it.
        let matching = |phrases: &[&str]| {
            phrases.iter().filter(|phrase| self.text.contains(**phrase)).map(|phrase| phrase.len()).max()
        };
        let days = DAYS.iter().filter_map(|(back, phrases)| Some((matching(phrases)?, *back)));
        if let Some((_, back)) = days.max_by_key(|(length, _)| *length) {
            return Some(self.days(back));
        }
        let (year, month, day) = civil(self.today);
        let weekday = (self.today + 3).rem_euclid(7);
        if self.has(LAST_WEEK) {
            return Some(self.days((weekday + 7, weekday + 1)));
        }
        if self.has(THIS_WEEK) {
            return Some(self.days((weekday, 0)));
        }
        if self.has(LAST_MONTH) {
            let last = self.today - day.cast_signed();
            let (year, month, _) = civil(last);
            return Some(NamedTime::Days(day_number(year, month, 1), last));
        }
        if self.has(LAST_YEAR) {
            return Some(NamedTime::Year(year - 1));
        }
        (self.has(THIS_YEAR) && month > 0).then_some(NamedTime::Year(year))
    }

    /// "last summer": the last one that is over, or has begun long ago.
    fn seasons(&self) -> Option<NamedTime> {
        if !self.has(LAST) {
            return None;
        }
        let is_named = |name: &&str| match name.is_ascii() {
            true => self.text.contains(&format!(" {name} ")),
            false => self.text.contains(*name),
        };
        let (first, _) = SEASONS.iter().find(|(_, names)| names.iter().any(is_named))?;
        let year = civil(self.today).0;
        let begins = |year: i32| day_number(year, *first, 1);
        let ends =
            |year: i32| if *first == 12 { day_number(year + 1, 3, 1) } else { day_number(year, first + 3, 1) } - 1;
        let year = [year, year - 1].into_iter().find(|year| ends(*year) < self.today).unwrap_or(year - 2);
        Some(NamedTime::Days(begins(year), ends(year)))
    }

    /// Most recent one, today excepted; from it on where the question says "since".
    fn weekday(&self) -> Option<NamedTime> {
        if self.has(COMING) {
            return None;
        }
        let named = WEEKDAYS.iter().position(|names| self.has(names))? as i32;
        let weekday = (self.today + 3).rem_euclid(7);
        let back = (weekday - named - 1).rem_euclid(7) + 1;
        Some(self.days((back, if self.has(SINCE) { 0 } else { back })))
    }

    /// "last May", "May last year"; months of other scripts, with a year and a day where they are named.
    fn months(&self) -> Vec<NamedTime> {
        let (year, this_month, _) = civil(self.today);
        let named_year = if self.has(LAST_YEAR) { Some(year - 1) } else { self.has(THIS_YEAR).then_some(year) };
        let words: Vec<&str> = self.text.split(' ').collect();
        for (at, word) in words.iter().enumerate() {
            let Some(month) = month_number(word) else { continue };
            let is_last = [at.wrapping_sub(1), at + 1]
                .iter()
                .any(|near| words.get(*near).is_some_and(|near| LAST.contains(&format!(" {near} ").as_str())));
            if let Some(year) = named_year.or(is_last.then_some(if month < this_month { year } else { year - 1 })) {
                return vec![NamedTime::Month(month, Some(year))];
            }
        }
        if let Some(month) = THAI_MONTHS.iter().zip(1..).find(|(name, _)| self.text.contains(**name)) {
            return vec![NamedTime::Month(month.1, named_year)];
        }
        self.text
            .match_indices(['월', '月'])
            .filter_map(|(at, unit)| self.month_at(at, at + unit.len(), named_year))
            .collect()
    }

    fn month_at(&self, at: usize, end: usize, named_year: Option<i32>) -> Option<NamedTime> {
        let (month, before) = number_at_end(&self.text[..at])?;
        let month = u32::try_from(month).ok().filter(|month| (1..=12).contains(month))?;
        let before = before.trim_end_matches([' ', 'の']);
        let digits = before.strip_suffix(['년', '年']).map(str::trim_end).unwrap_or_default();
        let year = digits.get(digits.len().saturating_sub(4)..).and_then(|year| year.parse().ok()).or(named_year);
        let rest = self.text[end..].trim_start();
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let day: Option<u32> = rest[..length].parse().ok().filter(|_| rest[length..].starts_with(['일', '日', '号']));
        Some(match (day.filter(|day| (1..=31).contains(day)), year) {
            (Some(day), Some(year)) => NamedTime::Days(day_number(year, month, day), day_number(year, month, day)),
            (Some(day), None) => NamedTime::DayOfMonth(month, day),
            (None, year) => NamedTime::Month(month, year),
        })
    }

    /// "two weeks ago", "vor zwei Wochen", "il y a deux semaines", "hace dos semanas", 2주 전, 3日前, 两周前.
    fn ago(&self) -> Option<NamedTime> {
        let words: Vec<&str> = self.text.split(' ').collect();
        for (at, word) in words.iter().enumerate().skip(1) {
            let singular = word.strip_suffix('s').unwrap_or(word);
            let Some((unit, ..)) = UNITS.iter().find(|(_, names, _)| names.contains(&singular) || names.contains(word))
            else {
                continue;
            };
            let near = |at: usize| words.get(at).copied().unwrap_or_default();
            let is_ago = near(at + 1) == "ago"
                || matches!(near(at.wrapping_sub(2)), "vor" | "hace")
                || (near(at.wrapping_sub(2)), near(at.wrapping_sub(3))) == ("a", "y");
            if let Some(count) = number(near(at - 1)).filter(|_| is_ago) {
                return Some(self.before(count, *unit));
            }
        }
        AGO.iter().flat_map(|ago| self.text.match_indices(ago)).find_map(|(at, _)| {
            let before = self.text[..at].trim_end();
            UNITS.iter().find_map(|(unit, _, names)| {
                let before = names.iter().find_map(|name| before.strip_suffix(name))?;
                let (count, _) = number_at_end(before)?;
                Some(self.before(count, *unit))
            })
        })
    }

    fn before(&self, count: i32, (days, slack): Unit) -> NamedTime {
        let slack = if count == 1 && days > 1 { slack.min(days / 2) } else { slack };
        self.days((count * days + slack, (count * days - slack).max(0)))
    }

    /// "on the 3rd", 3일에, 3日に, 3号: the last one.
    fn day_of_this_month(&self) -> Option<NamedTime> {
        let words: Vec<&str> = self.text.split(' ').collect();
        let ordinal = |word: &str| {
            let digits = ["st", "nd", "rd", "th"].iter().find_map(|suffix| word.strip_suffix(suffix));
            let digits = digits.or_else(|| {
                ["일에", "일날", "日に", "号"].iter().find_map(|unit| word.split_once(unit).map(|(before, _)| before))
            });
            digits.and_then(|digits| digits.parse::<u32>().ok()).filter(|day| (1..=31).contains(day))
        };
        let day = words.iter().enumerate().find_map(|(at, word)| {
            let is_first = word.ends_with(|letter: char| letter.is_ascii_alphabetic());
            let follows = at > 0 && matches!(words[at - 1], "the" | "on");
            ordinal(word).filter(|_| follows || !is_first)
        })?;
        let (year, month, today) = civil(self.today);
        let (year, month) = match (day <= today, month) {
            (true, _) => (year, month),
            (false, 1) => (year - 1, 12),
            (false, _) => (year, month - 1),
        };
        let day = day_number(year, month, day);
        Some(NamedTime::Days(day, day))
    }
}

fn number(word: &str) -> Option<i32> {
    let named = NUMBERS.iter().zip(1..).find(|(names, _)| names.contains(&word)).map(|(_, number)| number);
    named.or_else(|| word.parse().ok().filter(|count| (1..=400).contains(count)))
}

/// The number that a text ends with, in digits or words, and what is before it.
fn number_at_end(text: &str) -> Option<(i32, &str)> {
    let text = text.trim_end();
    let before = text.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if before.len() < text.len() {
        return Some((text[before.len()..].parse().ok().filter(|count| (1..=400).contains(count))?, before));
    }
    let find = |text: &str| -> Option<(i32, usize)> {
        NUMBERS.iter().zip(1..).find_map(|(names, number)| {
            let name = names.iter().find(|name| !name.is_ascii() && text.ends_with(**name))?;
            Some((number, name.len()))
        })
    };
    let (ones, length) = find(text)?;
    let before = &text[..text.len() - length];
    // 十二, 十一: ten and so many.
    match before.strip_suffix('十') {
        Some(before) if ones < 10 => Some((10 + ones, before)),
        _ => Some((ones, before)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sunday 10 March 2024.
    fn today() -> i32 {
        day_number(2024, 3, 10)
    }

    fn day(month: u32, day: u32) -> NamedTime {
        NamedTime::Days(day_number(2024, month, day), day_number(2024, month, day))
    }

    fn check(expected: NamedTime, texts: &[&str]) {
        use unicode_normalization::UnicodeNormalization;
        for text in texts {
            let text: String = text.nfkc().collect();
            assert_eq!(relative_times(&text, today()), [expected], "{text}");
        }
    }

    #[test]
    fn days_weeks_months() {
        check(
            day(3, 9),
            &[
                "What did we eat yesterday?",
                "was war gestern",
                "et hier ?",
                "¿qué dije ayer?",
                "어제 뭐라고 했지",
                "昨日の話",
                "昨天说了什么",
                "เมื่อวานพูดอะไร",
            ],
        );
        check(
            day(3, 8),
            &[
                "the day before yesterday",
                "vorgestern",
                "avant-hier",
                "anteayer",
                "그저께",
                "一昨日",
                "前天",
                "เมื่อวานซืน",
            ],
        );
        let week = NamedTime::Days(day_number(2024, 2, 26), day_number(2024, 3, 3));
        check(
            week,
            &[
                "last week?",
                "letzte Woche",
                "la semaine dernière",
                "la semana pasada",
                "지난주에",
                "先週の",
                "上周",
                "สัปดาห์ที่แล้ว",
            ],
        );
        let month = NamedTime::Days(day_number(2024, 2, 1), day_number(2024, 2, 29));
        check(
            month,
            &[
                "last month",
                "letzten Monat",
                "le mois dernier",
                "el mes pasado",
                "지난달",
                "先月",
                "上个月",
                "เดือนที่แล้ว",
            ],
        );
        check(
            NamedTime::Year(2023),
            &["last year", "letztes Jahr", "l'année dernière", "el año pasado", "작년에", "去年の", "去年", "ปีที่แล้ว"],
        );
    }

    #[test]
    fn so_long_ago() {
        let fortnight = NamedTime::Days(today() - 18, today() - 10);
        check(
            fortnight,
            &[
                "two weeks ago",
                "vor zwei Wochen",
                "il y a deux semaines",
                "hace dos semanas",
                "2주 전",
                "2週間前",
                "两周前",
                "สองสัปดาห์ก่อน",
            ],
        );
        let three_days = NamedTime::Days(today() - 4, today() - 2);
        check(
            three_days,
            &["3 days ago", "vor 3 Tagen", "il y a 3 jours", "hace 3 días", "3일 전", "3日前", "3天前", "3 วันก่อน"],
        );
    }

    #[test]
    fn months_and_seasons() {
        let may = NamedTime::Month(5, Some(2023));
        check(
            may,
            &[
                "last May",
                "letzten Mai",
                "en mai dernier",
                "mayo pasado",
                "작년 5월",
                "去年の5月",
                "去年五月",
                "พฤษภาคมปีที่แล้ว",
            ],
        );
        check(NamedTime::Month(2, Some(2024)), &["last February"]);
        check(NamedTime::Month(12, None), &["十二月", "12월에"]);
        check(day(2, 3), &["2024年2月3日", "2024년 2월 3일"]);
        let summer = NamedTime::Days(day_number(2023, 6, 1), day_number(2023, 8, 31));
        check(
            summer,
            &[
                "last summer",
                "letzten Sommer",
                "l'été dernier",
                "el verano pasado",
                "지난여름",
                "去年の夏",
                "去年夏天",
                "หน้าร้อนที่แล้ว",
            ],
        );
        check(NamedTime::Days(day_number(2023, 12, 1), day_number(2024, 2, 29)), &["last winter"]);
    }

    #[test]
    fn days_of_the_week_and_of_the_month() {
        check(day(3, 4), &["on Monday", "am Montag", "lundi", "el lunes", "월요일에", "月曜日に", "星期一", "วันจันทร์"]);
        check(day(3, 3), &["last Sunday"]);
        let since = NamedTime::Days(day_number(2024, 3, 4), today());
        check(since, &["since Monday", "seit Montag", "depuis lundi", "desde el lunes", "월요일부터", "ตั้งแต่วันจันทร์"]);
        check(day(3, 3), &["on the 3rd", "3일에", "3日に", "3号"]);
        check(day(2, 15), &["on the 15th"]);
    }

    #[test]
    fn nothing_where_nothing_is_named() {
        for text in [
            "you may go",
            "next Monday",
            "the last page",
            "three weeks",
            "의자 전부",
            "名前",
            "the 3 rules",
            "",
            "9999999999年前",
        ] {
            assert_eq!(relative_times(text, today()), [], "{text}");
        }
    }
}
