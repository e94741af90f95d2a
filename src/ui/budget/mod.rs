//! The budget: how full the window is and with which parts, the distance to each threshold, and the effect of the plan.

mod bar;
mod scale;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use crate::app::App;
use crate::app::action::Action;
use crate::app::keymap::KeyContext;
use crate::app::layout::{Layout, WidthClass};
use crate::app::target::Target;
use crate::context::budget::{Budget, BudgetPart};
use crate::format::{format_short, format_short_estimate, format_short_tokens, whole_percent};
use crate::policy::memory_flush::FlushState;
use crate::session::budget_marks::{Threshold, ThresholdMark, threshold_marks};
use crate::session::{CountSource, LoadedSession};
use crate::ui::changed_value::changed_style;
use crate::ui::session_columns;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{apply_style, put, put_right, put_spans, spans_width};
use bar::Bar;

/// Label of a count by the provider.
const COUNTED: &str = "counted";

/// The values that bars, scale and legend share.
struct BudgetView<'a> {
    app: &'a App,
    theme: &'a Theme,
    layout: &'a Layout,
    now: Budget,
    plan: Option<Budget>,
    marks: Vec<ThresholdMark>,
    /// Window in tokens.
    window: u64,
    /// Source of the next prompt's token count.
    source: CountSource,
    /// The bars have no parts: they show the largest prompts, of which only totals are known.
    has_no_parts: bool,
    /// The replay result has arrived, or is not needed.
    replayed: bool,
    /// Tokens that the whole bar represents.
    full: u64,
    /// First column of the bar, and the column after its last.
    columns: (u16, u16),
}

/// Draws a budget as one bar without thresholds; `full` is its length in tokens.
pub(super) fn plain_bar(theme: &Theme, budget: Budget, full: u64, area: Rect, buf: &mut Buffer) {
    Bar {
        theme,
        budget,
        full,
        area,
        mixed: false,
        marks: &[],
        freed_from: None,
        other_row_has_marks: false,
        has_no_parts: false,
    }
    .draw(buf);
}

pub(super) fn draw(app: &App, theme: &Theme, layout: &Layout, buf: &mut Buffer) {
    let Some(session) = app.planned_session() else { return };
    let picture = BudgetView::new(app, theme, layout, session);
    let shown = picture.bars(buf);
    picture.second_row(session, buf);
    picture.scale(buf);
    picture.legend(&shown, buf);
}

impl<'a> BudgetView<'a> {
    fn new(app: &'a App, theme: &'a Theme, layout: &'a Layout, session: &LoadedSession) -> Self {
        let has_no_parts = app.target == Target::WholeSession;
        // Only the replay knows the largest prompts.
        let replayed = !has_no_parts || app.replay_outcome().is_some();
        let now = if replayed { app.preview.totals.current } else { Budget::default() };
        let plan = app.preview.totals.after.map(|after| if replayed { after } else { Budget::default() });
        let settings = if plan.is_some() {
            app.tuning.policy_settings(session)
        } else {
            session.configured_settings.clone()
        };
        let window = session.window.model_tokens.whole();
        let start = if layout.width_class >= WidthClass::Medium { 23 } else { 21 };
        Self {
            app,
            theme,
            layout,
            marks: threshold_marks(session, &settings, session.next_prompt.scale_factors()),
            window,
            source: app.preview.totals.count_source,
            has_no_parts,
            replayed,
            full: window.max(now.total()).max(1),
            columns: (start, layout.bars.right().saturating_sub(2).max(start + 1)),
            now,
            plan,
        }
    }

    fn bars(&self, buf: &mut Buffer) -> Vec<BudgetPart> {
        let y = self.layout.bars.y;
        let bar = |budget, y| Bar {
            theme: self.theme,
            budget,
            full: self.full,
            area: Rect { x: self.columns.0, y, width: self.columns.1 - self.columns.0, height: 1 },
            mixed: false,
            marks: &self.marks,
            freed_from: None,
            other_row_has_marks: false,
            has_no_parts: self.has_no_parts,
        };
        match self.plan {
            None => {
                self.heading(self.current_label(), self.theme.bold(Role::Bright), y, buf);
                bar(self.now, y).draw(buf)
            }
            Some(plan) => {
                self.heading(self.current_label(), self.theme.style(Role::Text), y, buf);
                self.flash(y + 1, buf);
                let words = if self.replayed {
                    format_short_estimate(plan.total())
                } else {
                    session_columns::UNKNOWN.to_owned()
                };
                let after = ("plan", plan.total(), words);
                self.heading(after, self.theme.bold(Role::Plan), y + 1, buf);
                Bar { mixed: true, other_row_has_marks: true, ..bar(self.now, y) }.draw(buf);
                let plain = self.has_no_parts || self.app.preview.totals.parts_unknown;
                Bar {
                    freed_from: Some(self.now.total()),
                    other_row_has_marks: true,
                    has_no_parts: plain,
                    ..bar(plan, y + 1)
                }
                .draw(buf)
            }
        }
    }

    fn flash(&self, y: u16, buf: &mut Buffer) {
        if self.app.is_flashing() && self.app.flash.total {
            let area = Rect { x: self.columns.0 - 14, y, width: 13, height: 1 };
            apply_style(buf, area, changed_style(self.app, self.theme));
        }
    }

    /// Returns the source of the current count, its tokens, and the tokens as text.
    fn current_label(&self) -> (&'static str, u64, String) {
        let tokens = self.now.total();
        match self.source {
            _ if !self.replayed => ("peak", tokens, session_columns::UNKNOWN.to_owned()),
            CountSource::Measured if self.has_no_parts => ("peak", tokens, format_short(tokens)),
            _ if self.has_no_parts => ("peak", tokens, format_short_estimate(tokens)),
            CountSource::Measured => (COUNTED, tokens, format_short(tokens)),
            CountSource::Calibrated => ("scaled", tokens, format_short_estimate(tokens)),
            CountSource::Estimated => (self.estimate_label(), tokens, format_short_estimate(tokens)),
        }
    }

    fn estimate_label(&self) -> &'static str {
        if self.layout.width_class >= WidthClass::Medium { "estimate" } else { "est." }
    }

    /// Draws the words before a bar: source, tokens and share of the window.
    fn heading(&self, (name, tokens, words): (&str, u64, String), style: Style, y: u16, buf: &mut Buffer) {
        let start = self.columns.0;
        put(buf, (1, y), start, name, self.theme.style(Role::Muted));
        put_right(buf, y, 1, start - 7, &[Span::styled(words, style)]);
        let style = match self.level(tokens) {
            Some(role) if name != "plan" => self.theme.bold(role),
            Some(Role::Danger) => self.theme.bold(Role::Danger),
            _ => style,
        };
        self.share(tokens, style, y, buf);
    }

    fn share(&self, tokens: u64, style: Style, y: u16, buf: &mut Buffer) {
        let start = self.columns.0;
        let share = whole_percent(tokens, self.window).filter(|_| self.replayed);
        let words = share.map_or_else(String::new, |share| format!("{share}%"));
        put_right(buf, y, start - 7, start - 2, &[Span::styled(words, style)]);
    }

    /// Red above the window, amber from the lowest threshold on.
    fn level(&self, tokens: u64) -> Option<Role> {
        let gate = self.marks.iter().map(|mark| mark.tokens).filter(|at| *at > 0).min();
        match tokens {
            _ if self.window > 0 && tokens > self.window => Some(Role::Danger),
            _ if gate.is_some_and(|gate| tokens >= gate) => Some(Role::Warn),
            _ => None,
        }
    }

    /// Without a plan, shows the chars/4 estimate if another source counted the prompt, otherwise the reason why none
    /// did.
    fn second_row(&self, session: &LoadedSession, buf: &mut Buffer) {
        if self.plan.is_some() || self.has_no_parts {
            return;
        }
        let (y, start) = (self.layout.scale.y, self.columns.0);
        let muted = self.theme.style(Role::Muted);
        if self.source != CountSource::Estimated {
            let tokens = session.next_prompt.estimated_tokens;
            self.heading(
                (self.estimate_label(), tokens, format_short_estimate(tokens)),
                self.theme.style(Role::Text),
                y,
                buf,
            );
        } else if let Err(why) = session.measured {
            put(buf, (1, y), start, COUNTED, muted);
            put_right(buf, y, 1, start - 7, &[Span::styled(session_columns::UNKNOWN, muted)]);
            put(buf, (start - 5, y), start + 14, why.label(), muted);
        }
    }

    fn scale(&self, buf: &mut Buffer) {
        let few = self.layout.width_class < WidthClass::Medium;
        let unknown = self.plan.is_none() && self.source == CountSource::Estimated && !self.has_no_parts;
        let free_from = if unknown { self.columns.0 + 14 } else { self.columns.0 };
        let scale = scale::Scale {
            theme: self.theme,
            y: self.layout.scale.y,
            columns: self.columns,
            start: free_from,
            full: self.full,
            zero: self.plan.is_some() && !few,
            is_named: |threshold| !few || matches!(threshold, Threshold::Soft | Threshold::Hard),
        };
        scale.draw(&self.marks, buf);
    }

    /// Draws the parts that have no value in the bar.
    fn legend(&self, shown: &[BudgetPart], buf: &mut Buffer) {
        let area = self.layout.legend;
        if area.is_empty() {
            return;
        }
        let tabs_end = self.targets(buf);
        let budget = self.plan.unwrap_or(self.now);
        let free = if self.replayed { self.free_spans() } else { Vec::new() };
        let mut x = self.columns.0.max(tabs_end + 3);
        let end = area.right().saturating_sub(1);
        let room = end.saturating_sub(spans_width(&free));
        let plain = self.has_no_parts || self.plan.is_some() && self.app.preview.totals.parts_unknown;
        let parts = BudgetPart::ALL.into_iter().filter(|_| !plain);
        let hidden = parts.filter(|part| budget.tokens(*part) > 0 && !shown.contains(part));
        for part in hidden {
            let item = self.legend_item(part, budget.tokens(part));
            if x + spans_width(&item) <= room {
                x = put_spans(buf, (x, area.y), end, &item);
            }
        }
        let x = put_spans(buf, (x, area.y), end, &free);
        let whole = self.flush_spans();
        // Without its first word where there is no room for it.
        for flush in [&whole[..], whole.get(1..).unwrap_or_default()] {
            if x + 3 + spans_width(flush) <= end {
                put_right(buf, area.y, x, end, flush);
                break;
            }
        }
    }

    /// Draws the prompts that can be shown as tabs, after the key that selects the next one; returns the column after
    /// them.
    fn targets(&self, buf: &mut Buffer) -> u16 {
        let (y, end) = (self.layout.legend.y, self.layout.legend.right());
        let key = self.app.key_words(KeyContext::Transcript, Action::NextTarget);
        let mut spans = vec![Span::styled(key, self.theme.bold(Role::Text)), Span::raw(" ")];
        for (at, target) in self.app.targets().enumerate() {
            let style = match target {
                _ if target != self.app.target => self.theme.style(Role::Muted),
                Target::NextCall => self.theme.bold(Role::Bright).add_modifier(Modifier::UNDERLINED),
                _ => self.theme.bold(Role::Plan).add_modifier(Modifier::UNDERLINED),
            };
            if at > 0 {
                spans.push(Span::styled(" · ", self.theme.style(Role::Faint)));
            }
            spans.push(Span::styled(target.tab(), style));
        }
        put_spans(buf, (1, y), end, &spans)
    }

    /// Returns the distance to the next memory flush.
    fn flush_spans<'s>(&self) -> Vec<Span<'s>> {
        let flush = self.app.displayed_session().and_then(|session| session.memory_flush());
        let muted = |words: &'static str| Span::styled(words, self.theme.style(Role::Muted));
        match flush.map(|flush| flush.state) {
            Some(FlushState::Due(_)) => {
                vec![muted("memory "), muted("flush "), Span::styled("due", self.theme.style(Role::Warn))]
            }
            Some(FlushState::Waiting { tokens }) => vec![
                muted("memory "),
                muted("flush in "),
                Span::styled(format_short(tokens.whole()), self.theme.style(Role::Text)),
            ],
            Some(FlushState::Flushed { .. }) => vec![muted("memory "), muted("flushed")],
            _ => Vec::new(),
        }
    }

    fn legend_item<'s>(&self, part: BudgetPart, tokens: u64) -> [Span<'s>; 4] {
        let style = if self.theme.uses_letters() {
            self.theme.bold(Role::Text)
        } else {
            let (background, ink) = self.theme.part_colours(part, false);
            Style::new().fg(ink).bg(background)
        };
        [
            Span::styled(part.letter().to_string(), style),
            Span::styled(format!(" {} ", part.name()), self.theme.style(Role::Muted)),
            Span::styled(format_short_estimate(tokens), self.theme.style(Role::Text)),
            Span::raw("  "),
        ]
    }

    /// Returns the free tokens of the window, or the excess.
    fn free_spans<'s>(&self) -> Vec<Span<'s>> {
        let left = |budget: &Budget| self.window as i64 - budget.total() as i64;
        let words = |left: i64, is_measured: bool| {
            let over = if left < 0 { "over by " } else { "" };
            format!("{over}{}", format_short_tokens(left.unsigned_abs(), is_measured))
        };
        let now = left(&self.now);
        let style = if now < 0 { Role::Danger } else { Role::Muted };
        let label = if now < 0 { "" } else { "free " };
        let mut spans = vec![Span::styled(
            format!("{label}{}", words(now, self.source == CountSource::Measured)),
            self.theme.style(style),
        )];
        if let Some(plan) = &self.plan {
            spans.push(Span::styled(format!(" {} ", session_columns::ARROW), self.theme.style(Role::Muted)));
            let after = left(plan);
            let label = if now < 0 && after >= 0 { "free " } else { "" };
            let role = if after < 0 { Role::Danger } else { Role::Plan };
            spans.push(Span::styled(format!("{label}{}", words(after, false)), self.theme.bold(role)));
        }
        spans
    }
}
