//! Describes a plan in the record of its commit: each policy that changed something, its settings under their
//! configuration keys, and its tokens.

use crate::commit::{CommitProvenance, PolicyRecord};
use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::js::{Object, Value};
use crate::plan::{CompactionSummary, Plan, PolicyEffect};
use crate::policy::Policy;
use crate::policy::trimming::Windows;
use crate::session::LoadedSession;
use crate::units::Tokens;
use crate::write::drop::DropPlan;

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
        prompt_tokens: (
            session.next_prompt.total.tokens,
            plan.tokens_with_summary(summary, session.prompt_tokens_after(plan)),
        ),
        tool: TOOL_VERSION.to_owned(),
    }
}

/// Returns the provenance of a switch to the branch of an entry.
pub(super) fn branch_provenance(session: &LoadedSession, leaf: EntryIx) -> CommitProvenance {
    let total = |session: &LoadedSession| {
        session.context.messages.iter().map(|message| estimate_or_zero(&message.size)).sum()
    };
    let then = session.at_entry(leaf);
    let after = then.as_ref().map_or(0, total);
    let prompts = then.as_ref().map_or(0, |then| then.next_prompt.total.tokens);
    let entry = session.index.display_id(leaf);
    let prompts = (session.next_prompt.total.tokens, prompts);
    hand_made("branch", &[("entry", entry.as_str().into())], (total(session), after), prompts)
}

/// Returns the provenance of a branch without some messages.
pub(super) fn drop_provenance(
    session: &LoadedSession,
    plan: &DropPlan,
    entries: &[EntryIx],
) -> CommitProvenance {
    let ids = entries.iter().map(|ix| Value::from(session.index.display_id(*ix).as_str())).collect();
    let (before, after) = plan.tokens(session);
    let prompt = session.next_prompt.total.tokens;
    let prompts = (prompt, prompt.saturating_sub(before.saturating_sub(after)));
    hand_made("drop", &[("entries", Value::Array(ids))], (before, after), prompts)
}

/// Builds the record of a change that a person chose, and no policy.
fn hand_made(
    name: &str,
    settings: &[(&str, Value)],
    (before, after): (u64, u64),
    prompt_tokens: (u64, u64),
) -> CommitProvenance {
    let mut object = Object::default();
    for (key, value) in settings {
        object.set(key, value.clone());
    }
    let policy = PolicyRecord {
        name: name.to_owned(),
        settings: Value::Object(object),
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
