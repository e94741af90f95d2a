//! The time zone of every time that people read: UTC until the program selects another one at its start.
//!
//! It is one value of the process, as a terminal has one reader. Everything that machines read, JSON and exports among
//! them, stays in UTC.

use std::sync::RwLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::units::{Millis, Moment};

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
