//! The turn limit of a session: the number of user turns of history that are sent, looked up in the channel settings
//! by the session's routing key (pruning 2.3, 2.4). Only three places count: the person's own setting, the channel's
//! default for direct messages, the channel's default for groups.
//!
//! For example, `agent:main:telegram:dm:123` reads `channels.telegram.dms.123.historyLimit`, then
//! `channels.telegram.dmHistoryLimit`.

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

pub(super) const CONVERSATION_KINDS: [&str; 4] = ["dm", "direct", "channel", "group"];

/// Like [`history_limit`], but for a version that has limits only for some kinds, or that ignores the case of channel names
/// (releases R81).
pub(super) fn find_history_limit(
    key: &str,
    config: &Value,
    kinds: &[&str],
    any_case: bool,
) -> Option<HistoryLimit> {
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
