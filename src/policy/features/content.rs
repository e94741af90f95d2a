//! The content of a tool result, block by block, without its texts: enough to predict every size after an edit.

use crate::js::Json;
use crate::policy::features::text_metrics::TextMetrics;
use crate::policy::guard;
use crate::store::compact_chars::CompactChars;
use crate::store::entry::{CharCount, MessageSize};
use crate::store::measure::{PI_IMAGE_CHARS, PRUNE_IMAGE_CHARS};
use crate::units::Chars;

#[derive(Debug, Clone, PartialEq)]
pub enum ResultContent {
    /// A string.
    Text(TextMetrics),
    /// In order.
    Blocks(Vec<ContentBlock>),
    /// No string and no list, or a message of another role.
    Other,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ContentBlock {
    /// Text block whose text is a string.
    Text(TextMetrics),
    Image,
    Other {
        /// As the guard counts them (pruning 6.32).
        chars: Chars,
    },
}

impl ResultContent {
    pub(super) fn of<'a>(content: Option<impl Json<'a>>) -> Self {
        let Some(content) = content else { return Self::Other };
        match content.items() {
            Some(blocks) => {
                let mut blocks: Vec<ContentBlock> = blocks.map(block).collect();
                // Most results have one, and a session has many results.
                blocks.shrink_to_fit();
                Self::Blocks(blocks)
            }
            None => TextMetrics::from_json(content).map_or(Self::Other, Self::Text),
        }
    }

    /// Returns the text blocks; empty for a string.
    pub fn texts(&self) -> impl Iterator<Item = &TextMetrics> {
        self.blocks().iter().filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text),
            _ => None,
        })
    }

    fn blocks(&self) -> &[ContentBlock] {
        match self {
            Self::Blocks(blocks) => blocks,
            _ => &[],
        }
    }

    fn images(&self) -> usize {
        self.blocks().iter().filter(|block| **block == ContentBlock::Image).count()
    }

    /// Returns the chars as the guard counts them, before doubling (pruning 6.32).
    pub fn guard_chars(&self) -> Chars {
        let block = |block: &ContentBlock| match block {
            ContentBlock::Text(text) => Chars::from_len(text.chars),
            ContentBlock::Image => guard::IMAGE_CHARS,
            ContentBlock::Other { chars } => *chars,
        };
        match self {
            Self::Text(text) => Chars::from_len(text.chars),
            _ => self.blocks().iter().fold(Chars::ZERO, |sum, each| sum + block(each)),
        }
    }

    /// Returns code points and images as clearing counts them; without an image, the texts are joined into one (pruning
    /// 7.4).
    pub(super) fn code_points(&self) -> (usize, usize) {
        if let Self::Text(text) = self {
            return (text.code_points(), 0);
        }
        let (texts, sum) =
            self.texts().fold((0, 0), |(count, sum), text| (count + 1, sum + text.code_points()));
        match self.images() {
            0 => (sum + usize::saturating_sub(texts, 1), 0),
            images => (sum, images),
        }
    }

    /// Returns the sizes of the tool result `before` with this content.
    pub fn message_size(&self, before: &MessageSize) -> MessageSize {
        let (count, chars) = self.texts().fold((0, 0), |(count, sum), text| (count + 1, sum + text.chars));
        let images = self.images() as f64;
        let (whole, outside) = match self {
            Self::Text(text) => (text.chars, text.chars),
            _ => (chars, 0),
        };
        MessageSize {
            pi_chars: CharCount::new(Ok(Chars::from_len(whole) + PI_IMAGE_CHARS * images)),
            prune_chars: CharCount::new(Ok(Chars::from_len(whole - outside) + PRUNE_IMAGE_CHARS * images)),
            joined_chars: Chars::from_len(chars + usize::saturating_sub(count, 1)),
            text_blocks: count as u32,
            images: images as u32,
            text_chars: CompactChars::from_len(whole),
            needs_body: false,
            ..*before
        }
    }
}

fn block<'a>(block: impl Json<'a>) -> ContentBlock {
    let is = |kind| block.get("type").is_some_and(|value| value.str_is(kind));
    let text = block.get("text").filter(|_| is("text")).and_then(TextMetrics::from_json);
    match text {
        Some(text) => ContentBlock::Text(text),
        None if is("image") => ContentBlock::Image,
        None => ContentBlock::Other { chars: guard::unknown_chars(block) },
    }
}

/// Whether a content is a string, or blocks without nulls and non-string texts, which make the real programs throw or
/// count differently.
pub(super) fn is_plain<'a>(content: Option<impl Json<'a>>) -> bool {
    let Some(content) = content else { return false };
    match content.items() {
        Some(mut blocks) => !blocks.any(is_odd),
        None => content.unit_len().is_some(),
    }
}

fn is_odd<'a>(block: impl Json<'a>) -> bool {
    let is_text = block.get("type").is_some_and(|kind| kind.str_is("text"));
    block.is_null() || is_text && block.get("text").and_then(Json::unit_len).is_none()
}
