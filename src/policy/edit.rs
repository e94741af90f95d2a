//! What a step does to the text of a message: a small value that foretells the sizes it leaves and, when somebody
//! looks or a plan is written, makes the text.

use std::sync::Arc;

use crate::gateway::pruning::SoftTrim;
use crate::gateway::ruleset::{Aggregate, Ends, Notice, Truncation};
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

/// The text that stands for an image the model has seen (pruning 1.6).
pub const IMAGE_REMOVED: &str = "[image data removed - already processed by model]";

/// One change of one message's text.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Head and tail of a tool result stay (pruning 5.7).
    SoftTrim(SoftTrim),
    /// A placeholder stands for a tool result (pruning 5.10).
    Placeholder(Arc<JsString>),
    /// These texts stand for the texts of a tool result, as they were sent before (pruning 8.2).
    ReplaceTexts(Vec<JsString>),
    /// Images of a user message or a tool result become a text (pruning 1.6, releases R50).
    RemoveImages,
    /// The text blocks of a tool result share a limit (pruning 6.6).
    Truncate {
        /// The limit, chars.
        max_chars: f64,
        /// Chars that every cut block keeps.
        min_keep_chars: f64,
        /// How a text is cut.
        truncation: Truncation,
    },
    /// A tool result gives way to what all of them may have together (releases R35–R38).
    Reduce {
        /// How.
        reduction: Reduction,
        /// How texts are cut.
        ends: Ends,
        /// Which results give way.
        aggregate: Aggregate,
    },
    /// The guard holds a tool result to a limit (pruning 6.33).
    GuardCut {
        /// The limit, chars.
        max_chars: f64,
    },
    /// The guard of 2026.9 holds a tool result to a limit, with as many images as fit (pruning 8.7).
    GuardFit {
        /// The limit, weighted chars.
        max_chars: f64,
    },
    /// The guard holds a tool result to half its limit in units (releases R42, R43).
    GuardHalve {
        /// The limit, chars as the guard counts them.
        max_chars: f64,
        /// Counts what is missing, where the version does that.
        notice: Option<Notice>,
    },
    /// A tool result gives way to the guard in part (releases R42).
    GuardTrim {
        /// How texts are cut.
        ends: Ends,
        /// What stays, chars as the guard counts them.
        max_chars: f64,
    },
    /// Images and references to media become texts (pruning 8, row "Legacy images").
    RemoveMedia,
    /// A tool result gives way to the guard (pruning 6.35).
    GuardCompact,
    /// Unusable tool calls go, and what is odd about the others (compaction 6.7).
    RepairInputs,
    /// A result gets this tool name (compaction 6.4).
    RenameTool(JsString),
    /// The details of a tool result go, which no model is ever sent (pruning 1.1).
    StripDetails,
    /// A placeholder stands for the result of a tool use, and its details go (pruning 7.2e).
    ClearToolResult(JsString),
    /// The calls with these ids lose their arguments (pruning 7.2f).
    ClearToolInputs(Vec<JsString>),
}

impl Edit {
    /// The message with this change. Where the text is not what was measured, and the rule would fail on it, the
    /// message stays as it is.
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

    /// Whether it is part of a transcript that is written under a plan. Details are not taken out of one: every run
    /// does that anew with what it reads.
    pub fn is_written(&self) -> bool {
        *self != Self::StripDetails
    }
}

/// Every edit of a message, in order.
pub fn apply_all(edits: &[Edit], message: &Value) -> Value {
    edits.iter().fold(message.clone(), |message, edit| edit.apply(&message))
}

/// The sizes of a tool result whose content is one text block of this many chars.
pub fn single_text_size(before: &MessageSize, chars: f64) -> MessageSize {
    MessageSize {
        pi_chars: CharCount::new(Ok(chars)),
        prune_chars: CharCount::new(Ok(chars)),
        joined_chars: chars,
        text_blocks: 1,
        images: 0,
        text_chars: chars as u32,
        needs_body: false,
        ..*before
    }
}

/// The sizes of a user message whose images have become texts.
pub fn size_without_images(before: &MessageSize) -> MessageSize {
    let images = before.images;
    let text = IMAGE_REMOVED.len() as f64 * f64::from(images);
    let grown = |size: CharCount, by: f64| CharCount::new(size.value().map(|chars| chars + by));
    MessageSize {
        pi_chars: grown(before.pi_chars, text),
        prune_chars: grown(
            before.prune_chars,
            text - crate::store::measure::PRUNE_IMAGE_CHARS * f64::from(images),
        ),
        joined_chars: before.joined_chars
            + text
            + f64::from(if before.text_blocks == 0 { images.saturating_sub(1) } else { images }),
        text_blocks: before.text_blocks + images,
        images: 0,
        text_chars: before.text_chars + (text as u32),
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

/// Whether legacy images of this message would go: it is a user's, or where `results` go too a tool's, and holds some.
pub fn has_legacy_images(size: &MessageSize, results: bool) -> bool {
    size.images > 0 && (size.role == Role::User || results && size.role == Role::ToolResult)
}
