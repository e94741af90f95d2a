//! The turn limit of a session: the number of user turns of history that are sent, looked up in the channel settings
//! by the session's routing key (pruning 2.3, 2.4). Only three places count: the person's own setting, the channel's
//! default for direct messages, the channel's default for groups.
//!
//! For example, `agent:main:telegram:dm:123` reads `channels.telegram.dms.123.historyLimit`, then
//! `channels.telegram.dmHistoryLimit`.

use super::ruleset::{HistoryLookup, Rules};
use crate::js::{self, Value};

#[derive(Debug, Clone, PartialEq)]
pub struct HistoryLimit {
    /// The configured value. Anything but a number above 0 cuts nothing.
    pub value: Value,
    /// The path in `openclaw.json`: `channels.telegram.dms.123.historyLimit`.
    pub setting: String,
}

impl HistoryLimit {
    /// The limit in user turns, as JavaScript compares it; NaN for a value that is not a number.
    pub fn turns(&self) -> f64 {
        js::to_number(Some(&self.value))
    }
}

/// Returns the limit of a session under the reference rules (pruning 2.3). `config` is the whole configuration. Only
/// keys such as `[agent:<id>:]<channel>:<kind>:<peer>` have one; keys with an account segment do not.
pub fn history_limit(key: &str, config: &Value) -> Option<HistoryLimit> {
    find_history_limit(key, config, &CONVERSATION_KINDS, false)
}

const CONVERSATION_KINDS: [&str; 4] = ["dm", "direct", "channel", "group"];

/// Like [`history_limit`], but for a version that has limits only for some kinds, or that ignores the case of channel names
/// (releases R81).
fn find_history_limit(key: &str, config: &Value, kinds: &[&str], any_case: bool) -> Option<HistoryLimit> {
    let segments: Vec<&str> = key.split(':').filter(|segment| !segment.is_empty()).collect();
    let segments = match segments.as_slice() {
        ["agent", _, rest @ ..] if !rest.is_empty() => rest,
        all => all,
    };
    let (channel, rest) = segments.split_first()?;
    let (kind, peer) = rest.split_first()?;
    let channel = channel.to_lowercase();
    let channels = config.get("channels")?;
    let any = || {
        let mut members = channels.as_object()?.iter().filter(|_| any_case);
        members.find(|(name, _)| name.to_string_lossy().trim().to_lowercase() == channel).map(|(_, own)| own)
    };
    let settings = channels.get(&channel).or_else(any).filter(|settings| settings.as_object().is_some())?;
    let found = |path: &str, value: &Value| HistoryLimit {
        value: value.clone(),
        setting: format!("channels.{channel}.{path}"),
    };
    let default = |name: &str| settings.get(name).map(|value| found(name, value));
    match kind.to_lowercase().as_str() {
        kind if !kinds.contains(&kind) => None,
        "dm" | "direct" => {
            let peer = peer.join(":");
            let peer = without_thread(&peer);
            let own = settings.get("dms").and_then(|dms| dms.get(peer)?.get("historyLimit"));
            match own.filter(|_| !peer.is_empty()) {
                Some(value) => Some(found(&format!("dms.{peer}.historyLimit"), value)),
                None => default("dmHistoryLimit"),
            }
        }
        "channel" | "group" => default("historyLimit"),
        _ => None,
    }
}

/// Removes the thread from a peer id: one `:thread:` or `:topic:` with digits at the very end, in any ASCII case,
/// unless a line break precedes it (pruning 2.4).
pub fn without_thread(peer: &str) -> &str {
    let before_digits = peer.trim_end_matches(|char: char| char.is_ascii_digit());
    if before_digits.len() == peer.len() {
        return peer;
    }
    let before = [":thread:", ":topic:"].iter().find_map(|mark| {
        let at = before_digits.len().checked_sub(mark.len())?;
        before_digits.get(at..)?.eq_ignore_ascii_case(mark).then(|| &before_digits[..at])
    });
    before.filter(|before| !before.contains(['\n', '\r', '\u{2028}', '\u{2029}'])).unwrap_or(peer)
}

// The turn limit under a ruleset. Gateways of 2026.8 and later look first in the settings of the account, if the
// session key names one (pruning 8, row "Limit lookup"). A key does not contain route hints and identity links, so
// clawscope ignores them.

/// Returns the limit of a session under a ruleset. `config` is the whole configuration.
pub fn history_limit_under(rules: &Rules, key: &str, config: &Value) -> Option<HistoryLimit> {
    let places = |kinds: &[&str]| find_history_limit(key, config, kinds, false);
    match rules.history_lookup {
        HistoryLookup::Dm => places(&["dm"]),
        HistoryLookup::Direct => places(&["dm", "direct"]),
        HistoryLookup::Channel => history_limit(key, config),
        HistoryLookup::NamedChannel => find_history_limit(key, config, &CONVERSATION_KINDS, true),
        HistoryLookup::Account => account_limit(key, config),
    }
}

/// Whether a segment names a conversation with one person (true) or with several (false); `None` for neither.
fn is_direct(segment: &str) -> Option<bool> {
    match segment.to_lowercase().as_str() {
        "dm" | "direct" => Some(true),
        "group" | "channel" => Some(false),
        _ => None,
    }
}

/// `[agent:<id>:]<channel>:[<account>:]<kind>:<peer>`; empty segments count.
fn account_limit(key: &str, config: &Value) -> Option<HistoryLimit> {
    let segments: Vec<&str> = key.split(':').collect();
    let segments = match segments.as_slice() {
        ["agent", _, rest @ ..] if !rest.is_empty() => rest,
        all => all,
    };
    let (channel, rest) = segments.split_first()?;
    let (channel, settings) = find_member(config.get("channels")?, channel)?;
    let (account, direct, peer) = match rest {
        [kind, peer @ ..] if is_direct(kind).is_some() => (None, is_direct(kind)?, peer),
        [account, kind, peer @ ..] => (Some(*account), is_direct(kind)?, peer),
        _ => return None,
    };
    let account = account.and_then(|account| find_member(settings.get("accounts")?, account));
    let peer = peer.join(":");
    let peer = without_thread(&peer);
    // The account's keys override the channel's, one by one.
    let places = account.map(|(name, own)| (format!("channels.{channel}.accounts.{name}"), own));
    let places: Vec<(String, &Value)> =
        places.into_iter().chain([(format!("channels.{channel}"), settings)]).collect();
    let find = |key: &str| {
        let (place, value) = places.iter().find_map(|(place, own)| Some((place, own.get(key)?)))?;
        Some((format!("{place}.{key}"), value))
    };
    let found = |(setting, value): (String, &Value)| HistoryLimit { value: value.clone(), setting };
    if !direct {
        return find("historyLimit").map(found);
    }
    let own = find("dms").and_then(|(place, dms)| {
        Some((format!("{place}.{peer}.historyLimit"), dms.get(peer)?.get("historyLimit")?))
    });
    own.filter(|_| !peer.is_empty()).or_else(|| find("dmHistoryLimit")).map(found)
}

/// Finds a member by name, ignoring case and surrounding white space; returns its name as written.
fn find_member<'a>(object: &'a Value, name: &str) -> Option<(String, &'a Value)> {
    let plain = |name: &str| name.trim().to_lowercase();
    let wanted = plain(name);
    let mut members = object.as_object()?.iter();
    let found =
        members.find(|(key, value)| plain(&key.to_string_lossy()) == wanted && value.as_object().is_some());
    found.map(|(key, value)| (key.to_string_lossy(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANNELS: &str = r#"{"channels":{"telegram":{"dmHistoryLimit":10,"historyLimit":20,"dms":{"123":{"historyLimit":5},
        "0":{"historyLimit":0},"a:b":{"historyLimit":7},"x":{},"n":null}},"slack":{"historyLimit":3},"broken":["x"]}}"#;

    fn limit(key: &str) -> Option<f64> {
        history_limit(key, &js::parse(CHANNELS).unwrap()).map(|limit| limit.turns())
    }

    #[test]
    fn every_form_of_the_key_finds_a_persons_limit() {
        for key in [
            "telegram:dm:123",
            "agent:main:telegram:dm:123",
            "agent:main:TELEGRAM:DM:123",
            "telegram::dm:123",
            "agent::main:telegram:dm:123",
            "agent:main:telegram:direct:123:thread:99",
            "telegram:dm:123:topic:5",
            "telegram:dm:123:THREAD:9",
        ] {
            assert_eq!(limit(key), Some(5.0), "{key}");
        }
        assert_eq!((limit("telegram:dm:0"), limit("telegram:dm:a:b")), (Some(0.0), Some(7.0)));
    }

    #[test]
    fn everyone_else_gets_the_channels_default_for_direct_messages() {
        for key in [
            "telegram:dm:123:thread:9:thread:8",
            "telegram:dm:123:thread:abc",
            "telegram:dm:thread:5",
            "telegram:dm",
            "telegram:dm:x",
            "telegram:dm:n",
        ] {
            assert_eq!(limit(key), Some(10.0), "{key}");
        }
    }

    #[test]
    fn groups_and_channels_have_separate_defaults() {
        assert_eq!(limit("telegram:group:-100:topic:4"), Some(20.0));
        assert_eq!(limit("telegram:channel:9"), Some(20.0));
        assert_eq!(limit("agent:main:slack:group:1"), Some(3.0));
    }

    #[test]
    fn other_keys_have_no_limit() {
        for key in [
            "agent:main:slack:dm:1",
            "agent:main:main",
            "agent:main",
            "telegram",
            "AGENT:main:telegram:dm:123",
            "agent:main:telegram:acct:dm:123",
            "agent:main:telegram:room:1",
            "agent:telegram:dm",
            "broken:dm:1",
            "nowhere:dm:1",
            ":::",
            "",
        ] {
            assert_eq!(limit(key), None, "{key}");
        }
    }

    #[test]
    fn only_the_last_complete_thread_part_is_removed() {
        assert_eq!(without_thread("a:topic:1:thread:2"), "a:topic:1");
        assert_eq!(without_thread(":thread:5"), "");
        for whole in ["thread:5", "a:thread:", "a:thread:5b", "a\nb:thread:5", "a:thread:٣", "é"] {
            assert_eq!(without_thread(whole), whole);
        }
    }

    #[test]
    fn the_limit_names_its_setting() {
        let config = js::parse(CHANNELS).unwrap();
        let setting = |key| history_limit(key, &config).map(|limit| limit.setting);
        assert_eq!(setting("telegram:dm:a:b").as_deref(), Some("channels.telegram.dms.a:b.historyLimit"));
        assert_eq!(setting("telegram:dm:9").as_deref(), Some("channels.telegram.dmHistoryLimit"));
    }
}

#[cfg(test)]
mod history_accounts_tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::js;

    const CHANNELS: &str = r#"{"channels":{"Telegram":{"dmHistoryLimit":10,"historyLimit":20,"dms":{"123":{"historyLimit":5}},
        "accounts":{"work":{"dmHistoryLimit":7,"dms":{"9":{"historyLimit":2}}},"home":{}}}}}"#;

    fn limit(ruleset: Ruleset, key: &str) -> Option<(f64, String)> {
        let limit = history_limit_under(ruleset.rules(), key, &js::parse(CHANNELS).unwrap())?;
        Some((limit.turns(), limit.setting))
    }

    #[test]
    fn the_account_in_the_key_comes_first() {
        let newest = |key: &str| {
            limit(Ruleset::V2026_9_6, key)
                .map(|(turns, setting)| (turns, setting.replace("channels.Telegram.", "")))
        };
        for (key, turns, setting) in [
            ("agent:main:telegram:work:dm:9", 2.0, "accounts.work.dms.9.historyLimit"),
            ("agent:main:telegram:work:dm:123", 7.0, "accounts.work.dmHistoryLimit"),
            ("agent:main:telegram:home:direct:123:thread:4", 5.0, "dms.123.historyLimit"),
            ("agent:main:telegram:nowhere:dm:5", 10.0, "dmHistoryLimit"),
            ("telegram:work:group:1", 20.0, "historyLimit"),
            (" TELEGRAM:dm:123", 5.0, "dms.123.historyLimit"),
        ] {
            assert_eq!(newest(key), Some((turns, setting.to_owned())), "{key}");
        }
    }

    #[test]
    fn an_empty_segment_is_and_the_reference_knows_no_accounts() {
        assert_eq!(limit(Ruleset::V2026_9_6, "telegram::dm:123").map(|found| found.0), Some(5.0));
        assert_eq!(limit(Ruleset::V2026_9_6, "agent::main:telegram:dm:123"), None);
        assert_eq!(limit(Ruleset::V2026_9_6, "agent:main:main"), None);
        assert_eq!(limit(Ruleset::V2026_3_2, "telegram:work:dm:9"), None);
    }
}
