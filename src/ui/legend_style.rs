//! The colours of the legend.

use ratatui::style::Style;

use crate::app::legend::Tone;
use crate::ui::theme::{Role, Theme};

/// Returns the role of a plain tone; fates and parts have separate styles.
pub(super) fn tone_role(tone: Tone) -> Role {
    match tone {
        Tone::Key | Tone::Text | Tone::Fate(_) | Tone::Part(_) => Role::Text,
        Tone::Muted => Role::Muted,
        Tone::Focus => Role::Focus,
        Tone::Plan => Role::Plan,
        Tone::Warn => Role::Warn,
        Tone::Danger => Role::Danger,
        Tone::User => Role::User,
    }
}

pub(super) fn tone_style(theme: &Theme, tone: Tone) -> Style {
    match tone {
        Tone::Key => theme.bold(Role::Text),
        Tone::Fate(fate) => theme.fate(fate),
        Tone::Part(_) if theme.uses_letters() => theme.style(Role::Text),
        Tone::Part(part) => {
            let (fill, text) = theme.part_colours(part, false);
            Style::new().fg(text).bg(fill)
        }
        tone => theme.style(tone_role(tone)),
    }
}
