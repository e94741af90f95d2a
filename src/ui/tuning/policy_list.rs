//! One line per policy in the order in which a session meets them, then the total. Its tokens are those of the next
//! prompt, as the header counts them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::policy_effects::{MeasuredEffect, PolicyLine, policy_lines};
use crate::format::{format_number, format_short, format_short_estimate, format_short_tokens};
use crate::plan::{Plan, PolicyEffect};
use crate::policy::policy_set::Phase;
use crate::policy::{Fate, Policy};
use crate::session::TokenCount;
use crate::ui::session_columns;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{ThinBar, apply_style, put, put_facts, put_right, put_spans, row_at};

/// Column layout of a row, relative to its left edge. Hidden columns are 0.
#[derive(Clone, Copy)]
struct Columns {
    /// The columns after the tokens before, and after the tokens after.
    tokens: (u16, u16),
    /// The column after the messages; 0 if hidden.
    messages: u16,
    /// First cell and width of the bar.
    bar: (u16, u16),
    /// First column of the effect.
    effect: u16,
    /// Shows the rule on the right.
    rule: bool,
}

const SIGN: u16 = 2;
const NAME: u16 = 4;

fn columns(width: u16) -> Columns {
    match width {
        120.. => Columns { tokens: (24, 35), messages: 50, bar: (53, 20), effect: 76, rule: true },
        100..120 => Columns { tokens: (24, 35), messages: 50, bar: (53, 10), effect: 66, rule: false },
        80..100 => Columns { tokens: (24, 35), messages: 0, bar: (38, 10), effect: 51, rule: false },
        _ => Columns { tokens: (22, 32), messages: 0, bar: (0, 0), effect: 35, rule: false },
    }
}

struct View<'a> {
    app: &'a App,
    theme: &'a Theme,
    columns: Columns,
    /// The next prompt before any policy: the scale of the bars.
    now: TokenCount,
}

impl<'a> View<'a> {
    fn new(app: &'a App, theme: &'a Theme, width: u16) -> Self {
        let now = app.planned_session().map_or_else(TokenCount::default, |session| session.next_prompt.total);
        Self { app, theme, columns: columns(width), now }
    }
}

pub(super) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let view = View::new(app, theme, area.width);
    let lines = policy_lines(&app.tuning.visible_policies, area.height);
    for (y, line) in (area.y..area.bottom()).zip(&lines) {
        let row = row_at(area, y);
        match line {
            PolicyLine::Phase(phase) => view.phase_heading(*phase, y == area.y, row, buf),
            PolicyLine::Policy(policy) => view.policy_row(*policy, row, buf),
            PolicyLine::Total => view.total(row, buf),
            PolicyLine::Hairline => hairline(theme, row, buf),
        }
    }
}

fn hairline(theme: &Theme, row: Rect, buf: &mut Buffer) {
    for x in row.left()..row.right() {
        put(buf, (x, row.y), row.right(), session_columns::LIGHT, theme.style(Role::Faint));
    }
}

/// Returns the next prompt before and after the policies, with the window.
pub(super) fn title_facts<'s>(app: &App, theme: &Theme) -> Vec<Span<'s>> {
    let view = View::new(app, theme, 0);
    let muted = theme.style(Role::Muted);
    let mut spans = vec![Span::styled(view.now_text(), theme.bold(Role::Bright))];
    if let Some((_, after)) = app.policy_effects.prompts.last() {
        spans.push(Span::styled(format!(" {} ", session_columns::ARROW), muted));
        spans.push(Span::styled(format_short_estimate(*after), theme.bold(Role::Plan)));
    }
    let window = app.planned_session().map_or(0, |session| session.window.model_tokens.whole());
    if window > 0 {
        spans.push(Span::styled(format!(" of {}", format_short(window)), muted));
    }
    spans
}

impl View<'_> {
    fn now_text(&self) -> String {
        format_short_tokens(self.now.tokens, !self.now.is_estimate())
    }

    /// Draws the phase of the policies below it; the first heading also names the columns.
    fn phase_heading(&self, phase: Phase, first: bool, row: Rect, buf: &mut Buffer) {
        let words = match phase {
            Phase::Transcript => "transcript",
            Phase::Run => "each run",
            Phase::Call => "each call",
        };
        put(buf, (row.x + 1, row.y), row.right(), words, self.theme.bold(Role::Muted));
        if first {
            let names = Span::styled("prompt before → after", self.theme.style(Role::Muted));
            put_right(buf, row.y, row.x + NAME, row.x + self.columns.tokens.1, &[names]);
            if self.columns.messages > 0 {
                let names = Span::styled("messages", self.theme.style(Role::Muted));
                put_right(buf, row.y, row.x + NAME, row.x + self.columns.messages, &[names]);
            }
        }
    }

    fn policy_row(&self, policy: Policy, row: Rect, buf: &mut Buffer) {
        let (app, theme, y) = (self.app, self.theme, row.y);
        let selected = app.tuning.policy == policy;
        if selected {
            apply_style(buf, row, theme.selection(false));
        }
        let on = app.tuning.is_policy_on(policy);
        let waits = app.preview.waiting_policies.has(policy);
        let (sign, role) = match (on, waits) {
            (true, true) => (session_columns::ON, Role::Warn),
            (true, false) => (session_columns::ON, Role::Plan),
            _ => (session_columns::OFF, Role::Muted),
        };
        put(buf, (row.x + SIGN, y), row.right(), sign, theme.style(role));
        let style = match (selected, on) {
            (true, _) => theme.bold(Role::Bright),
            (false, true) => theme.style(Role::Text),
            (false, false) => theme.style(Role::Muted),
        };
        put(buf, (row.x + NAME, y), row.right(), policy.word(), style);
        let mut end = row.right().saturating_sub(1);
        if self.columns.rule {
            let rule = Span::styled(policy.rule(), theme.style(Role::Muted));
            end = put_right(buf, y, row.x + self.columns.effect, end, &[rule]).saturating_sub(2);
        }
        let reported = app.preview.plan.as_ref().and_then(|plan| effect_of(plan, policy)).filter(|_| on);
        match reported {
            Some(effect) => self.active_policy(effect, row, end, buf),
            None => self.inactive_policy(policy, on, row, end, buf),
        }
    }

    /// Draws a policy of the plan: its tokens before and after.
    fn active_policy(&self, effect: &PolicyEffect, row: Rect, end: u16, buf: &mut Buffer) {
        let (theme, y) = (self.theme, row.y);
        let muted = theme.style(Role::Muted);
        let prompt = self.app.policy_effects.prompt_around(effect.policy, self.now.tokens);
        if let Some(prompt) = prompt {
            self.tokens(prompt, theme.bold(Role::Plan), row, buf);
            self.bar(prompt, Role::PlanBar, row, buf);
        }
        if self.columns.messages > 0 {
            let (before, after) = (effect.messages_before, effect.messages_after);
            let words = if before == after {
                format_number(after as i64)
            } else {
                format!(
                    "{} {} {}",
                    format_number(before as i64),
                    session_columns::ARROW,
                    format_number(after as i64)
                )
            };
            put_right(buf, y, row.x + NAME, row.x + self.columns.messages, &[Span::styled(words, muted)]);
        }
        let facts = self.effect_spans(effect, false);
        put_facts(buf, (row.x + self.columns.effect, y), end, &facts);
    }

    /// Draws a policy that is off, with its effect if it ran alone.
    fn inactive_policy(&self, policy: Policy, on: bool, row: Rect, end: u16, buf: &mut Buffer) {
        let (theme, y) = (self.theme, row.y);
        let muted = theme.style(Role::Muted);
        let at = (row.x + self.columns.effect, y);
        if on && self.app.preview.left_out.has(policy) {
            put(buf, at, end, "not due before this call", theme.style(Role::Warn));
            return;
        }
        let Some(MeasuredEffect { effect, prompt_tokens }) = self.app.policy_effects.alone(policy) else {
            let looks = self.app.displayed_session().is_none_or(|open| {
                policy.needs_features(open.ruleset.id.rules()) || policy == Policy::Compact
            });
            let words = match (looks, self.app.preview.details_failed) {
                (true, true) => "texts cannot be read",
                (true, false) => "reading texts…",
                (false, _) => session_columns::UNKNOWN,
            };
            put(buf, at, end, words, theme.style(if on { Role::Warn } else { Role::Muted }));
            return;
        };
        if !effect.changed {
            put(buf, at, end, "alone: no change", muted);
            return;
        }
        self.bar((self.now.tokens, *prompt_tokens), Role::Ghost, row, buf);
        let words = match self.now.tokens.checked_sub(*prompt_tokens) {
            Some(freed) => format!("alone: frees {}", format_short_estimate(freed)),
            None => format!("alone: adds {}", format_short_estimate(prompt_tokens - self.now.tokens)),
        };
        let mut facts = vec![vec![Span::styled(words, muted)]];
        facts.extend(self.effect_spans(effect, true));
        put_facts(buf, at, end, &facts);
    }

    /// Returns the messages per fate; `quiet` marks an effect that is only a preview.
    fn effect_spans<'s>(&self, effect: &PolicyEffect, quiet: bool) -> Vec<Vec<Span<'s>>> {
        let theme = self.theme;
        if !effect.changed {
            return vec![vec![Span::styled("nothing changes", theme.style(Role::Muted))]];
        }
        let style = |role| if quiet { theme.style(Role::Muted) } else { theme.style(role) };
        let changed = Fate::ALL.into_iter().filter(|fate| fate.is_change() && effect.count(*fate) > 0);
        let fact = |fate: Fate| {
            let sign = if quiet { theme.style(Role::Muted) } else { theme.fate(fate) };
            let count =
                Span::styled(format!(" {}", format_number(effect.count(fate) as i64)), style(Role::Text));
            vec![Span::styled(fate.sign(), sign), count]
        };
        let mut facts: Vec<Vec<Span>> = changed.map(fact).collect();
        let left = effect.messages_before - effect.count(Fate::Dropped) - effect.count(Fate::Summarised);
        let made = effect.messages_after.saturating_sub(left);
        if made > 0 {
            facts.push(vec![Span::styled(format!("+{made} added"), style(Role::Text))]);
        }
        facts
    }

    fn tokens(&self, (before, after): (u64, u64), style: ratatui::style::Style, row: Rect, buf: &mut Buffer) {
        let (muted, faint) = (self.theme.style(Role::Muted), self.theme.style(Role::Faint));
        let (before_end, after_end) = (row.x + self.columns.tokens.0, row.x + self.columns.tokens.1);
        put_right(buf, row.y, row.x + NAME, before_end, &[Span::styled(self.before_text(before), muted)]);
        put(buf, (before_end + 1, row.y), after_end, session_columns::ARROW, faint);
        let style = if before == after { muted } else { style };
        put_right(
            buf,
            row.y,
            before_end + 2,
            after_end,
            &[Span::styled(format_short_estimate(after), style)],
        );
    }

    /// Formats the prompt before a policy; only the prompt before all of them may be measured.
    fn before_text(&self, tokens: u64) -> String {
        if tokens == self.now.tokens { self.now_text() } else { format_short_estimate(tokens) }
    }

    fn bar(&self, (before, after): (u64, u64), role: Role, row: Rect, buf: &mut Buffer) {
        let (from, width) = self.columns.bar;
        if width == 0 {
            return;
        }
        let share = |tokens: u64| tokens as f64 / self.now.tokens.max(1) as f64;
        let bar = ThinBar {
            share: share(after),
            tail: share(before),
            style: self.theme.style(role),
            tail_style: self.theme.style(Role::Ghost),
        };
        bar.draw(buf, (row.x + from, row.y), width);
    }

    fn total(&self, row: Rect, buf: &mut Buffer) {
        let theme = self.theme;
        let from = (row.x + NAME, row.y);
        let Some(plan) = &self.app.preview.plan else {
            let words =
                [Span::styled("No policies on; each is shown as if it ran alone", theme.style(Role::Muted))];
            put_spans(buf, from, row.right(), &words);
            return;
        };
        put(buf, (row.x + 1, row.y), row.right(), "together", theme.bold(Role::Muted));
        if let Some((_, after)) = self.app.policy_effects.prompts.last() {
            self.tokens((self.now.tokens, *after), theme.bold(Role::Plan), row, buf);
        }
        let (before, after) = (plan.tokens_before.len(), plan.messages.len());
        if self.columns.messages > 0 {
            let words = if before == after {
                format_number(after as i64)
            } else {
                format!(
                    "{} {} {}",
                    format_number(before as i64),
                    session_columns::ARROW,
                    format_number(after as i64)
                )
            };
            let words = Span::styled(words, theme.style(Role::Muted));
            put_right(buf, row.y, row.x + NAME, row.x + self.columns.messages, &[words]);
        }
        let changed =
            Fate::ALL.into_iter().filter(|fate| fate.is_change()).map(|fate| (fate, plan.count(fate)));
        let fact = |(fate, count): (Fate, usize)| {
            vec![
                Span::styled(fate.sign(), theme.fate(fate)),
                Span::styled(format!(" {}", format_number(count as i64)), theme.style(Role::Text)),
            ]
        };
        let mut facts: Vec<Vec<Span>> = changed.filter(|(_, count)| *count > 0).map(fact).collect();
        let made = plan.added_messages().count();
        if made > 0 {
            facts.push(vec![Span::styled(format!("+{made} added"), theme.style(Role::Text))]);
        }
        put_facts(buf, (row.x + self.columns.effect, row.y), row.right().saturating_sub(1), &facts);
    }
}

fn effect_of(plan: &Plan, policy: Policy) -> Option<&PolicyEffect> {
    plan.effects.iter().find(|effect| effect.policy == policy)
}
