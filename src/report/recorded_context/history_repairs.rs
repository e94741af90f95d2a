//! Repairs that remove whole messages: heartbeats and the history limit (trajectory 5.2, R7).

use super::rebuilt::RebuiltMessage;
use super::recording_match::compare;
use crate::js::JsString;
use crate::store::trajectory::RecordedList;

/// The reply to a heartbeat that has nothing to report.
const HEARTBEAT_ACK: &str = "HEARTBEAT_OK";
/// Length of the text that such a reply may have besides the acknowledgement, in bytes.
const ACK_MAX_CHARS: usize = 300;

/// Drops each user message that an acknowledged heartbeat answers, and that answer.
pub(super) fn drop_heartbeats(list: &mut Vec<RebuiltMessage>, _: &RecordedList) -> usize {
    let is_pair = |pair: &[RebuiltMessage]| pair[0].has_role("user") && is_acknowledgement(&pair[1]);
    let pairs: Vec<usize> =
        list.windows(2).enumerate().filter(|(_, pair)| is_pair(pair)).map(|(at, _)| at).collect();
    for at in pairs.iter().rev() {
        list.drain(*at..*at + 2);
    }
    pairs.len()
}

fn is_acknowledgement(item: &RebuiltMessage) -> bool {
    let text = item.first_text().map(JsString::to_string_lossy).unwrap_or_default();
    let text = text.trim_matches(|char: char| char.is_whitespace() || "*_`.!\"'".contains(char));
    let rest = text.strip_prefix(HEARTBEAT_ACK).or_else(|| text.strip_suffix(HEARTBEAT_ACK));
    item.has_role("assistant") && rest.is_some_and(|rest| rest.len() <= ACK_MAX_CHARS)
}

/// Drops the messages before the user message with which the recorded list begins.
pub(super) fn limit_history(list: &mut Vec<RebuiltMessage>, recorded: &RecordedList) -> usize {
    let Some(first) = recorded.items.first() else { return 0 };
    let begins = |at: &usize| {
        list.get(*at).is_some_and(|item| {
            item.has_role("user") && compare(first, &item.message, String::new()).differences.is_empty()
        })
    };
    let by_count = list.len().checked_sub(recorded.total as usize).filter(|at| *at > 0);
    let from = by_count.filter(begins).or_else(|| (1..list.len()).find(begins));
    let from = from.unwrap_or(0);
    list.drain(..from);
    from
}
