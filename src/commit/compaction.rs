//! Writes a planned compaction as the line that ends a branch (compaction 3.21). It names the first kept entry by its
//! id on this branch, so that nothing kept is lost (compaction 4.3).

use crate::commit::copy::Remap;
use crate::commit::draft::CommitDraft;
use crate::commit::new_line::NewLine;
use crate::commit::refusal::Refusal;
use crate::commit::request::PlannedCompaction;
use crate::context::build_context;
use crate::context::system::replay_system_messages;
use crate::gateway::ruleset::PiChange;
use crate::ids::{EntryIx, IdSource};
use crate::js::{self, Value};
use crate::policy::compact::CompactionEntry;
use crate::store::index::Index;
use crate::transcript::Leaf;

/// Returns the entry index of a compaction that is not yet in the file.
pub(super) fn next_entry_ix(index: &Index) -> EntryIx {
    EntryIx(index.entries.len() as u32)
}

/// Checks a compaction by itself: it has a summary, and its first kept entry is on the path and has an id.
pub(super) fn check(index: &Index, path: &[EntryIx], planned: &PlannedCompaction) -> Result<(), Refusal> {
    let file = || index.path.to_path_buf();
    if planned.summary.to_string_lossy().trim().is_empty() {
        return Err(Refusal::NoSummary { path: file() });
    }
    let kept = planned.first_kept;
    if !path.contains(&kept) {
        let known = kept.index() < index.entries.len();
        let entry = if known { index.display_id(kept) } else { format!("number {}", kept.0) };
        return Err(Refusal::NotOnPath { path: file(), entry });
    }
    match index.entry(kept).id.map(|id| index.ids.value(id)) {
        Some(id) if js::is_truthy(Some(&id)) => Ok(()),
        _ => Err(Refusal::FirstKeptWithoutId { path: file(), line: index.entry(kept).line }),
    }
}

/// Returns prompt and tools of the compacted context, as a projecting runtime keeps them (store-pi-1.5 K11).
fn checkpoint(draft: &CommitDraft<'_>) -> Option<Value> {
    let index = draft.index();
    if !index.pi_release.has(PiChange::KeepsSystemMessages) {
        return None;
    }
    let context = build_context(index, draft.request.transcript.tree, &Leaf::Own).ok()?;
    let state = replay_system_messages(index, &context.messages).ok()??;
    Some(state.message_at(draft.time_ms))
}

/// Appends the line. Its text comes from the value that it must be read as, as in the runtime.
pub(super) fn append(draft: &mut CommitDraft<'_>, planned: &PlannedCompaction, new_ids: &mut dyn IdSource) {
    let index = draft.index();
    let old = index.entry(planned.first_kept).id;
    let copied = old.and_then(|old| draft.copies.new_first_kept(old)).map(str::to_owned);
    let kept = copied.as_deref().map(Value::from).or_else(|| old.map(|old| index.ids.value(old)));
    let id = draft.copies.draw_id(index, new_ids);
    let entry = CompactionEntry {
        summary: planned.summary.clone(),
        first_kept: planned.first_kept,
        tokens_before: planned.tokens_before,
        details: planned.details.clone(),
        from_hook: Some(planned.from_hook),
        checkpoint: checkpoint(draft),
    };
    let parent = Value::from(draft.last_id());
    let value = entry.to_json_at(&id, parent, kept.unwrap_or(Value::Null), draft.time_ms);
    let text = js::stringify(&value);
    draft.remaps.extend(copied.map(|to| Remap {
        entry: id.clone(),
        key: "firstKeptEntryId",
        from: index.display_id(planned.first_kept),
        to,
    }));
    draft.expected.copied.insert(next_entry_ix(index), value);
    draft.lines.push(NewLine { id, copy_of: None, text });
}
