//! What changes the shape of a transcript being written: compactions, branches, labels, names.
use super::model::{chars, real_tokens};
use super::nodes::{Kind, Sizes};
use super::scribe::{PROSE, Scribe};
use serde_json::{Value, json};

impl Scribe {
    /// Compacts the path (compaction 3.6-3.9, 3.21), keeping about `keep` estimated tokens. Gives the number of
    /// entries that left the context.
    pub(super) fn compact(&mut self, summary: &str, keep: u64, details: &Value) -> usize {
        let path = self.nodes.path();
        let before = self.nodes.anchored_estimate(&path);
        let cut = self.nodes.cut(&path, keep);
        let kept = self.nodes.all[path[cut]].id.clone();
        self.now += 41_300;
        let sizes = Sizes::of(chars(summary), real_tokens(summary, PROSE), 256);
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

    /// Moves the leaf to `at` and records what the branch that was left had found (store N3).
    pub(super) fn go_to_with_summary(&mut self, at: usize, summary: &str) {
        self.go_to(at);
        let from = self.nodes.all[at].id.clone();
        let sizes = Sizes::of(chars(summary), real_tokens(summary, PROSE), 256);
        let after = json!({"fromId": from, "summary": summary,
            "details": {"readFiles": [], "modifiedFiles": []}});
        self.append(Kind::BranchSummary, sizes, json!({"type": "branch_summary"}), after);
    }

    /// Names the entry `at` (store K8).
    pub(super) fn label(&mut self, at: usize, label: &str) {
        let target = self.nodes.all[at].id.clone();
        self.meta("label", json!({"targetId": target, "label": label}));
    }

    /// Names the session (store K9).
    pub(super) fn name(&mut self, name: &str) {
        self.meta("session_info", json!({"name": name}));
    }
}
