//! Formats durations and times. Times are in the displayed zone, and name it unless they are a time of day.

use std::sync::RwLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::js;
use crate::units::{Millis, Moment};

const DAY_MS: f64 = 86_400_000.0;

/// Formats a duration in its two largest units: `412ms`, `45s`, `12m`, `1h 2m`, `3d 4h`; `-` if not finite. Minutes drop
/// their seconds.
pub fn format_duration(duration: Millis) -> String {
    const UNITS: [(&str, f64); 4] = [("d", DAY_MS), ("h", 3_600_000.0), ("m", 60_000.0), ("s", 1_000.0)];
    let ms = duration.get();
    if !ms.is_finite() {
        return "-".to_owned();
    }
    let (sign, ms) = (if ms <= -1.0 { "-" } else { "" }, ms.abs());
    let Some(at) = UNITS.iter().position(|(_, unit)| ms >= *unit) else {
        return if ms < 1.0 { "0s".to_owned() } else { format!("{sign}{}ms", ms.floor()) };
    };
    let (name, unit) = UNITS[at];
    let first = format!("{sign}{}{name}", (ms / unit).floor());
    match UNITS.get(at + 1).filter(|_| at < 2).map(|(name, next)| ((ms % unit / next).floor(), name)) {
        Some((count, name)) if count > 0.0 => format!("{first} {count}{name}"),
        _ => first,
    }
}

/// Formats the age of a timestamp: `3h 12m ago`; the date if it is older than 30 days or in the future.
pub fn format_age(at: Moment, now_ms: Moment) -> String {
    let since = now_ms - at;
    if (Millis::ZERO..Millis(30.0 * DAY_MS)).contains(&since) {
        return format!("{} ago", format_duration(since));
    }
    format_time(at)
}

/// Formats how long ago a timestamp was in its largest unit, at most four columns: `now`, `3m`, `2h`, `5d`, `3y`; `-` if
/// it is not finite. The future counts as now.
pub fn format_short_age(at: Moment, now_ms: Moment) -> String {
    const UNITS: [(&str, f64); 4] =
        [("y", 365.0 * DAY_MS), ("d", DAY_MS), ("h", 3_600_000.0), ("m", 60_000.0)];
    let since = (now_ms - at).get();
    if !since.is_finite() {
        return "-".to_owned();
    }
    let unit = UNITS.iter().find(|(_, unit)| since >= *unit);
    unit.map_or_else(|| "now".to_owned(), |(name, unit)| format!("{}{name}", (since / unit).floor()))
}

/// Names a day as seen from today, both in days since 1970: `today`, `yesterday`, `this week`, `last week`, `October`,
/// `October 2025`. A week starts on Monday; a day in the future counts as today.
pub fn age_group(day: i64, today: i64) -> String {
    let date = |day: i64| {
        let at = Timestamp::from_second(day.saturating_mul(86_400)).ok()?;
        Some(at.to_zoned(TimeZone::UTC).date())
    };
    let (Some(day), Some(today)) = (date(day), date(today)) else { return "no date".to_owned() };
    let days = today.since(day).map_or(0, |span| span.get_days());
    let weekday = i32::from(today.weekday().to_monday_zero_offset());
    match days {
        ..=0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        days if days <= weekday => "this week".to_owned(),
        days if days <= weekday + 7 => "last week".to_owned(),
        _ if day.year() == today.year() => day.strftime("%B").to_string(),
        _ => day.strftime("%B %Y").to_string(),
    }
}

/// Formats a timestamp in the displayed zone with its offset, or `-`.
pub fn format_time(at: Moment) -> String {
    format_displayed_timestamp(at).unwrap_or_else(|| "-".to_owned())
}

/// Formats a timestamp for texts that leave this machine, in UTC: `2026-11-19 13:31:07Z`. `None` outside JavaScript's range of dates.
pub fn format_timestamp(at: Moment) -> Option<String> {
    if !at.is_finite() || at.abs() > Moment(8.64e15) {
        return None;
    }
    let iso = js::iso_text(at);
    let (day, time) = iso.split_once('T')?;
    Some(format!("{day} {}Z", time.get(..8)?))
}

/// Returns the UTC day of a timestamp, as `2026-11-19`; `None` outside JavaScript's range of dates.
pub fn utc_day(at: Moment) -> Option<String> {
    format_timestamp(at).and_then(|text| Some(text.split_once(' ')?.0.to_owned()))
}

/// Formats a timestamp in the displayed zone with its offset: `2026-11-19 14:31:07+01:00`, or `Z` for UTC.
pub fn format_displayed_timestamp(at: Moment) -> Option<String> {
    timestamp_in(at, &display_zone())
}

fn timestamp_in(at: Moment, zone: &TimeZone) -> Option<String> {
    if *zone == TimeZone::UTC {
        return format_timestamp(at);
    }
    strftime(at, zone, "%Y-%m-%d %H:%M:%S%:z")
}

/// Formats a timestamp in a zone: `2026-03-06 04:00 Europe/Berlin`.
pub fn format_local_time(at: Moment, zone: &TimeZone) -> Option<String> {
    let at = Timestamp::from_millisecond(at.whole()).ok()?.to_zoned(zone.clone());
    let name = zone.iana_name().map_or_else(|| at.strftime("%:z").to_string(), str::to_owned);
    Some(format!("{} {name}", at.strftime("%Y-%m-%d %H:%M")))
}

/// Formats a timestamp as time of day, with the date unless it is today.
pub fn time_of_day(at: Moment, now_ms: Moment) -> Option<String> {
    let day = |at: Moment| wall_clock(at).day();
    strftime(at, &display_zone(), if day(now_ms) == day(at) { "%H:%M:%S" } else { "%Y-%m-%d %H:%M" })
}

/// Formats a timestamp as hours and minutes.
pub fn minute(at: Moment) -> Option<String> {
    strftime(at, &display_zone(), "%H:%M")
}

fn strftime(at: Moment, zone: &TimeZone, form: &str) -> Option<String> {
    let at = Timestamp::from_millisecond(at.is_finite().then_some(at.whole())?).ok()?;
    Some(at.to_zoned(zone.clone()).strftime(form).to_string())
}

// The time zone of every time that people read: UTC until the program selects another one at its start.
//
// It is one value of the process, as a terminal has one reader. Everything that machines read, JSON and exports among
// them, stays in UTC.

static ZONE: RwLock<Option<TimeZone>> = RwLock::new(None);

/// Selects the zone of displayed times; `None` is UTC.
pub fn set_display_zone(zone: Option<TimeZone>) {
    // A system may call UTC by other names.
    let is_utc = |zone: &TimeZone| matches!(zone.iana_name(), Some("UTC" | "Etc/UTC" | "Zulu" | "Etc/Zulu"));
    if let Ok(mut selected) = ZONE.write() {
        *selected = zone.filter(|zone| !is_utc(zone));
    }
}

/// Returns the zone of displayed times.
pub(super) fn display_zone() -> TimeZone {
    ZONE.read().ok().and_then(|zone| zone.clone()).unwrap_or(TimeZone::UTC)
}

/// Returns ` UTC` when times are in UTC, to follow a time of day; nothing for the reader's own zone.
pub fn display_zone_note() -> &'static str {
    if display_zone() == TimeZone::UTC { "\u{a0}UTC" } else { "" }
}

/// Names a zone at a moment: `Europe/Berlin`, or its offset when it has no name.
pub fn zone_name(zone: &TimeZone, now_ms: Moment) -> String {
    let named = zone.iana_name().map(str::to_owned);
    let offset = || Timestamp::from_millisecond(now_ms.whole()).ok().map(|at| zone.to_offset(at).to_string());
    named.or_else(offset).unwrap_or_else(|| "local time".to_owned())
}

/// Returns the wall clock of the displayed zone as if it were UTC, so that days are whole multiples.
pub fn wall_clock(at: Moment) -> Moment {
    wall_clock_in(&display_zone(), at)
}

pub(super) fn wall_clock_in(zone: &TimeZone, at: Moment) -> Moment {
    let offset = Timestamp::from_millisecond(at.whole()).map_or(0, |at| zone.to_offset(at).seconds());
    at + Millis(f64::from(offset) * 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_days_changes_at_midnight() {
        let at = |text: &str| Moment::from_whole(text.parse::<Timestamp>().unwrap().as_millisecond()).day();
        // A Wednesday.
        let group = |day: &str, now: &str| age_group(at(day), at(now));
        let (before, after) = ("2026-11-25T23:59:59Z", "2026-11-26T00:00:00Z");
        for (day, first, second) in [
            ("2026-11-25T10:00:00Z", "today", "yesterday"),
            ("2026-11-24T23:59:59Z", "yesterday", "this week"),
            ("2026-11-23T00:00:00Z", "this week", "this week"),
            ("2026-11-22T23:59:59Z", "last week", "last week"),
            ("2026-11-15T12:00:00Z", "November", "November"),
            ("2026-10-31T12:00:00Z", "October", "October"),
            ("2025-10-31T12:00:00Z", "October 2025", "October 2025"),
            ("2026-12-01T00:00:00Z", "today", "today"),
        ] {
            assert_eq!((group(day, before), group(day, after)), (first.into(), second.into()), "{day}");
        }
        assert_eq!(age_group(i64::MAX, at(before)), "no date");
        assert_eq!(group("2026-11-22T10:00:00Z", "2026-11-23T10:00:00Z"), "yesterday");
    }

    #[test]
    fn durations_name_their_two_largest_units() {
        let texts = [0.0, 999.0, 45_000.0, 725_000.0, 3_600_000.0].map(|ms| format_duration(Millis(ms)));
        assert_eq!(texts, ["0s", "999ms", "45s", "12m", "1h"]);
        let texts = [5_400_000.0, 3_720_000.0, 273_600_000.0, -61_000.0, f64::NAN]
            .map(|ms| format_duration(Millis(ms)));
        assert_eq!(texts, ["1h 30m", "1h 2m", "3d 4h", "-1m", "-"]);
    }

    #[test]
    fn a_short_age_has_one_unit() {
        let age = |minutes: f64| format_short_age(Moment::ZERO, Moment(minutes * 60_000.0));
        assert_eq!([-5.0, 0.9, 3.0, 59.9, 125.0].map(age), ["now", "now", "3m", "59m", "2h"]);
        assert_eq!([1_440.0, 525_599.0, 1_100_000.0, f64::NAN].map(age), ["1d", "364d", "2y", "-"]);
    }

    #[test]
    fn a_timestamp_is_utc_and_an_impossible_one_has_no_text() {
        assert_eq!(format_timestamp(Moment(1_795_181_467_000.0)).as_deref(), Some("2026-11-20 13:31:07Z"));
        assert_eq!((format_timestamp(Moment(f64::NAN)), format_timestamp(Moment(1e300))), (None, None));
        assert_eq!(
            [1_772_719_601_999.0, f64::NAN].map(|ms| format_time(Moment(ms))),
            ["2026-03-05 14:06:41Z", "-"]
        );
    }

    #[test]
    fn a_time_in_a_zone_has_its_offset() {
        let at =
            |zone: &str| timestamp_in(Moment(1_772_719_601_999.0), &TimeZone::get(zone).unwrap()).unwrap();
        assert_eq!(at("Europe/Berlin"), "2026-03-05 15:06:41+01:00");
        assert_eq!(at("Asia/Kolkata"), "2026-03-05 19:36:41+05:30");
        assert_eq!(timestamp_in(Moment(f64::NAN), &TimeZone::UTC), None);
    }

    #[test]
    fn times_of_another_day_have_their_date() {
        let noon = Moment(1_772_712_137_000.0);
        assert_eq!(time_of_day(noon, Moment(1_772_719_601_000.0)).as_deref(), Some("12:02:17"));
        assert_eq!(time_of_day(noon, Moment::ZERO).as_deref(), Some("2026-03-05 12:02"));
        assert_eq!(time_of_day(Moment(f64::NAN), Moment::ZERO), None);
    }
}

#[cfg(test)]
mod zone_tests {
    use super::*;

    #[test]
    fn the_wall_clock_follows_the_zone_and_its_summer_time() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let at = |text: &str| Moment::from_whole(text.parse::<Timestamp>().unwrap().as_millisecond());
        assert_eq!(wall_clock_in(&berlin, at("2026-01-31T23:30:00Z")), at("2026-02-01T00:30:00Z"));
        assert_eq!(wall_clock_in(&berlin, at("2026-06-30T22:30:00Z")), at("2026-07-01T00:30:00Z"));
        assert_eq!(wall_clock_in(&TimeZone::UTC, Moment(5.0)), Moment(5.0));
        assert_eq!(wall_clock_in(&berlin, Moment(1e300)), Moment(1e300));
        assert_eq!(zone_name(&berlin, Moment::ZERO), "Europe/Berlin");
    }
}
