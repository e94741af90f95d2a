//! A change as a patch for `openclaw.json`, below the list where there is room.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::action::Action;
use crate::app::keymap::Context;
use crate::explain::Advice;
use crate::text;
use crate::ui::status::first_key;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{on_title, put, row_of, title};

/// Draws it at the bottom of the free rows, a blank row above it, or not at all.
pub(super) fn draw(
    app: &App,
    theme: &Theme,
    (letter, advice): (char, &Advice),
    free: Rect,
    buf: &mut Buffer,
) {
    let lines = lines(&advice.patch, usize::from(free.width.saturating_sub(5)));
    let rows = lines.len() as u16 + 1;
    if lines.is_empty() || rows >= free.height {
        return;
    }
    let area = Rect { y: free.bottom() - rows, height: rows, ..free };
    let after = title(theme, buf, row_of(area, area.y), &format!("Patch for {letter}"), false);
    let muted = theme.style(Role::Muted);
    let key = first_key(app, Context::List, Action::CopyPatch);
    let hint = [
        Span::styled(format!("{}   ", short_name(&advice.file_name())), muted),
        Span::styled(key, theme.bold(Role::Text)),
        Span::styled(" copies it", muted),
    ];
    on_title(buf, area.y, after, area.right().saturating_sub(1), &hint);
    for (y, line) in (area.y + 1..area.bottom()).zip(&lines) {
        let role = if line.starts_with("//") { Role::Muted } else { Role::Text };
        put(buf, (area.x + 2, y), area.right().saturating_sub(1), line, theme.style(role));
    }
}

/// A file by its last part: its folder stands in the patch.
fn short_name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// The patch with its object on as few lines as there is width for; comments keep lines of their own.
fn lines(patch: &str, width: usize) -> Vec<String> {
    let (comments, object): (Vec<&str>, Vec<&str>) =
        patch.lines().map(str::trim).partition(|line| line.starts_with("//"));
    let object = object.join(" ");
    comments.into_iter().chain([object.as_str()]).flat_map(|line| text::wrap(line, width)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_told_on_one_line_behind_the_comments() {
        let patch = "// guard.budgetShare 0.6: built in\n{\n  \"a\": {\n    \"b\": 1\n  }\n}";
        assert_eq!(lines(patch, 80), ["// guard.budgetShare 0.6: built in", r#"{ "a": { "b": 1 } }"#]);
        assert!(lines("", 80).iter().all(String::is_empty));
    }
}
