//! Op `compaction_check`: the automatic decision about the last answer.

use clawscope::commit::Appended;
use clawscope::gateway::compaction::pi_compaction;
use clawscope::ids::EntryIx;
use clawscope::js::{self, Throws, Value};
use clawscope::policy::compact::check::{Action, Checked, Decision, check, given_up_words};
use clawscope::store::entry::Role;

use super::super::{Session, number, object};
use super::built;

pub(super) fn answer(mut session: Session) -> Result<Value, Throws> {
    built(&mut session)?;
    let messages = &session.context.messages;
    let Some(at) = messages.iter().rposition(|message| message.size.role == Role::Assistant) else {
        return Ok(object([("index", Value::Null)]));
    };
    let message = session.messages().swap_remove(at);
    let setting = |name| session.setting(name);
    let number_of = |name| setting(name).and_then(Value::as_f64).unwrap_or(0.0);
    let current = |key: &str, own: &str| {
        let named = setting("model").and_then(|model| model.get(key));
        named.or_else(|| message.get(own)) == message.get(own)
    };
    let decision = check(&Checked {
        index: &session.index,
        context: &session.context,
        at,
        message: &message,
        window: number_of("contextWindow"),
        max_tokens: number_of("maxTokens"),
        same_model: current("provider", "provider") && current("id", "model"),
        settings: pi_compaction(session.case.get("settings")),
        before_prompt: setting("prePrompt") == Some(&Value::Bool(true)),
        recovery_tried: setting("recoveryAttempted") == Some(&Value::Bool(true)),
    })?;
    let failed =
        if decision.action == Action::GivenUp { Value::from(given_up_words(&message)) } else { Value::Null };
    Ok(object([
        ("index", number(at as f64)),
        ("action", action(&decision)),
        ("failed", failed),
        ("appended", appended(&session, &decision.omitted)),
    ]))
}

fn action(decision: &Decision) -> Value {
    let started = |reason: &str, will_retry| {
        object([("reason", Value::from(reason)), ("willRetry", Value::Bool(will_retry))])
    };
    match decision.action {
        Action::Nothing | Action::GivenUp => Value::Null,
        Action::Threshold => started("threshold", false),
        Action::Overflow { will_retry } => started("overflow", will_retry),
    }
}

fn appended(session: &Session, omitted: &[EntryIx]) -> Value {
    let (mut ids, now_ms) = (session.fresh_ids(), session.now_ms() as i64);
    let mut appended = Appended::new(session.index.clone(), session.context.leaf, now_ms);
    for ix in omitted {
        let target = session.index.name(*ix);
        appended.append_edit(&target, &Value::Null, &mut ids).expect("a message of the branch");
    }
    Value::Array(appended.text().lines().map(|line| js::parse(line).expect("a line")).collect())
}
