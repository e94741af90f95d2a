//! One record of a `sessions.json` or of a database: the fields that clawscope knows, and the rest as recorded (store
//! C).

use super::key::parse_peer;
use crate::js::{self, Object, Value};
use crate::units::{Moment, Tokens};

/// Text of all skills, repeated in every record and unused here: most of the file.
const SKILLS_KEY: &str = "skillsSnapshot";
/// Sizes of the system prompt: most of the rest of the file.
const PROMPT_REPORT_KEY: &str = "systemPromptReport";

/// One session record. Every field may be missing; [`Self::raw`] has those without a field here (store C5).
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRecord {
    /// Key as written in the file.
    pub key: String,
    pub session_id: Option<String>,
    /// Ms since the epoch.
    pub updated_at: Option<Moment>,
    /// Path of the transcript as written; open it only through `locate`.
    pub session_file: Option<String>,
    /// Last used model, else the one chosen for this session (store C9).
    pub model: Option<String>,
    pub provider: Option<String>,
    /// Size of the last prompt in tokens; `None` when the record marks it as stale (store C7).
    pub total_tokens: Option<Tokens>,
    /// Context window at the last run, in tokens.
    pub context_tokens: Option<Tokens>,
    pub compaction_count: Option<f64>,
    /// `direct`, `group`, `channel`; `room` in older data.
    pub chat_type: Option<String>,
    /// `telegram`, `slack`, …
    pub channel: Option<String>,
    /// Display name (store C10), never derived from the transcript.
    pub display_name: Option<String>,
    /// Label that a person set.
    pub label: Option<String>,
    /// Key of the session that started this one.
    pub spawned_by: Option<String>,
    /// JSON text of the recorded object without the skills and the system prompt report. As a value it would take five
    /// times the memory, and a store has tens of thousands.
    raw_text: Box<str>,
    /// JSON text of the system prompt report.
    prompt_report_text: Option<Box<str>>,
}

impl SessionRecord {
    pub(super) fn new(key: String, raw: Value) -> Self {
        Self::with_text(key, raw, None)
    }

    /// `text` is the JSON text that was parsed to `raw`, if it is known.
    fn with_text(key: String, mut raw: Value, text: Option<&str>) -> Self {
        // Without escapes, `member` finds every name in it.
        let is_kept =
            |text: &&str| !["\\", SKILLS_KEY, PROMPT_REPORT_KEY].iter().any(|part| text.contains(part));
        if let Some(text) = text.filter(is_kept) {
            return Self::from_members(key, &raw, text.into(), None);
        }
        let object = raw.as_object_mut();
        let report = object.and_then(|object| {
            object.remove(SKILLS_KEY);
            object.remove(PROMPT_REPORT_KEY)
        });
        Self::from_members(
            key,
            &raw,
            js::stringify(&raw).into(),
            report.map(|report| js::stringify(&report).into()),
        )
    }

    /// Builds a record from its JSON text; `None` when that is not an object. Members that are not kept are only
    /// validated.
    pub(super) fn from_text(key: String, text: &str) -> Option<Self> {
        let mut fields = js::fields(text).ok()?;
        fields.retain(|field| field.key != SKILLS_KEY);
        let report = fields
            .iter()
            .rfind(|field| field.key == PROMPT_REPORT_KEY)
            .map(|field| text[field.value.clone()].into());
        let kept = fields.into_iter().filter(|field| field.key != PROMPT_REPORT_KEY);
        let kept = kept.map(|field| Ok((field.key, js::parse(&text[field.value])?)));
        let members: Result<Object, js::SyntaxError> = kept.collect();
        let raw = members.ok()?.into();
        Some(Self::from_members(key, &raw, js::stringify(&raw).into(), report))
    }

    fn from_members(
        key: String,
        raw: &Value,
        raw_text: Box<str>,
        prompt_report_text: Option<Box<str>>,
    ) -> Self {
        let text = |name: &str| trimmed_text(raw.get(name));
        let number = |name: &str| raw.get(name).and_then(Value::as_f64).filter(|number| number.is_finite());
        let (provider, model) = match text("model") {
            Some(model) => (text("modelProvider"), Some(model)),
            None => (text("providerOverride").or_else(|| text("modelProvider")), text("modelOverride")),
        };
        let fresh = raw.get("totalTokensFresh") != Some(&Value::Bool(false));
        Self {
            session_id: text("sessionId"),
            updated_at: number("updatedAt").map(Moment),
            session_file: text("sessionFile"),
            model,
            provider,
            total_tokens: number("totalTokens").filter(|tokens| fresh && *tokens >= 0.0).map(Tokens),
            context_tokens: number("contextTokens").filter(|tokens| *tokens > 0.0).map(Tokens),
            compaction_count: number("compactionCount"),
            chat_type: text("chatType"),
            channel: channel_of(raw),
            display_name: display_name(&key, raw),
            label: text("label"),
            spawned_by: text("spawnedBy"),
            key,
            raw_text,
            prompt_report_text,
        }
    }

    /// Returns the recorded object without the skills and the system prompt report.
    pub fn raw(&self) -> Value {
        js::parse(&self.raw_text).unwrap_or(Value::Null)
    }

    /// Returns a member of the recorded object.
    pub fn member(&self, name: &str) -> Option<Value> {
        // Most records lack most members, and names of members are written without escapes.
        if !self.raw_text.contains(name) {
            return None;
        }
        let fields = js::fields(&self.raw_text).ok()?;
        let field = fields.into_iter().rfind(|field| field.key == name)?;
        js::parse(&self.raw_text[field.value]).ok()
    }
}

impl SessionRecord {
    /// Builds a record from a database row (sqlite D). A token total counts only together with a version (sqlite D3),
    /// the delivery may name the channel (sqlite D1), and a `sessionFile` is a marker, not a path (sqlite D5). `text` is the
    /// JSON text that was parsed to `raw`, if there is one.
    pub(super) fn from_database(key: String, raw: Value, text: Option<&str>) -> Self {
        let delivery = |part: &str| trimmed_text(raw.get("delivery")?.get(part)?.get("channel"));
        let delivered = delivery("route").or_else(|| delivery("context"));
        let is_versioned = raw.get("totalTokensVersion").is_some();
        let row = Self::with_text(key, raw, text);
        let channel = row.channel.clone().or(delivered);
        Self { total_tokens: row.total_tokens.filter(|_| is_versioned), session_file: None, channel, ..row }
    }

    /// Returns the key of the session that started this one, else of the one that it belongs to (store C5, sqlite D2).
    pub fn parent(&self) -> Option<String> {
        self.spawned_by.clone().or_else(|| trimmed_text(self.member("parentSessionKey").as_ref()))
    }

    /// Returns the same report as recorded.
    pub fn has_prompt_report(&self) -> bool {
        self.prompt_report_text.is_some()
    }

    pub fn prompt_report_value(&self) -> Option<Value> {
        js::parse(self.prompt_report_text.as_deref()?).ok()
    }
}

/// Returns a trimmed text that is not blank.
pub(super) fn trimmed_text(value: Option<&Value>) -> Option<String> {
    Some(value?.as_str()?.trim().to_string_lossy()).filter(|text| !text.is_empty())
}

/// Returns `channel`; records of older versions name it `provider` (store C3).
fn channel_of(raw: &Value) -> Option<String> {
    let own = trimmed_text(raw.get("channel")).or_else(|| trimmed_text(raw.get("provider")));
    own.or_else(|| trimmed_text(raw.get("lastChannel"))).or_else(|| trimmed_text(raw.get("lastProvider")))
}

/// Returns the display name (rule C10): the stored name, else channel and group, else the label, else the origin of the
/// chat.
fn display_name(key: &str, raw: &Value) -> Option<String> {
    let text = |name: &str| trimmed_text(raw.get(name));
    let peer = parse_peer(key);
    let group = || {
        let channel = channel_of(raw).or(peer.channel)?;
        let group_channel = text("groupChannel").or_else(|| text("room"));
        let token = group_channel.or_else(|| text("subject")).or_else(|| text("space"));
        let token = token.or_else(|| text("groupId")).or(peer.id)?;
        Some(format!("{channel}:{token}"))
    };
    let origin = || trimmed_text(raw.get("origin")?.get("label"));
    text("displayName").or_else(group).or_else(|| text("label")).or_else(origin)
}
