//! Predicts the sizes and features of a message after an edit, without its text. If they cannot be predicted, the
//! features hold the message's body and the edit is made on that.

use crate::js::JsString;
use crate::policy::clear_tool_uses::MessageDigest;
use crate::policy::edit::{Edit, IMAGE_REMOVED, size_without_images};
use crate::policy::features::{ContentBlock, ContentFeatures, ResultContent, TextMetrics, size_after};
use crate::policy::guard::{COMPACTED, IMAGE_CHARS, cut_metrics};
use crate::policy::prune::{joined_metrics, trimmed_metrics};
use crate::policy::repair::PairingShape;
use crate::policy::truncate::{CutOptions, truncated_content};
use crate::store::entry::{CharCount, MessageSize, Role};

impl Edit {
    /// Returns the sizes and the features of a message after this edit.
    pub fn predict(&self, size: &MessageSize, texture: &ContentFeatures) -> (MessageSize, ContentFeatures) {
        if let Some(body) = &texture.body {
            let made = self.apply(body);
            return (size_after(size, &made), texture.remeasure(&made));
        }
        match self {
            Self::RemoveImages => (size_without_images(size), without_images(size, texture)),
            Self::ClearToolInputs(ids) => without_arguments(ids, size, texture),
            Self::RenameTool(name) => (*size, renamed(name, texture)),
            Self::StripDetails => (*size, texture.without_details()),
            // These edits need the text, so every message that they change keeps its body.
            Self::RepairInputs
            | Self::RemoveMedia
            | Self::ReplaceTexts(_)
            | Self::Reduce { .. }
            | Self::GuardHalve { .. }
            | Self::GuardTrim { .. }
            | Self::GuardFit { .. } => (*size, texture.clone()),
            _ if size.role == Role::ToolResult => self.predict_result(size, texture),
            _ => (*size, texture.clone()),
        }
    }

    /// [`Self::predict`] for edits that replace the content of a tool result.
    fn predict_result(
        &self,
        size: &MessageSize,
        texture: &ContentFeatures,
    ) -> (MessageSize, ContentFeatures) {
        let one = |text: TextMetrics| ResultContent::Blocks(vec![ContentBlock::Text(text)]);
        let (content, texture) = match self {
            Self::SoftTrim(settings) => {
                (one(trimmed_metrics(settings, &joined_metrics(settings, texture))), texture.clone())
            }
            Self::Placeholder(text) => (one(TextMetrics::of(text)), texture.clone()),
            Self::ClearToolResult(text) => (one(TextMetrics::of(text)), texture.without_details()),
            Self::Truncate { max_chars, min_keep_chars, truncation: by } => {
                let cut = CutOptions { min_keep_chars: *min_keep_chars, ..CutOptions::default() };
                let content = truncated_content(*by, &texture.content, *max_chars, &cut);
                (content.unwrap_or_else(|| texture.content.clone()), texture.clone())
            }
            Self::GuardCut { max_chars } => {
                let text = match &texture.content {
                    ResultContent::Text(text) => text.clone(),
                    content => TextMetrics::joined(content.texts()),
                };
                (content_like(&texture.content, cut_metrics(&text, *max_chars)), texture.without_details())
            }
            Self::GuardCompact => {
                let text = TextMetrics::of(&COMPACTED.into());
                (content_like(&texture.content, text), texture.without_details())
            }
            _ => (texture.content.clone(), texture.clone()),
        };
        (content.message_size(size), texture.with_content(content))
    }
}

/// Wraps a text as the guard does: a string replaces a string, one text block any other content (pruning 6.33).
fn content_like(content: &ResultContent, text: TextMetrics) -> ResultContent {
    match content {
        ResultContent::Text(_) => ResultContent::Text(text),
        _ => ResultContent::Blocks(vec![ContentBlock::Text(text)]),
    }
}

fn without_images(size: &MessageSize, texture: &ContentFeatures) -> ContentFeatures {
    let images = size.images as usize;
    let mut texture = texture.clone();
    texture.guard.chars =
        reduced_size(texture.guard.chars, (IMAGE_CHARS - IMAGE_REMOVED.len() as f64) * images as f64);
    if let Ok(Some(MessageDigest::Human { content })) = &mut texture.digest {
        content.code_points += IMAGE_REMOVED.len() * images;
        content.images -= images;
    }
    texture
}

fn renamed(name: &JsString, texture: &ContentFeatures) -> ContentFeatures {
    let mut texture = texture.clone();
    if let PairingShape::Result { name: old, .. } = &mut texture.shape {
        *old = Some(name.clone());
    }
    if let Ok(Some(MessageDigest::Tool { name: old, .. })) = &mut texture.digest {
        *old = Some(name.clone());
    }
    texture
}

fn without_arguments(
    ids: &[JsString],
    size: &MessageSize,
    texture: &ContentFeatures,
) -> (MessageSize, ContentFeatures) {
    let mut texture = texture.clone();
    let gone = match &mut texture.digest {
        Ok(Some(sketch)) => ids.iter().map(|id| sketch.clear_arguments(id)).sum::<i64>(),
        _ => 0,
    };
    texture.guard.chars = reduced_size(texture.guard.chars, gone as f64);
    let size = MessageSize {
        pi_chars: reduced_size(size.pi_chars, gone as f64),
        prune_chars: reduced_size(size.prune_chars, gone as f64),
        tool_call_chars: (i64::from(size.tool_call_chars) - gone) as u32,
        ..*size
    };
    (size, texture)
}

fn reduced_size(size: CharCount, chars: f64) -> CharCount {
    CharCount::new(size.value().map(|size| size - chars))
}
