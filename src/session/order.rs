//! The order of the session list.

use crate::session::SessionItem;
use crate::units::Moment;

/// The column that the list is sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum SortColumn {
    /// Last change
    #[default]
    Age,
    /// Share of the window
    Fullness,
    /// Cost of all calls
    Cost,
    /// Number of compactions
    Compactions,
    /// Number of overflows
    Overflows,
}

impl SortColumn {
    pub const ALL: [Self; 5] = [Self::Age, Self::Fullness, Self::Cost, Self::Compactions, Self::Overflows];

    /// Returns the title of the column.
    pub fn title(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::Fullness => "full",
            Self::Cost => "cost",
            Self::Compactions => "comp",
            Self::Overflows => "over",
        }
    }

    #[must_use]
    pub fn next(self) -> Self {
        let at = Self::ALL.iter().position(|column| *column == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }

    /// Returns the value to sort by; greater comes first. `None` if it is unknown.
    fn value(self, item: &SessionItem) -> Option<f64> {
        match self {
            Self::Age => item.updated_ms.map(Moment::get),
            Self::Fullness => item.fullness(),
            Self::Cost => item.cost_usd(),
            Self::Compactions => item.compactions.map(|count| count as f64),
            Self::Overflows => item.overflows.map(|count| count as f64),
        }
    }
}

/// A column and its direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SessionOrder {
    pub column: SortColumn,
    /// Oldest or smallest first.
    pub reversed: bool,
}

impl SessionOrder {
    /// Returns the arrow after the column's title.
    pub fn arrow(self) -> &'static str {
        if self.reversed { "↑" } else { "↓" }
    }

    /// Sorts indices of sessions by the column, over all agents. Unknown values come last in both directions; equal
    /// ones keep their order.
    pub fn sort(self, items: &[SessionItem], indices: &mut [usize]) {
        let values: Vec<Option<f64>> = items.iter().map(|item| self.column.value(item)).collect();
        indices.sort_by(|one, other| match (values[*one], values[*other]) {
            (Some(one), Some(other)) if self.reversed => one.total_cmp(&other),
            (Some(one), Some(other)) => other.total_cmp(&one),
            (one, other) => other.is_some().cmp(&one.is_some()),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing;

    #[test]
    fn unknown_values_come_last_in_both_directions_and_equal_ones_keep_their_order() {
        let counts = [Some(1), None, Some(3), Some(1), None, Some(0)];
        let items: Vec<SessionItem> =
            counts.map(|compactions| SessionItem { compactions, ..testing::item() }).into();
        let sorted = |reversed| {
            let mut indices: Vec<usize> = (0..items.len()).collect();
            SessionOrder { column: SortColumn::Compactions, reversed }.sort(&items, &mut indices);
            indices
        };
        assert_eq!(sorted(false), [2, 0, 3, 5, 1, 4]);
        assert_eq!(sorted(true), [5, 0, 3, 2, 1, 4]);
    }

    #[test]
    fn the_sort_columns_cycle() {
        let mut column = SortColumn::default();
        for expected in
            [SortColumn::Fullness, SortColumn::Cost, SortColumn::Compactions, SortColumn::Overflows]
        {
            column = column.next();
            assert_eq!(column, expected);
        }
        assert_eq!(column.next(), SortColumn::Age);
    }
}
