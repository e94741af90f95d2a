//! The foot: the patch of the selected or best change; on the refused call the provider's words.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::head::View;
use crate::app::action::Action;
use crate::app::keymap::KeyContext;
use crate::app::screens::explain::ExplainRow;
use crate::app::screens::explain::wording::patch_lines;
use crate::report::explain::Advice;
use crate::text;
use crate::ui::theme::Role;
use crate::ui::widgets::{on_title, put, put_spans, row_at, spans_width, title};

pub(super) fn draw(view: &View<'_>, area: Rect, buf: &mut Buffer) {
    if area.height < 2 {
        return;
    }
    let selected = view.screen.selected();
    let width = usize::from(area.width.saturating_sub(5));
    let name = match (selected, view.screen.shown_patch()) {
        (Some(row @ ExplainRow::Call), _) if view.screen.is_truncated(row, view.app.size) => {
            return words(view, "The provider's error", &view.screen.row_text(row), area, buf);
        }
        (Some(row), _) if view.screen.way_out(row).is_some() => {
            let command = view.screen.way_out(row).map_or("", |way| &way.command);
            return words(view, "Command", command, area, buf);
        }
        (_, Some((letter, _))) => format!("Patch for {letter}"),
        (Some(row), None) => return words(view, "Full text", &view.screen.row_text(row), area, buf),
        (None, None) => return,
    };
    let Some((_, advice)) = view.screen.shown_patch() else { return };
    let after = title(view.theme, buf, row_at(area, area.y), &name, false);
    let own = selected.is_some_and(|row| view.screen.advice(row).is_some());
    let mut hint = copy_hint(view, advice, if own { Action::Copy } else { Action::CopyPatch });
    let end = area.right().saturating_sub(1);
    let outcome = vec![view.muted(advice.outcome.description())];
    if !advice.fits_all && after + spans_width(&hint) + spans_width(&outcome) + 6 > end {
        // That it does not help matters more than where it would go.
        hint.clear();
    }
    let end = if hint.is_empty() { end } else { on_title(buf, area.y, after, end, &hint).saturating_sub(1) };
    on_title(buf, area.y, after, end, &outcome);
    let mut lines = patch_lines(&advice.patch, width);
    let shown = usize::from(area.height - 1);
    if lines.len() > shown {
        // One line is for the values: the title names the file that comments before them do.
        let values = lines.iter().position(|line| line.starts_with('{')).filter(|_| shown == 1);
        lines.drain(..values.unwrap_or(0));
    }
    if lines.len() > shown && shown == 1 {
        // The value is at the end.
        let whole = lines.join(" ");
        let end =
            &whole[text::skip_columns(&whole, text::width(&whole).saturating_sub(width.saturating_sub(2)))..];
        // Half a name would open the quotes that its end closes.
        let is_half = end.matches('"').count() % 2 == 1;
        let end = end.split_once('"').filter(|_| is_half).map_or(end, |(_, rest)| rest);
        lines = vec![format!("… {end}")];
    }
    if lines.len() > shown {
        lines.truncate(shown);
        lines.iter_mut().skip(shown - 1).for_each(|line| line.push_str(" …"));
    }
    for (y, line) in (area.y + 1..area.bottom()).zip(lines) {
        let spans = highlight_line(view, &line);
        put_spans(buf, (area.x + 2, y), area.right().saturating_sub(1), &spans);
    }
}

/// Names the file, and the keys that copy the patch and the command.
fn copy_hint<'a>(view: &View<'_>, advice: &Advice, patch: Action) -> Vec<Span<'a>> {
    let mut spans = vec![view.muted(short_name(&advice.file_name()).to_owned())];
    let command = if advice.commands.is_empty() { "path" } else { "command" };
    let copy = if patch == Action::Copy { "copy" } else { "copies it" };
    for (action, words) in [(patch, copy), (Action::CopyCommand, command)] {
        let key = view.app.key_words(KeyContext::List, action);
        if !key.is_empty() {
            spans.extend([
                view.muted("   "),
                Span::styled(key, view.theme.bold(Role::Text)),
                view.muted(format!(" {words}")),
            ]);
        }
    }
    spans
}

fn words(view: &View<'_>, name: &str, words: &str, area: Rect, buf: &mut Buffer) {
    title(view.theme, buf, row_at(area, area.y), name, false);
    let lines = text::wrap(words, usize::from(area.width.saturating_sub(5)).max(1));
    for (y, line) in (area.y + 1..area.bottom()).zip(lines) {
        put(buf, (area.x + 2, y), area.right().saturating_sub(1), &line, view.theme.style(Role::Text));
    }
}

/// Highlights a line of JSON5: names green, changed values in the plan's colour, comments muted.
fn highlight_line(view: &View<'_>, line: &str) -> Vec<Span<'static>> {
    if line.trim_start().starts_with("//") {
        return vec![view.muted(line)];
    }
    let theme = view.theme;
    let mut spans = Vec::new();
    for (at, piece) in line.split('"').enumerate() {
        let quoted = at % 2 == 1;
        let named = line.split('"').nth(at + 1).is_some_and(|next| next.trim_start().starts_with(':'));
        match (quoted, named) {
            (true, true) => spans.push(Span::styled(format!("\"{piece}\""), theme.style(Role::String))),
            (true, false) => spans.push(Span::styled(format!("\"{piece}\""), theme.bold(Role::Plan))),
            (false, _) => spans.extend(highlight_unquoted(view, piece)),
        }
    }
    spans
}

/// Highlights numbers and words between brackets.
fn highlight_unquoted(view: &View<'_>, piece: &str) -> Vec<Span<'static>> {
    let value = |word: &&str| word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
    let words = piece.split_inclusive(' ');
    words
        .map(|word| {
            let style = if value(&word) { view.theme.bold(Role::Plan) } else { view.theme.style(Role::Text) };
            Span::styled(word.to_owned(), style)
        })
        .collect()
}

/// Returns the file name; the patch itself names the folder.
fn short_name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}
