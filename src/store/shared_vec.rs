//! A list that grows at its end and whose clones share their items. An index that grew keeps the full chunks of the old
//! one and copies only the last partial chunk, so a refresh costs little more than its new lines.

use std::ops::Index;
use std::sync::Arc;

/// Items per chunk.
const CHUNK_LEN: usize = 1024;

/// A list whose clones share all but its last items.
#[derive(Debug, Clone)]
pub struct SharedVec<T> {
    full_chunks: Vec<Arc<Vec<T>>>,
    /// Items after the full chunks: at most one chunk, and not empty unless the list is.
    tail: Vec<T>,
}

impl<T> Default for SharedVec<T> {
    fn default() -> Self {
        Self { full_chunks: Vec::new(), tail: Vec::new() }
    }
}

impl<T> SharedVec<T> {
    pub fn len(&self) -> usize {
        self.full_chunks.len() * CHUNK_LEN + self.tail.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tail.is_empty()
    }

    pub fn get(&self, at: usize) -> Option<&T> {
        match self.full_chunks.get(at / CHUNK_LEN) {
            Some(chunk) => chunk.get(at % CHUNK_LEN),
            None => self.tail.get(at - self.full_chunks.len() * CHUNK_LEN),
        }
    }

    pub fn last_mut(&mut self) -> Option<&mut T> {
        self.tail.last_mut()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator + Clone {
        self.iter_from(0)
    }

    /// Iterates from an index on; yields nothing past the end.
    pub fn iter_from(&self, at: usize) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator + Clone {
        (at.min(self.len())..self.len()).map(|at| &self[at])
    }

    /// Returns the number of leading items for which `holds` is true; it must be false for all items after them.
    pub fn partition_point(&self, holds: impl Fn(&T) -> bool) -> usize {
        let chunks = self.full_chunks.partition_point(|chunk| chunk.last().is_some_and(&holds));
        let last = self.full_chunks.get(chunks).map_or(&self.tail, |chunk| &**chunk);
        chunks * CHUNK_LEN + last.partition_point(holds)
    }

    pub fn push(&mut self, item: T) {
        if self.tail.len() == CHUNK_LEN {
            self.full_chunks.push(Arc::new(std::mem::replace(&mut self.tail, Vec::with_capacity(CHUNK_LEN))));
        }
        self.tail.push(item);
    }
}

impl<T: Clone> SharedVec<T> {
    /// Removes the last item.
    pub fn pop(&mut self) -> Option<T> {
        let last = self.tail.pop();
        if self.tail.is_empty()
            && let Some(chunk) = self.full_chunks.pop()
        {
            self.tail = Arc::unwrap_or_clone(chunk);
        }
        last
    }
}

impl<T> Index<usize> for SharedVec<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        match self.full_chunks.get(at / CHUNK_LEN) {
            Some(chunk) => &chunk[at % CHUNK_LEN],
            None => &self.tail[at - self.full_chunks.len() * CHUNK_LEN],
        }
    }
}

impl<T: PartialEq> PartialEq for SharedVec<T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T> FromIterator<T> for SharedVec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut grown = Self::default();
        items.into_iter().for_each(|item| grown.push(item));
        grown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_vec_holds_its_items_in_order() {
        for count in [0, 1, CHUNK_LEN - 1, CHUNK_LEN, CHUNK_LEN + 1, 3 * CHUNK_LEN, 3 * CHUNK_LEN + 7] {
            let mut grown: SharedVec<usize> = (0..count).collect();
            assert_eq!((grown.len(), grown.is_empty()), (count, count == 0));
            assert!(grown.iter().copied().eq(0..count) && grown.iter().rev().copied().eq((0..count).rev()));
            assert!((0..count).all(|at| grown[at] == at && grown.get(at) == Some(&at)));
            assert_eq!((grown.get(count), grown.iter().next_back().copied()), (None, count.checked_sub(1)));
            assert!(
                grown.iter_from(count / 2).copied().eq(count / 2..count)
                    && grown.iter_from(count + 5).len() == 0
            );
            for at in [0, 1, CHUNK_LEN, count / 2, count] {
                assert_eq!(grown.partition_point(|item| *item < at), at.min(count));
            }
            for at in (0..count).rev() {
                assert_eq!((grown.pop(), grown.len()), (Some(at), at));
            }
            assert_eq!(grown.pop(), None);
        }
    }

    #[test]
    fn a_growing_copy_shares_chunks_and_leaves_the_original_unchanged() {
        let before: SharedVec<usize> = (0..2 * CHUNK_LEN + 3).collect();
        let mut after = before.clone();
        after.pop();
        after.push(7);
        after.push(8);
        assert_eq!((before.len(), after.len()), (2 * CHUNK_LEN + 3, 2 * CHUNK_LEN + 4));
        assert_eq!(
            (before.iter().next_back(), after.iter().next_back()),
            (Some(&(2 * CHUNK_LEN + 2)), Some(&8))
        );
        assert!(before.full_chunks.iter().zip(&after.full_chunks).all(|(old, new)| Arc::ptr_eq(old, new)));
    }
}
