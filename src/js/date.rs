//! JavaScript date values and the text of a date (compaction 3.10b). This is arithmetic without a clock; a time
//! without a zone is UTC.

use super::{JsString, Value, to_text};
use crate::units::Moment;

const MS_PER_SECOND: i64 = 1_000;
const MS_PER_MINUTE: i64 = 60_000;
const MS_PER_HOUR: i64 = 3_600_000;
const MS_PER_DAY: i64 = 86_400_000;
/// The largest date value in ms, in either direction from 1970.
const MAX_MS: f64 = 8.64e15;

/// Returns `new Date(value).getTime()`, NaN for an invalid date (compaction 3.10b).
/// Strings must have one of the ISO forms named there; further spellings that V8 accepts are NaN.
pub fn date_value(value: Option<&Value>) -> Moment {
    match value {
        None => Moment(f64::NAN),
        Some(Value::Null) => Moment::ZERO,
        Some(Value::Bool(bool)) => Moment(f64::from(u8::from(*bool))),
        Some(Value::Number(number)) => time_clip(*number),
        Some(Value::String(text)) => text_value(text),
        Some(Value::Array(_) | Value::Object(_)) => text_value(&to_text(value)),
    }
}

/// Formats a date as JavaScript does: `2026-02-21T05:16:55.686Z`, and years beyond four digits as `+012345`.
/// A fraction of a millisecond is dropped.
pub fn iso_text(at: Moment) -> String {
    let ms = at.whole();
    let (year, month, day) = civil_from_days(ms.div_euclid(MS_PER_DAY));
    let time = ms.rem_euclid(MS_PER_DAY);
    let (hour, minute) = (time / MS_PER_HOUR, time / MS_PER_MINUTE % 60);
    let (second, ms) = (time / MS_PER_SECOND % 60, time % MS_PER_SECOND);
    let year = if (0..=9999).contains(&year) { format!("{year:04}") } else { format!("{year:+07}") };
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

fn text_value(text: &JsString) -> Moment {
    parse_date(&text.to_string_lossy())
}

/// Parses a string as [`date_value`] does.
pub(crate) fn parse_date(text: &str) -> Moment {
    Reader { rest: text.as_bytes() }.date().map_or(Moment(f64::NAN), |ms| time_clip(ms as f64))
}

/// Drops the fraction; NaN beyond the range of dates, and never -0.
fn time_clip(ms: f64) -> Moment {
    Moment(if ms.abs() <= MAX_MS { ms.trunc() + 0.0 } else { f64::NAN })
}

/// A parser of the remaining text; its methods return `None` for a syntax error.
struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    /// Parses the whole text to ms since 1970.
    fn date(mut self) -> Option<i64> {
        let year = self.year()?;
        let month = if self.eat(b"-") { self.number(2, 1..=12)? } else { 1 };
        // A day needs a month. Every month may have 31 days: the surplus moves into the next month.
        let has_day = self.eat(b"-");
        let day = if has_day { self.number(2, 1..=31)? } else { 1 };
        let time = if self.eat(b"Tt") { self.time()? + self.zone()? } else { self.utc_mark() };
        let ms = (days_from_civil(year, month, 1) + day - 1) * MS_PER_DAY + time;
        self.rest.is_empty().then_some(ms)
    }

    /// Four digits, or six with a sign; `-000000` is invalid.
    fn year(&mut self) -> Option<i64> {
        match self.rest.first()? {
            b'+' => self.skip().number(6, 0..=999_999),
            b'-' => self.skip().number(6, 1..=999_999).map(|year| -year),
            _ => self.number(4, 0..=9999),
        }
    }

    /// `HH:MM` with optional seconds and fraction, in ms.
    fn time(&mut self) -> Option<i64> {
        let hour = self.number(2, 0..=24)?;
        let minute = self.eat(b":").then(|| self.number(2, 0..=59))??;
        let mut rest = minute * MS_PER_MINUTE;
        let mut is_past_hour = minute > 0;
        if self.eat(b":") {
            let second = self.number(2, 0..=59)?;
            rest += second * MS_PER_SECOND;
            is_past_hour |= second > 0;
            if self.eat(b".") {
                let (ms, any) = self.fraction()?;
                rest += ms;
                is_past_hour |= any;
            }
        }
        // Hour 24 is the end of the day, so nothing may follow it.
        (hour < 24 || !is_past_hour).then_some(hour * MS_PER_HOUR + rest)
    }

    /// Digits after the point: the first three as ms, and whether any digit is not 0.
    fn fraction(&mut self) -> Option<(i64, bool)> {
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        let padded = digits.iter().copied().chain([b'0'; 3]).take(3);
        let ms = padded.fold(0, |ms, digit| ms * 10 + i64::from(digit - b'0'));
        (count > 0).then(|| (ms, digits.iter().any(|&digit| digit != b'0')))
    }

    /// The offset to UTC in ms; 0 without a zone.
    fn zone(&mut self) -> Option<i64> {
        let sign = match self.rest.first() {
            Some(b'+') => -1,
            Some(b'-') => 1,
            _ => return Some(self.utc_mark()),
        };
        let hour = self.skip().number(2, 0..=23)?;
        let minute = self.eat(b":").then(|| self.number(2, 0..=59))??;
        Some(sign * (hour * MS_PER_HOUR + minute * MS_PER_MINUTE))
    }

    /// Skips a `Z`, which adds 0.
    fn utc_mark(&mut self) -> i64 {
        self.eat(b"Zz");
        0
    }

    /// Skips the next byte if it is one of `bytes`.
    fn eat(&mut self, bytes: &[u8]) -> bool {
        let found = self.rest.first().is_some_and(|byte| bytes.contains(byte));
        if found {
            self.skip();
        }
        found
    }

    fn skip(&mut self) -> &mut Self {
        self.rest = self.rest.get(1..).unwrap_or_default();
        self
    }

    /// Exactly `digits` digits within `range`.
    fn number(&mut self, digits: usize, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let (number, rest) = self.rest.split_at_checked(digits)?;
        self.rest = rest;
        let number = number.iter().try_fold(0, |number, digit| {
            digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
        })?;
        range.contains(&number).then_some(number)
    }
}

/// Years begin on 1 March here and count from 1 March of year 0, so the leap day is the last of its year. The
/// calendar repeats every 400 years.
const DAYS_PER_ERA: i64 = 146_097;
/// Days from 1 March of year 0 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

/// Days from 1970-01-01 to a date of the Gregorian calendar; month 1-12.
const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - EPOCH_DAYS
}

/// The year, month (1-12) and day (1-31) of a number of days since 1970-01-01.
const fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH_DAYS;
    let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::parse;

    fn date_of(text: &str) -> f64 {
        date_value(Some(&Value::from(text))).get()
    }

    #[test]
    fn iso_texts_are_read_as_their_milliseconds() {
        for (text, ms) in [
            ("2026", 1_767_225_600_000_i64),
            ("2026-02", 1_769_904_000_000),
            ("2026-02-30", 1_772_409_600_000),
            ("2026-02-31", 1_772_496_000_000),
            ("2026T05:16", 1_767_244_560_000),
            ("2026-02T05:16Z", 1_769_922_960_000),
            ("2026-02-21T05:16:55.686Z", 1_771_651_015_686),
            ("2026-02-21T05:16:55.6869Z", 1_771_651_015_686),
            ("2026-02-21T05:16:55.6Z", 1_771_651_015_600),
            ("2026-02-21T05:16:55.123456789012345678901Z", 1_771_651_015_123),
            ("2026-02-21T24:00", 1_771_718_400_000),
            ("2026-02-21T24:00:00.00000Z", 1_771_718_400_000),
            ("2026-02-21T05:16+01:00", 1_771_647_360_000),
            ("2026-02-21T05:16-23:59", 1_771_737_300_000),
            ("2026-02-21t05:16z", 1_771_650_960_000),
            ("2026-02-21Z", 1_771_632_000_000),
            ("2026-04-31T10:00", 1_777_629_600_000),
            ("-000001-01-01T00:00Z", -62_198_755_200_000),
            ("+000000", -62_167_219_200_000),
            ("0000", -62_167_219_200_000),
            ("0001-01-01", -62_135_596_800_000),
            ("+275760-09-13T00:00:00.000Z", 8_640_000_000_000_000),
            ("-271821-04-20T00:00Z", -8_640_000_000_000_000),
        ] {
            assert_eq!(date_of(text), ms as f64, "{text}");
        }
    }

    #[test]
    fn texts_that_are_not_dates_are_nan() {
        let texts = [
            "",
            "junk",
            "2026-",
            "2026-13",
            "2026-00-01",
            "2026-02-00",
            "2026-02-32",
            "20260221",
            "2026-02-21T05",
            "2026-02-21T05Z",
            "2026-02-21T5:16",
            "2026-02-21T05:60Z",
            "2026-02-21T05:16:60Z",
            "2026-02-21T25:00Z",
            "2026-02-21T24:01Z",
            "2026-02-21T24:00:01Z",
            "2026-02-21T24:00:00.0001Z",
            "2026-02-21T05:16:55.Z",
            "2026-02-21T05:16:55,686Z",
            "2026-02-21T05:16:5",
            "2026-02-21T05:16+24:00",
            "2026-02-21T05:16+23:60",
            "2026-02-21T05:16:55+01",
            "2026-02-21+01:00",
            "2026-02-21T05:16Zx",
            "2026-02-21T05:16:55.686 Z",
            "-000000-01-01T00:00Z",
            "+275760-09-13T00:00:00.001Z",
            "-271821-04-19T23:59:59.999Z",
            "２０２６",
            "é",
            "+",
            "-",
            "2026-02-21T",
            "2026-02-21T05:",
            "2026-02-21T05:16-",
        ];
        for text in texts {
            assert!(date_of(text).is_nan(), "{text}");
        }
    }

    #[test]
    fn values_other_than_text_have_date_values_too() {
        assert!(date_value(None).is_nan());
        let date = |json: &str| date_value(Some(&parse(json).unwrap())).get();
        for (json, ms) in
            [("null", 0.0), ("true", 1.0), ("false", 0.0), ("1.9", 1.0), ("-1.9", -1.0), ("8.64e15", 8.64e15)]
        {
            assert_eq!(date(json), ms, "{json}");
        }
        assert!(date("-0.5").is_sign_positive() && date("-0").is_sign_positive());
        assert_eq!(date(r#"["2026-02-21"]"#), date(r#""2026-02-21""#));
        for json in ["1e400", "8640000000000001", "-8640000000000001", "[]", "{}", "[null]"] {
            assert!(date(json).is_nan(), "{json}");
        }
    }

    #[test]
    fn dates_are_written_as_javascript_does() {
        for (ms, text) in [
            (1_771_651_015_686, "2026-02-21T05:16:55.686Z"),
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "+010000-01-01T00:00:00.000Z"),
            (-62_167_219_200_001, "-000001-12-31T23:59:59.999Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (8_640_000_000_000_000, "+275760-09-13T00:00:00.000Z"),
            (-8_640_000_000_000_000, "-271821-04-20T00:00:00.000Z"),
        ] {
            assert_eq!(iso_text(Moment::from_whole(ms)), text);
        }
        assert!(iso_text(Moment(-1e300)).starts_with('-') && iso_text(Moment(1e300)).starts_with('+'));
    }

    #[test]
    fn every_day_of_eight_centuries_is_read_back() {
        for day in -146_097..=146_097_i64 {
            let ms = day * MS_PER_DAY + 12_345_678;
            assert_eq!(date_of(&iso_text(Moment::from_whole(ms))), ms as f64, "{ms}");
        }
    }
}
