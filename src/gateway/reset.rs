//! The time at which a gateway resets a session by itself: daily at an hour, or after idle minutes (store B5, F2).
//!
//! Nothing happens at that time: the gateway checks when the next message arrives. The first of these that exists
//! decides: `session.resetByChannel`, `session.resetByType`, `session.reset`, the old `session.idleMinutes`. For
//! example, a session last used at 03:50 with `atHour` 4 is new for a message at 04:10.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

use super::config::GatewayConfig;
use super::registry::Provenance;
use crate::js::Value;
use crate::units::{Millis, Moment};

/// The hour of the daily reset without a setting.
pub const DEFAULT_HOUR: f64 = 4.0;
/// The idle minutes of mode `idle` without a setting.
pub const DEFAULT_IDLE_MINUTES: f64 = 60.0;

/// The type of a session in the reset settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResetType {
    /// A thread or topic of any chat.
    Thread,
    Group,
    /// Every other session.
    Direct,
}

impl ResetType {
    pub fn from_key(key: &str) -> Self {
        let key = key.to_lowercase();
        let has = |marks: [&str; 2]| marks.iter().any(|mark| key.contains(mark));
        if has([":thread:", ":topic:"]) {
            Self::Thread
        } else if has([":group:", ":channel:"]) {
            Self::Group
        } else {
            Self::Direct
        }
    }

    /// The key in `resetByType`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Group => "group",
            Self::Direct => "direct",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResetMode {
    Daily,
    /// After idle minutes.
    Idle,
}

impl ResetMode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Daily => "daily",
            Self::Idle => "idle",
        }
    }
}

/// The settings that apply to one session, each with its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct ResetPolicy {
    pub kind: ResetType,
    pub mode: (ResetMode, Provenance),
    /// The hour of mode `daily`, 0 to 23.
    pub at_hour: (f64, Provenance),
    /// Idle minutes, at least 1; they count in mode `daily` too. `None`: idle time does not reset.
    pub idle_minutes: Option<(f64, Provenance)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NextReset {
    pub at_ms: Moment,
    pub mode: ResetMode,
}

/// Returns the settings of a session, by its key and channel.
pub fn reset_policy(config: &GatewayConfig, key: &str, channel: Option<&str>) -> ResetPolicy {
    let kind = ResetType::from_key(key);
    let places = setting_objects(config, kind, channel);
    let by_channel = matches!(places.as_slice(), [(path, _)] if path.contains(&"resetByChannel"));
    let find = |name: &str| places.iter().find_map(|(path, place)| setting_at(config, path, place, name));
    let legacy = || {
        let minutes =
            config.value(&["session", "idleMinutes"]).filter(|value| !value.is_null() && !by_channel)?;
        Some((minutes, config.provenance(&["session", "idleMinutes"])))
    };
    // Even an empty object prevents the old key from choosing the mode.
    let reported = by_channel || ["reset", "resetByType"].into_iter().any(|key| is_configured(config, key));
    let mode = match find("mode") {
        Some((mode, from)) if mode.str_is("idle") => (ResetMode::Idle, from),
        Some((_, from)) => (ResetMode::Daily, from),
        None => match legacy().filter(|_| !reported) {
            Some((_, from)) => (ResetMode::Idle, from),
            None => (ResetMode::Daily, Provenance::Default),
        },
    };
    let at_hour = match find("atHour") {
        Some((hour, from)) => (whole_hour(hour), from),
        None => (DEFAULT_HOUR, Provenance::Default),
    };
    let idle_minutes = match find("idleMinutes").or_else(legacy) {
        Some((minutes, from)) => minutes
            .as_f64()
            .map(f64::floor)
            .filter(|minutes| minutes.is_finite())
            .map(|minutes| (minutes.max(1.0), from)),
        None if mode.0 == ResetMode::Idle => Some((DEFAULT_IDLE_MINUTES, Provenance::Default)),
        None => None,
    };
    ResetPolicy { kind, mode, at_hour, idle_minutes }
}

type FoundSetting<'a> = (&'a Value, Provenance);

/// Lists the objects that can hold the settings, the one that overrides the rest first: their path, and the last key,
/// which depends on the session.
fn setting_objects<'a>(
    config: &GatewayConfig,
    kind: ResetType,
    channel: Option<&str>,
) -> Vec<(&'a [&'static str], String)> {
    let channel = channel.map(|channel| channel.trim().to_lowercase()).filter(|channel| !channel.is_empty());
    if let Some(channel) = channel
        && config.value(&["session", "resetByChannel", &channel]).is_some_and(|value| !value.is_null())
    {
        return vec![(&["session", "resetByChannel"], channel)];
    }
    let typed =
        |word: &str| config.value(&["session", "resetByType", word]).is_some_and(|value| !value.is_null());
    let mut places: Vec<(&[&str], String)> = Vec::new();
    // Old configurations write `dm` for `direct`.
    let words: &[&str] = if kind == ResetType::Direct { &["direct", "dm"] } else { &[kind.as_str()] };
    if let Some(word) = words.iter().find(|word| typed(word)) {
        places.push((&["session", "resetByType"], (*word).to_owned()));
    }
    places.push((&["session"], "reset".to_owned()));
    places
}

fn setting_at<'a>(
    config: &'a GatewayConfig,
    path: &[&str],
    place: &str,
    name: &str,
) -> Option<FoundSetting<'a>> {
    let full: Vec<&str> = path.iter().copied().chain([place, name]).collect();
    let value = config.value(&full).filter(|value| !value.is_null())?;
    Some((value, config.provenance(&full)))
}

fn is_configured(config: &GatewayConfig, key: &str) -> bool {
    config.value(&["session", key]).is_some_and(|value| crate::js::is_truthy(Some(value)))
}

fn whole_hour(hour: &Value) -> f64 {
    match hour.as_f64().map(f64::floor) {
        Some(hour) if hour.is_finite() => hour.clamp(0.0, 23.0),
        _ => DEFAULT_HOUR,
    }
}

/// Returns the first reset after `updated_ms`, in the time zone of the gateway's host. Returns `None`
/// if nothing resets the session or the time is out of range.
pub fn next_reset(policy: &ResetPolicy, updated_ms: Moment, zone: &TimeZone) -> Option<NextReset> {
    let daily =
        || Some(NextReset { at_ms: next_hour(updated_ms, policy.at_hour.0, zone)?, mode: ResetMode::Daily });
    let daily = if policy.mode.0 == ResetMode::Daily { daily() } else { None };
    let idle = policy.idle_minutes.as_ref().map(|(minutes, _)| NextReset {
        at_ms: updated_ms + Millis(minutes * 60_000.0),
        mode: ResetMode::Idle,
    });
    match (daily, idle) {
        (Some(daily), Some(idle)) => Some(if idle.at_ms < daily.at_ms { idle } else { daily }),
        (one, other) => one.or(other),
    }
}

/// Returns the next start of that hour after a moment. Like JavaScript's `Date`, it takes the following hour if the
/// clock change skips that hour.
fn next_hour(after_ms: Moment, hour: f64, zone: &TimeZone) -> Option<Moment> {
    let after = Timestamp::from_millisecond(after_ms.is_finite().then_some(after_ms.whole())?).ok()?;
    let mut day = after.to_zoned(zone.clone()).date();
    for _ in 0..3 {
        let at = day.at(hour as i8, 0, 0, 0).to_zoned(zone.clone()).ok()?.timestamp();
        if at.duration_since(after) > SignedDuration::ZERO {
            return Some(Moment::from_whole(at.as_millisecond()));
        }
        day = day.checked_add(1.day()).ok()?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::env::Environment;

    fn policy(config: &str, key: &str, channel: Option<&str>) -> ResetPolicy {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("openclaw.json");
        std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), config.as_bytes()).unwrap();
        let config = GatewayConfig::load(Some(&path), &Environment::default(), dir.path());
        assert_eq!(config.error, None);
        reset_policy(&config, key, channel)
    }

    /// Returns mode, hour, minutes (0 for none) and the keys that they come from.
    fn reported(config: &str, key: &str, channel: Option<&str>) -> (&'static str, f64, f64, Vec<String>) {
        let policy = policy(config, key, channel);
        let from = |from: &Provenance| match from {
            Provenance::File { key, .. } => key.clone(),
            other => other.to_string(),
        };
        let mut keys = vec![from(&policy.mode.1), from(&policy.at_hour.1)];
        keys.extend(policy.idle_minutes.as_ref().map(|(_, origin)| from(origin)));
        (
            policy.mode.0.as_str(),
            policy.at_hour.0,
            policy.idle_minutes.map_or(0.0, |(minutes, _)| minutes),
            keys,
        )
    }

    const MAIN: &str = "agent:main:main";

    #[test]
    fn the_gateways_default_is_four_oclock() {
        let all = || vec!["default".to_owned(), "default".to_owned()];
        assert_eq!(reported("{}", MAIN, None), ("daily", 4.0, 0.0, all()));
    }

    #[test]
    fn the_channel_comes_before_the_type_and_that_before_the_rest() {
        let config = "{ session: { idleMinutes: 5, reset: { mode: 'daily', atHour: 6 },
            resetByType: { group: { mode: 'idle', idleMinutes: 30 }, dm: { atHour: 23 }, thread: {} },
            resetByChannel: { slack: { mode: 'idle' } } } }";
        let of = |key: &str, channel| {
            let (mode, hour, minutes, _) = reported(config, key, channel);
            (mode, hour, minutes)
        };
        assert_eq!(of(MAIN, None), ("daily", 23.0, 5.0));
        assert_eq!(of("agent:main:telegram:group:1", Some("telegram")), ("idle", 6.0, 30.0));
        assert_eq!(of("agent:main:telegram:group:1:topic:2", None), ("daily", 6.0, 5.0));
        assert_eq!(of("agent:main:slack:channel:c", Some(" Slack ")), ("idle", 4.0, 60.0));
        let keys = reported(config, "agent:main:telegram:group:1", None).3;
        assert_eq!(
            keys,
            [
                "session.resetByType.group.mode",
                "session.reset.atHour",
                "session.resetByType.group.idleMinutes"
            ]
        );
    }

    #[test]
    fn the_old_key_decides_the_mode_only_without_newer_keys() {
        let of = |config: &str| reported(config, MAIN, None);
        assert_eq!(of("{ session: { idleMinutes: 1 } }").2, 1.0);
        assert_eq!(of("{ session: { idleMinutes: 90 } }").0, "idle");
        assert_eq!(of("{ session: { idleMinutes: 90, resetByType: {} } }").0, "daily");
        assert_eq!(of("{ session: { idleMinutes: 90, reset: {} } }").2, 90.0);
    }

    fn next(config: &str, updated: &str, zone: &str) -> String {
        let zone = TimeZone::get(zone).unwrap();
        let updated: Timestamp = updated.parse().unwrap();
        let next =
            next_reset(&policy(config, MAIN, None), Moment::from_whole(updated.as_millisecond()), &zone)
                .unwrap();
        format!("{} {}", Timestamp::from_millisecond(next.at_ms.whole()).unwrap(), next.mode.as_str())
    }

    #[test]
    fn the_next_reset_is_the_first_that_applies_in_the_hosts_zone() {
        assert_eq!(next("{}", "2026-03-05T02:59:00Z", "UTC"), "2026-03-05T04:00:00Z daily");
        assert_eq!(next("{}", "2026-03-05T04:00:00Z", "UTC"), "2026-03-06T04:00:00Z daily");
        assert_eq!(next("{}", "2026-03-05T02:59:00Z", "Europe/Berlin"), "2026-03-05T03:00:00Z daily");
        assert_eq!(next("{}", "2026-03-05T20:30:00Z", "Asia/Shanghai"), "2026-03-06T20:00:00Z daily");
        let idle = "{ session: { reset: { mode: 'daily', idleMinutes: 30 } } }";
        assert_eq!(next(idle, "2026-03-05T10:00:00Z", "UTC"), "2026-03-05T10:30:00Z idle");
        assert_eq!(next(idle, "2026-03-05T03:45:00Z", "UTC"), "2026-03-05T04:00:00Z daily");
    }

    #[test]
    fn an_hour_that_the_clocks_leave_out_is_the_next_one() {
        let at_two = "{ session: { reset: { atHour: 2 } } }";
        assert_eq!(next(at_two, "2026-03-28T12:00:00Z", "Europe/Berlin"), "2026-03-29T01:00:00Z daily");
    }
}
