//! Op `history_share`: the oldest parts of a history dropped until it fits its share of the window.

use clawscope::context::tokens::estimate_message;
use clawscope::js::{JsException, Value};
use clawscope::policy::compact::history_share::{HistoryMessage, ShareSettings, prune_by_share};
use clawscope::policy::repair::{RepairRules, shape_of};

use super::{Session, digest, number, object};
use clawscope::units::Tokens;

pub(crate) fn answer(session: &Session) -> Result<Value, JsException> {
    let messages = session.messages();
    let items: Vec<Result<HistoryMessage, JsException>> = messages
        .iter()
        .zip(&session.context.messages)
        .map(|(message, sized)| {
            Ok(HistoryMessage {
                shape: shape_of(message, RepairRules::default().pairing()),
                tokens: estimate_message(&sized.size)?,
            })
        })
        .collect();
    let shared = prune_by_share(&items, &settings(session))?;
    let dropped = shared.dropped_messages(&messages, session.now_ms());
    Ok(object([
        ("totalTokens", number(shared.total_tokens.get())),
        ("budgetTokens", number(shared.budget_tokens.get())),
        ("keptTokens", number(shared.retained_tokens.get())),
        ("droppedChunks", number(shared.dropped_chunks as f64)),
        ("droppedMessages", number(shared.dropped_message_count as f64)),
        ("droppedTokens", number(shared.dropped_tokens.get())),
        ("droppedList", Value::Array(dropped.iter().map(digest).collect())),
        ("messages", session.list(&shared.retained_messages(&messages, session.now_ms()))),
    ]))
}

fn settings(session: &Session) -> ShareSettings {
    let number = |name: &str| session.setting(name).filter(|value| !value.is_null()).map(Value::as_f64);
    let given = |name: &str| number(name).map(|number| number.unwrap_or(f64::NAN));
    let own = ShareSettings::new(Tokens(given("maxContextTokens").unwrap_or(f64::NAN)));
    ShareSettings {
        share: given("maxHistoryShare").unwrap_or(own.share),
        parts: given("parts").unwrap_or(own.parts),
        ..own
    }
}
