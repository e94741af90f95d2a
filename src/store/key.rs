//! Session keys: the routing key of a session and the facts in its text (store D).
//!
//! For example, `agent:main:telegram:group:-100123:topic:7` is a topic of a Telegram group that the agent `main`
//! serves.

use crate::gateway::config::normalise_agent_id;

/// Kind of a session, for lists and filters (store D5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionKind {
    Main,
    /// Chat with one person.
    Direct,
    Group,
    Channel,
    /// Room, in older data.
    Room,
    /// Run of a scheduled job.
    Cron,
    /// Web hook.
    Hook,
    /// Started by another session.
    Subagent,
    /// Driven through the agent client protocol.
    Acp,
    /// Slash command.
    Slash,
    /// The one session of `session.scope: "global"`.
    Global,
    /// The key `unknown`, for a chat that the gateway could not identify.
    Unknown,
    /// Key of any other shape.
    Other,
    /// Transcript without a record (store G).
    Orphan,
    /// Archived transcript (store F1).
    Archive,
    /// Session of the pi coding agent (store R).
    Pi,
    /// Transcript that the user named by its path.
    File,
}

impl SessionKind {
    /// Returns the word for screen and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Direct => "direct",
            Self::Group => "group",
            Self::Channel => "channel",
            Self::Room => "room",
            Self::Cron => "cron",
            Self::Hook => "hook",
            Self::Subagent => "subagent",
            Self::Acp => "acp",
            Self::Slash => "slash",
            Self::Global => "global",
            Self::Unknown => "unknown",
            Self::Other => "other",
            Self::Orphan => "orphan",
            Self::Archive => "archive",
            Self::Pi => "pi",
            Self::File => "file",
        }
    }
}

/// A parsed key (store D1). Texts are in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParsedKey {
    /// `agent:<id>:<rest>`.
    Agent {
        /// Normalised agent id.
        agent: String,
        rest: String,
    },
    /// Starts with `agent` but has no agent id or nothing after it.
    Malformed,
    /// Alias or legacy key; it belongs to the agent whose store holds it, else to the default agent.
    Bare(String),
}

/// Parses a key: trimmed, lower case, empty parts dropped (store D1).
pub fn parse_key(key: &str) -> ParsedKey {
    let key = key.trim().to_lowercase();
    let parts: Vec<&str> = key.split(':').filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        ["agent", agent, rest @ ..] if !rest.is_empty() => {
            ParsedKey::Agent { agent: normalise_agent_id(agent), rest: rest.join(":") }
        }
        ["agent", ..] if key.starts_with("agent:") => ParsedKey::Malformed,
        parts => ParsedKey::Bare(parts.join(":")),
    }
}

/// Returns the part after the agent, or the whole of a key without one. Lower case.
pub fn key_without_agent(key: &str) -> String {
    match parse_key(key) {
        ParsedKey::Agent { rest, .. } | ParsedKey::Bare(rest) => rest,
        ParsedKey::Malformed => key.trim().to_lowercase(),
    }
}

/// Returns the kind for a key and its record's `chat_type` (store D5, first match).
pub fn session_kind(key: &str, chat_type: Option<&str>) -> SessionKind {
    let rest = key_without_agent(key);
    let tokens: Vec<&str> = rest.split(':').collect();
    let has = |token: &str| tokens.contains(&token);
    let shapes = [
        (rest == "global", SessionKind::Global),
        (rest == "unknown", SessionKind::Unknown),
        (rest.starts_with("cron:"), SessionKind::Cron),
        (rest.starts_with("hook:"), SessionKind::Hook),
        (rest.starts_with("subagent:") || rest.contains(":subagent:"), SessionKind::Subagent),
        (rest.starts_with("acp:"), SessionKind::Acp),
        (has("slash"), SessionKind::Slash),
        (has("group") || chat_type == Some("group"), SessionKind::Group),
        (has("channel"), SessionKind::Channel),
        (has("room"), SessionKind::Room),
        (has("direct") || has("dm"), SessionKind::Direct),
        (rest == "main", SessionKind::Main),
        // The key has no kind; the record may have one.
        (chat_type == Some("channel"), SessionKind::Channel),
        (chat_type == Some("room"), SessionKind::Room),
        (chat_type == Some("direct"), SessionKind::Direct),
    ];
    shapes.into_iter().find(|(matches, _)| *matches).map_or(SessionKind::Other, |(_, kind)| kind)
}

/// Thread id, and the key of its chat (store D6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread<'a> {
    /// Key of the chat, as written.
    pub parent: &'a str,
    /// Text after `:thread:` or `:topic:`; may be empty.
    pub id: &'a str,
}

/// Splits a key at its last `:thread:` or `:topic:`, in any case.
pub(super) fn parse_thread(key: &str) -> Option<Thread<'_>> {
    // ASCII folding keeps byte positions.
    let folded = key.to_ascii_lowercase();
    let marks = [":thread:", ":topic:"].into_iter();
    let (at, mark) = marks.filter_map(|mark| folded.rfind(mark).map(|at| (at, mark))).max()?;
    Some(Thread { parent: &key[..at], id: &key[at + mark.len()..] })
}

/// Whether this is the second key of a cron run, whose record equals that of the base key (store D4).
pub fn is_cron_run(key: &str) -> bool {
    // No other letter has one of these as its small letter.
    if !key.split(':').any(|part| part.trim().eq_ignore_ascii_case("cron")) {
        return false;
    }
    let rest = key_without_agent(key);
    let parts: Vec<&str> = rest.split(':').collect();
    matches!(parts.as_slice(), ["cron", job, "run", run] if !job.is_empty() && !run.is_empty())
}

/// Returns the key of the session that started a nested sub-agent or a cron run, as the key itself names it (store D3,
/// D4). `agent:main:subagent:x` names none.
pub fn key_of_parent(key: &str) -> Option<&str> {
    // ASCII folding keeps byte positions.
    let folded = key.to_ascii_lowercase();
    let at = if is_cron_run(key) { folded.rfind(":run:") } else { folded.rfind(":subagent:") }?;
    Some(&key[..at]).filter(|parent| !matches!(parse_key(parent), ParsedKey::Malformed) && !parent.is_empty())
}

/// The other side of a chat, from the key (store D3).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Peer {
    /// `telegram`, `slack`, …
    pub channel: Option<String>,
    /// Account, on a channel with several.
    pub account: Option<String>,
    /// Id of the person, group or channel, without a thread; may contain `:`.
    pub id: Option<String>,
}

/// Parses `[<channel>:[<account>:]](direct|dm|group|channel|room|slash):<id>`.
pub fn parse_peer(key: &str) -> Peer {
    let rest = key_without_agent(key);
    let rest = parse_thread(&rest).map_or(rest.as_str(), |thread| thread.parent);
    let tokens: Vec<&str> = rest.split(':').collect();
    let is_kind = |token: &&str| ["direct", "dm", "group", "channel", "room", "slash"].contains(token);
    let Some(at) = tokens.iter().take(3).position(is_kind) else { return Peer::default() };
    let text = |token: &&str| (*token).to_owned();
    Peer {
        channel: (at > 0).then(|| text(&tokens[0])),
        account: (at > 1).then(|| text(&tokens[1])),
        id: Some(tokens[at + 1..].join(":")).filter(|id| !id.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(agent: &str, rest: &str) -> ParsedKey {
        ParsedKey::Agent { agent: agent.into(), rest: rest.into() }
    }

    #[test]
    fn keys_are_taken_apart_without_empty_parts_and_case() {
        for (key, expected) in [
            ("agent:main:main", agent("main", "main")),
            (" Agent:Ops:Telegram:DM:123 ", agent("ops", "telegram:dm:123")),
            ("agent::main::x:", agent("main", "x")),
            ("agent:A b:x", agent("a-b", "x")),
            ("agent:main", ParsedKey::Malformed),
            ("agent:", ParsedKey::Malformed),
            ("agent::", ParsedKey::Malformed),
            ("agent", ParsedKey::Bare("agent".into())),
            ("global", ParsedKey::Bare("global".into())),
            ("Telegram:Slash:5", ParsedKey::Bare("telegram:slash:5".into())),
            ("", ParsedKey::Bare(String::new())),
            (":::", ParsedKey::Bare(String::new())),
        ] {
            assert_eq!(parse_key(key), expected, "{key:?}");
        }
    }

    #[test]
    fn every_shape_of_key_has_its_kind() {
        for (rest, kind) in [
            ("main", SessionKind::Main),
            ("direct:42", SessionKind::Direct),
            ("telegram:direct:42", SessionKind::Direct),
            ("telegram:acct:dm:42", SessionKind::Direct),
            ("telegram:group:-100:topic:5", SessionKind::Group),
            ("slack:channel:c1:thread:17.5", SessionKind::Channel),
            ("matrix:room:!x", SessionKind::Room),
            ("subagent:0f", SessionKind::Subagent),
            ("telegram:direct:42:subagent:0f", SessionKind::Subagent),
            ("acp:0f", SessionKind::Acp),
            ("cron:daily", SessionKind::Cron),
            ("cron:daily:run:0f", SessionKind::Cron),
            ("hook:gmail:1", SessionKind::Hook),
            ("telegram:slash:42", SessionKind::Slash),
            ("twitch:somebody", SessionKind::Other),
        ] {
            assert_eq!(session_kind(&format!("agent:main:{rest}"), None), kind, "{rest}");
            assert_eq!(session_kind(rest, None), kind, "bare {rest}");
        }
        assert_eq!(session_kind("global", None), SessionKind::Global);
        assert_eq!(session_kind("UNKNOWN", None), SessionKind::Unknown);
        assert_eq!(session_kind("agent:main", None), SessionKind::Other);
    }

    #[test]
    fn the_row_shows_the_kind_where_the_key_does_not() {
        assert_eq!(session_kind("agent:main:twitch:x", Some("group")), SessionKind::Group);
        assert_eq!(session_kind("agent:main:twitch:x", Some("direct")), SessionKind::Direct);
        assert_eq!(session_kind("agent:main:main", Some("direct")), SessionKind::Main);
        assert_eq!(session_kind("agent:main:cron:x", Some("group")), SessionKind::Cron);
    }

    #[test]
    fn the_last_thread_mark_counts() {
        for (key, expected) in [
            ("agent:main:telegram:group:-100:topic:5", Some(("agent:main:telegram:group:-100", "5"))),
            ("a:thread:1:TOPIC:2", Some(("a:thread:1", "2"))),
            ("a:topic:1:thread:x:y", Some(("a:topic:1", "x:y"))),
            ("İ:thread:1", Some(("İ", "1"))),
            ("a:thread:", Some(("a", ""))),
            ("thread:1", None),
        ] {
            let found = parse_thread(key).map(|thread| (thread.parent, thread.id));
            assert_eq!(found, expected, "{key}");
        }
    }

    #[test]
    fn only_the_key_of_a_single_job_run_is_a_cron_run() {
        for (key, twin) in [
            ("agent:main:cron:daily:run:0f", true),
            ("agent:main:cron:daily", false),
            ("agent:main:cron:daily:run", false),
            ("agent:main:cron:a:run:b:c", false),
        ] {
            assert_eq!(is_cron_run(key), twin, "{key}");
        }
    }

    #[test]
    fn the_key_of_a_nested_sub_agent_or_of_a_run_names_its_parent() {
        for (key, parent) in [
            ("agent:main:subagent:a", None),
            ("agent:main:subagent:a:subagent:b", Some("agent:main:subagent:a")),
            ("agent:main:telegram:direct:42:subagent:b", Some("agent:main:telegram:direct:42")),
            ("agent:main:cron:daily", None),
            ("agent:main:cron:daily:run:0f", Some("agent:main:cron:daily")),
            (":subagent:x", None),
        ] {
            assert_eq!(key_of_parent(key), parent, "{key}");
        }
    }

    #[test]
    fn the_peer_is_read_from_the_key() {
        let peer = |channel: &str, account: &str, id: &str| {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            Peer { channel: some(channel), account: some(account), id: some(id) }
        };
        for (key, expected) in [
            ("agent:main:telegram:direct:42", peer("telegram", "", "42")),
            ("agent:main:telegram:acct:direct:42", peer("telegram", "acct", "42")),
            ("agent:main:telegram:group:-100:topic:5", peer("telegram", "", "-100")),
            ("agent:main:matrix:channel:!a:b.org", peer("matrix", "", "!a:b.org")),
            ("agent:main:direct:42", peer("", "", "42")),
            ("agent:main:main", Peer::default()),
        ] {
            assert_eq!(parse_peer(key), expected, "{key}");
        }
    }
}
