//! The style of a value that the last key changed.

use ratatui::style::{Modifier, Style};

use crate::app::App;
use crate::ui::theme::{BackgroundRole, Theme};

/// Returns the style of a value that the last key changed: a background for a moment, or without motion an underline
/// until the next key.
pub(super) fn changed_style(app: &App, theme: &Theme) -> Style {
    if app.options.motion {
        theme.background(BackgroundRole::Hot)
    } else {
        Style::new().add_modifier(Modifier::UNDERLINED)
    }
}
