//! The tuning pane: the policies, and for each setting of the focused one its value, its range, its meaning here and
//! its origin.

mod at_rest;
mod facts;
mod meaning;
mod policy_details;
mod policy_list;
mod row;

pub(super) use meaning::column_text;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use crate::app::App;
use crate::app::layout::{Layout, Pane, WidthClass};
use crate::policy::Policy;
use crate::ui::session_columns;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{on_title, put, put_right, put_spans, title};

pub(super) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let layout = app.layout();
    let tabs = !layout.tabs.is_empty();
    if !tabs {
        title_line(app, theme, &layout, buf);
    }
    if app.preview.plan.is_none() && app.focus != Pane::Tuning {
        at_rest::draw(app, theme, area, buf);
        return;
    }
    if !layout.tuning_facts.is_empty() {
        if tabs {
            let (x, line) = (policy_line(app, theme, &layout, buf), layout.tuning_facts);
            facts::draw_beside_policies(app, theme, (x, line.y), line.right().saturating_sub(1), buf);
        } else {
            facts::draw(app, theme, layout.tuning_facts, buf);
        }
    }
    if !layout.policy_list.is_empty() {
        policy_list::draw(app, theme, layout.policy_list, buf);
    }
    let head = layout.header_rows(Pane::Tuning);
    for line in 0..layout.rows(Pane::Tuning) {
        let y = area.y + head + line as u16;
        let row = row::SettingLine { app, theme, layout: &layout, area: Rect { y, height: 1, ..area } };
        match app.tuning.row_at(line) {
            Some(at)
                if at == app.tuning.cursor && line + app.tuning.top > at - app.tuning.policy_rows().start =>
            {
                row.profile(buf);
            }
            Some(at) => row.setting(at, buf),
            None => {}
        }
    }
    let used = app.tuning.line_count().saturating_sub(app.tuning.top).min(layout.rows(Pane::Tuning)) as u16;
    let below = Rect { y: area.y + head + used, height: area.height.saturating_sub(head + used), ..area };
    policy_details::draw(app, theme, below, buf);
}

/// Draws only the focused setting, for screens that show its effect; with two rows the first names the policies.
pub(super) fn draw_focused_setting(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let layout = app.layout().with_tuning(area);
    if area.height > 1 {
        title(theme, buf, area, Pane::Tuning.title(), app.is_tuning_focused());
        policy_line(app, theme, &layout, buf);
    }
    let line = Rect { y: area.bottom() - 1, height: 1, ..area };
    let Some(at) = app.tuning.focused_row() else {
        let words = format!("{} has no settings", app.tuning.policy.word());
        put(buf, (line.x + 3, line.y), line.right(), &words, theme.style(Role::Muted));
        return;
    };
    row::SettingLine { app, theme, layout: &layout, area: line }.setting(at, buf);
}

/// Draws the title: the policies, which are on, and the tokens saved.
fn title_line(app: &App, theme: &Theme, layout: &Layout, buf: &mut Buffer) {
    let area = layout.tuning;
    let focused = app.focus == Pane::Tuning;
    let from = title(theme, buf, area, Pane::Tuning.title(), focused);
    joints(app, theme, area, focused, buf);
    if app.shows_policies() {
        on_title(buf, area.y, from, area.right().saturating_sub(1), &policy_list::title_facts(app, theme));
        return;
    }
    let mut x = policy_line(app, theme, layout, buf);
    let end = area.right().saturating_sub(1);
    if layout.tuning_facts.is_empty() {
        x = facts::gate(app, theme, (x + 1, area.y), end, buf);
    }
    let wide = layout.width_class >= WidthClass::Medium;
    on_title(
        buf,
        area.y,
        x + 1,
        end,
        &facts::title_facts(app, theme, wide && layout.tuning_facts.is_empty()),
    );
}

/// Draws the policies, or the focused one with the number of other active ones; returns the next column.
fn policy_line(app: &App, theme: &Theme, layout: &Layout, buf: &mut Buffer) -> u16 {
    let line = layout.policies_line();
    let spots = layout.policy_spots(&app.tuning.visible_policies, app.tuning.policy);
    let mut x = line.x;
    for (step, columns) in &spots {
        put(buf, (columns.start - 1, line.y), line.right(), " ", Style::new());
        x = put_spans(buf, (columns.start, line.y), line.right(), &policy_switch(app, theme, *step));
        x = put(buf, (x, line.y), line.right(), " ", Style::new());
    }
    if spots.len() == 1 {
        other_policies(app, theme, (x, line.y), line.right().saturating_sub(1), buf)
    } else {
        x
    }
}

/// Returns a policy's name and switch; the focused one is underlined.
fn policy_switch<'a>(app: &App, theme: &Theme, step: Policy) -> [Span<'a>; 3] {
    let on = app.tuning.is_policy_on(step);
    let focused = app.tuning.policy == step;
    let style = match (focused, on) {
        (true, _) => theme.bold(Role::Bright).add_modifier(Modifier::UNDERLINED),
        (false, true) => theme.style(Role::Text),
        (false, false) => theme.style(Role::Muted),
    };
    let role = match on {
        true if app.preview.waiting_policies.has(step) => Role::Warn,
        true => Role::Plan,
        false => Role::Muted,
    };
    let sign = if on { session_columns::ON } else { session_columns::OFF };
    [Span::styled(step.word(), style), Span::raw(" "), Span::styled(sign, theme.style(role))]
}

/// Draws the number of active policies besides the focused one.
fn other_policies(app: &App, theme: &Theme, at: (u16, u16), end: u16, buf: &mut Buffer) -> u16 {
    let count = Policy::ALL
        .iter()
        .filter(|step| **step != app.tuning.policy && app.tuning.is_policy_on(**step))
        .count();
    if count == 0 {
        return at.0;
    }
    put(buf, at, end, &format!("+{count} "), theme.style(Role::Plan))
}

/// Draws the joints where hairlines from above end on the line.
fn joints(app: &App, theme: &Theme, area: Rect, focused: bool, buf: &mut Buffer) {
    let layout = app.layout();
    let (sign, role) = if focused { ("┷", Role::Focus) } else { ("┴", Role::Faint) };
    for pane in [layout.transcript, layout.message] {
        if pane.x > 0 && !pane.is_empty() && pane.bottom() == area.y {
            put(buf, (pane.x, area.y), area.right(), sign, theme.style(role));
        }
    }
}

/// Draws the line of the narrowest layout: the fate of the selected row and the setting moved last.
pub(super) fn note(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let end = area.right().saturating_sub(1);
    let mut start = end;
    if app.preview.plan.is_some()
        && let Some(row) = app.tuning.focused_setting()
    {
        let value = meaning::value_text(app, app.tuning.cursor);
        let role = if app.tuning.is_changed(app.tuning.cursor) { Role::Plan } else { Role::Muted };
        let words = Span::styled(format!("{} {value}", row.name()), theme.style(role));
        start = put_right(buf, area.y, area.x + area.width / 2, end, &[words]);
    }
    let (Some(plan), Some(pane)) = (&app.preview.plan, &app.transcript) else {
        at_rest::draw(app, theme, Rect { y: area.y.saturating_sub(1), height: 2, ..area }, buf);
        return;
    };
    if let Some(fate) = pane.selected_fate(plan) {
        let spans = [
            Span::styled(format!("{} {}", fate.fate.sign(), fate.fate.word()), theme.fate(fate.fate)),
            Span::styled(format!("   {}", fate.reason.rule()), theme.style(Role::Muted)),
        ];
        put_spans(buf, (area.x + 1, area.y), start.saturating_sub(2), &spans);
    }
}
