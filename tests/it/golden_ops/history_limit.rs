//! Op `history_limit`: the limit of a session key, and the messages under a limit.

use clawscope::gateway::history_limit::history_limit;
use clawscope::js::{self, Value};
use clawscope::policy::history_limit::first_kept;

use super::{Session, number, object};

pub(crate) fn answer(session: &Session) -> Value {
    let limit = match session.setting("sessionKey").and_then(Value::as_str) {
        Some(key) => session
            .setting("config")
            .and_then(|config| history_limit(&key.to_string_lossy(), config))
            .map(|limit| limit.value),
        None => session.setting("limit").cloned(),
    };
    let first = first_kept(&session.context.messages, js::to_number(limit.as_ref()));
    let messages = session.messages();
    object([
        ("limit", Value::from(limit)),
        ("before", number(messages.len() as f64)),
        ("after", number((messages.len() - first) as f64)),
        ("messages", session.list(&messages[first..])),
    ])
}
