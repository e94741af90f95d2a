//! Ops `truncate`, `reduce`, `history_images` and `history_limit`: a release's changes of a list of messages.

use std::collections::BTreeSet;

use clawscope::gateway::ruleset::{Aggregate, Truncation};
use clawscope::js::{JsException, Value};
use clawscope::policy::edit::apply_all;
use clawscope::policy::prune::Gate;
use clawscope::policy::settings::TruncateSettings;
use clawscope::policy::truncate::v2026_9::FRESH_MIN_KEEP;
use clawscope::policy::truncate::{
    CutOptions, Reduction, max_result_chars_under, reduce_to_budget, result_budget, truncate_after_overflow,
    truncated_message_by,
};
use clawscope::policy::{Policy, PolicySettings};
use clawscope::units::{Chars, Tokens};

use super::super::history_limit::limited;
use super::{Released, number, object};

pub(super) fn truncate(session: &Released) -> Value {
    let rules = session.rules();
    let window = session.number("contextWindow");
    let limit = |window: Option<f64>| max_result_chars_under(rules, Tokens(window.unwrap_or(f64::NAN)));
    let max_chars = session.number("maxChars").unwrap_or_else(|| limit(window).get());
    let mut cut = CutOptions::default();
    // The oldest have no such settings (releases R31).
    if rules.truncation != (Truncation::Head { floor_has_suffix: false }) {
        let suffix = session.session.setting("suffix").and_then(Value::as_str).cloned();
        cut.suffix = suffix.unwrap_or(cut.suffix);
        cut.min_keep_chars = Chars(session.number("minKeepChars").unwrap_or(cut.min_keep_chars.get()));
    }
    let likely = window.map(|window| {
        let (mut list, window) = (session.list(), Tokens(window));
        truncate_after_overflow(&mut list, rules, window, &TruncateSettings::built_in(rules, window));
        list.messages().iter().any(|message| message.change.is_some())
    });
    let is_result = |message: &Value| message.get("role").is_some_and(|role| role.str_is("toolResult"));
    let mut changed = Vec::new();
    let mut messages = session.messages.clone();
    for (at, message) in messages.iter_mut().enumerate().filter(|(_, message)| is_result(message)) {
        if let Some(new) = truncated_message_by(rules.truncation, message, Chars(max_chars), &cut) {
            *message = new;
            changed.push(number(at as f64));
        }
    }
    object([
        ("maxChars", number(max_chars)),
        ("likelyOversized", Value::from(likely)),
        ("changedIndexes", Value::Array(changed)),
        ("messages", session.session.list(&messages)),
    ])
}

pub(super) fn reduced(session: &Released) -> Value {
    let window = session.number("contextWindow").unwrap_or(f64::NAN);
    let protects = session.session.setting("protectTrailing").is_some_and(|on| on.as_bool() == Some(true));
    let Some(mut budget) =
        result_budget(session.rules(), Tokens(window), session.number("maxChars").map(Chars), false)
    else {
        return Value::Null;
    };
    budget.total_limit = Chars(session.number("aggregateMaxChars").unwrap_or(budget.total_limit.get()));
    let spares = protects && matches!(budget.rule, Aggregate::Elided | Aggregate::Weighted);
    budget.fresh_min_keep = spares.then_some(FRESH_MIN_KEEP);
    let mut list = session.list();
    let done = reduce_to_budget(&mut list, &budget);
    let singles = || done.iter().filter(|done| matches!(done.reduction, Reduction::OverLimit { .. }));
    let others = || done.iter().filter(|done| !matches!(done.reduction, Reduction::OverLimit { .. }));
    let mut positions: Vec<usize> = others().map(|done| done.at).collect();
    positions.sort_unstable();
    positions.dedup();
    let changed: BTreeSet<usize> = done.iter().map(|done| done.at).collect();
    let mut messages = session.messages.clone();
    for at in &changed {
        messages[*at] = apply_all(list.edits(*at), &messages[*at]);
    }
    object([
        ("maxChars", number(budget.single_limit.get())),
        ("aggregateBudgetChars", number(budget.total_limit.get())),
        ("oversizedCount", number(singles().count() as f64)),
        ("aggregateCount", number(positions.len() as f64)),
        ("oversizedReducibleChars", number(singles().map(|done| done.freed_chars.get()).sum())),
        ("aggregateReducibleChars", number(others().map(|done| done.freed_chars.get()).sum())),
        ("changedIndexes", Value::Array(changed.into_iter().map(|at| number(at as f64)).collect())),
        ("messages", session.session.list(&messages)),
    ])
}

pub(super) fn images(session: &Released) -> Result<Value, JsException> {
    let settings = PolicySettings::built_in(session.ruleset, Tokens(f64::NAN));
    let plan = session.plan(Policy::Images, &settings, f64::NAN, Gate::Off).map_err(|_| JsException)?;
    let (messages, changed) = session.after(&plan);
    Ok(object([("changedIndexes", changed), ("messages", session.session.list(&messages))]))
}

pub(super) fn history(session: &Released) -> Value {
    limited(&session.session, session.ruleset, session.session.setting("limit").cloned())
}
