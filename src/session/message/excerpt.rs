//! Reads the one line of text that a transcript row shows for an entry.

use crate::context::{ContentSource, ContextMessage};
use crate::ids::EntryIx;
use crate::js::{JsString, Value};
use crate::redact::{self, SecretDisplay};
use crate::session::LoadedSession;
use crate::session::message::parts::arguments_line;
use crate::store::body::{self, BodyError};
use crate::store::entry::{EntryKind, Replacement, Role};
use crate::store::index::Index;
use crate::store::source::Source;
use crate::transcript::envelope::unwrap_message;

/// Chars of an excerpt; no row is wider.
const EXCERPT_CHARS: usize = 240;
/// Chars that are read for an excerpt: a secret that the excerpt's end cuts must still be recognised.
const READ_CHARS: usize = EXCERPT_CHARS + 512;
/// UTF-16 units that are read of a user message, whose envelope precedes the words.
const ENVELOPE_UNITS: usize = 1 << 18;

/// The text of a row with its secrets masked, not yet escaped for the screen. The unmasked text is kept too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// Mark made of a user message's envelope, to show before the words.
    pub envelope: Option<String>,
    /// The tool, for results and for assistant messages that only call tools.
    pub tool: Option<String>,
    /// The text of the message, the arguments of the call, the summary or the name.
    pub text: String,
    /// An error that the provider or the runtime reports.
    pub error: Option<String>,
    /// The unmasked excerpt, when it has secrets.
    revealed: Option<Box<Excerpt>>,
}

impl Excerpt {
    pub fn with_secrets(&self, secrets: SecretDisplay) -> &Self {
        match (secrets, &self.revealed) {
            (SecretDisplay::Shown, Some(revealed)) => revealed,
            _ => self,
        }
    }

    /// Returns the error, else the envelope mark and the text.
    pub fn line(&self) -> String {
        self.error.clone().unwrap_or_else(|| self.text_with_envelope())
    }

    pub fn text_with_envelope(&self) -> String {
        match &self.envelope {
            Some(mark) if self.text.is_empty() => mark.clone(),
            Some(mark) => format!("{mark} {}", self.text),
            None => self.text.clone(),
        }
    }

    /// Masks before cutting: half a secret would not be recognised.
    fn redact_and_truncate(self) -> Self {
        let hidden = self.map_texts(|text| truncate(&redact::masked(text)));
        let open = self.map_texts(truncate);
        let revealed = (open != hidden).then(|| Box::new(open));
        Self { revealed, ..hidden }
    }

    fn map_texts(&self, change: impl Fn(&str) -> String) -> Self {
        let some = |text: &Option<String>| text.as_deref().map(&change);
        Self {
            envelope: some(&self.envelope),
            tool: some(&self.tool),
            text: change(&self.text),
            error: some(&self.error),
            revealed: None,
        }
    }
}

fn truncate(text: &str) -> String {
    text.chars().take(EXCERPT_CHARS).collect()
}

pub fn read_excerpt(source: &Source, index: &Index, ix: EntryIx) -> Result<Excerpt, BodyError> {
    Ok(read_texts(source, index, ix)?.redact_and_truncate())
}

/// Reads the texts of an entry, neither masked nor cut.
fn read_texts(source: &Source, index: &Index, ix: EntryIx) -> Result<Excerpt, BodyError> {
    let entry = body::read_entry(source, index, ix)?;
    let known = index.entry(ix);
    Ok(match known.kind {
        EntryKind::Message => message_excerpt(source, index, ix, entry.get("message"))?,
        EntryKind::Compaction | EntryKind::BranchSummary => value_excerpt(entry.get("summary")),
        EntryKind::CustomMessage => content_excerpt(entry.get("content")),
        EntryKind::Custom => custom_excerpt(&entry),
        EntryKind::SessionInfo => labelled_excerpt("name", entry.get("name")),
        EntryKind::Label => labelled_excerpt("label", entry.get("label")),
        EntryKind::ThinkingLevelChange => labelled_excerpt("thinking", entry.get("thinkingLevel")),
        EntryKind::ModelChange => labelled_excerpt("model", entry.get("modelId")),
        EntryKind::Reset => labelled_excerpt("reset", entry.get("reason")),
        EntryKind::Leaf => labelled_excerpt("leaf", entry.get("targetId")),
        EntryKind::Usage => usage_excerpt(index, ix, &entry),
        EntryKind::ContextEdit => edit_excerpt(&entry),
        EntryKind::Unknown | EntryKind::Scalar => {
            Excerpt { text: truncated_json(&entry), ..Excerpt::default() }
        }
    })
}

/// Reads the excerpt of an entry as the context has it: edited, or omitted by an edit.
pub fn read_context_excerpt(session: &LoadedSession, ix: EntryIx) -> Result<Excerpt, BodyError> {
    Ok(read_edited(session, ix)?.redact_and_truncate())
}

fn read_edited(session: &LoadedSession, ix: EntryIx) -> Result<Excerpt, BodyError> {
    let index = &session.index;
    let own = read_texts(&session.source, index, ix)?;
    let Some(edit) = session.context.edits.get(&ix) else { return Ok(own) };
    let Some(Replacement::Content(new)) = index.replacement(*edit) else {
        let text = format!("dropped by {} · {}", index.display_id(*edit), own.text);
        return Ok(Excerpt { text, ..own });
    };
    let is_user = index.entry(ix).role() == Some(Role::User);
    let new =
        if is_user { user_excerpt(new.get("content")) } else { content_excerpt(new.get("content")) }.text;
    // A result shows its call; everything else shows its edited content.
    let text =
        if own.tool.is_some() { format!("{} · edited: {new}", own.text) } else { format!("edited: {new}") };
    Ok(Excerpt { text, ..own })
}

/// Reads the excerpt of a context message. Text that a compaction adds to its summary gets its own label.
pub fn read_sent_excerpt(session: &LoadedSession, message: &ContextMessage) -> Result<Excerpt, BodyError> {
    match session
        .index
        .system_message(message.entry)
        .filter(|_| message.content_source == ContentSource::Checkpoint)
    {
        Some(system) => Ok(system_excerpt(system).redact_and_truncate()),
        None => read_context_excerpt(session, message.entry),
    }
}

/// Excerpts a system message: its text, else the sections it sets and the tools it adds and removes.
fn system_excerpt(message: &Value) -> Excerpt {
    let own = content_excerpt(message.get("content"));
    if !own.text.is_empty() {
        return own;
    }
    let sections = message.get("sections").and_then(Value::as_object);
    let names: Vec<String> =
        sections.iter().flat_map(|all| all.iter()).map(|(name, _)| name.to_string_lossy()).collect();
    let count = |key: &str| message.get(key).and_then(Value::as_array).map_or(0, <[Value]>::len);
    let parts = [
        (!names.is_empty()).then(|| format!("sections {}", names.join(", "))),
        Some(count("toolsAdded")).filter(|count| *count > 0).map(|count| format!("{count} tools added")),
        Some(count("toolsRemoved")).filter(|count| *count > 0).map(|count| format!("{count} tools removed")),
    ];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    Excerpt { text, ..Excerpt::default() }
}

/// Excerpts a model call outside the conversation: its caller and its usage.
fn usage_excerpt(index: &Index, ix: EntryIx, entry: &Value) -> Excerpt {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(JsString::to_string_lossy);
    let took = index.unanchored_usage.get(&ix).map(|usage| {
        let tokens = usage.prompt_tokens() + usage.output;
        let cost = if usage.cost > 0.0 { format!(", ${:.4}", usage.cost) } else { String::new() };
        format!("{:.0} tokens{cost}", tokens.get())
    });
    let parts = [text("model"), took, text("note")];
    let words = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    Excerpt { tool: text("kind"), text: first_line(&words), ..Excerpt::default() }
}

/// Excerpts a context edit: its effect and its target.
fn edit_excerpt(entry: &Value) -> Excerpt {
    let target = entry.get("targetId").map(super::parts::value_text).unwrap_or_default();
    let text = match entry.get("replacement") {
        Some(Value::Null) => format!("drops {target}"),
        Some(replacement) => {
            let new = content_excerpt(replacement.get("content")).text;
            format!("{target} becomes: {new}")
        }
        None => format!("edits {target} without a replacement"),
    };
    Excerpt { text, ..Excerpt::default() }
}

fn message_excerpt(
    source: &Source,
    index: &Index,
    ix: EntryIx,
    message: Option<&Value>,
) -> Result<Excerpt, BodyError> {
    let Some(message) = message else { return Ok(Excerpt::default()) };
    let role = index.entry(ix).role();
    Ok(match role {
        Some(Role::ToolResult) => {
            let arguments = call_arguments(source, index, ix)?;
            let tool = message.get("toolName").and_then(Value::as_str).map(JsString::to_string_lossy);
            let text = arguments.unwrap_or_else(|| content_excerpt(message.get("content")).text);
            Excerpt { tool, text, ..Excerpt::default() }
        }
        Some(Role::Assistant) => assistant_excerpt(message),
        Some(Role::User) => user_excerpt(message.get("content")),
        Some(Role::System) => system_excerpt(message),
        Some(Role::BashExecution) => {
            Excerpt { tool: Some("!".into()), ..value_excerpt(message.get("command")) }
        }
        Some(Role::BranchSummary | Role::CompactionSummary) => value_excerpt(message.get("summary")),
        _ => content_excerpt(message.get("content")),
    })
}

fn assistant_excerpt(message: &Value) -> Excerpt {
    let mut excerpt = content_excerpt(message.get("content"));
    excerpt.error =
        message.get("errorMessage").and_then(Value::as_str).map(|text| first_line(&text.to_string_lossy()));
    if excerpt.text.is_empty() {
        let call = content_blocks(message).find(|block| is_block_kind(block, "toolCall"));
        if let Some(call) = call {
            excerpt.tool = call.get("name").and_then(Value::as_str).map(JsString::to_string_lossy);
            excerpt.text = call.get("arguments").map(format_arguments).unwrap_or_default();
        } else if let Some(thinking) = content_blocks(message).find(|block| is_block_kind(block, "thinking"))
        {
            excerpt.text = value_excerpt(thinking.get("thinking")).text;
        }
    }
    excerpt
}

fn content_blocks(message: &Value) -> impl Iterator<Item = &Value> {
    message.get("content").and_then(Value::as_array).unwrap_or_default().iter()
}

fn is_block_kind(block: &Value, kind: &str) -> bool {
    block.get("type").is_some_and(|value| value.str_is(kind))
}

/// Returns the arguments of the call that a result answers, from the nearest earlier assistant entry with that call.
fn call_arguments(source: &Source, index: &Index, ix: EntryIx) -> Result<Option<String>, BodyError> {
    let Some(id) = index.entry(ix).message.and_then(|message| message.call_id) else { return Ok(None) };
    let call = index.tool_calls_before(ix).find(|call| call.id == Some(id));
    let Some(call) = call else { return Ok(None) };
    let message = body::read_message(source, index, call.entry)?;
    let wanted = index.ids.value(id);
    let arguments = message.as_ref().and_then(|message| {
        let block = content_blocks(message).find(|block| block.get("id") == Some(&wanted))?;
        block.get("arguments").map(format_arguments)
    });
    Ok(arguments)
}

/// Formats arguments on one line, as a person would say them.
fn format_arguments(arguments: &Value) -> String {
    first_line(&arguments_line(arguments))
}

fn value_excerpt(value: Option<&Value>) -> Excerpt {
    let text = value
        .and_then(Value::as_str)
        .map(|text| first_line(&text.slice(0, 2 * READ_CHARS).to_string_lossy()));
    Excerpt { text: text.unwrap_or_default(), ..Excerpt::default() }
}

fn content_excerpt(content: Option<&Value>) -> Excerpt {
    note_image(value_excerpt(first_text(content)), content)
}

/// Excerpts a user message: its envelope mark and its words. The gateway may put the envelope in a separate block.
fn user_excerpt(content: Option<&Value>) -> Excerpt {
    let mut excerpt = Excerpt::default();
    for text in content_texts(content) {
        let text = text.slice(0, ENVELOPE_UNITS).to_string_lossy();
        let opened = unwrap_message(&text);
        excerpt.envelope = excerpt.envelope.or_else(|| opened.mark_prefix());
        excerpt.text = first_line(opened.text);
        if !excerpt.text.is_empty() {
            break;
        }
    }
    note_image(excerpt, content)
}

/// Returns every text of a content: the content itself, or its text blocks.
pub(crate) fn content_texts(content: Option<&Value>) -> impl Iterator<Item = &JsString> {
    let blocks = content.and_then(Value::as_array).unwrap_or_default().iter();
    let texts = blocks.filter(|block| is_block_kind(block, "text")).filter_map(|block| block.get("text"));
    content.into_iter().chain(texts).filter_map(Value::as_str)
}

/// Returns a content's text: the content itself, or its first text block.
fn first_text(content: Option<&Value>) -> Option<&Value> {
    match content {
        Some(Value::Array(items)) => items.iter().find(|block| is_block_kind(block, "text"))?.get("text"),
        other => other,
    }
}

/// Mentions an image, when the content has nothing else.
fn note_image(excerpt: Excerpt, content: Option<&Value>) -> Excerpt {
    let blocks = content.and_then(Value::as_array).unwrap_or_default();
    let is_blank = excerpt.text.is_empty() && excerpt.envelope.is_none();
    if is_blank && blocks.iter().any(|block| is_block_kind(block, "image")) {
        return Excerpt { text: "[image]".into(), ..excerpt };
    }
    excerpt
}

fn custom_excerpt(entry: &Value) -> Excerpt {
    let kind = entry.get("customType").and_then(Value::as_str).map(JsString::to_string_lossy);
    let text = entry.get("data").map(truncated_json).unwrap_or_default();
    Excerpt { tool: kind, text, ..Excerpt::default() }
}

fn labelled_excerpt(what: &str, value: Option<&Value>) -> Excerpt {
    Excerpt { tool: Some(what.to_owned()), ..value_excerpt(value) }
}

fn truncated_json(value: &Value) -> String {
    crate::js::stringify(value).chars().take(READ_CHARS).collect()
}

/// Returns the first line that is not blank, with white space collapsed.
fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(READ_CHARS).collect()
}
