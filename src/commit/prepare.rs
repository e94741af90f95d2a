//! Changes → the exact lines that would be appended, checked against the plan before anything is
//! written (store P2–P7).

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use crate::commit::check::{Checked, check};
use crate::commit::copy::{Copies, CopyOf, Remap, copy, draw, label_line};
use crate::commit::labels::Labels;
use crate::commit::pairs::unpaired;
use crate::commit::planned::{self, PlannedMessage, first_difference};
use crate::commit::receipt::{ReceiptKind, commit_line};
use crate::commit::refusal::{Refusal, unreadable_body};
use crate::commit::request::CommitRequest;
use crate::commit::snapshot::Snapshot;
use crate::context::bodies::message_of;
use crate::context::{Context, build};
use crate::ids::{EntryIx, NewIds};
use crate::js::{self, Value};
use crate::store::body;
use crate::store::entry::{EntryKind, Role};
use crate::store::index::Index;
use crate::store::intern::IdIx;
use crate::transcript::Leaf;

/// One line that would be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLine {
    /// The id of its entry.
    pub id: String,
    /// The entry it is a copy of; none for labels and for our own record.
    pub copy_of: Option<EntryIx>,
    /// The line, without its end.
    pub text: String,
}

/// What would be appended, and what the context would be then. Nothing has been written.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The file.
    pub path: Arc<Path>,
    /// A commit or an undo.
    pub kind: ReceiptKind,
    /// The lines, in order; the last one is our own record and the new leaf (store P6).
    pub lines: Vec<NewLine>,
    /// The leaf that is left.
    pub from_leaf: String,
    /// The new leaf.
    pub leaf: String,
    /// The entry the new lines hang from; none when they begin a new root.
    pub parent: Option<String>,
    /// Each changed entry with its copy.
    pub changed: Vec<(String, String)>,
    /// References that name a copy now.
    pub remaps: Vec<Remap>,
    /// What a person should know before saying yes.
    pub warnings: Vec<String>,
    /// The context the file will give.
    pub messages: Vec<PlannedMessage>,
    /// The file as it was read.
    pub(super) before: Index,
    /// The file as it stood; none for a transcript in memory.
    pub(super) snapshot: Option<Snapshot>,
}

impl Prepared {
    /// The bytes that would be appended: every line with its end.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len());
        for line in &self.lines {
            bytes.extend_from_slice(line.text.as_bytes());
            bytes.push(b'\n');
        }
        bytes
    }

    /// How many bytes that are.
    pub fn len(&self) -> usize {
        self.lines.iter().map(|line| line.text.len() + 1).sum()
    }

    /// Whether nothing would be appended; a preparation without lines is refused, so never.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

/// Says what a commit would append, or why it cannot be done. Reads, and writes nothing.
pub fn prepare(request: &CommitRequest<'_>, new_ids: &mut dyn NewIds) -> Result<Prepared, Refusal> {
    let index = request.transcript.index;
    let path = || index.path.to_path_buf();
    if *request.leaf != Leaf::Own {
        return Err(Refusal::LeafNotOwn { path: path() });
    }
    let checked = check(&request.transcript)?;
    let context = build(index, request.transcript.tree, &Leaf::Own);
    let context = context.map_err(|_| Refusal::NoContext { path: path() })?;
    let changing = changing(request, &checked.path)?;
    let first = checked.path.iter().position(|ix| changing.contains(ix));
    let first = first.ok_or_else(|| Refusal::NothingToWrite { path: path() })?;
    let mut draft = Draft::copy_path(request, &checked.path, first, &changing, new_ids)?;
    draft.keep_labels(index, new_ids);
    draft.record(request, &checked, &changing, new_ids);
    let messages = draft.check(index, &context)?;
    draft.warn(index, &checked.path[first..]);
    draft
        .warnings
        .extend(checked.snapshot.as_ref().and_then(|snapshot| snapshot.live_writer(request.now_ms)));
    Ok(Prepared {
        path: Arc::clone(&index.path),
        kind: ReceiptKind::Commit,
        from_leaf: index.name(checked.leaf),
        leaf: draft.last_id(),
        parent: first.checked_sub(1).map(|at| index.name(checked.path[at])),
        changed: draft.changed_names(index, &changing),
        lines: draft.lines,
        remaps: draft.remaps,
        warnings: draft.warnings,
        messages,
        before: index.clone(),
        snapshot: checked.snapshot,
    })
}

/// The entries whose stored form differs, after checking that nothing but their content does.
fn changing(request: &CommitRequest<'_>, path: &[EntryIx]) -> Result<BTreeSet<EntryIx>, Refusal> {
    let index = request.transcript.index;
    let file = || index.path.to_path_buf();
    let mut changing = BTreeSet::new();
    for change in &request.changes {
        if !path.contains(&change.entry) {
            let known = change.entry.at() < index.entries.len();
            let entry = if known { index.name(change.entry) } else { format!("{}", change.entry.0) };
            return Err(Refusal::NotOnPath { path: file(), entry });
        }
        let entry = body::entry(request.transcript.source, index, change.entry);
        let entry = entry.map_err(|error| unreadable_body(&index.path, error))?;
        let old = message_of(&entry, index.entry(change.entry).kind);
        if old == change.message {
            continue;
        }
        if !only_content_differs(index.entry(change.entry).kind, old, &change.message) {
            return Err(Refusal::MoreThanContent { path: file(), entry: index.name(change.entry) });
        }
        changing.insert(change.entry);
    }
    Ok(changing)
}

fn only_content_differs(kind: EntryKind, mut old: Value, new: &Value) -> bool {
    let (Some(object), Some(content)) = (old.as_object_mut(), new.get("content")) else { return false };
    object.set("content", content.clone());
    matches!(kind, EntryKind::Message | EntryKind::CustomMessage) && old == *new
}

/// Lines while they are put together.
struct Draft {
    copies: Copies,
    /// Outer time of every new line, as text.
    time: String,
    lines: Vec<NewLine>,
    /// What each copied entry must be read as.
    values: HashMap<EntryIx, Value>,
    remaps: Vec<Remap>,
    warnings: Vec<String>,
}

impl Draft {
    fn copy_path(
        request: &CommitRequest<'_>,
        path: &[EntryIx],
        first: usize,
        changing: &BTreeSet<EntryIx>,
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
            let message = if changing.contains(&ix) { request.change(ix) } else { None };
            let parent = draft.lines.last().map(|line| line.id.as_str());
            let of = CopyOf { ix, id: &id, parent, time: &draft.time, message };
            let copied = copy(&request.transcript, &draft.copies, &of)?;
            draft.remaps.extend(copied.remap);
            draft.values.insert(ix, copied.value);
            draft.lines.push(NewLine { id, copy_of: Some(ix), text: copied.text });
        }
        Ok(draft)
    }

    fn last_id(&self) -> String {
        self.lines.last().map(|line| line.id.clone()).unwrap_or_default()
    }

    fn draw(&self, index: &Index, new_ids: &mut dyn NewIds) -> String {
        let drawn: Vec<String> = self.lines.iter().map(|line| line.id.clone()).collect();
        draw(index, &drawn, index.lines + 1 + drawn.len() as u64, new_ids)
    }

    /// Adds the label lines without which a copy would lose its label, or an older entry get back a
    /// label that was changed since (store K8, P4).
    fn keep_labels(&mut self, index: &Index, new_ids: &mut dyn NewIds) {
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
                let id = self.draw(index, new_ids);
                let text = label_line(&id, &self.last_id(), &self.time, &named, wanted);
                self.lines.push(NewLine { id, copy_of: None, text });
                after.set(target, wanted);
            }
        }
    }

    /// Our own record, last, so that the branch never ends in a user message (store M6).
    fn record(
        &mut self,
        request: &CommitRequest<'_>,
        checked: &Checked,
        changing: &BTreeSet<EntryIx>,
        new_ids: &mut dyn NewIds,
    ) {
        let index = request.transcript.index;
        let id = self.draw(index, new_ids);
        let changed = self.changed_names(index, changing);
        let leaf = index.entry(checked.leaf).id.map_or(Value::Null, |id| index.ids.value(id));
        let text = commit_line(&id, &self.last_id(), &self.time, &leaf, &changed, &request.provenance);
        self.lines.push(NewLine { id, copy_of: None, text });
    }

    fn changed_names(&self, index: &Index, changing: &BTreeSet<EntryIx>) -> Vec<(String, String)> {
        let changed = self.copies.entries.iter().filter(|(ix, _)| changing.contains(ix));
        changed.map(|(ix, id)| (index.name(*ix), id.clone())).collect()
    }

    /// Reads the new lines as the runtime will and compares the context with the plan and the pairing
    /// with the old one.
    fn check(&mut self, index: &Index, context: &Context) -> Result<Vec<PlannedMessage>, Refusal> {
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

    fn warn(&mut self, index: &Index, part: &[EntryIx]) {
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
