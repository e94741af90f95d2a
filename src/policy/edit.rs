//! A change to the text of one message. An [`Edit`] is a small value: [`Edit::predict`] returns the sizes that it
//! leaves without the text, so that a preview reads no bodies; [`Edit::apply`] makes the text when a screen shows it or
//! a plan is written.

use std::sync::Arc;

use crate::gateway::pruning::SoftTrim;
use crate::gateway::ruleset::{Aggregate, HeadTailCut, Notice, Truncation};
use crate::js::{JsString, Object, Value};
use crate::policy::clear_tool_uses::{cleared_result, without_arguments};
use crate::policy::guard::{compacted_message, cut_message, halved_message, trimmed_message};
use crate::policy::guard_2026_9::fitted_result;
use crate::policy::media_2026_9::without_media;
use crate::policy::prune::projections::with_texts;
use crate::policy::prune::{cleared_message, soft_trimmed_message};
use crate::policy::repair::{rename_result, repaired_message};
use crate::policy::truncate::{CutOptions, Reduction, truncated_message_by};
use crate::store::entry::{CharCount, MessageSize, Role};
use crate::units::Chars;

/// Replaces an image that the model has seen (pruning 1.6).
pub const IMAGE_REMOVED: &str = "[image data removed - already processed by model]";

#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Keeps head and tail of a tool result (pruning 5.7).
    SoftTrim(SoftTrim),
    /// Replaces a tool result with a placeholder (pruning 5.10).
    Placeholder(Arc<JsString>),
    /// Replaces the texts of a tool result with those that an earlier call sent (pruning 8.2).
    ReplaceTexts(Vec<JsString>),
    /// Replaces the images of a user message or a tool result with a text (pruning 1.6, releases R50).
    RemoveImages,
    /// Makes the text blocks of a tool result share a limit (pruning 6.6).
    Truncate {
        /// In chars.
        max_chars: Chars,
        /// Chars that every cut block keeps.
        min_keep_chars: Chars,
        truncation: Truncation,
    },
    /// Shrinks a tool result because all of them share a budget (releases R35–R38).
    Reduce {
        reduction: Reduction,
        ends: HeadTailCut,
        /// Order in which results shrink.
        aggregate: Aggregate,
    },
    /// Cuts a tool result to the guard's limit (pruning 6.33).
    GuardCut {
        /// In chars.
        max_chars: Chars,
    },
    /// Cuts a tool result to the limit of the guard since 2026.8.1 and keeps as many images as fit (pruning 8.7).
    GuardFit {
        /// In weighted chars.
        max_chars: Chars,
    },
    /// Cuts a tool result to half the guard's limit, in units (releases R42, R43).
    GuardHalve {
        /// In chars as the guard counts them.
        max_chars: Chars,
        /// Counts the missing chars, in versions that report them.
        notice: Option<Notice>,
    },
    /// Shortens a tool result to make room in the guard's budget (releases R42).
    GuardTrim {
        ends: HeadTailCut,
        /// Chars that stay, as the guard counts them.
        max_chars: Chars,
    },
    /// Replaces images and media references with texts (pruning 8, row "Legacy images").
    RemoveMedia,
    /// Replaces a tool result with the guard's notice (pruning 6.35).
    GuardCompact,
    /// Removes unusable tool calls and repairs malformed ones (compaction 6.7).
    RepairInputs,
    /// Sets the tool name of a result (compaction 6.4).
    RenameTool(JsString),
    /// Removes the details of a tool result, which no model receives (pruning 1.1).
    StripDetails,
    /// Replaces the result of a tool use with a placeholder and removes its details (pruning 7.2e).
    ClearToolResult(JsString),
    /// Empties the arguments of the calls with these ids (pruning 7.2f).
    ClearToolInputs(Vec<JsString>),
}

impl Edit {
    /// Returns the changed message. If the body is no longer the measured one and the rule fails on it, returns an
    /// unchanged copy.
    pub fn apply(&self, message: &Value) -> Value {
        match self {
            Self::SoftTrim(settings) => soft_trimmed_message(message, settings).ok().flatten(),
            Self::Placeholder(text) => Some(cleared_message(message, text)),
            Self::ReplaceTexts(texts) => Some(with_texts(message, texts)),
            Self::RemoveImages => without_images(message),
            Self::Truncate { max_chars, min_keep_chars, truncation: by } => {
                let cut = CutOptions { min_keep_chars: *min_keep_chars, ..CutOptions::default() };
                truncated_message_by(*by, message, *max_chars, &cut)
            }
            Self::GuardFit { max_chars } => fitted_result(message, *max_chars),
            Self::Reduce { reduction: by, ends, aggregate: rule } => by.apply(*ends, *rule, message),
            Self::GuardHalve { max_chars: single, notice } => Some(halved_message(message, *single, *notice)),
            Self::GuardTrim { ends, max_chars: most } => trimmed_message(message, *ends, *most),
            Self::RemoveMedia => without_media(message, true),
            Self::GuardCut { max_chars } => Some(cut_message(message, *max_chars)),
            Self::GuardCompact => Some(compacted_message(message)),
            Self::RepairInputs => repaired_message(message),
            Self::RenameTool(name) => Some(rename_result(message, name)),
            Self::StripDetails => without_details(message),
            Self::ClearToolResult(placeholder) => Some(cleared_result(message, placeholder)),
            Self::ClearToolInputs(ids) => without_arguments(message, ids),
        }
        .unwrap_or_else(|| message.clone())
    }

    /// Whether a written plan contains this edit. It does not contain [`Edit::StripDetails`], because every run strips
    /// the details again from the messages it reads.
    pub fn is_written(&self) -> bool {
        *self != Self::StripDetails
    }
}

pub fn apply_all(edits: &[Edit], message: &Value) -> Value {
    edits.iter().fold(message.clone(), |message, edit| edit.apply(&message))
}

/// Returns the sizes of a tool result whose content is a single text block of `chars` chars.
pub fn single_text_size(before: &MessageSize, chars: Chars) -> MessageSize {
    MessageSize {
        pi_chars: CharCount::new(Ok(chars)),
        prune_chars: CharCount::new(Ok(chars)),
        joined_chars: chars,
        text_blocks: 1,
        images: 0,
        text_chars: chars.into(),
        needs_body: false,
        ..*before
    }
}

/// Returns the sizes of a message after [`Edit::RemoveImages`].
pub fn size_without_images(before: &MessageSize) -> MessageSize {
    let images = before.images;
    let text = Chars::from_len(IMAGE_REMOVED.len()) * f64::from(images);
    let grown = |size: CharCount, by: Chars| CharCount::new(size.value().map(|chars| chars + by));
    MessageSize {
        pi_chars: grown(before.pi_chars, text),
        prune_chars: grown(
            before.prune_chars,
            text - crate::store::measure::PRUNE_IMAGE_CHARS * f64::from(images),
        ),
        joined_chars: before.joined_chars
            + text
            + Chars::from(if before.text_blocks == 0 { images.saturating_sub(1) } else { images }),
        text_blocks: before.text_blocks + images,
        images: 0,
        text_chars: before.text_chars + text.into(),
        ..*before
    }
}

fn without_images(message: &Value) -> Option<Value> {
    let blocks = message.get("content")?.as_array()?;
    let text = |block: &Value| {
        let is_image = block.get("type").is_some_and(|kind| kind.str_is("image"));
        if is_image {
            Value::Object(Object::from([("type", "text"), ("text", IMAGE_REMOVED)]))
        } else {
            block.clone()
        }
    };
    let mut copy = message.as_object()?.clone();
    copy.set("content", Value::Array(blocks.iter().map(text).collect()));
    Some(Value::Object(copy))
}

fn without_details(message: &Value) -> Option<Value> {
    let mut copy = message.as_object()?.clone();
    copy.remove("details")?;
    Some(Value::Object(copy))
}

/// Whether the message holds images that [`Edit::RemoveImages`] removes: user messages always, tool results only if
/// `results` is set.
pub fn has_legacy_images(size: &MessageSize, results: bool) -> bool {
    size.images > 0 && (size.role == Role::User || results && size.role == Role::ToolResult)
}
