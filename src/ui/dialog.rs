//! The dialog before a write: the summary it needs, what would be written, what was checked, yes or no. No button is the
//! default.

mod summary;

use std::path::Path;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::action::Action;
use crate::app::effect::Write;
use crate::app::event::{Check, WritePreview};
use crate::app::keymap::Context;
use crate::app::state::{WriteDialog, WriteStage};
use crate::app::summary::{DIALOG_COLUMNS, Summarising, dialog_line};
use crate::commit::UndoTarget;
use crate::inspect::Inspection;
use crate::inspect::words::cost_words;
use crate::plan::Plan;
use crate::plan::cache_cost::CacheCost;
use crate::policy::Fate;
use crate::store::sqlite::database_of;
use crate::text;
use crate::ui::frame_box::{self, Frame};
use crate::ui::glyphs;
use crate::ui::status::first_key;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::number::{bytes, counted, estimate, percent, round_thousands};
use crate::ui::widgets::{ThinBar, put, put_spans, spans_width};

/// Columns of the box.
const WIDTH: u16 = DIALOG_COLUMNS;
/// Columns of the labels in it.
const LABEL: u16 = 13;

/// A line of the dialog.
enum Line<'a> {
    Blank,
    /// A label and what it says.
    Field(&'a str, Vec<Span<'a>>),
    /// The same of which way it is written: what a small screen leaves out before any check.
    Way(&'a str, Vec<Span<'a>>),
    /// Shares of the window: after, now.
    Bar(f64, f64),
    /// A hairline over the keys.
    Rule,
    /// Words without a label.
    Words(Vec<Span<'a>>),
}

/// What yes does.
fn yes_words(preview: &WritePreview) -> &'static str {
    match (preview.is_branch, preview.edits) {
        (true, _) => "write branch",
        (false, 0) => "append it",
        (false, _) => "write edits",
    }
}

/// Draws the dialog over the screen.
pub(super) fn draw(app: &App, theme: &Theme, dialog: &WriteDialog, buf: &mut Buffer) {
    theme.backdrop(app.layout().above_status(app.size), buf);
    let inner = dialog_line(buf.area.width) as u16;
    let rows = usize::from(buf.area.height).saturating_sub(5);
    let lines = fitted(Builder { app, theme, width: inner, rows }.lines(dialog), rows);
    let frame = Frame { title: title(dialog), width: WIDTH, height: lines.len() as u16 + 4 };
    let area = frame.draw(theme, buf);
    let body = Rect {
        x: area.x + 4,
        y: area.y + 1,
        width: area.width.saturating_sub(8),
        height: area.height.saturating_sub(2),
    };
    for (y, line) in (body.y + 1..body.bottom()).zip(&lines) {
        draw_line(theme, line, Rect { y, height: 1, ..body }, area, buf);
    }
}

/// Whether a session is in a database, where nothing is written (sqlite J3).
fn is_in_database(inspection: &Inspection) -> bool {
    database_of(inspection.source.path()).is_some()
}

fn title(dialog: &WriteDialog) -> &'static str {
    match (&dialog.stage, &dialog.write) {
        (WriteStage::Refused(_), _) => "Refused",
        (WriteStage::NoSummary(_), _) => "No summary",
        (WriteStage::Summarising(Summarising::Offered(_)), _) => "Make the summary?",
        (WriteStage::Summarising(_), _) => "Summarise before the commit",
        (WriteStage::Asking(preview), Write::Commit { .. }) if preview.edits > 0 => {
            "Write this plan as context edits?"
        }
        (WriteStage::Asking(preview), Write::Commit { .. }) if !preview.is_branch => "Append a compaction?",
        (WriteStage::Asking(_), Write::Commit { .. }) => "Write this plan as a new branch?",
        (_, Write::Commit { plan, .. }) if plan.compaction.is_some() => "Write this plan?",
        (_, Write::Commit { .. }) => "Write this plan as a new branch?",
        (_, Write::Undo { target: UndoTarget::Entry(_), .. }) => {
            "Make the branch before this commit active again?"
        }
        (_, Write::Undo { .. }) => "Make the branch before the last commit active again?",
    }
}

fn draw_line(theme: &Theme, line: &Line, row: Rect, frame: Rect, buf: &mut Buffer) {
    let value = row.x + LABEL;
    match line {
        Line::Blank => {}
        Line::Field(label, spans) | Line::Way(label, spans) => {
            put(buf, (row.x, row.y), value, label, theme.style(Role::Muted));
            put_spans(buf, (value, row.y), row.right(), spans);
        }
        Line::Words(spans) => {
            put_spans(buf, (row.x, row.y), row.right(), spans);
        }
        Line::Bar(after, now) => {
            let width = row.right().saturating_sub(value).min(54);
            for x in value..value + width {
                put(buf, (x, row.y), row.right(), glyphs::DASHES, theme.style(Role::Faint));
            }
            let bar = ThinBar {
                share: *after,
                tail: *now,
                style: theme.style(Role::Plan),
                tail_style: theme.style(Role::Ghost),
            };
            bar.draw(buf, (value, row.y), width);
        }
        Line::Rule => frame_box::rule(theme, buf, frame, row.y),
    }
}

/// A path in so many columns: whole, else its end below the store, else the start of the file's name with
/// its ending.
fn short_path(path: &Path, room: usize) -> String {
    let parts: Vec<String> =
        path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let name = parts.last().cloned().unwrap_or_default();
    let short_name = match name.rsplit_once('.') {
        Some((stem, ending)) if stem.chars().count() > 9 => {
            format!("{}….{ending}", stem.chars().take(8).collect::<String>())
        }
        _ => name.clone(),
    };
    let below = parts[parts.len().saturating_sub(4)..parts.len().saturating_sub(1)].join("/");
    let forms = [
        path.display().to_string(),
        format!("{below}/{name}"),
        format!("{below}/{short_name}"),
        name,
        short_name,
    ];
    let fits = forms.iter().find(|form| text::width(form) <= room);
    fits.or(forms.last()).cloned().unwrap_or_default()
}

/// Lines that fit: blank ones go first, then the bar, whose numbers stand above it, then which way it is written.
fn fitted(mut lines: Vec<Line>, rows: usize) -> Vec<Line> {
    let least: [fn(&Line) -> bool; 3] = [
        |line| matches!(line, Line::Blank),
        |line| matches!(line, Line::Bar(..)),
        |line| matches!(line, Line::Way(..)),
    ];
    for least in least {
        while lines.len() > rows
            && let Some(at) = lines.iter().rposition(least)
        {
            lines.remove(at);
        }
    }
    // The keys stay whatever else must go.
    if lines.len() > rows {
        let keys = lines.split_off(lines.len() - 2);
        lines.truncate(rows.saturating_sub(keys.len()));
        lines.extend(keys);
    }
    lines
}

/// Makes the lines of a dialog.
struct Builder<'a> {
    app: &'a App,
    theme: &'a Theme,
    /// Columns of a line.
    width: u16,
    /// Lines there is room for.
    rows: usize,
}

impl<'a> Builder<'a> {
    fn lines(&self, dialog: &'a WriteDialog) -> Vec<Line<'a>> {
        let inspection = match &dialog.write {
            Write::Commit { inspection, .. } | Write::Undo { inspection, .. } => inspection,
        };
        let mut lines = vec![self.field("session", inspection.session.key.0.clone())];
        match &dialog.stage {
            WriteStage::Waiting => {
                lines.extend([Line::Blank, self.words("Reading what was added to the file…", Role::Muted)]);
            }
            WriteStage::Checking => {
                lines.extend([Line::Blank, self.words("Checking what would be written…", Role::Muted)]);
                lines.extend(self.keys(&[(Action::No, "cancel")]));
            }
            WriteStage::Writing => {
                lines.extend([Line::Blank, self.words("Writing…", Role::Bright)]);
            }
            WriteStage::Summarising(stage) => lines.extend(self.summarising(stage)),
            WriteStage::Asking(preview) => lines.extend(self.asking(dialog, preview, inspection)),
            WriteStage::NoSummary(why) => {
                lines.extend(self.refused(why));
                lines.extend(self.keys(&[(Action::No, "close")]));
            }
            WriteStage::Refused(reason) => {
                lines.extend(self.refused(reason));
                let (is_commit, in_database) = match &dialog.write {
                    Write::Commit { inspection, .. } => (true, is_in_database(inspection)),
                    Write::Undo { inspection, .. } => (false, is_in_database(inspection)),
                };
                // Reloading opens no database to writing.
                let instead = match (in_database, is_commit) {
                    _ if inspection.unfinished.is_some() => {
                        Some((Action::Repair, "settle what was broken off"))
                    }
                    (true, true) => Some((Action::CopyPatch, "copy the patch")),
                    (true, false) => None,
                    (false, _) => Some((Action::Reload, "reload and plan again")),
                };
                let keys: Vec<_> = instead.into_iter().chain([(Action::No, "close")]).collect();
                lines.extend(self.keys(&keys));
            }
        }
        lines
    }

    fn asking(
        &self,
        dialog: &'a WriteDialog,
        preview: &'a WritePreview,
        inspection: &Inspection,
    ) -> Vec<Line<'a>> {
        let mut lines = vec![self.file(preview)];
        let mut summary_at = None;
        if let Write::Commit { plan, made, .. } = &dialog.write {
            lines.extend(self.plan(inspection, plan));
            summary_at = made.as_ref().map(|made| (lines.len(), made));
        }
        lines.extend(self.appends(dialog, preview));
        if let Write::Commit { plan, .. } = &dialog.write {
            lines.extend(self.cost(inspection.cache_cost(plan, self.app.now_ms as f64).as_ref()));
        }
        lines.extend(self.checks(preview));
        lines.extend(self.keys(&Self::offers(dialog, preview)));
        if let Some((at, made)) = summary_at {
            // The session's line stands above these, and the summary's own head among its lines.
            let taken = lines.iter().filter(|line| !matches!(line, Line::Blank | Line::Bar(..))).count() + 2;
            let told = self.made(dialog, made, self.rows.saturating_sub(taken));
            lines.splice(at..at, told);
        }
        lines
    }

    fn offers(dialog: &WriteDialog, preview: &WritePreview) -> Vec<(Action, &'static str)> {
        match dialog.write {
            Write::Commit { .. } => vec![
                (Action::Yes, yes_words(preview)),
                (Action::No, "cancel"),
                (Action::Diff, "diff"),
                (Action::SavePlan, "save plan as JSON"),
            ],
            Write::Undo { .. } => vec![(Action::Yes, "write"), (Action::No, "cancel")],
        }
    }

    fn words(&self, words: &'a str, role: Role) -> Line<'a> {
        Line::Words(vec![Span::styled(words, self.theme.style(role))])
    }

    fn field(&self, label: &'a str, words: String) -> Line<'a> {
        Line::Field(label, vec![Span::styled(words, self.theme.style(Role::Text))])
    }

    fn muted(&self, words: impl Into<String>) -> Span<'a> {
        Span::styled(words.into(), self.theme.style(Role::Muted))
    }

    fn file(&self, preview: &WritePreview) -> Line<'a> {
        let added = bytes(preview.appended_bytes as u64);
        let size = self.muted(format!("   {} + {added}", bytes(preview.bytes)));
        let room = self.width.saturating_sub(LABEL + spans_width(std::slice::from_ref(&size)));
        let path = short_path(&preview.path, usize::from(room));
        Line::Field("file", vec![Span::styled(path, self.theme.style(Role::Text)), size])
    }

    fn plan(&self, inspection: &Inspection, plan: &Plan) -> Vec<Line<'a>> {
        let (prompt, context) = (&inspection.next_prompt, &inspection.context);
        let (now, after) = (prompt.total.tokens, prompt.budget_after(context, plan).total());
        let window = inspection.window.tokens.max(0.0) as u64;
        let arrow = || self.muted(format!(" {} ", glyphs::ARROW));
        let text = |words: String| Span::styled(words, self.theme.style(Role::Text));
        let plan_style = self.theme.bold(Role::Plan);
        let mut prompt = vec![text(estimate(now)), arrow(), Span::styled(estimate(after), plan_style)];
        if let (Some(before), Some(share)) = (percent(now, window), percent(after, window)) {
            prompt.push(self.muted(format!("    {before}%")));
            prompt.push(arrow());
            prompt.push(Span::styled(format!("{share}%"), plan_style));
            prompt.push(self.muted(format!(" of {}", round_thousands(window))));
        }
        let share = |tokens: u64| tokens as f64 / window.max(1) as f64;
        vec![
            Line::Blank,
            Line::Field("next prompt", prompt),
            Line::Bar(share(after), share(now)),
            Line::Blank,
            Line::Field("changes", self.fates(plan)),
        ]
    }

    fn fates(&self, plan: &Plan) -> Vec<Span<'a>> {
        let order = [
            Fate::Cleared,
            Fate::SoftTrimmed,
            Fate::Truncated,
            Fate::Summarised,
            Fate::Dropped,
            Fate::Protected,
            Fate::Kept,
        ];
        let mut spans = Vec::new();
        for fate in order {
            let count = plan.count(fate);
            if count == 0 {
                continue;
            }
            if !spans.is_empty() {
                spans.push(Span::raw("    "));
            }
            spans.push(Span::styled(fate.sign(), self.theme.fate(fate)));
            let word = if fate == Fate::SoftTrimmed { "trimmed" } else { fate.word() };
            spans.push(Span::styled(format!(" {count} {word}"), self.theme.style(Role::Text)));
        }
        spans
    }

    fn appends(&self, dialog: &WriteDialog, preview: &WritePreview) -> Vec<Line<'a>> {
        let from = preview.from.clone().unwrap_or_else(|| "the start".to_owned());
        let goes_on = matches!(dialog.write, Write::Commit { .. }) && !preview.is_branch;
        let keeps = match (goes_on, preview.edits) {
            (true, 0) => "every byte that stands there",
            (true, _) => "every byte and every id: undo goes on from before the edits",
            (false, _) => "the old branch, every byte of it",
        };
        let text = |words: String| Span::styled(words, self.theme.style(Role::Text));
        vec![
            Line::Field(
                "appends",
                vec![
                    text(counted(preview.entries as u64, "entry")),
                    self.muted(" from "),
                    text(from),
                    self.muted(", leaf moves "),
                    text(preview.old_leaf.clone()),
                    self.muted(format!(" {} ", glyphs::ARROW)),
                    text("new".to_owned()),
                ],
            ),
            self.field("keeps", keeps.to_owned()),
        ]
        .into_iter()
        .chain(matches!(dialog.write, Write::Commit { .. }).then(|| self.way(preview)).into_iter().flatten())
        .collect()
    }

    /// Which way it is written and why, in whole lines.
    fn way(&self, preview: &WritePreview) -> Vec<Line<'a>> {
        let lines = text::wrap(&preview.way, usize::from(self.width.saturating_sub(LABEL)));
        let labels = std::iter::once("way").chain(std::iter::repeat(""));
        let line = |(label, words): (&'static str, String)| {
            Line::Way(label, vec![Span::styled(words, self.theme.style(Role::Text))])
        };
        labels.zip(lines).map(line).collect()
    }

    /// What the change costs at the provider's cache, or why that cannot be told.
    fn cost(&self, cost: Option<&CacheCost>) -> Vec<Line<'a>> {
        let Some(cost) = cost else {
            return vec![Line::Field("cost", vec![self.muted("\u{2014} no price known for this model")])];
        };
        let (next, later) = cost_words(cost);
        let (amount, why) = next.split_once(' ').unwrap_or((next.as_str(), ""));
        let role = if cost.next_call > 0.0 { Role::Warn } else { Role::Plan };
        let amount = Span::styled(amount.to_owned(), self.theme.bold(role));
        let why = Span::styled(format!(" {why}"), self.theme.style(Role::Text));
        vec![Line::Field("cost", vec![amount, why]), Line::Field("", vec![self.muted(later)])]
    }

    /// Passed ones two to a line where they fit; warnings in whole sentences.
    fn checks(&self, preview: &WritePreview) -> Vec<Line<'a>> {
        let room = usize::from(self.width.saturating_sub(LABEL));
        let second = room * 11 / 20;
        let mut lines: Vec<Vec<Span>> = Vec::new();
        for (check, words) in &preview.checks {
            let passed = *check == Check::Passed;
            let (sign, role) = if passed { (glyphs::PASSED, Role::You) } else { ("!", Role::Warn) };
            let sign = Span::styled(sign, self.theme.style(role));
            let text = |line: String| Span::styled(format!(" {line}"), self.theme.style(Role::Text));
            let width = text::width(words) + 2;
            let beside = lines.last_mut().filter(|line| {
                passed && line.len() == 2 && usize::from(spans_width(line)) < second && second + width <= room
            });
            if let Some(line) = beside {
                let blanks = second - usize::from(spans_width(line));
                line.extend([Span::raw(" ".repeat(blanks)), sign, text(words.clone())]);
                continue;
            }
            let mut wrapped = text::wrap(words, room.saturating_sub(2)).into_iter();
            lines.push(vec![sign, text(wrapped.next().unwrap_or_default())]);
            lines.extend(wrapped.map(|line| vec![Span::raw(" "), text(line), Span::raw("")]));
        }
        let labels = std::iter::once("checks").chain(std::iter::repeat(""));
        let fields = labels.zip(lines).map(|(label, spans)| Line::Field(label, spans));
        std::iter::once(Line::Blank).chain(fields).collect()
    }

    fn refused(&self, reason: &str) -> Vec<Line<'a>> {
        let theme = self.theme;
        let head = Span::styled(format!("{} Not written", glyphs::REFUSED), theme.bold(Role::Danger));
        let mut lines = vec![Line::Blank, Line::Words(vec![head])];
        let words = |line: String| Line::Words(vec![Span::styled(line, theme.style(Role::Text))]);
        lines.extend(text::wrap(reason, usize::from(self.width)).into_iter().map(words));
        if !reason.to_lowercase().contains("nothing was") {
            lines.push(words("Nothing was touched.".to_owned()));
        }
        lines
    }

    fn keys(&self, offers: &[(Action, &'a str)]) -> Vec<Line<'a>> {
        let mut spans = Vec::new();
        for (at, (action, words)) in offers.iter().enumerate() {
            let leads = *action == Action::Yes;
            let key = first_key(self.app, Context::Dialog, *action);
            let role = if leads { Role::Plan } else { Role::Text };
            if at > 0 {
                spans.push(Span::raw("    "));
            }
            spans.push(Span::styled(key, self.theme.bold(role)));
            let style = if leads { self.theme.bold(Role::Bright) } else { self.theme.style(Role::Muted) };
            spans.push(Span::styled(format!("  {words}"), style));
        }
        vec![Line::Rule, Line::Words(spans)]
    }
}
