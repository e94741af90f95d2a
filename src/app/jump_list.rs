//! The places that a person jumped from, as in an editor: back returns to the last one, forward undoes going back.

/// The most places in each direction; older ones are forgotten.
const MAX_PLACES: usize = 100;

#[derive(Debug, Clone)]
pub(super) struct JumpList<JumpTarget> {
    /// Places of the way back, the nearest last.
    back: Vec<JumpTarget>,
    /// Places of the way forward, the nearest last.
    forward: Vec<JumpTarget>,
}

impl<JumpTarget> Default for JumpList<JumpTarget> {
    fn default() -> Self {
        Self { back: Vec::new(), forward: Vec::new() }
    }
}

impl<JumpTarget> JumpList<JumpTarget> {
    /// Remembers a place that is being left. Places forward are no longer reachable.
    pub(super) fn record(&mut self, place: JumpTarget) {
        self.forward.clear();
        push_bounded(&mut self.back, place);
    }

    /// Returns the place that going back leads to.
    pub(super) fn previous(&self) -> Option<&JumpTarget> {
        self.back.last()
    }

    /// Takes the nearest place in a direction that still exists and remembers `here` for the way back; drops places
    /// that no longer exist. Changes nothing when there is no such place.
    pub(super) fn step(
        &mut self,
        forward: bool,
        here: Option<JumpTarget>,
        exists: impl Fn(&JumpTarget) -> bool,
    ) -> Option<JumpTarget> {
        let (from, to) =
            if forward { (&mut self.forward, &mut self.back) } else { (&mut self.back, &mut self.forward) };
        let found = loop {
            let place = from.pop()?;
            if exists(&place) {
                break place;
            }
        };
        if let Some(here) = here {
            push_bounded(to, here);
        }
        Some(found)
    }
}

fn push_bounded<JumpTarget>(places: &mut Vec<JumpTarget>, place: JumpTarget) {
    if places.len() == MAX_PLACES {
        places.remove(0);
    }
    places.push(place);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_and_forward_walk_the_same_places() {
        let mut jumps = JumpList::default();
        jumps.record(1);
        jumps.record(2);
        assert_eq!(jumps.step(false, Some(3), |_| true), Some(2));
        assert_eq!(jumps.step(false, Some(2), |_| true), Some(1));
        assert_eq!(jumps.step(false, Some(1), |_| true), None);
        assert_eq!(jumps.step(true, Some(1), |_| true), Some(2));
        assert_eq!(jumps.step(true, Some(2), |_| true), Some(3));
        assert_eq!(jumps.step(true, Some(3), |_| true), None);
    }

    #[test]
    fn a_place_that_no_longer_exists_is_skipped_and_forgotten() {
        let mut jumps = JumpList::default();
        (1..=3).for_each(|place| jumps.record(place));
        assert_eq!(jumps.step(false, Some(4), |place| *place != 3), Some(2));
        assert_eq!(jumps.step(true, Some(2), |_| true), Some(4));
    }

    #[test]
    fn a_new_jump_drops_the_forward_places_and_the_list_has_a_limit() {
        let mut jumps = JumpList::default();
        jumps.record(0);
        jumps.step(false, Some(1), |_| true);
        jumps.record(0);
        assert_eq!(jumps.step(true, Some(0), |_| true), None);
        (0..1_000).for_each(|place| jumps.record(place));
        let mut steps = 0;
        while jumps.step(false, None, |_| true).is_some() {
            steps += 1;
        }
        assert_eq!(steps, MAX_PLACES);
    }
}
