//! The recovery as a document: expected steps and recorded events side by side.

use std::collections::HashSet;

use crate::doc::{Align, Cell, Doc, Row, Table, Tone};
use crate::format::{format_count, format_estimate, format_number, format_time};
use crate::policy::truncate::max_result_chars_under;
use crate::redact::masked;
use crate::report::recovery::{RecoveryRow, RecoveryView, RowKind, RowMark};
use crate::session::LoadedSession;
use crate::units::Chars;

/// Returns the limit in chars for one tool result under the session's ruleset.
pub fn max_result_chars(session: &LoadedSession) -> Chars {
    max_result_chars_under(session.ruleset.id.rules(), session.window.tokens)
}

impl RecoveryView {
    pub fn doc(&self, session: &LoadedSession) -> Doc {
        let mut doc = Doc::new(self.headline());
        self.say_refusal(session, &mut doc);
        let compaction = &session.configured_settings.compaction;
        let settings = format!(
            "compaction {} · reserve {} · keepRecentTokens {} · result limit {} chars",
            session.limits.compaction_mode.as_str(),
            format_number(compaction.reserve_tokens.whole()),
            format_number(compaction.keep_recent_tokens.whole()),
            format_number(max_result_chars(session).whole()),
        );
        doc.say(Tone::Dim, &settings);
        if let Some(error) = session.limits.run_error.as_deref() {
            doc.say(Tone::Warning, &format!("the gateway recorded for the last run: {}", masked(error)));
        }
        doc.gap();
        doc.table(self.steps(session));
        doc
    }

    fn say_refusal(&self, session: &LoadedSession, doc: &mut Doc) {
        let refusal = &self.refusal;
        if let Some(ix) = refusal.entry {
            let tokens = refusal.tokens.map(|tokens| format!(" · {} tokens", format_number(tokens)));
            let (name, time) = (session.index.display_id(ix), format_time(refusal.time_ms));
            doc.say(Tone::Bad, &format!("overflow at {name} · {time}{}", tokens.unwrap_or_default()));
            if !refusal.text.is_empty() {
                doc.say(Tone::Plain, &format!("{} ({})", refusal.shown_text(), refusal.source.label()));
            }
        } else if let Some(error) = &self.unanswered {
            let name = session.index.display_id(error.entry);
            doc.say(Tone::Strong, &format!("{name} failed: {}", error.class.as_str()));
        }
        if self.earlier_overflows > 0 {
            let count = self.earlier_overflows as u64;
            doc.say(Tone::Dim, &format_count(count, "earlier overflow", "earlier overflows"));
        }
    }

    fn steps(&self, session: &LoadedSession) -> Table {
        let mut columns = vec![("expected", Align::Left), ("tokens", Align::Right), ("rule", Align::Left)];
        if self.is_recorded() {
            columns.extend([("recorded", Align::Left), ("entry", Align::Left)]);
        }
        let mut table = Table::new(&columns);
        table.drop_first(&["rule", "entry"]);
        let mut explained = HashSet::new();
        for row in &self.rows {
            let is_new = !matches!(row.kind, RowKind::Attempt(_)) && explained.insert(&row.explanation);
            let note = if is_new { row.explanation.as_str() } else { "" };
            let cells = self.cells(session, row);
            table.push(Row::from(cells).with_note(note).leading_to(row.entry).citing(row.rule));
        }
        table
    }

    fn cells(&self, session: &LoadedSession, row: &RecoveryRow) -> Vec<Cell> {
        let is_head = matches!(row.kind, RowKind::Attempt(_));
        let words = match (is_head, row.kind, row.mark) {
            (true, ..) | (_, RowKind::Ending, _) => Cell::new(&row.label, Tone::Strong),
            (_, _, RowMark::Neutral) => Cell::new(&row.label, Tone::Dim),
            _ => row.label.as_str().into(),
        };
        let sign = format!("  {} ", row.mark.glyph());
        // A count of the provider, not an estimate.
        let is_counted = row.mark == RowMark::Refused && row.tokens == self.refusal.tokens;
        let format = |tokens: u64| if is_counted { format_number(tokens) } else { format_estimate(tokens) };
        let mut cells = vec![
            if is_head { words } else { words.after_sign(&sign, row.mark.tone()) },
            row.tokens.map(format).unwrap_or_default().into(),
            Cell::new(row.rule, Tone::Dim),
        ];
        if self.is_recorded() {
            let entry = row.entry.filter(|_| row.observed.is_some()).map(|ix| session.index.display_id(ix));
            cells.push(match row.observed.as_deref() {
                Some(observed) => observed.into(),
                None => Cell::new(if is_head { "" } else { "—" }, Tone::Dim),
            });
            cells.push(Cell::new(&entry.unwrap_or_default(), Tone::Dim));
        }
        cells
    }
}

impl RowMark {
    fn tone(self) -> Tone {
        match self {
            Self::Refused => Tone::Bad,
            Self::Failed => Tone::Warning,
            Self::Done => Tone::Good,
            Self::Continued | Self::Neutral => Tone::Dim,
        }
    }
}
