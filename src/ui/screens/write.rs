//! The dialog before a write: the summary it needs, the entries to write, the checks, and yes or no. Neither button is
//! the default, so that a stray key writes nothing.

mod summary;

use std::path::Path;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::action::Action;
use crate::app::effect::PendingWrite;
use crate::app::event::{CheckStatus, WritePreview};
use crate::app::keymap::KeyContext;
use crate::app::screens::write::{DIALOG_COLUMNS, SummaryStage, dialog_line_columns};
use crate::app::state::{WriteDialog, WriteStage};
use crate::app::target::Target;
use crate::commit::{ReceiptKind, UndoTarget};
use crate::format::{
    format_short, format_short_estimate, format_short_tokens, format_size, quantity, whole_percent,
};
use crate::plan::{CacheCost, Plan};
use crate::policy::Fate;
use crate::report::cost::describe_cache_cost;
use crate::session::{CountSource, LoadedSession, ManualChange};
use crate::store::sqlite::database_of;
use crate::text;
use crate::ui::frame_box::{self, Frame};
use crate::ui::session_columns;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{ThinBar, put, put_spans, spans_width};

const WIDTH: u16 = DIALOG_COLUMNS;
const LABEL_WIDTH: u16 = 13;

/// The column of the checks: their signs lead narrow lines, without a label.
fn check_column(width: u16) -> u16 {
    if width < 60 { 0 } else { LABEL_WIDTH }
}

enum DialogLine<'a> {
    Blank,
    /// A label and its text.
    Field(&'a str, Vec<Span<'a>>),
    /// The method of the write, which small screens omit before any check.
    Method(&'a str, Vec<Span<'a>>),
    /// A line of the checks, and whether it passed: small screens omit those before a warning.
    Check(&'a str, bool, Vec<Span<'a>>),
    /// Shares of the window after and before the write.
    Bar(f64, f64),
    /// A hairline above the keys.
    Rule,
    /// Text without a label.
    Text(Vec<Span<'a>>),
}

/// Returns the words next to the confirming key.
fn confirm_text(preview: &WritePreview) -> &'static str {
    if preview.new_session.is_some() {
        return "write and import";
    }
    match (preview.is_branch, preview.edits) {
        (true, _) => "write branch",
        (false, 0) if preview.is_switch() => "switch branch",
        (false, 0) => "append",
        (false, _) => "write edits",
    }
}

pub(in crate::ui) fn draw(app: &App, theme: &Theme, dialog: &WriteDialog, buf: &mut Buffer) {
    theme.backdrop(app.layout().above_status(app.size), buf);
    let inner = dialog_line_columns(buf.area.width) as u16;
    let rows = usize::from(buf.area.height).saturating_sub(5);
    let lines = Builder { app, theme, width: inner, rows }.lines(dialog);
    let lines = fit_lines(theme, lines, rows);
    // Lines that need it take the blank rows at the border.
    let blanks = u16::from(lines.len() <= rows);
    let frame = Frame { title: title(dialog), width: WIDTH, height: lines.len() as u16 + 2 + 2 * blanks };
    let area = frame.draw(theme, buf);
    let body = Rect {
        x: area.x + 4,
        y: area.y + 1,
        width: area.width.saturating_sub(8),
        height: area.height.saturating_sub(2),
    };
    for (y, line) in (body.y + blanks..body.bottom()).zip(&lines) {
        draw_line(theme, line, Rect { y, height: 1, ..body }, area, buf);
    }
}

/// Whether the session is in a database, into which only the gateway imports (sqlite J3, J7).
fn is_in_database(session: &LoadedSession) -> bool {
    database_of(session.source.path()).is_some()
}

fn title(dialog: &WriteDialog) -> &'static str {
    match (&dialog.stage, &dialog.write) {
        (WriteStage::Refused(_), _) => "Refused",
        (WriteStage::SummaryFailed(_), _) => "No summary",
        (WriteStage::Summarising(SummaryStage::Offered(_)), _) => "Create a summary?",
        (WriteStage::Summarising(_), _) => "Summarise before the commit",
        (WriteStage::Confirming(preview), PendingWrite::Commit { .. }) if preview.new_session.is_some() => {
            "Write this plan as a new session?"
        }
        (WriteStage::Confirming(preview), PendingWrite::Commit { .. }) if preview.edits > 0 => {
            "Write this plan as context edits?"
        }
        (WriteStage::Confirming(preview), PendingWrite::Commit { .. }) if !preview.is_branch => {
            "Append a compaction?"
        }
        (WriteStage::Confirming(_), PendingWrite::Commit { .. }) => "Write this plan as a new branch?",
        (_, PendingWrite::Commit { session, .. }) if is_in_database(session) => {
            "Write this plan as a new session?"
        }
        (_, PendingWrite::Commit { plan, .. }) if plan.compaction.is_some() => "Write this plan?",
        (_, PendingWrite::Commit { .. }) => "Write this plan as a new branch?",
        (_, PendingWrite::ByHand { change: ManualChange::Branch(_), .. }) => "Make another branch active?",
        (_, PendingWrite::ByHand { change: ManualChange::Drop(entries), .. }) if entries.len() > 1 => {
            "Continue without these messages?"
        }
        (_, PendingWrite::ByHand { .. }) => "Continue without this message?",
        (_, PendingWrite::Undo { target: UndoTarget::Entry(_), .. }) => {
            "Make the branch before this write active again?"
        }
        (_, PendingWrite::Undo { .. }) => "Make the branch before the last commit active again?",
    }
}

fn draw_line(theme: &Theme, line: &DialogLine, row: Rect, frame: Rect, buf: &mut Buffer) {
    let value = row.x + LABEL_WIDTH;
    match line {
        DialogLine::Blank => {}
        DialogLine::Field(label, spans) | DialogLine::Method(label, spans) => {
            put(buf, (row.x, row.y), value, label, theme.style(Role::Muted));
            put_spans(buf, (value, row.y), row.right(), spans);
        }
        DialogLine::Check(label, _, spans) => {
            let value = row.x + check_column(row.width);
            put(buf, (row.x, row.y), value, label, theme.style(Role::Muted));
            put_spans(buf, (value, row.y), row.right(), spans);
        }
        DialogLine::Text(spans) => {
            put_spans(buf, (row.x, row.y), row.right(), spans);
        }
        DialogLine::Bar(after, now) => {
            let width = row.right().saturating_sub(value).min(54);
            for x in value..value + width {
                put(buf, (x, row.y), row.right(), session_columns::DASHES, theme.style(Role::Faint));
            }
            let bar = ThinBar {
                share: *after,
                tail: *now,
                style: theme.style(Role::Plan),
                tail_style: theme.style(Role::Ghost),
            };
            bar.draw(buf, (value, row.y), width);
        }
        DialogLine::Rule => frame_box::rule(theme, buf, frame, row.y),
    }
}

/// Shortens a path to `room` columns: the whole path, the last folders with the file name, then the file name with a
/// shortened stem.
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

/// Removes lines until they fit: first blank lines, then the bar, whose numbers are also on the line above it, then the
/// method, the facts about the file, and the checks that passed. The warnings stay; the last line names what is hidden.
fn fit_lines<'a>(theme: &Theme, mut lines: Vec<DialogLine<'a>>, rows: usize) -> Vec<DialogLine<'a>> {
    let least: [fn(&DialogLine) -> bool; 6] = [
        |line| matches!(line, DialogLine::Blank),
        |line| matches!(line, DialogLine::Bar(..)),
        |line| matches!(line, DialogLine::Method(..)),
        |line| matches!(line, DialogLine::Field("session" | "keeps", _)),
        |line| matches!(line, DialogLine::Field("appends" | "file", _)),
        |line| matches!(line, DialogLine::Check(_, true, _)),
    ];
    for least in least {
        while lines.len() > rows
            && let Some(at) = lines.iter().rposition(least)
        {
            lines.remove(at);
        }
    }
    if let Some(DialogLine::Check(label, ..)) =
        lines.iter_mut().find(|line| matches!(line, DialogLine::Check(..)))
    {
        *label = "checks";
    }
    // Keep the keys in any case. Two more rows are those at the border.
    let rows = rows + 2;
    if lines.len() > rows {
        let keys = lines.split_off(lines.len() - 2);
        let hidden = lines.split_off(rows.saturating_sub(keys.len() + 1)).len();
        let words = format!("{} more on a larger terminal", quantity(hidden as u64, "line"));
        lines.push(DialogLine::Text(vec![Span::styled(words, theme.style(Role::Warn))]));
        lines.extend(keys);
    }
    lines
}

struct Builder<'a> {
    app: &'a App,
    theme: &'a Theme,
    /// Columns of a line.
    width: u16,
    /// Lines that fit.
    rows: usize,
}

impl<'a> Builder<'a> {
    fn lines(&self, dialog: &'a WriteDialog) -> Vec<DialogLine<'a>> {
        let session = dialog.write.session();
        let mut lines = vec![self.field("session", session.item.key.0.clone())];
        if dialog.requested_from != Target::NextCall {
            let words = format!("the next call, not the {}", dialog.requested_from.label());
            lines.push(DialogLine::Field("for", vec![Span::styled(words, self.theme.style(Role::Warn))]));
        }
        match &dialog.stage {
            WriteStage::Waiting => {
                lines.extend([
                    DialogLine::Blank,
                    self.text_line("Reading the new lines of the file…", Role::Muted),
                ]);
            }
            WriteStage::Checking => {
                lines.extend([DialogLine::Blank, self.text_line("Checking the new entries…", Role::Muted)]);
                lines.extend(self.keys(&[(Action::No, "cancel")]));
            }
            WriteStage::Writing => {
                let words = if is_in_database(session) {
                    "Importing with openclaw: this takes about ten seconds…"
                } else {
                    "Writing…"
                };
                lines.extend([DialogLine::Blank, self.text_line(words, Role::Bright)]);
            }
            WriteStage::Summarising(stage) => lines.extend(self.summarising(stage)),
            WriteStage::Confirming(preview) => lines.extend(self.confirmation(dialog, preview, session)),
            WriteStage::SummaryFailed(why) => {
                lines.extend(self.refused(why));
                lines.extend(self.keys(&[(Action::No, "close")]));
            }
            WriteStage::Refused(reason) => {
                lines.extend(self.refused(reason));
                let is_plan = matches!(dialog.write, PendingWrite::Commit { .. });
                // A branch in a database is switched by its gateway, which no reload changes.
                let instead = match (is_in_database(session), is_plan) {
                    _ if session.unfinished_commit.is_some() => {
                        Some((Action::Repair, "repair the broken commit"))
                    }
                    (true, false) => None,
                    _ => Some((Action::Reload, "reload and plan again")),
                };
                let keys: Vec<_> = instead.into_iter().chain([(Action::No, "close")]).collect();
                lines.extend(self.keys(&keys));
            }
        }
        lines
    }

    fn confirmation(
        &self,
        dialog: &'a WriteDialog,
        preview: &'a WritePreview,
        session: &LoadedSession,
    ) -> Vec<DialogLine<'a>> {
        let mut lines = vec![self.file(preview)];
        let mut summary_at = None;
        if let PendingWrite::Commit { plan, summary: made, .. } = &dialog.write {
            let summary = made.as_ref().map(|made| &made.summary);
            lines.extend(self.next_prompt(session, session.prompt_tokens_after_commit(plan, summary)));
            lines.push(DialogLine::Field("changes", self.fates(plan)));
            summary_at = made.as_ref().map(|made| (lines.len(), made));
        }
        if let Some(effect) = &preview.effect {
            lines.extend(self.next_prompt(session, effect.prompt_tokens.1));
            lines.extend(self.wrapped("changes", &effect.description, DialogLine::Field));
        }
        lines.extend(self.appends(dialog, preview));
        if let PendingWrite::Commit { plan, .. } = &dialog.write {
            lines.extend(self.cost(session.cache_cost(plan, self.app.now_ms).as_ref()));
        }
        if let Some(effect) = &preview.effect {
            let cost = session.cache_cost_of_tail(effect.tail_tokens, self.app.now_ms);
            lines.extend(self.cost(cost.as_ref()));
        }
        lines.extend(self.checks(preview, session));
        lines.extend(self.keys(&Self::offers(dialog, preview)));
        if let Some((at, made)) = summary_at {
            // Count the session line above these and the summary's own heading.
            let taken =
                lines.iter().filter(|line| !matches!(line, DialogLine::Blank | DialogLine::Bar(..))).count()
                    + 2;
            let reported = self.summary_result(dialog, made, self.rows.saturating_sub(taken));
            lines.splice(at..at, reported);
        }
        lines
    }

    fn offers(dialog: &WriteDialog, preview: &WritePreview) -> Vec<(Action, &'static str)> {
        match dialog.write {
            PendingWrite::Commit { .. } => vec![
                (Action::Yes, confirm_text(preview)),
                (Action::No, "cancel"),
                (Action::Diff, "diff"),
                (Action::SavePlan, "save plan"),
            ],
            PendingWrite::ByHand { .. } => {
                vec![(Action::Yes, confirm_text(preview)), (Action::No, "cancel")]
            }
            PendingWrite::Undo { .. } => vec![(Action::Yes, "write"), (Action::No, "cancel")],
        }
    }

    fn text_line(&self, words: &'a str, role: Role) -> DialogLine<'a> {
        DialogLine::Text(vec![Span::styled(words, self.theme.style(role))])
    }

    fn field(&self, label: &'a str, words: String) -> DialogLine<'a> {
        DialogLine::Field(label, vec![Span::styled(words, self.theme.style(Role::Text))])
    }

    fn muted(&self, words: impl Into<String>) -> Span<'a> {
        Span::styled(words.into(), self.theme.style(Role::Muted))
    }

    fn file(&self, preview: &WritePreview) -> DialogLine<'a> {
        let added = format_size(preview.appended_bytes);
        let size = self.muted(format!("   {} + {added}", format_size(preview.bytes)));
        let room = self.width.saturating_sub(LABEL_WIDTH + spans_width(std::slice::from_ref(&size)));
        let path = short_path(&preview.path, usize::from(room));
        DialogLine::Field("file", vec![Span::styled(path, self.theme.style(Role::Text)), size])
    }

    /// Returns the size of the next prompt now and after the write, with a blank around it.
    fn next_prompt(&self, session: &LoadedSession, after: u64) -> Vec<DialogLine<'a>> {
        let prompt = &session.next_prompt;
        let now = prompt.total.tokens;
        let window = session.window.model_tokens.whole();
        let arrow = || self.muted(format!(" {} ", session_columns::ARROW));
        let text = |words: String| Span::styled(words, self.theme.style(Role::Text));
        let fits = after <= window;
        let plan_style = self.theme.bold(if fits { Role::Plan } else { Role::Danger });
        let mut prompt = vec![
            text(format_short_tokens(now, prompt.total.source == CountSource::Measured)),
            arrow(),
            Span::styled(format_short_estimate(after), plan_style),
        ];
        if let (Some(before), Some(share)) = (whole_percent(now, window), whole_percent(after, window)) {
            prompt.push(self.muted(format!("    {before}%")));
            prompt.push(arrow());
            prompt.push(Span::styled(format!("{share}%"), plan_style));
            prompt.push(self.muted(format!(" of {}", format_short(window))));
        }
        let share = |tokens: u64| tokens as f64 / window.max(1) as f64;
        let mut lines = vec![
            DialogLine::Blank,
            DialogLine::Field("next prompt", prompt),
            DialogLine::Bar(share(after), share(now)),
        ];
        if !fits {
            lines.push(DialogLine::Field("", vec![Span::styled("does not fit the window", plan_style)]));
        }
        lines.push(DialogLine::Blank);
        lines
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

    fn appends(&self, dialog: &WriteDialog, preview: &WritePreview) -> Vec<DialogLine<'a>> {
        let kind = dialog.write.kind();
        let mut lines = vec![
            self.field("appends", preview.describe_appended(kind)),
            self.field("keeps", preview.describe_kept(kind)),
        ];
        if kind == ReceiptKind::Commit {
            lines.extend(self.wrapped("method", &preview.method, DialogLine::Method));
        }
        lines
    }

    /// Returns a label with a text that may take several lines.
    fn wrapped(
        &self,
        label: &'static str,
        words: &str,
        line: fn(&'a str, Vec<Span<'a>>) -> DialogLine<'a>,
    ) -> Vec<DialogLine<'a>> {
        let lines = text::wrap(words, usize::from(self.width.saturating_sub(LABEL_WIDTH)));
        let labels = std::iter::once(label).chain(std::iter::repeat(""));
        let styled = |words: String| vec![Span::styled(words, self.theme.style(Role::Text))];
        labels.zip(lines).map(|(label, words)| line(label, styled(words))).collect()
    }

    /// Returns the cost of the cache miss that the change causes, or why it is unknown.
    fn cost(&self, cost: Option<&CacheCost>) -> Vec<DialogLine<'a>> {
        let Some(cost) = cost else {
            return vec![DialogLine::Field(
                "cost",
                vec![self.muted("\u{2014} no price known for this model")],
            )];
        };
        let (next, later) = describe_cache_cost(cost);
        let (amount, why) = next.split_once(' ').unwrap_or((next.as_str(), ""));
        let role = if cost.next_call > 0.0 { Role::Warn } else { Role::Plan };
        let amount = Span::styled(amount.to_owned(), self.theme.bold(role));
        let why = Span::styled(format!(" {why}"), self.theme.style(Role::Text));
        let first = vec![amount, why];
        let room = self.width.saturating_sub(LABEL_WIDTH);
        if spans_width(&first) <= room {
            return vec![DialogLine::Field("cost", first), DialogLine::Field("", vec![self.muted(later)])];
        }
        let later = text::wrap(&later, usize::from(room)).into_iter();
        let later = later.map(|line| DialogLine::Field("", vec![self.muted(line)]));
        self.wrapped("cost", &next, DialogLine::Field).into_iter().chain(later).collect()
    }

    /// Puts passed checks two to a line where they fit; warnings are whole sentences.
    fn checks(&self, preview: &WritePreview, session: &LoadedSession) -> Vec<DialogLine<'a>> {
        let room = usize::from(self.width.saturating_sub(check_column(self.width)));
        let second = room * 11 / 20;
        let mut lines: Vec<(bool, Vec<Span>)> = Vec::new();
        let grown = self.growth_since(session).map(|words| (CheckStatus::Note, words));
        // The first check compares the file with what was read; it was made when the dialog opened.
        let checks = grown.iter().chain(preview.checks.iter().skip(usize::from(grown.is_some())));
        for (check, words) in checks {
            let passed = *check == CheckStatus::Passed;
            let (sign, role) = match check {
                CheckStatus::Passed => (session_columns::PASSED, Role::User),
                CheckStatus::Note => ("·", Role::Muted),
                CheckStatus::Warning => ("!", Role::Warn),
            };
            let sign = Span::styled(sign, self.theme.style(role));
            let text = |line: String| Span::styled(format!(" {line}"), self.theme.style(Role::Text));
            let width = text::width(words) + 2;
            let beside = lines.last_mut().map(|(_, line)| line).filter(|line| {
                passed && line.len() == 2 && usize::from(spans_width(line)) < second && second + width <= room
            });
            if let Some(line) = beside {
                let blanks = second - usize::from(spans_width(line));
                line.extend([Span::raw(" ".repeat(blanks)), sign, text(words.clone())]);
                continue;
            }
            let mut wrapped = text::wrap(words, room.saturating_sub(2)).into_iter();
            lines.push((passed, vec![sign, text(wrapped.next().unwrap_or_default())]));
            lines.extend(wrapped.map(|line| (passed, vec![Span::raw(" "), text(line), Span::raw("")])));
        }
        let checks = lines.into_iter().map(|(passed, spans)| DialogLine::Check("", passed, spans));
        std::iter::once(DialogLine::Blank).chain(checks).collect()
    }

    /// Describes the entries that another program wrote while the dialog was open.
    fn growth_since(&self, session: &LoadedSession) -> Option<String> {
        let now = self.app.active_session().filter(|now| now.item.key == session.item.key)?;
        let count = now.index.entries.len().saturating_sub(session.index.entries.len());
        (count > 0).then(|| format!("grew by {} since; yes checks again", quantity(count as u64, "entry")))
    }

    fn refused(&self, reason: &str) -> Vec<DialogLine<'a>> {
        let theme = self.theme;
        let head =
            Span::styled(format!("{} Not written", session_columns::REFUSED), theme.bold(Role::Danger));
        let mut lines = vec![DialogLine::Blank, DialogLine::Text(vec![head])];
        let words = |line: String| DialogLine::Text(vec![Span::styled(line, theme.style(Role::Text))]);
        lines.extend(text::wrap(reason, usize::from(self.width)).into_iter().map(words));
        if !reason.to_lowercase().contains("nothing was") {
            lines.push(words("Nothing was written.".to_owned()));
        }
        lines
    }

    fn keys(&self, offers: &[(Action, &'a str)]) -> Vec<DialogLine<'a>> {
        let key = |action: Action| self.app.key_words(KeyContext::Dialog, action);
        let width: usize =
            offers.iter().map(|(action, words)| text::width(&key(*action)) + text::width(words) + 6).sum();
        let gap = if width > usize::from(self.width) + 4 { "  " } else { "    " };
        let mut spans = Vec::new();
        for (at, (action, words)) in offers.iter().enumerate() {
            let leads = *action == Action::Yes;
            let role = if leads { Role::Plan } else { Role::Text };
            if at > 0 {
                spans.push(Span::raw(gap));
            }
            spans.push(Span::styled(key(*action), self.theme.bold(role)));
            let style = if leads { self.theme.bold(Role::Bright) } else { self.theme.style(Role::Muted) };
            spans.push(Span::styled(format!("  {words}"), style));
        }
        vec![DialogLine::Rule, DialogLine::Text(spans)]
    }
}
