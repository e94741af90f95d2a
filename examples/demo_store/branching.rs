//! Operations on the shape of a transcript: compactions, branches, labels, names.
use super::model::{chars, provider_tokens};
use super::nodes::{Kind, NodeSizes};
use super::transcript_writer::{PROSE_CHARS_PER_TOKEN, TranscriptWriter};
use serde_json::{Value, json};

impl TranscriptWriter {
    /// Compacts the path (compaction 3.6-3.9, 3.21), keeping about `keep` estimated tokens. Returns the number of
    /// entries that left the context.
    pub(super) fn compact(&mut self, summary: &str, keep: u64, details: &Value) -> usize {
        let path = self.nodes.path();
        let before = self.nodes.anchored_estimate(&path);
        let cut = self.nodes.first_kept_position(&path, keep);
        let kept = self.nodes.all[path[cut]].id.clone();
        self.now_ms += 41_300;
        let sizes = NodeSizes::of(chars(summary), provider_tokens(summary, PROSE_CHARS_PER_TOKEN), 256);
        let after = json!({"summary": summary, "firstKeptEntryId": kept, "tokensBefore": before,
            "details": details, "fromHook": true});
        self.append(Kind::Compaction { first_kept: path[cut] }, sizes, json!({"type": "compaction"}), after);
        self.compactions += 1;
        cut
    }

    /// Moves the leaf to `at`; the next entry starts a branch there (store N1).
    pub(super) fn go_to(&mut self, at: usize) {
        self.nodes.leaf = Some(at);
    }

    /// Moves the leaf to `at` and records a summary of the branch that it leaves (store N3).
    pub(super) fn go_to_with_summary(&mut self, at: usize, summary: &str) {
        self.go_to(at);
        let from = self.nodes.all[at].id.clone();
        let sizes = NodeSizes::of(chars(summary), provider_tokens(summary, PROSE_CHARS_PER_TOKEN), 256);
        let after = json!({"fromId": from, "summary": summary,
            "details": {"readFiles": [], "modifiedFiles": []}});
        self.append(Kind::BranchSummary, sizes, json!({"type": "branch_summary"}), after);
    }

    /// Labels the entry `at` (store K8).
    pub(super) fn label(&mut self, at: usize, label: &str) {
        let target = self.nodes.all[at].id.clone();
        self.append_metadata("label", json!({"targetId": target, "label": label}));
    }

    pub(super) fn name(&mut self, name: &str) {
        self.append_metadata("session_info", json!({"name": name}));
    }
}
