//! The lane of the prompt cache below the curves: whether each recorded call read its prompt from the cache, and a letter
//! for the cause where it did not. Letters, because colours are lost on some terminals and to some eyes.

use ratatui::buffer::Buffer;
use ratatui::text::Span;

use super::View;
use crate::report::cache_ledger::{CachedCall, MissCause};
use crate::ui::session_columns;
use crate::ui::theme::{BackgroundRole, Role};
use crate::ui::widgets::{apply_style, on_title, put, spans_width};

/// A sign of the lane; the later ones cover the earlier where calls share a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    Read,
    /// The prompt is new, so it could not be cached yet.
    New,
    Miss(Letter),
}

/// The letter of a cause, and the word that the legend shows for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Letter(&'static str, &'static str);

impl Letter {
    fn of(cause: MissCause) -> Self {
        match cause {
            MissCause::Pause => Self("p", "pause"),
            MissCause::ModelChanged => Self("m", "model"),
            MissCause::BranchSwitched => Self("b", "branch"),
            MissCause::SystemChanged | MissCause::ThinkingChanged => Self("s", "system"),
            MissCause::PrefixEnds => Self("e", "prefix ends"),
            MissCause::Unknown => Self("?", "unknown"),
            _ => Self("x", "prefix"),
        }
    }
}

impl Sign {
    /// Returns the sign of a call; `None` if its provider reports no cache.
    fn of(call: &CachedCall) -> Option<Self> {
        if call.is_uncached {
            return None;
        }
        Some(match &call.miss {
            Some(miss) if miss.is_counted() => Self::Miss(Letter::of(miss.cause)),
            Some(_) => Self::New,
            None => Self::Read,
        })
    }
}

impl View<'_> {
    pub(super) fn cache_lane(&self, buf: &mut Buffer) {
        let lane = self.places.cache_lane;
        if lane.is_empty() {
            return;
        }
        let cursor = ratatui::layout::Rect { x: self.cursor_column(), width: 1, ..lane };
        apply_style(buf, cursor, self.theme.background(BackgroundRole::Selected));
        let mut any = false;
        for column in 0..lane.width {
            let calls = self.grid.calls_at(usize::from(column));
            let Some(sign) = calls.filter_map(|call| Sign::of(self.timeline.cached(call)?)).max() else {
                continue;
            };
            any = true;
            let (text, role) = match sign {
                Sign::Read => (session_columns::LIGHT, Role::Faint),
                Sign::New => ("+", Role::Muted),
                Sign::Miss(letter) => (letter.0, Role::Warn),
            };
            put(buf, (lane.x + column, lane.y), lane.right(), text, self.theme.style(role));
        }
        let words = if any { "cache" } else { "no cache" };
        let (x, end) = (self.places.threshold_labels.x, self.places.threshold_labels.right());
        put(buf, (x, lane.y), end, words, self.theme.style(Role::Muted));
    }

    /// Explains the signs of the lane on the line below it; where the room ends, those of the most calls.
    pub(super) fn cache_legend(&self, start: u16, end: u16, buf: &mut Buffer) {
        let style = |role| self.theme.style(role);
        let mut spans: Vec<Span> = Vec::new();
        let read = (session_columns::LIGHT, Role::Faint, "read");
        let new = ("+", Role::Muted, "new");
        let missed = self.missed_letters().into_iter().map(|Letter(letter, word)| (letter, Role::Warn, word));
        for (sign, role, word) in missed.chain([new, read]) {
            let parted = if spans.is_empty() { "" } else { "  " };
            let item = [
                Span::styled(format!("{parted}{sign}"), style(role)),
                Span::styled(format!(" {word}"), style(Role::Muted)),
            ];
            if start + spans_width(&spans) + spans_width(&item) + 2 > end {
                break;
            }
            spans.extend(item);
        }
        on_title(buf, self.places.bars_title.y, start, end, &spans);
    }

    /// The letters in the lane, those of the most calls first.
    fn missed_letters(&self) -> Vec<Letter> {
        let mut counts: Vec<(Letter, usize)> = Vec::new();
        let causes = self.timeline.cache_totals().by_cause.iter();
        for (cause, count) in causes.filter(|(cause, _)| !cause.makes_new_prompt()) {
            let letter = Letter::of(*cause);
            match counts.iter_mut().find(|(known, _)| *known == letter) {
                Some((_, calls)) => *calls += count.calls,
                None => counts.push((letter, count.calls)),
            }
        }
        counts.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
        counts.into_iter().map(|(letter, _)| letter).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EntryIx;
    use crate::replay::Cost;
    use crate::replay::cache::TokenSplit;
    use crate::report::cache_ledger::CacheMiss;
    use crate::units::{Millis, Moment, Tokens};

    fn call(cause: Option<MissCause>, is_uncached: bool) -> CachedCall {
        let miss = |cause| CacheMiss {
            tokens: Tokens(9.0),
            cost: Cost::default(),
            age_ms: Millis::ZERO,
            cause,
            at: None,
        };
        CachedCall {
            entry: EntryIx(0),
            ended: Moment::ZERO,
            split: TokenSplit::default(),
            cost: Cost::default(),
            is_uncached,
            miss: cause.map(miss),
        }
    }

    #[test]
    fn in_one_column_a_miss_covers_a_new_prompt_and_that_a_read_one() {
        let sign = |cause| Sign::of(&call(cause, false)).unwrap();
        let signs = [None, Some(MissCause::Compaction), Some(MissCause::Pause)].map(sign);
        assert!(signs.is_sorted() && signs[0] != signs[1] && signs[1] != signs[2]);
        assert_eq!(Sign::of(&call(Some(MissCause::Pause), true)), None, "nothing is known without a cache");
    }

    #[test]
    fn prompt_changes_by_a_policy_share_a_letter_and_other_causes_do_not() {
        let letter = |cause| Letter::of(cause).0;
        assert_eq!(letter(MissCause::Pruning), letter(MissCause::ContextEdit));
        let others = [MissCause::Pause, MissCause::ModelChanged, MissCause::BranchSwitched, MissCause::Guard];
        let letters: std::collections::BTreeSet<&str> = others.map(letter).into();
        assert_eq!(letters.len(), others.len());
        assert_eq!(letter(MissCause::SystemChanged), "s");
    }
}
