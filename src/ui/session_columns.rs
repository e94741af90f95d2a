//! The columns of the sessions pane: in a wide pane all that fit, in a narrow one the column that it is sorted by.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::format::{
    format_amount, format_duration, format_number, format_short, format_short_tokens, format_short_usd,
};
use crate::session::item::SortColumn;
use crate::session::{Mark, SessionItem};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets;
use crate::units::{Millis, Moment};

/// Cells that a title keeps in a wide pane.
const MIN_TITLE_WIDTH: u16 = 30;
/// Blanks before a column.
const GAP: u16 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Age,
    Model,
    Tokens,
    Full,
    Cost,
    Compactions,
    Overflows,
}

impl Column {
    /// Every column, from left to right.
    const ALL: [Self; 7] =
        [Self::Age, Self::Model, Self::Tokens, Self::Full, Self::Cost, Self::Compactions, Self::Overflows];
    /// Every column, the last to give up first.
    const BY_IMPORTANCE: [Self; 7] =
        [Self::Full, Self::Age, Self::Cost, Self::Tokens, Self::Model, Self::Compactions, Self::Overflows];

    pub(super) fn width(self) -> u16 {
        match self {
            Self::Age => 8,
            Self::Model => 18,
            Self::Tokens => 14,
            Self::Cost => 9,
            Self::Full | Self::Compactions | Self::Overflows => 6,
        }
    }

    /// Returns the columns that fit next to the titles, that of the order first.
    pub(super) fn fitting(width: u16, sorted: SortColumn) -> Vec<Self> {
        let mut room = width.saturating_sub(MIN_TITLE_WIDTH);
        let mut chosen = Vec::new();
        let mut wanted = Self::BY_IMPORTANCE;
        wanted.sort_by_key(|column| !column.is_sorted_by(sorted));
        for column in wanted {
            let wanted = column.width() + GAP;
            if wanted > room {
                break;
            }
            room -= wanted;
            chosen.push(column);
        }
        Self::ALL.into_iter().filter(|column| chosen.contains(column)).collect()
    }

    /// Returns the left and right end of each column, of which the last ends at `end`.
    pub(super) fn spans(columns: &[Self], end: u16) -> Vec<(Self, u16, u16)> {
        let mut right = end;
        let mut spans: Vec<(Self, u16, u16)> = Vec::new();
        for column in columns.iter().rev() {
            let left = right.saturating_sub(column.width());
            spans.push((*column, left, right));
            right = left.saturating_sub(GAP);
        }
        spans.reverse();
        spans
    }

    fn sort_column(self) -> Option<SortColumn> {
        Some(match self {
            Self::Age => SortColumn::Age,
            Self::Full => SortColumn::Fullness,
            Self::Cost => SortColumn::Cost,
            Self::Compactions => SortColumn::Compactions,
            Self::Overflows => SortColumn::Overflows,
            Self::Model | Self::Tokens => return None,
        })
    }

    pub(super) fn is_sorted_by(self, column: SortColumn) -> bool {
        self.sort_column() == Some(column)
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Tokens => "tokens",
            column => column.sort_column().map_or("", SortColumn::title),
        }
    }

    /// Returns the cell of a session; a sign for an unknown value.
    pub(super) fn text(self, item: &SessionItem, now_ms: Moment) -> String {
        let text = match self {
            Self::Age => item.updated_ms.map(|ms| format_duration((now_ms - ms).max(Millis::ZERO))),
            Self::Model => Some(item.model.clone()).filter(|model| !model.is_empty()),
            Self::Tokens => item.tokens.map(|count| {
                let tokens = format_short_tokens(count.tokens, !count.is_estimate());
                format!("{tokens} / {}", format_short(item.window))
            }),
            // The store's own number is of the last answer, so it says nothing of a prompt that did not fit.
            Self::Full => item.usage.and(item.tokens).and_then(|count| {
                Some(format!("{}{}", if count.is_estimate() { "~" } else { "" }, item.window_share()?))
            }),
            Self::Cost => item
                .usage
                .and_then(|usage| Some((usage.cost.total()?, usage.cost.is_estimated())))
                .map(|(usd, is_estimated)| format_amount(usd, is_estimated)),
            Self::Compactions => item.compactions.map(format_number),
            Self::Overflows => item.overflows.map(format_number),
        };
        text.unwrap_or_else(|| widgets::UNKNOWN.to_owned())
    }

    /// Whether texts start at the left end.
    pub(super) fn is_left(self) -> bool {
        self == Self::Model
    }
}

/// Returns the only value of a narrow pane: that of the sorted column, the fullness by age.
pub(super) fn narrow_text(item: &SessionItem, column: SortColumn, now_ms: Moment) -> String {
    match column {
        SortColumn::Age | SortColumn::Fullness => Column::Full.text(item, now_ms),
        SortColumn::Cost => item
            .usage
            .and_then(|usage| Some(format_short_usd(usage.cost.total()?, usage.cost.is_estimated())))
            .unwrap_or_else(|| widgets::UNKNOWN.to_owned()),
        SortColumn::Compactions => Column::Compactions.text(item, now_ms),
        SortColumn::Overflows => Column::Overflows.text(item, now_ms),
    }
}

/// Returns the style of a column's cell. `level` is that of the fullness.
pub(super) fn cell_style(column: Column, item: &SessionItem, level: Style, theme: &Theme) -> Style {
    match column {
        Column::Full => level,
        Column::Overflows if item.has(Mark::Overflow) => theme.bold(Role::Danger),
        _ => theme.style(Role::Muted),
    }
}

/// Returns the title of a column, with an arrow if the list is sorted by it.
pub(super) fn heading<'a>(column: Column, arrow: Option<&str>, theme: &Theme) -> Span<'a> {
    match arrow {
        Some(arrow) => Span::styled(format!("{} {arrow}", column.title()), theme.style(Role::Bright)),
        None => Span::styled(column.title(), theme.style(Role::Muted)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_important_columns_are_dropped_first_for_the_title() {
        let fitting = |width| Column::fitting(width, SortColumn::Age);
        assert_eq!(fitting(30), []);
        assert_eq!(fitting(60), [Column::Age, Column::Full, Column::Cost]);
        assert_eq!(fitting(140), Column::ALL);
        assert_eq!(Column::fitting(40, SortColumn::Overflows), [Column::Overflows]);
        let spans = Column::spans(&[Column::Age, Column::Full], 50);
        assert_eq!(spans, [(Column::Age, 34, 42), (Column::Full, 44, 50)]);
    }
}
