//! The results of a list by id, for the releases that move a result up to its call from anywhere (compaction 6.8).

use std::collections::HashMap;

use crate::js::JsString;
use crate::policy::repair::pairing::is_of_only_call;
use crate::policy::repair::shape::{PairedCall, PairingShape};

pub(super) struct LateResults<'a> {
    /// Positions of the results with an id, ascending.
    by_id: HashMap<&'a JsString, Vec<usize>>,
    /// Positions of the results without one, ascending.
    without_id: Vec<usize>,
}

impl<'a> LateResults<'a> {
    pub(super) fn new(shapes: &[&'a PairingShape]) -> Self {
        let mut results = Self { by_id: HashMap::new(), without_id: Vec::new() };
        for (at, shape) in shapes.iter().enumerate() {
            match shape {
                PairingShape::Result { id: Some(id), .. } => results.by_id.entry(id).or_default().push(at),
                PairingShape::Result { id: None, .. } => results.without_id.push(at),
                _ => {}
            }
        }
        results
    }

    /// Returns the first result of a call at or after `from`; `calls` are all calls of its answer.
    pub(super) fn first(
        &self,
        shapes: &[&PairingShape],
        calls: &[PairedCall],
        call: &PairedCall,
        from: usize,
    ) -> Option<usize> {
        let after = |positions: &[usize]| positions.partition_point(|at| *at < from);
        let own = self.by_id.get(&call.id).and_then(|own| own.get(after(own)).copied());
        let of_only_call = |at: &&usize| matches!(shapes[**at], PairingShape::Result { name, .. } if is_of_only_call(name.as_ref(), calls).is_some());
        let linked = self.without_id[after(&self.without_id)..].iter().find(of_only_call).copied();
        own.into_iter().chain(linked).min()
    }
}
