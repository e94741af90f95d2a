//! The foot of the comparison: the result of the selected cell next to the current settings, and its changes.

use ratatui::buffer::Buffer;
use ratatui::text::Span;

use super::{View, dash, label, left_out, peak, regret};
use crate::format::format_number;
use crate::gateway::setting_value::edit_text;
use crate::report::cost::format_cost;
use crate::ui::session_columns;
use crate::ui::theme::Role;
use crate::ui::widgets::{on_title, put, put_facts};

type Fact = Vec<Span<'static>>;

impl View<'_> {
    pub(super) fn foot(&self, buf: &mut Buffer) {
        let area = self.places.footer;
        if area.is_empty() {
            return;
        }
        let (x, end) = (area.x + 2, area.right().saturating_sub(1));
        for x in area.left()..area.right() {
            put(buf, (x, area.y), area.right(), session_columns::LIGHT, self.theme.style(Role::Faint));
        }
        let points = self.screen.sweep_state.axes.iter().zip(&self.screen.point);
        let values: Vec<String> = points.map(|(axis, at)| label(axis, &axis.points[*at])).collect();
        let after =
            put(buf, (x, area.y), end, &format!(" {} ", values.join(" / ")), self.theme.style(Role::Text));
        let changes = self.changes();
        let words = match changes.len() {
            0 => "same as config".to_owned(),
            1 => "1 setting differs from config".to_owned(),
            count => format!("{count} settings differ from config"),
        };
        on_title(buf, area.y, after, end, &[self.span(Role::Muted, words)]);
        put_facts(buf, (x, area.y + 1), end, &self.facts());
        if area.height > 2 {
            put_facts(buf, (x, area.y + 2), end, &changes);
        }
        if let Some(words) =
            self.sweep().and_then(crate::report::sweep::Sweep::caveat).filter(|_| area.height > 3)
        {
            put(
                buf,
                (x, area.y + 3),
                end,
                &format!("{} {words}", session_columns::ALERT),
                self.theme.style(Role::Warn),
            );
        }
    }

    fn facts(&self) -> Vec<Fact> {
        let Some(cell) = self.selected() else {
            return vec![vec![self.span(Role::Muted, "not replayed yet")]];
        };
        let now = self.screen.baseline_cell().and_then(|at| self.screen.cell(at));
        let is_now = now.is_some_and(|now| now.points == cell.points);
        let fact = |name: &str, value: String, before: Option<String>| {
            let differs = before.as_ref().is_some_and(|before| *before != value);
            let role = if differs && !is_now { Role::Plan } else { Role::Bright };
            let mut fact =
                vec![self.span(Role::Muted, format!("{name} ")), Span::styled(value, self.theme.bold(role))];
            fact.extend(
                before.filter(|_| differs).map(|before| self.span(Role::Muted, format!("  (now {before})"))),
            );
            fact
        };
        let cost =
            |cell: &crate::report::sweep::Cell| format_cost(&cell.totals.cost_breakdown).unwrap_or_else(dash);
        let mut facts = vec![
            fact("peak", peak(cell), now.map(peak)),
            fact("cost", cost(cell), now.map(cost)),
            fact(
                "overflows",
                format_number(cell.overflows() as i64),
                now.map(|now| format_number(now.overflows() as i64)),
            ),
            fact(
                "compactions",
                format_number(cell.summary_count() as i64),
                now.map(|now| format_number(now.summary_count() as i64)),
            ),
            fact("freed per call", left_out(cell), now.map(left_out)),
        ];
        if cell.regret.is_some() {
            facts.push(fact("needed again", regret(cell), now.map(regret)));
        }
        if cell.overflows() > 0 {
            facts[2].insert(0, self.span(Role::Danger, format!("{} ", session_columns::ALERT)));
        }
        facts
    }

    /// Lists the changes of the cell: its own settings, then those tuned in every cell.
    fn changes(&self) -> Vec<Fact> {
        let change = |key: &str, was: String, now: String| -> Fact {
            vec![
                self.span(Role::Text, format!("{key} ")),
                self.span(Role::Muted, format!("{was} {} ", session_columns::ARROW)),
                Span::styled(now, self.theme.bold(Role::Plan)),
            ]
        };
        let points = self.screen.sweep_state.axes.iter().zip(&self.screen.point);
        let moved = points.filter(|(axis, at)| **at != axis.current).map(|(axis, at)| {
            change(axis.key(), axis.points[axis.current].text.clone(), axis.points[*at].text.clone())
        });
        let rows =
            self.app.displayed_session().map(|session| session.setting_rows.as_slice()).unwrap_or_default();
        let base = self.sweep().map(|sweep| sweep.base.as_slice()).unwrap_or_default();
        let fixed = base.iter().map(|change_of| {
            let row = rows.iter().find(|row| row.setting.id == change_of.id);
            let unit = row.and_then(|row| row.setting.control.unit());
            let was = row.map(|row| edit_text(unit, &row.setting.value)).unwrap_or_default();
            change(change_of.key(), was, edit_text(unit, &change_of.value))
        });
        moved.chain(fixed).collect()
    }
}
