//! Parses `--now`.

use crate::units::Moment;

/// Parses `now`, ISO text (local time without a zone) or milliseconds since 1970.
pub(super) fn parse_time(text: &str, now_ms: Moment) -> Result<Moment, TimeError> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("now") {
        return Ok(now_ms);
    }
    if let Ok(ms) = text.parse::<i64>() {
        return Ok(Moment::from_whole(ms));
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Ok(Moment::from_whole(time.as_millisecond()));
    }
    let local =
        text.parse::<jiff::civil::DateTime>().and_then(|time| time.to_zoned(jiff::tz::TimeZone::system()));
    local
        .map(|time| Moment::from_whole(time.timestamp().as_millisecond()))
        .map_err(|_| TimeError(text.to_owned()))
}

/// A text that is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--now {0:?}: expected `now`, a time such as 2026-03-05T14:06:41Z, or milliseconds since 1970")]
pub(super) struct TimeError(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_text_or_number() {
        assert_eq!(parse_time("2026-03-05T14:06:41Z", Moment::ZERO), Ok(Moment(1_772_719_601_000.0)));
        assert_eq!(parse_time("2026-03-05 14:06:41Z", Moment::ZERO), Ok(Moment(1_772_719_601_000.0)));
        assert_eq!(parse_time("1772719601000", Moment::ZERO), Ok(Moment(1_772_719_601_000.0)));
        assert_eq!(parse_time("now", Moment(5.0)), Ok(Moment(5.0)));
        assert!(parse_time("tomorrow", Moment::ZERO).unwrap_err().to_string().contains("expected"));
    }
}
