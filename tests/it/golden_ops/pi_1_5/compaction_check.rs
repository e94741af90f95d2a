//! Op `compaction_check`: the automatic decision about the last answer.

use clawscope::gateway::compaction::pi_compaction;
use clawscope::ids::EntryIx;
use clawscope::js::{self, JsException, Value};
use clawscope::store::entry::Role;
use clawscope::units::Tokens;

use super::super::{Session, number, object};
use super::automatic_compaction::{
    CompactionAction, CompactionCheck, CompactionDecision, decide, gave_up_text,
};
use super::built;
use super::session_object::SessionObject;

pub(super) fn answer(mut session: Session) -> Result<Value, JsException> {
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
    let decision = decide(&CompactionCheck {
        index: &session.index,
        context: &session.context,
        answer_index: at,
        message: &message,
        window: Tokens(number_of("contextWindow")),
        max_tokens: Tokens(number_of("maxTokens")),
        same_model: current("provider", "provider") && current("id", "model"),
        settings: pi_compaction(session.case.get("settings")),
        before_prompt: setting("prePrompt") == Some(&Value::Bool(true)),
        has_tried_recovery: setting("recoveryAttempted") == Some(&Value::Bool(true)),
    })?;
    let failed = if decision.action == CompactionAction::GaveUp {
        Value::from(gave_up_text(&message))
    } else {
        Value::Null
    };
    Ok(object([
        ("index", number(at as f64)),
        ("action", action(&decision)),
        ("failed", failed),
        ("appended", appended(&session, &decision.omitted)),
    ]))
}

fn action(decision: &CompactionDecision) -> Value {
    let started = |reason: &str, will_retry| {
        object([("reason", Value::from(reason)), ("willRetry", Value::Bool(will_retry))])
    };
    match decision.action {
        CompactionAction::Nothing | CompactionAction::GaveUp => Value::Null,
        CompactionAction::Threshold => started("threshold", false),
        CompactionAction::Overflow { will_retry } => started("overflow", will_retry),
    }
}

fn appended(session: &Session, omitted: &[EntryIx]) -> Value {
    let (mut ids, now_ms) = (session.fresh_ids(), session.now_ms());
    let mut appended = SessionObject::new(session.index.clone(), session.context.leaf, now_ms);
    for ix in omitted {
        let target = session.index.display_id(*ix);
        appended.append_edit(&target, &Value::Null, &mut ids).expect("a message of the branch");
    }
    Value::Array(appended.text().lines().map(|line| js::parse(line).expect("a line")).collect())
}
