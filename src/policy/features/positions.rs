//! Ascending positions in a text. A long transcript has tens of millions of line ends, most of them fewer than 128 chars
//! apart, so each position is kept as its distance from the one before: one byte instead of four.

use std::sync::Arc;

/// Bits of a distance in one byte; the eighth says that more follow.
const BITS: u32 = 7;
const MORE: u8 = 1 << BITS;

/// Positions, ascending.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Positions(Arc<[u8]>);

impl Positions {
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let (mut bytes, mut position) = (self.0.iter(), 0);
        std::iter::from_fn(move || {
            let mut shift = 0;
            loop {
                let byte = *bytes.next()?;
                position += u32::from(byte & !MORE) << shift;
                shift += BITS;
                if byte & MORE == 0 {
                    return Some(position);
                }
            }
        })
    }

    /// Returns the number of positions.
    pub(super) fn count(&self) -> usize {
        self.0.iter().filter(|byte| **byte & MORE == 0).count()
    }
}

impl FromIterator<u32> for Positions {
    fn from_iter<T: IntoIterator<Item = u32>>(positions: T) -> Self {
        let mut list = PositionList::default();
        positions.into_iter().for_each(|position| list.push(position));
        list.into()
    }
}

/// Collects positions.
#[derive(Debug, Default)]
pub(super) struct PositionList {
    bytes: Vec<u8>,
    last: u32,
}

impl PositionList {
    /// Appends a position that is not before the last one.
    pub(super) fn push(&mut self, position: u32) {
        let mut distance = position - self.last;
        self.last = position;
        while distance >= u32::from(MORE) {
            self.bytes.push(distance as u8 | MORE);
            distance >>= BITS;
        }
        self.bytes.push(distance as u8);
    }
}

impl From<PositionList> for Positions {
    fn from(list: PositionList) -> Self {
        // An empty default allocates nothing.
        if list.bytes.is_empty() { Self::default() } else { Self(list.bytes.into()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn positions_read_back_as_written(distances in proptest::collection::vec(0..3_000_000_u32, 0..40)) {
            let positions: Vec<u32> = distances
                .iter()
                .scan(0, |sum, distance| {
                    *sum += distance >> (distance % 20);
                    Some(*sum)
                })
                .collect();
            let kept: Positions = positions.iter().copied().collect();
            prop_assert_eq!(kept.count(), positions.len());
            prop_assert_eq!(kept.iter().collect::<Vec<_>>(), positions);
        }
    }

    #[test]
    fn the_last_position_of_the_longest_text_is_kept() {
        let kept: Positions = [0, 127, 255, u32::MAX].into_iter().collect();
        assert_eq!(kept.iter().collect::<Vec<_>>(), [0, 127, 255, u32::MAX]);
    }
}
