//! Signs on the curves: pauses, compactions, overflows, pruning. Words are omitted rather than drawn over a curve.

use ratatui::buffer::Buffer;

use super::View;
use super::chart::{Scale, is_background};
use crate::format::format_duration;
use crate::policy::Fate;
use crate::replay::CallReplay;
use crate::report::timeline::{Gap, TraceKind};
use crate::text;
use crate::ui::session_columns;
use crate::ui::theme::Role;
use crate::ui::widgets::put;
use crate::units::Tokens;

/// Top rows in which the length of a pause may appear.
const GAP_ROWS: u16 = 4;
/// Columns between the words of a pause and the next pause line.
const GAP_SPACING: u16 = 2;
/// In a run of overflowing columns, one in this many gets a sign; the curve is red in all of them.
const SIGN_INTERVAL: u16 = 6;
/// A pause of this multiple of the shortest one gets a full line even if the pruner does not act after it.
const LONG_GAP_FACTOR: f64 = 2.0;
/// Columns of the chart per full line.
const GAP_COLUMNS: u16 = 18;

impl View<'_> {
    /// Draws the pauses as dashed vertical lines, the longest first; those too close to another become ticks at the
    /// bottom. Returns the full lines by column.
    pub(super) fn gaps(&self, buf: &mut Buffer) -> Vec<(u16, Gap)> {
        let chart = self.places.chart;
        let mut gaps: Vec<Gap> =
            self.timeline.gaps().filter(|gap| self.grid.visible.contains(&gap.call)).collect();
        gaps.sort_by(|one, other| other.duration_ms.total_cmp(&one.duration_ms));
        let mut whole: Vec<(u16, Gap)> = Vec::new();
        let style = self.theme.style(Role::Faint);
        for gap in gaps {
            let x = chart.x + self.grid.column_of(gap.call) as u16;
            let width = gap_words(&gap).len() as u16 + GAP_SPACING;
            let apart = |(at, other): &(u16, Gap)| {
                let reach = if *at < x { gap_words(other).len() as u16 + GAP_SPACING } else { width };
                at.abs_diff(x) > reach
            };
            let long = gap.prunes || gap.duration_ms >= self.timeline.min_gap_ms() * LONG_GAP_FACTOR;
            if long && whole.len() < usize::from(chart.width / GAP_COLUMNS) && whole.iter().all(apart) {
                for y in chart.top()..chart.bottom() {
                    put(buf, (x, y), chart.right(), session_columns::OLD_MARK, style);
                }
                whole.push((x, gap));
            } else {
                put(buf, (x, self.places.markers.y), chart.right(), session_columns::OLD_MARK, style);
            }
        }
        whole
    }

    pub(super) fn signs(&self, scale: &Scale, gaps: &[(u16, Gap)], buf: &mut Buffer) {
        for trace in self.timeline.visible_traces() {
            self.overflows(*trace, scale, buf);
            self.compactions(*trace, scale, buf);
        }
        self.prunes(buf);
        for (x, gap) in gaps {
            self.gap_length(*x, gap, buf);
        }
    }

    /// Draws the length of a pause near the top, in a free row.
    fn gap_length(&self, x: u16, gap: &Gap, buf: &mut Buffer) {
        let chart = self.places.chart;
        let words = gap_words(gap);
        let rows = chart.top()..chart.bottom().min(chart.top() + GAP_ROWS);
        let width = text::width(&words) as u16;
        let sides = [Some(x + 1), x.checked_sub(width)];
        // Prefer an empty row to a threshold, and the right side to the left.
        let places = [is_empty, is_blank].into_iter().flat_map(|free| {
            sides
                .into_iter()
                .flatten()
                .map(move |x| (free, x))
                .flat_map(|(free, x)| rows.clone().map(move |y| (free, x, y)))
        });
        let place = places
            .filter(|(_, x, _)| *x >= chart.x && *x + width <= chart.right())
            .find(|(free, x, y)| free(buf, *x, *y, width))
            .map(|(_, x, y)| (x, y));
        if let Some(place) = place {
            // The pruner acts after this pause; after the muted ones only the cache is cold.
            let role = if gap.prunes { Role::Text } else { Role::Muted };
            put(buf, place, chart.right(), &words, self.theme.style(role));
        }
    }

    /// Whether a prompt of the column overflowed.
    fn overflow_in(&self, trace: TraceKind, column: usize) -> bool {
        let calls = self.timeline.trace(trace);
        let mut own = self.grid.calls_at(column).filter(|call| self.grid.column_of(*call) == column);
        own.any(|call| calls[call].overflowed)
    }

    /// Draws overflow signs: at the first of a run of columns, then at intervals.
    fn overflows(&self, trace: TraceKind, scale: &Scale, buf: &mut Buffer) {
        let chart = self.places.chart;
        let calls = self.timeline.trace(trace);
        let style = self.theme.style(Role::Danger);
        let mut run = 0;
        for column in 0..chart.width {
            if !self.overflow_in(trace, usize::from(column)) {
                run = 0;
                continue;
            }
            if run % SIGN_INTERVAL == 0 {
                let over =
                    calls[self.grid.calls_at(usize::from(column))].iter().filter(|call| call.overflowed);
                let tokens = over.map(|call| call.expected).fold(Tokens::ZERO, Tokens::max);
                put(
                    buf,
                    (chart.x + column, self.row(scale, tokens)),
                    chart.right(),
                    session_columns::ALERT,
                    style,
                );
            }
            run += 1;
        }
    }

    /// Draws the compactions of a trace, with their tokens where they fit.
    fn compactions(&self, trace: TraceKind, scale: &Scale, buf: &mut Buffer) {
        let chart = self.places.chart;
        let recorded = trace == TraceKind::Recorded;
        for compaction in self.timeline.compactions(trace) {
            if !self.grid.visible.contains(&compaction.call) {
                continue;
            }
            // Both traces have the compactions of the transcript, so draw those once.
            let kept = self.timeline.trace(trace)[compaction.call]
                .compacted
                .as_ref()
                .is_some_and(|done| done.is_recorded);
            if kept && !recorded {
                continue;
            }
            let before =
                self.tokens_at(trace, compaction.call.saturating_sub(1)).max(compaction.tokens_after);
            let x = chart.x + self.grid.column_of(compaction.call) as u16;
            let middle = Tokens(f64::midpoint(before.get(), compaction.tokens_after.get()));
            let words = format!(
                " {}",
                Self::compaction_text(
                    compaction.tokens_before,
                    (compaction.tokens_after, compaction.estimated)
                )
            );
            let width = 1 + text::width(&words) as u16;
            let from = self.row(scale, before);
            let to = self.row(scale, compaction.tokens_after).max(from);
            let start = self.row(scale, middle).clamp(from, to);
            let mut rows: Vec<u16> = (from..=to).collect();
            rows.sort_by_key(|row| row.abs_diff(start));
            let fits = |x: u16, row: u16| {
                x >= chart.x && x + width < chart.right() && is_blank(buf, x, row, width + 1)
            };
            let right = rows.iter().find(|row| fits(x + 1, **row)).map(|row| (x + 1, *row));
            let left = x.checked_sub(width + 1);
            let place = right
                .or_else(|| left.and_then(|x| rows.iter().find(|row| fits(x, **row)).map(|row| (x, *row))));
            let sign = self.theme.fate(Fate::Summarised);
            let style = if recorded { self.theme.style(Role::Muted) } else { self.theme.style(Role::Plan) };
            match place {
                Some((x, y)) => {
                    let next = put(buf, (x, y), chart.right(), Fate::Summarised.sign(), sign);
                    put(buf, (next, y), chart.right(), &words, style);
                }
                None => {
                    put(buf, (x, from), chart.right(), Fate::Summarised.sign(), sign);
                }
            }
        }
    }

    /// Draws a sign below each column in which a policy newly changed a prompt of the tuned trace.
    fn prunes(&self, buf: &mut Buffer) {
        let signs = self.places.markers;
        let Some(trace) = self.timeline.visible_traces().last() else { return };
        let calls = self.timeline.trace(*trace);
        let mut known: Vec<Fate> = Vec::new();
        for column in 0..signs.width {
            let own = self.grid.calls_at(usize::from(column));
            let here = own.filter(|call| self.grid.column_of(*call) == usize::from(column));
            let here: Vec<usize> = here.collect();
            let Some(fate) =
                here.iter().filter_map(|call| new_fate(calls, *call)).max_by_key(|fate| *fate as u8)
            else {
                continue;
            };
            known.push(fate);
            put(buf, (signs.x + column, signs.y), signs.right(), fate.sign(), self.theme.fate(fate));
        }
        let margin = self.places.threshold_labels;
        let ticks = (signs.left()..signs.right())
            .any(|x| buf.cell((x, signs.y)).is_some_and(|cell| cell.symbol() == session_columns::OLD_MARK));
        let word = match (known.contains(&Fate::Cleared), known.contains(&Fate::SoftTrimmed)) {
            (true, _) => Some((Fate::Cleared, "cleared", "clear")),
            (false, true) => Some((Fate::SoftTrimmed, "trimmed", "trim")),
            _ => None,
        };
        if let Some((fate, word, short)) = word {
            let is_wide = margin.width >= 14;
            let from = (margin.x + if is_wide { 3 } else { 2 }, signs.y);
            let x = put(buf, from, margin.right(), fate.sign(), self.theme.fate(fate));
            let word = if is_wide { word } else { short };
            put(buf, (x + 1, signs.y), margin.right(), word, self.theme.style(Role::Muted));
        } else if ticks {
            let words = format!("{} idle", session_columns::OLD_MARK);
            put(buf, (margin.x + 3, signs.y), margin.right(), &words, self.theme.style(Role::Muted));
        }
    }
}

/// Returns the fate that a policy newly gave to messages of a prompt; a repeated effect is not new.
fn new_fate(calls: &[CallReplay], at: usize) -> Option<Fate> {
    let call = &calls[at];
    let before = at.checked_sub(1).map(|before| &calls[before]);
    let same = before.is_some_and(|before| {
        before.cleared_count() == call.cleared_count()
            && before.trimmed_count() == call.trimmed_count()
            && !call.pruned.has_changes()
    });
    match call {
        _ if same => None,
        call if call.truncated.is_some() => Some(Fate::Truncated),
        call if call.cleared_count() > 0 => Some(Fate::Cleared),
        call if call.trimmed_count() > 0 => Some(Fate::SoftTrimmed),
        _ => None,
    }
}

fn gap_words(gap: &Gap) -> String {
    format!("idle {}", format_duration(gap.duration_ms))
}

fn is_empty(buf: &Buffer, x: u16, y: u16, width: u16) -> bool {
    (x..x + width).all(|x| buf.cell((x, y)).is_some_and(|cell| cell.symbol() == " "))
}

/// Whether the cells are empty or part of background lines.
fn is_blank(buf: &Buffer, x: u16, y: u16, width: u16) -> bool {
    (x..x + width).all(|x| buf.cell((x, y)).is_some_and(|cell| is_background(cell.symbol())))
}
