//! Describes a plan in the record of its commit: each policy that changed something, its settings under their
//! configuration keys, and its tokens.

use crate::commit::{CommitProvenance, PolicyRecord};
use crate::js::{Object, Value};
use crate::plan::{CompactionSummary, Plan, PolicyEffect};
use crate::policy::Policy;
use crate::policy::trimming::Windows;
use crate::session::{LoadedSession, ManualChange};
use crate::units::Tokens;
use crate::write::drop::ManualEffect;

/// Name and version of the program, for the record in the file.
pub(super) const TOOL_VERSION: &str = concat!("clawscope ", env!("CARGO_PKG_VERSION"));

/// Returns the provenance of a plan. The real length of a summary replaces the assumed one.
pub(super) fn provenance(
    session: &LoadedSession,
    plan: &Plan,
    summary: Option<&CompactionSummary>,
) -> CommitProvenance {
    let windows = Windows { session: plan.window.get(), model: plan.guard_window.get() };
    let mut compacted = false;
    let mut record = |effect: &PolicyEffect| {
        let before = if compacted {
            plan.tokens_with_summary(summary, effect.tokens_before)
        } else {
            effect.tokens_before
        };
        compacted |= effect.policy == Policy::Compact;
        let after = if compacted {
            plan.tokens_with_summary(summary, effect.tokens_after)
        } else {
            effect.tokens_after
        };
        PolicyRecord {
            name: effect.policy.word().to_owned(),
            settings: Value::Object(effect.policy.settings_json(&plan.settings, windows)),
            tokens_before: Tokens(before as f64),
            tokens_after: Tokens(after as f64),
        }
    };
    CommitProvenance {
        policies: plan.effects.iter().filter(|effect| effect.changed).map(&mut record).collect(),
        tokens_before: plan.total_before(),
        tokens_after: plan.tokens_with_summary(summary, plan.total_after()),
        prompt_tokens: (session.next_prompt.total.tokens, session.prompt_tokens_after_commit(plan, summary)),
        tool: TOOL_VERSION.to_owned(),
    }
}

/// Returns the provenance of a change that a person chose, and no policy.
pub(super) fn manual_provenance(session: &LoadedSession, change: &ManualChange) -> CommitProvenance {
    let mut names = change.names(session).into_iter().map(Value::from);
    let (name, key, value) = match change {
        ManualChange::Branch(_) => ("branch", "entry", names.next().unwrap_or(Value::Null)),
        ManualChange::Drop(_) => ("drop", "entries", Value::Array(names.collect())),
    };
    let ManualEffect { message_tokens: (before, after), prompt_tokens, .. } =
        ManualEffect::new(session, change);
    let policy = PolicyRecord {
        name: name.to_owned(),
        settings: Value::Object(Object::from([(key, value)])),
        tokens_before: Tokens(before as f64),
        tokens_after: Tokens(after as f64),
    };
    CommitProvenance {
        policies: vec![policy],
        tokens_before: before,
        tokens_after: after,
        prompt_tokens,
        tool: TOOL_VERSION.to_owned(),
    }
}
