//! The tuning pane: what each setting is, where it could be, what it means here and where it comes from.

mod meaning;
mod row;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::action::Action;
use crate::app::keymap::Context;
use crate::app::layout::{Breadth, Pane};
use crate::inspect::words::money;
use crate::plan::Plan;
use crate::policy::Fate;
use crate::policy::prune::Gate;
use crate::ui::glyphs;
use crate::ui::status::first_key;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::number::{counted, elapsed, estimate};
use crate::ui::widgets::{on_title, put, put_facts, put_right, title};

/// Draws the pane.
pub(super) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let layout = app.layout();
    let tabs = !layout.tabs.is_empty();
    if !tabs {
        title_line(app, theme, area, buf);
    }
    if app.plan.is_none() && app.focus != Pane::Tuning {
        at_rest(app, theme, area, buf);
        return;
    }
    for line in 0..usize::from(area.height.saturating_sub(1)) {
        let y = area.y + 1 + line as u16;
        let row = row::Line { app, theme, layout: &layout, area: Rect { y, height: 1, ..area } };
        match app.tuning.row_at(line) {
            Some(at) if at == app.tuning.cursor && app.tuning.top + line > at => row.profile(buf),
            Some(at) => row.setting(at, buf),
            None => {}
        }
    }
}

/// The title line: which policies are shown, the gate, and what they save.
fn title_line(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let focused = app.focus == Pane::Tuning;
    let x = title(theme, buf, area, Pane::Tuning.title(), focused);
    joints(app, theme, area, focused, buf);
    let on = app.tuning.preview;
    let role = if on { Role::Text } else { Role::Muted };
    let sign = if on { glyphs::ON } else { glyphs::OFF };
    let sign_role = if on { Role::Plan } else { Role::Muted };
    let switch = [
        Span::styled(" prune ", theme.style(role)),
        Span::styled(sign, theme.style(sign_role)),
        Span::raw(" "),
    ];
    let x = crate::ui::widgets::put_spans(buf, (x + 1, area.y), area.right(), &switch);
    let x = gate(app, theme, (x + 1, area.y), area.right(), buf);
    let end = area.right().saturating_sub(1);
    let wide = app.layout().breadth >= Breadth::Medium;
    if let Some(plan) = &app.plan {
        on_title(buf, area.y, x + 1, end, &saved(app, plan, theme, wide));
    } else {
        let words = if app.tuning.any_changed() { "changed, not shown" } else { "nothing changed" };
        on_title(buf, area.y, x + 1, end, &[Span::styled(words, theme.style(Role::Muted))]);
    }
}

/// Where hairlines from above end on the line.
fn joints(app: &App, theme: &Theme, area: Rect, focused: bool, buf: &mut Buffer) {
    let layout = app.layout();
    let (sign, role) = if focused { ("┷", Role::Focus) } else { ("┴", Role::Faint) };
    for pane in [layout.transcript, layout.message] {
        if pane.x > 0 && !pane.is_empty() && pane.bottom() == area.y {
            put(buf, (pane.x, area.y), area.right(), sign, theme.style(role));
        }
    }
}

/// Why the pruner would not run now, or that this is left aside.
fn gate(app: &App, theme: &Theme, at: (u16, u16), end: u16, buf: &mut Buffer) -> u16 {
    let key = || first_key(app, Context::Tuning, Action::ToggleGate);
    let Some(inspection) = app.inspection().filter(|_| app.plan.is_some()) else { return at.0 };
    let gate = app.tuning.gate_now(inspection, app.now_ms as f64);
    let (words, role) = match gate_words(gate, app) {
        Some(words) if app.tuning.obey_gates => {
            (format!(" gate shut: {words} · {} look past it ", key()), Role::Warn)
        }
        Some(words) => (format!(" gate shut now: {words} · {} obey it ", key()), Role::Warn),
        None => (" gate open ".to_owned(), Role::Muted),
    };
    let room = end.saturating_sub(at.0);
    if crate::text::width(&words) as u16 > room {
        return put(buf, at, end, " gate shut ", theme.style(role));
    }
    put(buf, at, end, &words, theme.style(role))
}

/// Why a gate is shut, in a few words; none when it is open.
fn gate_words(gate: Gate, app: &App) -> Option<String> {
    Some(match gate {
        Gate::Open { .. } => return None,
        Gate::Off => "pruning is off".to_owned(),
        Gate::NoPruner => {
            app.inspection().map_or("this version", |open| open.ruleset.ruleset.name()).to_owned()
                + " never prunes"
        }
        Gate::NotEligible => {
            let provider = app.inspection().map_or("", |inspection| inspection.provider.as_str());
            format!("{provider} models are never pruned")
        }
        Gate::NeverTouched => "no cache touch recorded".to_owned(),
        Gate::NoTtl => "ttl is 0".to_owned(),
        Gate::Warm { idle_ms, .. } if idle_ms < 0.0 => "last touch lies in the future".to_owned(),
        Gate::Warm { idle_ms, ttl_ms } => format!("cache warm {} of {}", elapsed(idle_ms), elapsed(ttl_ms)),
    })
}

/// What the plan saves, and of how many messages.
fn saved<'a>(app: &App, plan: &Plan, theme: &Theme, wide: bool) -> Vec<Span<'a>> {
    let freed = plan.total_before().saturating_sub(plan.total_after());
    let muted = theme.style(Role::Muted);
    let mut spans = Vec::new();
    if plan.is_empty() {
        return vec![Span::styled("nothing to prune", muted)];
    }
    if wide {
        spans.push(Span::styled("saves ", muted));
        spans.push(Span::styled(estimate(freed), theme.bold(Role::Plan)));
    }
    let (cleared, trimmed) = (app.figures.cleared, app.figures.trimmed);
    for (fate, word, count) in [(Fate::Cleared, "cleared", cleared), (Fate::SoftTrimmed, "trimmed", trimmed)]
    {
        if count == 0 {
            continue;
        }
        if !spans.is_empty() {
            spans.push(Span::raw("   "));
        }
        spans.push(Span::styled(fate.sign(), theme.fate(fate)));
        let words = if wide { format!(" {count} {word}") } else { format!(" {count}") };
        spans.push(Span::styled(words, theme.style(Role::Text)));
    }
    if let Some(cost) = app.figures.cost.filter(|_| wide) {
        let role = if cost.next_call > 0.0 { Role::Warn } else { Role::Plan };
        spans.push(Span::styled("   next call ", muted));
        spans.push(Span::styled(money(cost.next_call), theme.bold(role)));
    }
    spans
}

/// One row that says what the configured settings would save.
fn at_rest(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let y = area.y + 1;
    if area.height < 2 {
        return;
    }
    let Some(inspection) = app.inspection() else {
        put(buf, (1, y), area.right(), "settings show when a session is open", theme.style(Role::Muted));
        return;
    };
    let muted = theme.style(Role::Muted);
    let saves = match app.would_save {
        None => vec![Span::styled(glyphs::NONE, muted), Span::styled(" cannot be measured", muted)],
        Some(0) => vec![Span::styled("nothing", muted)],
        Some(tokens) => vec![Span::styled(estimate(tokens), theme.style(Role::Plan))],
    };
    let mut fact = vec![Span::styled("prune", theme.style(Role::Text)), Span::styled(" would save ", muted)];
    fact.extend(saves);
    let off =
        if inspection.configured_on { Vec::new() } else { vec![Span::styled("off in the config", muted)] };
    let x = put_facts(buf, (1, y), area.right(), &[fact, off]);
    let changed = (0..app.tuning.rows.len()).filter(|at| app.tuning.is_changed(*at)).count();
    let words = match changed {
        0 => "at their config values".to_owned(),
        count => format!("{} changed", counted(count as u64, "setting")),
    };
    put_right(buf, y, x + 3, area.right().saturating_sub(1), &[Span::styled(words, muted)]);
}

/// The line of the narrowest layout: the fate of the row under the cursor, and the setting moved last.
pub(super) fn note(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let end = area.right().saturating_sub(1);
    let mut start = end;
    if app.plan.is_some()
        && let Some(row) = app.tuning.rows.get(app.tuning.cursor)
    {
        let value = meaning::value_text(app, app.tuning.cursor);
        let role = if app.tuning.is_changed(app.tuning.cursor) { Role::Plan } else { Role::Muted };
        let words = Span::styled(format!("{} {value}", row.key), theme.style(role));
        start = put_right(buf, area.y, area.x + area.width / 2, end, &[words]);
    }
    let (Some(plan), Some(pane)) = (&app.plan, &app.transcript) else {
        at_rest(app, theme, Rect { y: area.y.saturating_sub(1), height: 2, ..area }, buf);
        return;
    };
    let fate = pane.selected().and_then(|row| plan.fates().get(row.message?));
    if let Some(fate) = fate {
        let spans = [
            Span::styled(format!("{} {}", fate.fate.sign(), fate.fate.word()), theme.fate(fate.fate)),
            Span::styled(format!("   {}", fate.reason.rule()), theme.style(Role::Muted)),
        ];
        crate::ui::widgets::put_spans(buf, (area.x + 1, area.y), start.saturating_sub(2), &spans);
    }
}
