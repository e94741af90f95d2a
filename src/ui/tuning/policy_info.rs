//! Descriptions of the policies, shown below their settings and on the policies screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::format::{format_short_estimate, quantity};
use crate::policy::{Fate, Policy};
use crate::ui::glyphs;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{put, put_facts};

/// Returns the description of a policy and its rule.
pub(in crate::ui) fn policy_description(policy: Policy) -> (&'static str, &'static str) {
    let does = match policy {
        Policy::Compact => "Replaces old messages with a summary; keeps the newest word for word.",
        Policy::Truncate => "Cuts tool results above a share of the window, in the transcript itself.",
        Policy::Repair => "Drops unpaired tool results and stubs missing ones.",
        Policy::History => "Sends only the last user turns and everything after them.",
        Policy::Images => "Images the model has already seen become a short note.",
        Policy::Reduce => "Cuts tool results until all of them together fit a budget.",
        Policy::Check => "Checks each prompt against the window minus the reserve before sending it.",
        Policy::Prune => "Trims old tool results, then clears them, once the cache is cold.",
        Policy::Guard => "Cuts tool results to their share of the window in every call.",
        Policy::Clear => "Above a trigger, clears the oldest tool uses and keeps the newest.",
    };
    (does, policy.rule())
}

/// Draws the description and the effect of the focused policy, if its settings leave room.
pub(super) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let policy = app.tuning.policy;
    let rows = app.tuning.policy_rows().len();
    // A blank line separates it from the settings.
    let top = if rows == 0 { area.y } else { area.y + 1 };
    let end = area.right().saturating_sub(1);
    if top >= area.bottom() {
        return;
    }
    let (does, rule) = policy_description(policy);
    let muted = theme.style(Role::Muted);
    let spans = [vec![Span::styled(does, theme.style(Role::Text))], vec![Span::styled(rule, muted)]];
    put_facts(buf, (area.x + 3, top), end, &spans);
    if top + 1 < area.bottom() {
        effect(app, theme, policy, (area.x + 3, top + 1), end, buf);
    }
}

fn effect(app: &App, theme: &Theme, policy: Policy, at: (u16, u16), end: u16, buf: &mut Buffer) {
    let muted = theme.style(Role::Muted);
    let reported =
        app.preview.plan.as_ref().and_then(|plan| plan.effects.iter().find(|effect| effect.policy == policy));
    let Some(effect) = reported else {
        let words = match app.tuning.is_policy_on(policy) {
            true if app.preview.left_out.has(policy) => "Not due before this call.",
            true if app.preview.details_failed => "Cannot read the texts that it needs.",
            true => "Reading the texts that it needs…",
            false => "Off.",
        };
        put(buf, at, end, words, muted);
        return;
    };
    if !effect.changed {
        put(buf, at, end, "Changes nothing here.", muted);
        return;
    }
    let tokens = vec![
        Span::styled(format_short_estimate(effect.tokens_before), muted),
        Span::styled(format!(" {} ", glyphs::ARROW), muted),
        Span::styled(format_short_estimate(effect.tokens_after), theme.bold(Role::Plan)),
    ];
    let messages = format!(
        "{} {} {}",
        effect.messages_before,
        glyphs::ARROW,
        quantity(effect.messages_after as u64, "message")
    );
    let mut facts = vec![tokens, vec![Span::styled(messages, muted)]];
    for fate in Fate::ALL.into_iter().filter(|fate| fate.is_change() && effect.count(*fate) > 0) {
        let words = format!(" {} {}", effect.count(fate), fate.word());
        facts.push(vec![
            Span::styled(fate.sign(), theme.fate(fate)),
            Span::styled(words, theme.style(Role::Text)),
        ]);
    }
    put_facts(buf, at, end, &facts);
}
