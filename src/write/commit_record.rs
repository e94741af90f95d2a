//! Describes a plan in the record of its commit: each policy that changed something, its settings under their
//! configuration keys, and its tokens.

use crate::commit::{CommitProvenance, PolicyRecord};
use crate::js::{Object, Value};
use crate::plan::{CompactionSummary, Plan, PolicyEffect};
use crate::policy::{Policy, PolicySettings};

/// Name and version of the program, for the record in the file.
pub(super) const TOOL_VERSION: &str = concat!("clawscope ", env!("CARGO_PKG_VERSION"));

/// Returns the provenance of a plan. The real length of a summary replaces the assumed one.
pub(super) fn provenance(plan: &Plan, summary: Option<&CompactionSummary>) -> CommitProvenance {
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
            settings: policy_settings_json(effect.policy, plan),
            tokens_before: before as f64,
            tokens_after: after as f64,
        }
    };
    CommitProvenance {
        policies: plan.effects.iter().filter(|effect| effect.changed).map(&mut record).collect(),
        tokens_before: plan.total_before(),
        tokens_after: plan.tokens_with_summary(summary, plan.total_after()),
        tool: TOOL_VERSION.to_owned(),
    }
}

fn policy_settings_json(policy: Policy, plan: &Plan) -> Value {
    let all: &PolicySettings = &plan.settings;
    let object = match policy {
        Policy::Compact => Object::from([
            ("reserveTokens", all.compaction.reserve_tokens),
            ("keepRecentTokens", all.compaction.keep_recent_tokens),
        ]),
        Policy::Truncate => Object::from([
            ("window", plan.window),
            ("windowShare", all.truncate.window_share),
            ("maxChars", all.truncate.max_chars),
            ("minKeepChars", all.truncate.min_keep_chars),
        ]),
        Policy::History => Object::from([("historyLimit", all.history_limit)]),
        Policy::Guard => Object::from([
            ("window", plan.guard_window),
            ("budgetShare", all.guard.budget_share),
            ("singleShare", all.guard.single_share),
        ]),
        Policy::Prune => all.prune.to_object(),
        Policy::Clear => clear_settings_json(all),
        Policy::Reduce => Object::from([("allChars", all.reduce.all_chars)]),
        Policy::Repair | Policy::Images | Policy::Check => Object::default(),
    };
    Value::Object(object)
}

fn clear_settings_json(all: &PolicySettings) -> Object {
    let settings = &all.clear;
    let excluded = settings.exclude_tools.iter().cloned().map(Value::String).collect();
    Object::from([
        ("trigger", Value::Number(settings.trigger)),
        ("clearAtLeast", Value::Number(settings.clear_at_least)),
        ("keep", Value::Number(settings.keep)),
        ("clearToolInputs", Value::Bool(settings.clear_tool_inputs)),
        ("counting", Value::from(settings.counting.as_str())),
        ("excludeTools", Value::Array(excluded)),
        ("placeholder", Value::String(settings.placeholder.clone())),
    ])
}
