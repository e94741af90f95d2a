//! The new lines while they are put together: the copied path, labels, our own record; and the checks on
//! the whole before anything is written (store P2–P6).

use std::collections::{BTreeMap, HashMap};

use crate::commit::check::Checked;
use crate::commit::copy::{Copies, CopyOf, Remap, copy, label_line};
use crate::commit::labels::Labels;
use crate::commit::pairs::unpaired;
use crate::commit::planned::{self, PlannedMessage, first_difference};
use crate::commit::prepare::NewLine;
use crate::commit::receipt::commit_line;
use crate::commit::refusal::Refusal;
use crate::commit::request::CommitRequest;
use crate::context::Context;
use crate::ids::{EntryIx, NewIds};
use crate::js::{self, Value};
use crate::store::entry::{EntryKind, Role};
use crate::store::index::Index;
use crate::store::intern::IdIx;

/// Lines while they are put together.
pub(super) struct Draft {
    copies: Copies,
    /// Outer time of every new line, as text.
    time: String,
    pub lines: Vec<NewLine>,
    /// What each copied entry must be read as.
    values: HashMap<EntryIx, Value>,
    pub remaps: Vec<Remap>,
    pub warnings: Vec<String>,
}

impl Draft {
    pub(super) fn copy_path(
        request: &CommitRequest<'_>,
        path: &[EntryIx],
        first: usize,
        changing: &BTreeMap<EntryIx, &Value>,
        new_ids: &mut dyn NewIds,
    ) -> Result<Self, Refusal> {
        let index = request.transcript.index;
        let copies = Copies::plan(&request.transcript, &path[first..], new_ids)?;
        let parent = first.checked_sub(1).map(|at| path[at]);
        let mut draft = Self {
            copies,
            time: js::iso_text(not_before(index, parent, request.now_ms)),
            lines: Vec::new(),
            values: HashMap::new(),
            remaps: Vec::new(),
            warnings: Vec::new(),
        };
        for at in 0..draft.copies.entries.len() {
            let (ix, id) = draft.copies.entries[at].clone();
            let message = changing.get(&ix).copied();
            let parent = draft.lines.last().map(|line| line.id.as_str());
            let of = CopyOf { ix, id: &id, parent, time: &draft.time, message };
            let copied = copy(&request.transcript, &draft.copies, &of)?;
            draft.remaps.extend(copied.remap);
            draft.values.insert(ix, copied.value);
            draft.lines.push(NewLine { id, copy_of: Some(ix), text: copied.text });
        }
        Ok(draft)
    }

    pub(super) fn last_id(&self) -> String {
        self.lines.last().map(|line| line.id.clone()).unwrap_or_default()
    }

    /// Adds the label lines without which a copy would lose its label, or an older entry get back a
    /// label that was changed since (store K8, P4).
    pub(super) fn keep_labels(&mut self, index: &Index, new_ids: &mut dyn NewIds) {
        let in_force = Labels::in_force(index);
        let mut after = in_force.clone();
        let mut of_copies: HashMap<IdIx, Option<&Value>> = HashMap::new();
        let mut touched: Vec<IdIx> =
            self.copies.entries.iter().filter_map(|(ix, _)| index.entry(*ix).id).collect();
        for (ix, _) in &self.copies.entries {
            let entry = index.entry(*ix);
            let Some(target) = entry.reference.filter(|_| entry.kind == EntryKind::Label) else { continue };
            let label = index.words.value(entry.word).filter(|label| js::truthy(Some(label)));
            if self.copies.new_id(target).is_some() {
                of_copies.insert(target, label);
            } else {
                after.set(target, label);
                touched.push(target);
            }
        }
        for target in touched {
            let copy = self.copies.new_id(target).map(str::to_owned);
            let now =
                if copy.is_some() { of_copies.get(&target).copied().flatten() } else { after.of(target) };
            let wanted = in_force.of(target);
            if now != wanted {
                let named = copy.map_or_else(|| index.ids.value(target), Value::from);
                let id = self.copies.draw(index, new_ids);
                let text = label_line(&id, &self.last_id(), &self.time, &named, wanted);
                self.lines.push(NewLine { id, copy_of: None, text });
                after.set(target, wanted);
            }
        }
    }

    /// Our own record, last, so that the branch never ends in a user message (store M6).
    pub(super) fn record(
        &mut self,
        request: &CommitRequest<'_>,
        checked: &Checked,
        changing: &BTreeMap<EntryIx, &Value>,
        new_ids: &mut dyn NewIds,
    ) {
        let index = request.transcript.index;
        let id = self.copies.draw(index, new_ids);
        let changed = self.changed_names(index, changing);
        let leaf = index.entry(checked.leaf).id.map_or(Value::Null, |id| index.ids.value(id));
        let text = commit_line(&id, &self.last_id(), &self.time, &leaf, &changed, &request.provenance);
        self.lines.push(NewLine { id, copy_of: None, text });
    }

    pub(super) fn changed_names(
        &self,
        index: &Index,
        changing: &BTreeMap<EntryIx, &Value>,
    ) -> Vec<(String, String)> {
        let changed = self.copies.entries.iter().filter(|(ix, _)| changing.contains_key(ix));
        changed.map(|(ix, id)| (index.name(*ix), id.clone())).collect()
    }

    /// Reads the new lines as the runtime will and compares the context with the plan and the pairing
    /// with the old one.
    pub(super) fn check(&mut self, index: &Index, context: &Context) -> Result<Vec<PlannedMessage>, Refusal> {
        let path = || index.path.to_path_buf();
        let expected = planned::expected(index, context, &self.values);
        let grown = planned::index_with(index, &self.lines);
        let read = planned::read_lines(&grown, index.entries.len(), &self.lines);
        let (after, read) = read.ok_or_else(|| Refusal::NotAsPlanned { path: path(), at: 1 })?;
        if let Some(at) = first_difference(&expected, &read) {
            return Err(Refusal::NotAsPlanned { path: path(), at });
        }
        let old = unpaired(index, context);
        if let Some(what) = unpaired(&grown, &after).into_iter().find(|what| !old.contains(what)) {
            return Err(Refusal::Unpaired { path: path(), what });
        }
        self.warnings
            .extend(old.into_iter().map(|what| format!("The branch holds {what}, as the old one does.")));
        Ok(read)
    }

    pub(super) fn warn(&mut self, index: &Index, part: &[EntryIx]) {
        let left_out = part.len() - self.copies.entries.len();
        if left_out > 0 {
            let text =
                format!("{left_out} usage entries are not copied, so that sums over the file stay right.");
            self.warnings.push(text);
        }
        self.warnings.extend(unknown_parent(index, part[0]));
        self.warnings.extend(copied_usage(index, part));
    }
}

fn unknown_parent(index: &Index, first: EntryIx) -> Option<String> {
    let parent = index.entry(first).parent?;
    let known = index.entries.iter().any(|entry| entry.id == Some(parent));
    let parent = index.ids.text(parent);
    (!known)
        .then(|| format!("The branch begins after {parent}, which is not in the file; so does the old one."))
}

/// Usage is counted per entry, and the runtime asks the last answer how full the context is
/// (compaction 2.11).
fn copied_usage(index: &Index, part: &[EntryIx]) -> Option<String> {
    let usage = |ix: &EntryIx| index.entry(*ix).message.filter(|size| size.role == Role::Assistant)?.usage;
    let usages: Vec<_> = part.iter().filter_map(usage).collect();
    let tokens = js::number_text(usages.last()?.context_tokens);
    let count = usages.len();
    Some(format!(
        "{count} copied answers keep their recorded usage: sums over all branches count it twice, and until the next answer the runtime goes by the last one, {tokens} tokens."
    ))
}

/// The time of the new lines: now, or the parent's when a clock was ahead (store P2).
fn not_before(index: &Index, parent: Option<EntryIx>, now_ms: i64) -> i64 {
    let parent = parent.map(|ix| index.entry(ix).time).filter(|time| time.is_finite());
    parent.map_or(now_ms, |time| now_ms.max(time as i64))
}
