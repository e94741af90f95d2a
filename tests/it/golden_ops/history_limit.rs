//! Op `history_limit`: the limit of a session key, and the messages under a limit.

use clawscope::gateway::history_limit::history_limit;
use clawscope::gateway::ruleset::Ruleset;
use clawscope::js::{self, Value};
use clawscope::policy::Fate;
use clawscope::policy::history_range::limit_history_under;
use clawscope::policy::message_list::MessageList;

use super::{Session, number, object};

pub(crate) fn answer(session: &Session) -> Value {
    let limit = match session.setting("sessionKey").and_then(Value::as_str) {
        Some(key) => session
            .setting("config")
            .and_then(|config| history_limit(&key.to_string_lossy(), config))
            .map(|limit| limit.value),
        None => session.setting("limit").cloned(),
    };
    limited(session, Ruleset::V2026_3_2, limit)
}

/// Returns the messages kept under a limit of turns in a version.
pub(super) fn limited(session: &Session, ruleset: Ruleset, limit: Option<Value>) -> Value {
    let mut list = MessageList::from_context(&session.context, None);
    let fates = {
        let count = list.len();
        limit_history_under(ruleset.rules(), &mut list, js::to_number(limit.as_ref()), count)
    };
    let mut messages = session.messages();
    let before = messages.len();
    let mut stays = fates.iter().map(|fate| fate.fate != Fate::Dropped);
    messages.retain(|_| stays.next().expect("a fate for each message"));
    assert_eq!(messages.len(), list.len(), "the list has lost what its fates say");
    object([
        ("limit", Value::from(limit)),
        ("before", number(before as f64)),
        ("after", number(messages.len() as f64)),
        ("messages", session.list(&messages)),
    ])
}
