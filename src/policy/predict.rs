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
use crate::units::Chars;

impl Edit {
    /// Returns the sizes and the features of a message after this edit.
    pub fn predict(&self, size: &MessageSize, features: &ContentFeatures) -> (MessageSize, ContentFeatures) {
        if let Some(body) = &features.body {
            let made = self.apply(&body.value());
            let (size, mut after) = (size_after(size, &made), features.remeasure(&made));
            after.body = after.body.map(|_| body.edited(self, made));
            return (size, after);
        }
        match self {
            Self::RemoveImages => (size_without_images(size), without_images(size, features)),
            Self::ClearToolInputs(ids) => without_arguments(ids, size, features),
            Self::RenameTool(name) => (*size, renamed(name, features)),
            Self::StripDetails => (*size, features.without_details()),
            // These edits need the text, so every message that they change keeps its body.
            Self::RepairInputs
            | Self::RemoveMedia
            | Self::ReplaceTexts(_)
            | Self::Reduce { .. }
            | Self::GuardHalve { .. }
            | Self::GuardTrim { .. }
            | Self::GuardFit { .. } => (*size, features.clone()),
            _ if size.role == Role::ToolResult => self.predict_result(size, features),
            _ => (*size, features.clone()),
        }
    }

    /// [`Self::predict`] for edits that replace the content of a tool result.
    fn predict_result(
        &self,
        size: &MessageSize,
        features: &ContentFeatures,
    ) -> (MessageSize, ContentFeatures) {
        let one = |text: TextMetrics| ResultContent::Blocks(vec![ContentBlock::Text(text)]);
        let (content, features) = match self {
            Self::SoftTrim(settings) => {
                (one(trimmed_metrics(settings, &joined_metrics(settings, features))), features.clone())
            }
            Self::Placeholder(text) => (one(TextMetrics::of(text)), features.clone()),
            Self::ClearToolResult(text) => (one(TextMetrics::of(text)), features.without_details()),
            Self::Truncate { max_chars, min_keep_chars, truncation: by } => {
                let cut = CutOptions { min_keep_chars: *min_keep_chars, ..CutOptions::default() };
                let content = truncated_content(*by, &features.content, *max_chars, &cut);
                (content.unwrap_or_else(|| features.content.clone()), features.clone())
            }
            Self::GuardCut { max_chars } => {
                let text = match &features.content {
                    ResultContent::Text(text) => text.clone(),
                    content => TextMetrics::joined(content.texts()),
                };
                (content_like(&features.content, cut_metrics(&text, *max_chars)), features.without_details())
            }
            Self::GuardCompact => {
                let text = TextMetrics::of(&COMPACTED.into());
                (content_like(&features.content, text), features.without_details())
            }
            _ => (features.content.clone(), features.clone()),
        };
        (content.message_size(size), features.with_content(content))
    }
}

/// Wraps a text as the guard does: a string replaces a string, one text block any other content (pruning 6.33).
fn content_like(content: &ResultContent, text: TextMetrics) -> ResultContent {
    match content {
        ResultContent::Text(_) => ResultContent::Text(text),
        _ => ResultContent::Blocks(vec![ContentBlock::Text(text)]),
    }
}

fn without_images(size: &MessageSize, features: &ContentFeatures) -> ContentFeatures {
    let images = size.images as usize;
    let mut features = features.clone();
    features.guard.chars = reduced_size(
        features.guard.chars,
        (IMAGE_CHARS - Chars::from_len(IMAGE_REMOVED.len())) * images as f64,
    );
    if let Ok(Some(MessageDigest::Human { content })) = &mut features.digest {
        content.code_points += IMAGE_REMOVED.len() * images;
        content.images -= images;
    }
    features
}

fn renamed(name: &JsString, features: &ContentFeatures) -> ContentFeatures {
    let mut features = features.clone();
    if let PairingShape::Result { name: old, .. } = &mut features.shape {
        *old = Some(name.clone());
    }
    if let Ok(Some(MessageDigest::Tool { name: old, .. })) = &mut features.digest {
        *old = Some(name.clone());
    }
    features
}

fn without_arguments(
    ids: &[JsString],
    size: &MessageSize,
    features: &ContentFeatures,
) -> (MessageSize, ContentFeatures) {
    let mut features = features.clone();
    let gone = match &mut features.digest {
        Ok(Some(digest)) => ids.iter().map(|id| digest.clear_arguments(id)).sum(),
        _ => Chars::ZERO,
    };
    features.guard.chars = reduced_size(features.guard.chars, gone);
    let size = MessageSize {
        pi_chars: reduced_size(size.pi_chars, gone),
        prune_chars: reduced_size(size.prune_chars, gone),
        tool_call_chars: (size.tool_call_chars.get() - gone).into(),
        ..*size
    };
    (size, features)
}

fn reduced_size(size: CharCount, chars: Chars) -> CharCount {
    CharCount::new(size.value().map(|size| size - chars))
}
