//! The results of a list by id, for the releases that move a result up to its call from anywhere (compaction 6.8).

use std::collections::HashMap;

use crate::js::JsString;
use crate::policy::repair::pairing::usable_name;
use crate::policy::repair::shape::{PairedCall, PairingShape};

pub(super) struct LateResults<'a> {
    /// Positions of the results with an id, ascending.
    by_id: HashMap<&'a JsString, Vec<usize>>,
    /// Positions of the results without one, ascending; all of them, and by their tool.
    without_id: Vec<usize>,
    without_id_by_tool: HashMap<Option<JsString>, Vec<usize>>,
}

impl<'a> LateResults<'a> {
    pub(super) fn new(shapes: &[&'a PairingShape]) -> Self {
        let mut results =
            Self { by_id: HashMap::new(), without_id: Vec::new(), without_id_by_tool: HashMap::new() };
        for (at, shape) in shapes.iter().enumerate() {
            match shape {
                PairingShape::Result { id: Some(id), .. } => results.by_id.entry(id).or_default().push(at),
                PairingShape::Result { id: None, name, .. } => {
                    results.without_id.push(at);
                    results.without_id_by_tool.entry(usable_name(name.as_ref())).or_default().push(at);
                }
                _ => {}
            }
        }
        results
    }

    /// Returns the first result of a call at or after `from`; `calls` are all calls of its answer.
    pub(super) fn first(&self, calls: &[PairedCall], call: &PairedCall, from: usize) -> Option<usize> {
        let after =
            |positions: &Vec<usize>| positions.get(positions.partition_point(|at| *at < from)).copied();
        let own = self.by_id.get(&call.id).and_then(after);
        let of_tool = |tool: &Option<JsString>| self.without_id_by_tool.get(tool).and_then(after);
        // As `only_call_of` decides, without looking at every result.
        let linked = match (calls, usable_name(call.name.as_ref())) {
            ([_], None) => after(&self.without_id),
            ([_], tool) => of_tool(&tool).into_iter().chain(of_tool(&None)).min(),
            _ => None,
        };
        own.into_iter().chain(linked).min()
    }
}
