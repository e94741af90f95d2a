//! A document as JSON with a stable schema.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufWriter, Write as _};

use schemars::JsonSchema;
use serde::Serialize;

use crate::export::document::{Document, DocumentEntry, ExportedFate, ExportedPlan};
use crate::js::{Members, Value, iso_text, json_text, write_json};
use crate::plan::PolicyEffect;
use crate::policy::Fate;
use crate::redact::SIGNATURE_KIND;
use crate::session::json::finite;
use crate::store::entry::Role;
use crate::units::{Chars, Moment, Tokens};

/// Version of every JSON shape that clawscope writes. It increases when a key changes its meaning or is removed.
pub const SCHEMA_VERSION: u64 = 1;

/// A session with every entry. Tokens are estimates.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentJson<'a> {
    schema_version: u64,
    format: &'static str,
    session: ExportedSessionJson<'a>,
    provider: &'a str,
    model: &'a str,
    /// Name of the ruleset.
    ruleset: &'a str,
    window: ExportedWindowJson,
    /// Tokens of the prompt by part, and `total`.
    budget: Members<u64>,
    /// The runtime's own estimate of the context; null where the runtime would fail.
    tokens: Option<Tokens>,
    /// The entry that the context ends at.
    leaf: Option<&'a str>,
    /// ISO 8601.
    exported_at: String,
    /// Whether every word is replaced by another of the same shape.
    shape_only: bool,
    /// The removed secrets and images; null if redaction is off.
    redacted: Option<RedactedJson>,
    plan: Option<PlanJson<'a>>,
    entries: Vec<EntryJson<'a>>,
    findings: &'a [String],
}

#[derive(Debug, Serialize, JsonSchema)]
struct ExportedSessionJson<'a> {
    /// The routing key.
    key: &'a str,
    agent: &'a str,
    /// The id of the transcript.
    id: &'a str,
    title: &'a str,
    path: &'a str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ExportedWindowJson {
    tokens: Option<u64>,
    source: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RedactedJson {
    /// Number of secrets, by kind.
    secrets: BTreeMap<&'static str, usize>,
    /// Number of a provider's signatures, which are no secrets.
    signatures: usize,
    images: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PlanJson<'a> {
    tokens_before: u64,
    tokens_after: u64,
    steps: Vec<ExportedPolicyJson>,
    /// Messages that the plan creates.
    made: Vec<NewMessageJson<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct NewMessageJson<'a> {
    /// Position of the next message.
    before: usize,
    message: &'a Value,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ExportedPolicyJson {
    /// The policy.
    step: &'static str,
    #[serde(flatten)]
    effect: EffectJson,
}

/// The effect of a policy.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EffectJson {
    /// Whether it replaced content, even if with the same bytes.
    changed: bool,
    messages_before: usize,
    messages_after: usize,
    /// Estimated tokens before.
    tokens_before: u64,
    /// Estimated tokens after.
    tokens_after: u64,
    /// Number of messages with each fate.
    fates: Members<usize>,
}

impl From<&PolicyEffect> for EffectJson {
    fn from(effect: &PolicyEffect) -> Self {
        Self {
            changed: effect.changed,
            messages_before: effect.messages_before,
            messages_after: effect.messages_after,
            tokens_before: effect.tokens_before,
            tokens_after: effect.tokens_after,
            fates: Fate::ALL.iter().map(|fate| (fate.word(), effect.count(*fate))).collect(),
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct EntryJson<'a> {
    entry: &'a str,
    parent: Option<&'a str>,
    /// Line in the file, from 1.
    line: u64,
    /// Number of branches between it and the trunk.
    depth: usize,
    /// Whether it is on the path to the leaf.
    active: bool,
    leaf: bool,
    /// Its position in the context.
    context: Option<usize>,
    r#type: &'static str,
    role: Option<&'static str>,
    tool: Option<&'a str>,
    /// Tokens of its message.
    tokens: Option<u64>,
    /// Chars of its message as pi counts them.
    chars: Option<u64>,
    /// ms since 1970.
    time: Option<Moment>,
    label: Option<&'a str>,
    fate: Option<FateJson>,
    /// The entry itself.
    value: &'a Value,
    /// Its message under the plan, if that differs.
    after: Option<&'a Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FateJson {
    fate: &'static str,
    reason: &'static str,
    rule: &'static str,
    tokens_before: u64,
    tokens_after: u64,
}

/// Builds the document's object.
pub fn json(document: &Document) -> DocumentJson<'_> {
    let total = document.total_tokens();
    DocumentJson {
        schema_version: SCHEMA_VERSION,
        format: "clawscope-session",
        session: ExportedSessionJson {
            key: &document.key,
            agent: &document.agent,
            id: &document.id,
            title: &document.title,
            path: &document.path,
        },
        provider: &document.provider,
        model: &document.model,
        ruleset: &document.ruleset,
        window: ExportedWindowJson { tokens: document.window, source: document.window_source },
        budget: document.budget.iter().copied().chain([("total", total)]).collect(),
        tokens: document.estimate.map(|estimate| estimate.tokens),
        leaf: document.leaf.as_deref(),
        exported_at: iso_text(document.now_ms),
        shape_only: document.shape_only,
        redacted: document.redacted.clone().map(|mut secrets| {
            let signatures = secrets.remove(SIGNATURE_KIND).unwrap_or_default();
            RedactedJson { secrets, signatures, images: document.removed_images }
        }),
        plan: document.plan.as_ref().map(plan_json),
        entries: document.entries.iter().map(entry_json).collect(),
        findings: &document.diagnostics,
    }
}

fn plan_json(plan: &ExportedPlan) -> PlanJson<'_> {
    let made = plan.new_messages.iter();
    let step = |effect: &PolicyEffect| ExportedPolicyJson {
        step: effect.policy.word(),
        effect: EffectJson::from(effect),
    };
    PlanJson {
        tokens_before: plan.tokens_before,
        tokens_after: plan.tokens_after,
        steps: plan.policies.iter().map(step).collect(),
        made: made.map(|(before, message)| NewMessageJson { before: *before, message }).collect(),
    }
}

fn entry_json(node: &DocumentEntry) -> EntryJson<'_> {
    EntryJson {
        entry: &node.id,
        parent: node.parent.as_deref(),
        line: node.line,
        depth: node.depth,
        active: node.is_active,
        leaf: node.is_leaf,
        context: node.position,
        r#type: node.kind.as_str(),
        role: node.role.map(Role::as_str),
        tool: node.tool.as_deref(),
        tokens: node.tokens,
        chars: node.chars.map(Chars::whole),
        time: finite(node.time),
        label: node.label.as_deref(),
        fate: node.fate.map(fate_json),
        value: &node.value,
        after: node.planned_message.as_ref(),
    }
}

fn fate_json(reported: ExportedFate) -> FateJson {
    FateJson {
        fate: reported.fate.word(),
        reason: reported.reason.word(),
        rule: reported.reason.rule(),
        tokens_before: reported.tokens_before,
        tokens_after: reported.tokens_after,
    }
}

/// An answer with the version of its JSON.
pub trait JsonOutput: Serialize {
    const VERSION: u64 = SCHEMA_VERSION;
}

/// An answer with its version.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "{T}")]
pub struct VersionedOutput<T> {
    /// Increases when a key changes its meaning or is removed.
    schema_version: u64,
    #[serde(flatten)]
    output: T,
}

/// Encodes a command's answer, or the same from a screen: JSON in one line, `schemaVersion` first.
pub fn to_line<T: JsonOutput>(output: &T) -> io::Result<String> {
    Ok(escaped(&json_text(&VersionedOutput { schema_version: T::VERSION, output })?))
}

/// Writes the text of [`to_line`] and a line end, without a copy of it in memory.
pub fn write_line<T: JsonOutput>(writer: &mut dyn io::Write, output: &T) -> io::Result<()> {
    let mut writer = BufWriter::new(EscapingWriter(writer));
    write_json(&mut writer, &VersionedOutput { schema_version: T::VERSION, output })?;
    writer.write_all(b"\n")?;
    writer.flush()
}

/// Escapes a JSON text that is written in whole characters: a buffer before it joins writes, and splits none.
struct EscapingWriter<'a>(&'a mut dyn io::Write);

impl io::Write for EscapingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_ascii() && memchr::memchr(0x7f, bytes).is_none() {
            self.0.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        if text.contains(needs_escape) {
            self.0.write_all(escaped(text).as_bytes())?;
        } else {
            self.0.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Escapes all characters of a JSON text that can act on a terminal, without a change of its meaning.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        if needs_escape(char) {
            _ = write!(out, "\\u{:04x}", char as u32);
        } else {
            out.push(char);
        }
    }
    out
}

/// C1 controls, DEL, line separators and direction marks, all in the basic plane. JSON escapes the other controls
/// itself.
fn needs_escape(char: char) -> bool {
    matches!(char, '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
