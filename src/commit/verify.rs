//! Checks a finished draft: reads it as the runtime will, compares it with the plan, and adds warnings (store P5, P9).

use crate::commit::compaction::next_entry_ix;
use crate::commit::draft::CommitDraft;
use crate::commit::expected::{self, ExpectedMessage, first_difference};
use crate::commit::pairing::find_unpaired;
use crate::commit::refusal::{Refusal, unreadable_body};
use crate::context::Context;
use crate::format::{format_count, format_number};
use crate::ids::EntryIx;
use crate::policy::compact::context_after;
use crate::store::entry::{EntryKind, Role};
use crate::store::index::Index;

impl CommitDraft<'_> {
    /// Reads the new lines as the runtime will; compares the context with the plan and the pairing with the old one.
    pub(super) fn verify(&mut self, context: &Context) -> Result<Vec<ExpectedMessage>, Refusal> {
        let index = self.index();
        let path = || index.path.to_path_buf();
        let compacted = self.compacted_context(context)?;
        let source = self.request.transcript.source;
        let context_then = compacted.as_ref().unwrap_or(context);
        let expected = expected::expected_messages((source, index), context_then, &self.expected);
        let expected = expected.map_err(|error| unreadable_body(&index.path, error))?;
        let grown = expected::index_with_lines(index, &self.lines);
        let read = expected::messages_from_lines(source, &grown, index.entries.len(), &self.lines);
        let (after, read) = read.ok_or_else(|| Refusal::NotAsPlanned { path: path(), at: 1 })?;
        if let Some(at) = first_difference(&expected, &read) {
            return Err(Refusal::NotAsPlanned { path: path(), at });
        }
        let (old, new) = (find_unpaired(index, context), find_unpaired(&grown, &after));
        if let Some(what) = new.difference(&old).next() {
            return Err(Refusal::Unpaired { path: path(), what: what.clone() });
        }
        let reported = |what: String| format!("The branch contains {what}, like the old one.");
        self.warnings.extend(new.into_iter().map(reported));
        Ok(read)
    }

    /// Returns the old context after the planned compaction; `None` without one. It follows from the rule, not from the
    /// new lines.
    fn compacted_context(&self, context: &Context) -> Result<Option<Context>, Refusal> {
        let index = self.index();
        let Some(planned) = &self.request.compaction else { return Ok(None) };
        let Some(value) = self.expected.copied.get(&next_entry_ix(index)) else { return Ok(None) };
        let after = context_after(index, context, planned.first_kept, value);
        let after = after.map_err(|_| Refusal::CannotAppend { path: index.path.to_path_buf() })?;
        Ok(Some(after.context))
    }

    /// Adds warnings about the copied part.
    pub(super) fn warn_about_copies(&mut self, part: &[EntryIx]) {
        let index = self.index();
        let left_out = part.iter().filter(|ix| index.entry(**ix).kind == EntryKind::Usage).count();
        if left_out > 0 {
            let text =
                format!("{left_out} usage entries are not copied, so that totals over the file stay right.");
            self.warnings.push(text);
        }
        self.warnings.extend(part.first().and_then(|first| unknown_parent(index, *first)));
        self.warnings.extend(copied_usage(index, part));
    }
}

fn unknown_parent(index: &Index, first: EntryIx) -> Option<String> {
    let parent = index.entry(first).parent?;
    let known = index.entries.iter().any(|entry| entry.id == Some(parent));
    let parent = index.ids.text(parent);
    (!known)
        .then(|| format!("The branch starts after {parent}, which is not in the file; so does the old one."))
}

/// Usage is counted per entry, and the runtime takes the context's fill level from the last answer (compaction 2.11).
fn copied_usage(index: &Index, part: &[EntryIx]) -> Option<String> {
    let usage = |ix: &EntryIx| index.entry(*ix).message.filter(|size| size.role == Role::Assistant)?.usage;
    let usages: Vec<_> = part.iter().filter_map(usage).collect();
    let tokens = format_number(usages.last()?.context_tokens);
    Some(format!(
        "{}: the gateway's totals over all branches count it twice, and until the next answer the runtime uses \
         the last count, {tokens} tokens.",
        format_count(
            usages.len() as u64,
            "copied answer keeps its recorded usage",
            "copied answers keep their recorded usage"
        )
    ))
}
