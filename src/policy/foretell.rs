//! What an edit leaves of a message, told without its text: the sizes and the texture. A message of which that cannot
//! be told has its body in its texture, and is edited to see.

use crate::js::JsString;
use crate::policy::clear_tool_uses::Sketch;
use crate::policy::edit::{Edit, IMAGE_REMOVED, images_removed};
use crate::policy::guard::{COMPACTED, IMAGE_CHARS, cut_texture};
use crate::policy::prune::{joined_text, trimmed_text};
use crate::policy::repair::Shape;
use crate::policy::texture::{Block, Content, Text, Texture, size_after};
use crate::policy::truncate::{Cut, truncated_content};
use crate::store::entry::{MessageSize, Role, Size};

impl Edit {
    /// The sizes and the texture of a message after it.
    pub fn foretell(&self, size: &MessageSize, texture: &Texture) -> (MessageSize, Texture) {
        if let Some(body) = &texture.body {
            let made = self.apply(body);
            return (size_after(size, &made), texture.again(&made));
        }
        match self {
            Self::RemoveImages => (images_removed(size), without_images(size, texture)),
            Self::ClearInputs(ids) => without_arguments(ids, size, texture),
            Self::ToolName(name) => (*size, renamed(name, texture)),
            Self::StripDetails => (*size, texture.without_details()),
            // Only messages that keep their body are repaired, trimmed by the letters of their texts, or sent as before.
            Self::RepairInputs
            | Self::RemoveMedia
            | Self::Texts(_)
            | Self::Reduce { .. }
            | Self::GuardHalve { .. }
            | Self::GuardTrim { .. }
            | Self::GuardFit { .. } => (*size, texture.clone()),
            _ if size.role == Role::ToolResult => self.of_result(size, texture),
            _ => (*size, texture.clone()),
        }
    }

    /// The same for edits that give a tool result another content.
    fn of_result(&self, size: &MessageSize, texture: &Texture) -> (MessageSize, Texture) {
        let one = |text: Text| Content::Blocks(vec![Block::Text(text)]);
        let (content, texture) = match self {
            Self::SoftTrim(settings) => {
                (one(trimmed_text(settings, &joined_text(settings, texture))), texture.clone())
            }
            Self::Placeholder(text) => (one(Text::of(text)), texture.clone()),
            Self::ClearUse(text) => (one(Text::of(text)), texture.without_details()),
            Self::Truncate { max_chars, min_keep_chars, by } => {
                let cut = Cut { min_keep_chars: *min_keep_chars, ..Cut::default() };
                let content = truncated_content(*by, &texture.content, *max_chars, &cut);
                (content.unwrap_or_else(|| texture.content.clone()), texture.clone())
            }
            Self::GuardCut { max_chars } => {
                let text = match &texture.content {
                    Content::Text(text) => text.clone(),
                    content => Text::joined(content.texts()),
                };
                (same_form(&texture.content, cut_texture(&text, *max_chars)), texture.without_details())
            }
            Self::GuardCompact => {
                let text = Text::of(&COMPACTED.into());
                (same_form(&texture.content, text), texture.without_details())
            }
            _ => (texture.content.clone(), texture.clone()),
        };
        (content.sized(size), texture.with_content(content))
    }
}

/// A text as the guard puts it in the place of a content: a string for a string, else one block (pruning 6.33).
fn same_form(content: &Content, text: Text) -> Content {
    match content {
        Content::Text(_) => Content::Text(text),
        _ => Content::Blocks(vec![Block::Text(text)]),
    }
}

fn without_images(size: &MessageSize, texture: &Texture) -> Texture {
    let images = size.images as usize;
    let mut texture = texture.clone();
    texture.guard.chars =
        less(texture.guard.chars, (IMAGE_CHARS - IMAGE_REMOVED.len() as f64) * images as f64);
    if let Ok(Some(Sketch::Human { content })) = &mut texture.sketch {
        content.code_points += IMAGE_REMOVED.len() * images;
        content.images -= images;
    }
    texture
}

fn renamed(name: &JsString, texture: &Texture) -> Texture {
    let mut texture = texture.clone();
    if let Shape::Result { name: old, .. } = &mut texture.shape {
        *old = Some(name.clone());
    }
    if let Ok(Some(Sketch::Tool { name: old, .. })) = &mut texture.sketch {
        *old = Some(name.clone());
    }
    texture
}

fn without_arguments(ids: &[JsString], size: &MessageSize, texture: &Texture) -> (MessageSize, Texture) {
    let mut texture = texture.clone();
    let gone = match &mut texture.sketch {
        Ok(Some(sketch)) => ids.iter().map(|id| sketch.clear_arguments(id)).sum::<i64>(),
        _ => 0,
    };
    texture.guard.chars = less(texture.guard.chars, gone as f64);
    let size = MessageSize {
        pi_chars: less(size.pi_chars, gone as f64),
        prune_chars: less(size.prune_chars, gone as f64),
        call_chars: (i64::from(size.call_chars) - gone) as u32,
        ..*size
    };
    (size, texture)
}

fn less(size: Size, chars: f64) -> Size {
    Size::new(size.get().map(|size| size - chars))
}
