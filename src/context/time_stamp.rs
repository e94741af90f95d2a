//! The time that a gateway since 2026.7.1 puts before each user message when it sends it; the transcript stays bare
//! (releases R74).

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::js::{JsString, Value};
use crate::units::{Chars, Moment};

/// Chars of a stamp with a zone of three letters, such as `[Fri 2026-11-27 13:12 UTC] `.
pub const STAMP_CHARS: Chars = Chars(27.0);
/// A text that names the time itself, as cron jobs do.
const OWN_TIME: &str = "Current time: ";
const INTER_SESSION: &str = "[Inter-session message]";
/// Abbreviations that the gateway's English shows; other zones show their offset.
const NAMED_ZONES: [&str; 13] =
    ["UTC", "GMT", "EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "AKST", "AKDT", "HST"];

/// Returns the stamp of a message, with the space after it; `None` if the gateway sends it without one.
pub fn time_stamp(message: &Value, zone: &TimeZone) -> Option<String> {
    let is_user = message.get("role").is_some_and(|role| role.str_is("user"));
    let text = first_text(message).filter(|_| is_user)?;
    let at = Moment(message.get("timestamp").and_then(Value::as_f64).filter(|at| at.is_finite())?);
    let is_bare = !text.trim().is_empty()
        && !has_time_in_brackets(&text)
        && !text.contains(OWN_TIME)
        && !text.starts_with(INTER_SESSION);
    stamp_at(at, zone).filter(|_| is_bare)
}

/// Returns the stamp of a moment, with the space after it.
pub fn stamp_at(at: Moment, zone: &TimeZone) -> Option<String> {
    let at = Timestamp::from_millisecond(at.whole()).ok()?.to_zoned(zone.clone());
    Some(format!("[{} {}] ", at.strftime("%a %Y-%m-%d %H:%M"), zone_label(&at)))
}

fn first_text(message: &Value) -> Option<String> {
    match message.get("content")? {
        Value::String(text) => Some(text.to_string_lossy()),
        Value::Array(blocks) => {
            let text = blocks.iter().find_map(|block| {
                block
                    .get("text")
                    .and_then(Value::as_str)
                    .filter(|_| block.get("type").is_some_and(|kind| kind.str_is("text")))
            });
            text.map(JsString::to_string_lossy)
        }
        _ => None,
    }
}

/// Whether the first line begins with a bracket and holds a date and a time (`/^\\[.*\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}/`).
fn has_time_in_brackets(text: &str) -> bool {
    let line = text.lines().next().unwrap_or_default().as_bytes();
    let is_time = |window: &[u8]| {
        window.iter().zip(b"0000-00-00 00:00").all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            other => byte == other,
        })
    };
    line.first() == Some(&b'[') && line[1..].windows(16).any(is_time)
}

/// Names the zone as `Intl` does in English: an abbreviation of America, otherwise the offset from GMT.
fn zone_label(at: &Zoned) -> String {
    let short = at.strftime("%Z").to_string();
    let name = at.time_zone().iana_name().unwrap_or("UTC");
    let is_american = ["America/", "US/", "Pacific/Honolulu"].iter().any(|start| name.starts_with(start));
    let is_utc = name == "UTC" || name == "Etc/UTC";
    if is_utc {
        return "UTC".to_owned();
    }
    if is_american && NAMED_ZONES.contains(&short.as_str()) {
        return short;
    }
    let minutes = at.offset().seconds() / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    match (minutes.abs() / 60, minutes.abs() % 60) {
        (0, 0) => "GMT".to_owned(),
        (hours, 0) => format!("GMT{sign}{hours}"),
        (hours, rest) => format!("GMT{sign}{hours}:{rest:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::parse;

    fn stamp(content: &str, zone: &str) -> Option<String> {
        let message = format!(r#"{{"role":"user","timestamp":1795785132374,"content":{content}}}"#);
        time_stamp(&parse(&message).unwrap(), &TimeZone::get(zone).unwrap())
    }

    #[test]
    fn a_stamp_has_weekday_date_time_and_zone() {
        let stamps = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Europe/London"]
            .map(|zone| stamp(r#""go on""#, zone).unwrap());
        assert_eq!(stamps[0], "[Fri 2026-11-27 13:12 UTC] ");
        assert_eq!(stamps[0].len() as f64, STAMP_CHARS.get());
        assert_eq!(stamps[1], "[Fri 2026-11-27 14:12 GMT+1] ");
        assert_eq!(stamps[2], "[Fri 2026-11-27 08:12 EST] ");
        assert_eq!(stamps[3], "[Fri 2026-11-27 18:42 GMT+5:30] ");
        assert_eq!(stamps[4], "[Fri 2026-11-27 13:12 GMT] ");
        let blocks = r#"[{"type":"image","data":""},{"type":"text","text":"see"}]"#;
        assert!(stamp(blocks, "UTC").is_some(), "the first text counts");
    }

    #[test]
    fn a_text_with_a_time_and_a_blank_one_get_none() {
        let bare = [
            r#"" ""#,
            r#""[Telegram Ana 2026-11-27 13:12 UTC] hi""#,
            r#""Run it. Current time: 13:12""#,
            r#""[Inter-session message] hi""#,
            r#"[{"type":"image","data":""}]"#,
        ];
        assert_eq!(bare.map(|content| stamp(content, "UTC")), [const { None }; 5]);
        assert!(stamp(r#""[see] at noon""#, "UTC").is_some());
        let answer = parse(r#"{"role":"assistant","timestamp":1,"content":"x"}"#).unwrap();
        assert_eq!(time_stamp(&answer, &TimeZone::UTC), None);
    }
}
