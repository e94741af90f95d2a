//! What the record of a commit tells of its plan: every step that changed something, with the settings it ran with
//! under the names they have in the configuration, and its tokens.

use crate::commit::{Provenance, StepRecord};
use crate::js::{Object, Value};
use crate::plan::{MadeSummary, Plan, StepEffect};
use crate::policy::{Step, StepSettings};

/// Name and version of the program, for the record in the file.
pub(super) const TOOL: &str = concat!("clawscope ", env!("CARGO_PKG_VERSION"));

/// Where a plan comes from. With a summary its own length counts, not the one that was assumed.
pub(super) fn provenance(plan: &Plan, summary: Option<&MadeSummary>) -> Provenance {
    let mut compacted = false;
    let mut record = |effect: &StepEffect| {
        let before =
            if compacted { plan.with_summary(summary, effect.tokens_before) } else { effect.tokens_before };
        compacted |= effect.step == Step::Compact;
        let after =
            if compacted { plan.with_summary(summary, effect.tokens_after) } else { effect.tokens_after };
        StepRecord {
            policy: effect.step.word().to_owned(),
            settings: settings(effect.step, plan),
            tokens_before: before as f64,
            tokens_after: after as f64,
        }
    };
    Provenance {
        steps: plan.effects.iter().filter(|effect| effect.changed).map(&mut record).collect(),
        tokens_before: plan.total_before(),
        tokens_after: plan.with_summary(summary, plan.total_after()),
        tool: TOOL.to_owned(),
    }
}

fn settings(step: Step, plan: &Plan) -> Value {
    let all: &StepSettings = &plan.settings;
    let object = match step {
        Step::Compact => Object::from([
            ("reserveTokens", all.compaction.reserve_tokens),
            ("keepRecentTokens", all.compaction.keep_recent_tokens),
        ]),
        Step::Truncate => Object::from([
            ("window", plan.window),
            ("windowShare", all.truncate.window_share),
            ("maxChars", all.truncate.max_chars),
            ("minKeepChars", all.truncate.min_keep_chars),
        ]),
        Step::History => Object::from([("historyLimit", all.history_limit)]),
        Step::Guard => Object::from([
            ("window", plan.guard_window),
            ("budgetShare", all.guard.budget_share),
            ("singleShare", all.guard.single_share),
        ]),
        Step::Prune => all.prune.object(),
        Step::Clear => clear(all),
        Step::Reduce => Object::from([("allChars", all.reduce.all_chars)]),
        Step::Repair | Step::Images | Step::Check => Object::default(),
    };
    Value::Object(object)
}

fn clear(all: &StepSettings) -> Object {
    let settings = &all.clear;
    let excluded = settings.exclude_tools.iter().cloned().map(Value::String).collect();
    Object::from([
        ("trigger", Value::Number(settings.trigger)),
        ("clearAtLeast", Value::Number(settings.clear_at_least)),
        ("keep", Value::Number(settings.keep)),
        ("clearToolInputs", Value::Bool(settings.clear_tool_inputs)),
        ("counting", Value::from(settings.counting.word())),
        ("excludeTools", Value::Array(excluded)),
        ("placeholder", Value::String(settings.placeholder.clone())),
    ])
}
