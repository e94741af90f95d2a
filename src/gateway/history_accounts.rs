//! The turn limit under a ruleset. Gateways of 2026.8 and later look first in the settings of the account, if the
//! session key names one (pruning 8, row "Limit lookup"). A key does not contain route hints and identity links, so
//! clawscope ignores them.

use super::history_limit::{
    CONVERSATION_KINDS, HistoryLimit, find_history_limit, history_limit, without_thread,
};
use super::ruleset::{HistoryLookup, Rules};
use crate::js::Value;

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
