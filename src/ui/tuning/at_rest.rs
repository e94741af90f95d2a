//! The tuning pane without a plan: the savings of each configured policy.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::format::{format_short_estimate, quantity};
use crate::policy::Policy;
use crate::session::LoadedSession;
use crate::ui::session_columns;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{put, put_facts, put_right};

/// Draws one row with the savings of the configured settings.
pub(super) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let y = area.y + 1;
    if area.height < 2 {
        return;
    }
    let Some(session) = app.displayed_session() else {
        put(buf, (1, y), area.right(), "open a session to see its settings", theme.style(Role::Muted));
        return;
    };
    let muted = theme.style(Role::Muted);
    let mut facts: Vec<Vec<Span>> = Vec::new();
    // Pruning first, because it is the most wanted.
    let prune = app.preview.policy_savings.iter().filter(|(step, _)| *step == Policy::Prune);
    for (step, saves) in
        prune.chain(app.preview.policy_savings.iter().filter(|(step, _)| *step != Policy::Prune))
    {
        let waits = if *step == Policy::Prune { closed_gate(app, session) } else { None };
        let frees = if waits.is_some() && *saves != Some(0) { " would free " } else { " frees " };
        let mut fact = vec![Span::styled(step.word(), theme.style(Role::Text)), Span::styled(frees, muted)];
        fact.extend(match saves {
            None => vec![
                Span::styled(session_columns::UNKNOWN, muted),
                Span::styled(" cannot be measured", muted),
            ],
            Some(0) => vec![Span::styled("nothing", muted)],
            Some(tokens) => {
                let waits = waits.map_or_else(String::new, |why| format!(": {why}"));
                vec![
                    Span::styled(format_short_estimate(*tokens), theme.style(Role::Plan)),
                    Span::styled(waits, muted),
                ]
            }
        });
        facts.push(fact);
    }
    let off =
        if session.pruning_configured { Vec::new() } else { vec![Span::styled("off in the config", muted)] };
    facts.insert(facts.len().min(1), off);
    let x = put_facts(buf, (1, y), area.right(), &facts);
    let changed = (0..app.tuning.rows.len()).filter(|at| app.tuning.is_changed(*at)).count();
    let words = match changed {
        0 => "unchanged from config".to_owned(),
        count => format!("{} changed", quantity(count as u64, "setting")),
    };
    put_right(buf, y, x + 3, area.right().saturating_sub(1), &[Span::styled(words, muted)]);
}

/// Returns why the pruner would not run for the call on display.
fn closed_gate(app: &App, session: &LoadedSession) -> Option<String> {
    session.describe_closed_gate(app.tuning.gate_now(session, app.call_time_ms()))
}
