//! The presets with their settings, and two of them side by side.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::screens::presets::{
    COMPARISON_ROWS, MAX_DIFFERENCES, PresetPair, PresetsScreen, differing_settings,
};
use crate::config::presets::PresetFile;
use crate::format::{format_amount, format_estimate, format_number};
use crate::report::preset_outcome::PresetOutcome;
use crate::text;
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::{clear, put, put_right, row_at, scrollbar, title};
use crate::ui::{frame_box, glyphs};

const NAME_COLUMNS: u16 = 18;

pub(in crate::ui) fn draw(app: &App, theme: &Theme, screen: &PresetsScreen, area: Rect, buf: &mut Buffer) {
    clear(theme, buf, area);
    title(theme, buf, area, "Presets", true);
    if app.presets.is_empty() {
        let words = ["No presets yet.", "Move some settings, then type  :preset save NAME"];
        put(buf, (area.x + 3, area.y + 2), area.right(), words[0], theme.bold(Role::Bright));
        put(buf, (area.x + 3, area.y + 3), area.right(), words[1], theme.style(Role::Text));
        return;
    }
    let height = area.height.saturating_sub(1 + COMPARISON_ROWS).max(3).min(area.height.saturating_sub(1));
    let height = height.min(app.presets.len().max(3) as u16);
    let list = Rect { y: area.y + 1, height, ..area };
    let top = screen.scroll.top.min(app.presets.len().saturating_sub(usize::from(list.height)));
    for (y, (at, preset)) in (list.y..list.bottom()).zip(app.presets.iter().enumerate().skip(top)) {
        if at == screen.scroll.cursor {
            frame_box::selected(theme, buf, row_at(list, y), theme.background(BackgroundRole::Selected));
        }
        draw_preset(theme, screen, preset, row_at(list, y), buf);
    }
    scrollbar(theme, buf, list, top, app.presets.len());
    if let Some(pair) = screen.pair(&app.presets) {
        let below = Rect { y: list.bottom(), height: area.bottom().saturating_sub(list.bottom()), ..area };
        draw_comparison(app, theme, screen, &pair, below, buf);
    }
}

fn draw_preset(theme: &Theme, screen: &PresetsScreen, preset: &PresetFile, row: Rect, buf: &mut Buffer) {
    let end = row.right().saturating_sub(2);
    if screen.pinned.as_deref() == Some(preset.name.as_str()) {
        put(buf, (row.x + 1, row.y), end, "A", theme.bold(Role::Focus));
    }
    let x = put(buf, (row.x + 3, row.y), end, &preset.name, theme.style(Role::Text));
    let x = (x + 2).max(row.x + 3 + NAME_COLUMNS);
    let (words, role) = match &preset.values {
        Ok(values) => {
            let values: Vec<String> = values.iter().map(|(key, value)| format!("{key} {value}")).collect();
            (values.join(" · "), Role::Muted)
        }
        Err(error) => (error.replace('\n', " "), Role::Danger),
    };
    let (words, _) = text::truncate(&words, usize::from(end.saturating_sub(x)));
    put(buf, (x, row.y), end, &words, theme.style(role));
}

/// One line of the comparison: a name and the values of both columns.
type Line = (String, [String; 2], Role);

fn draw_comparison(
    app: &App,
    theme: &Theme,
    screen: &PresetsScreen,
    pair: &PresetPair,
    area: Rect,
    buf: &mut Buffer,
) {
    for x in area.left()..area.right() {
        put(buf, (x, area.y), area.right(), glyphs::LIGHT, theme.style(Role::Faint));
    }
    let name = |at: usize| if pair[at].0.is_empty() { "config".to_owned() } else { pair[at].0.clone() };
    let mut lines: Vec<Line> = vec![(String::new(), [name(0), name(1)], Role::Bright)];
    let differing = differing_settings(pair);
    let value = |value: Option<&str>| value.unwrap_or("as configured").to_owned();
    let shown = differing.iter().take(MAX_DIFFERENCES);
    lines.extend(
        shown.map(|(key, first, second)| ((*key).to_owned(), [value(*first), value(*second)], Role::Text)),
    );
    if differing.len() > MAX_DIFFERENCES {
        let more = format!("and {} more", format_number(differing.len() - MAX_DIFFERENCES));
        lines.push((more, Default::default(), Role::Muted));
    }
    lines.extend(outcome_lines(app, screen, pair));
    let middle = area.x + area.width * 2 / 5;
    let width = (area.right() - middle) / 2;
    for (y, (label, values, role)) in (area.y + 1..area.bottom()).zip(lines) {
        put(buf, (area.x + 3, y), middle.saturating_sub(1), &label, theme.style(Role::Muted));
        for (at, value) in (0..).zip(values) {
            let end = middle + width * (at + 1) - 2;
            let style = if role == Role::Bright { theme.bold(role) } else { theme.style(role) };
            put_right(buf, y, end.saturating_sub(width - 3), end, &[Span::styled(value, style)]);
        }
    }
}

fn outcome_lines(app: &App, screen: &PresetsScreen, pair: &PresetPair) -> Vec<Line> {
    let known = screen.outcomes.as_ref().filter(|(_, known, _)| **known == *pair);
    match known.map(|(_, _, outcomes)| outcomes) {
        _ if app.active_session().is_none() => {
            vec![("no session is open".into(), Default::default(), Role::Muted)]
        }
        Some(Some(Ok(outcomes))) => numbers(outcomes),
        Some(Some(Err(error))) => vec![(error.to_string(), Default::default(), Role::Danger)],
        _ => vec![("replaying…".into(), Default::default(), Role::Muted)],
    }
}

fn numbers(outcomes: &[PresetOutcome; 2]) -> Vec<Line> {
    let both = |value: &dyn Fn(&PresetOutcome) -> String| [value(&outcomes[0]), value(&outcomes[1])];
    let tokens = |tokens: Option<u64>| tokens.map_or_else(|| "—".to_owned(), format_estimate);
    let cost = |outcome: &PresetOutcome| {
        outcome
            .replay
            .cost
            .map_or_else(|| "—".to_owned(), |usd| format_amount(usd, outcome.replay.cost_is_estimated))
    };
    let line = |name: &str, values| (name.to_owned(), values, Role::Text);
    let refused = |outcome: &PresetOutcome| {
        if outcome.is_window_refused { "too small: every message fails" } else { "accepted" }.to_owned()
    };
    let is_refused = outcomes.iter().any(|outcome| outcome.is_window_refused);
    let window = is_refused.then(|| ("window".to_owned(), both(&refused), Role::Danger));
    let totals = vec![
        line("next call, tokens", both(&|outcome| tokens(outcome.next_call_tokens))),
        line("failed call, tokens", both(&|outcome| tokens(outcome.replay.failing_call_tokens))),
        line("whole session, peak tokens", both(&|outcome| tokens(Some(outcome.replay.peak_tokens)))),
        line("whole session, cost", both(&cost)),
        line("overflows", both(&|outcome| format_number(outcome.replay.overflows))),
        line("compactions", both(&|outcome| format_number(outcome.replay.compactions))),
    ];
    window.into_iter().chain(totals).collect()
}
