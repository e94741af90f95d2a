//! The edit on full messages (pruning 7.2), as `LangChain` runs it. Tests compare [`super::clear_list`] with it.

use crate::js::{JsException, JsString, Object};
use crate::policy::clear_tool_uses::count::{message_tokens, total_tokens};
use crate::policy::clear_tool_uses::message::{ClearableCall, Content, Message};
use crate::policy::clear_tool_uses::python::is_equal_object;
use crate::policy::clear_tool_uses::settings::ClearSettings;

/// Token counts are approximate (pruning 7.4).
#[derive(Debug, Clone, PartialEq)]
pub struct ClearResult {
    pub messages: Vec<Message>,
    pub tokens_before: usize,
    pub tokens_after: usize,
    /// The trigger was exceeded, even if nothing could be cleared.
    pub triggered: bool,
}

/// Clears old tool results and counts tokens approximately; these messages do not hold the data for the model's
/// estimate.
///
/// # Errors
/// If `keep` is read and is no integer.
pub fn clear(messages: Vec<Message>, settings: &ClearSettings) -> Result<ClearResult, JsException> {
    let before = total_tokens(&messages);
    let triggered = before as f64 > settings.trigger;
    let mut run = ClearRun { messages, settings, tokens_after: before };
    if triggered {
        for at in run.candidate_positions()? {
            let cleared = run.clear(at);
            let reclaimed = before.saturating_sub(run.tokens_after) as f64;
            if cleared && settings.clear_at_least > 0.0 && reclaimed >= settings.clear_at_least {
                break;
            }
        }
    }
    Ok(ClearResult {
        messages: run.messages,
        tokens_before: before,
        tokens_after: run.tokens_after,
        triggered,
    })
}

struct ClearRun<'a> {
    messages: Vec<Message>,
    settings: &'a ClearSettings,
    tokens_after: usize,
}

impl ClearRun<'_> {
    /// Returns the tool results that may be cleared, oldest first.
    fn candidate_positions(&self) -> Result<Vec<usize>, JsException> {
        let results = self.messages.iter().enumerate();
        let mut results: Vec<usize> = results
            .filter(|(_, message)| matches!(message, Message::Tool { .. }))
            .map(|(at, _)| at)
            .collect();
        results.truncate(clearable_count(results.len(), self.settings.keep)?);
        Ok(results)
    }

    /// Clears a result. Returns false if it stays.
    fn clear(&mut self, at: usize) -> bool {
        let Message::Tool { call: id, name, cleared: false, .. } = &self.messages[at] else { return false };
        let (id, name) = (id.clone(), name.clone().filter(|name| !name.is_empty()));
        let is_reply = |message: &Message| matches!(message, Message::Ai { .. });
        let Some(reply) = self.messages[..at].iter().rposition(is_reply) else { return false };
        let Message::Ai { calls, .. } = &self.messages[reply] else { return false };
        let Some(call) = calls.iter().find(|call| call.id == id) else { return false };
        let name = name.unwrap_or_else(|| call.name.clone());
        if self.settings.exclude_tools.contains(&name) {
            return false;
        }
        let mut new = self.messages[at].clone();
        if let Message::Tool { content, cleared, .. } = &mut new {
            *content = Content::Text(self.settings.placeholder.clone());
            *cleared = true;
        }
        self.replace(at, new);
        if self.settings.clear_tool_inputs {
            self.clear_inputs(reply, &id);
        }
        true
    }

    /// Empties the arguments of the calls with this id, in the first message that equals the reply: an earlier equal
    /// message is edited instead of the reply (pruning 7.2 f).
    fn clear_inputs(&mut self, reply: usize, id: &JsString) {
        let equal = |message: &Message| is_equal_message(message, &self.messages[reply]);
        let at = self.messages[..reply].iter().position(equal).unwrap_or(reply);
        let mut new = self.messages[at].clone();
        if let Message::Ai { calls, cleared, .. } = &mut new {
            for call in calls.iter_mut().filter(|call| call.id == *id) {
                call.arguments = Object::default();
            }
            cleared.push(id.clone());
            cleared.sort_by_cached_key(code_point_key);
            cleared.dedup();
        }
        self.replace(at, new);
    }

    fn replace(&mut self, at: usize, new: Message) {
        self.tokens_after = self.tokens_after + message_tokens(&new) - message_tokens(&self.messages[at]);
        self.messages[at] = new;
    }
}

/// Returns how many of the results may be cleared, from the oldest on (pruning 7.2, step 2).
pub fn clearable_count(results: usize, keep: f64) -> Result<usize, JsException> {
    if keep >= results as f64 {
        return Ok(0);
    }
    if keep.fract() != 0.0 {
        return Err(JsException);
    }
    let count = if keep < 0.0 { -keep } else { results as f64 - keep };
    Ok(results.min(count as usize))
}

/// Whether Python finds two replies equal.
fn is_equal_message(a: &Message, b: &Message) -> bool {
    let (
        Message::Ai { text, calls, cleared },
        Message::Ai { text: other, calls: others, cleared: others_cleared },
    ) = (a, b)
    else {
        return false;
    };
    let equal = |(a, b): (&ClearableCall, &ClearableCall)| {
        a.id == b.id && a.name == b.name && is_equal_object(&a.arguments, &b.arguments)
    };
    text == other
        && cleared == others_cleared
        && calls.len() == others.len()
        && calls.iter().zip(others).all(equal)
}

/// Returns a key that sorts by code points and not by UTF-16 units.
pub(super) fn code_point_key(text: &JsString) -> Vec<u32> {
    let chars = char::decode_utf16(text.units().iter().copied());
    chars.map(|char| char.map_or_else(|lone| u32::from(lone.unpaired_surrogate()), u32::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;
    use crate::policy::clear_tool_uses::parse_message;

    /// Builds messages, one word each: `u`, `a:ID,ID` for a reply that calls `f`, `r:ID` for a result of 40 chars.
    fn list(words: &str) -> Vec<Message> {
        let call =
            |id: &str| format!(r#"{{"type":"toolCall","id":"{id}","name":"f","arguments":{{"x":1}}}}"#);
        let message = |word: &str| {
            let json = match word.split_once(':') {
                Some(("a", ids)) => {
                    let calls: Vec<String> = ids.split(',').map(call).collect();
                    format!(r#"{{"role":"assistant","content":[{}]}}"#, calls.join(","))
                }
                Some((_, id)) => {
                    let text = "x".repeat(40);
                    format!(r#"{{"role":"toolResult","toolCallId":"{id}","content":"{text}"}}"#)
                }
                None => r#"{"role":"user","content":"x"}"#.to_owned(),
            };
            parse_message(&js::parse(&json).unwrap()).unwrap()
        };
        words.split_whitespace().map(message).collect()
    }

    fn eager() -> ClearSettings {
        ClearSettings { trigger: 1.0, keep: 0.0, ..ClearSettings::default() }
    }

    /// Returns the indexes of the cleared results.
    fn cleared(words: &str, settings: &ClearSettings) -> Vec<usize> {
        let clearing = clear(list(words), settings).unwrap();
        assert_eq!(clearing.tokens_after, total_tokens(&clearing.messages), "tokens are kept up to date");
        let is_cleared = |at: &usize| matches!(clearing.messages[*at], Message::Tool { cleared: true, .. });
        (0..clearing.messages.len()).filter(is_cleared).collect()
    }

    const THREE: &str = "u a:1 r:1 a:2 r:2 a:3 r:3";

    #[test]
    fn the_last_results_are_kept_and_a_negative_number_clears_only_as_many() {
        for (keep, expected) in [(0.0, vec![2, 4, 6]), (1.0, vec![2, 4]), (3.0, vec![]), (-1.0, vec![2])] {
            assert_eq!(cleared(THREE, &ClearSettings { keep, ..eager() }), expected, "{keep}");
        }
        assert_eq!(clear(list(THREE), &ClearSettings { keep: 1.5, ..eager() }), Err(JsException));
    }

    #[test]
    fn nothing_happens_at_the_trigger_itself() {
        let trigger = total_tokens(&list(THREE)) as f64;
        let clearing = |trigger| clear(list(THREE), &ClearSettings { trigger, ..eager() }).unwrap();
        assert!(!clearing(trigger).triggered && clearing(trigger - 1.0).triggered);
    }

    #[test]
    fn clearing_stops_early_once_enough_is_reclaimed() {
        // A result of 40 chars has 15 tokens, the placeholder 7.
        let settings = ClearSettings { clear_at_least: 16.0, ..eager() };
        assert_eq!(cleared(THREE, &settings), [2, 4]);
        assert_eq!(cleared(THREE, &ClearSettings { clear_at_least: 1e9, ..eager() }), [2, 4, 6]);
    }

    #[test]
    fn a_result_is_cleared_only_under_the_reply_that_called_it() {
        assert_eq!(cleared("r:1 a:1 r:1 a:2 r:1", &eager()), [2]);
        let settings = ClearSettings { exclude_tools: vec!["f".into()], ..eager() };
        assert_eq!(cleared(THREE, &settings), [0; 0]);
    }

    /// Returns the ids of the cleared calls of each reply.
    fn inputs(words: &str) -> Vec<Vec<String>> {
        let settings = ClearSettings { clear_tool_inputs: true, ..eager() };
        let messages = clear(list(words), &settings).unwrap().messages;
        let replies = messages.into_iter().filter_map(|message| match message {
            Message::Ai { cleared, .. } => Some(cleared.iter().map(JsString::to_string_lossy).collect()),
            _ => None,
        });
        replies.collect()
    }

    #[test]
    fn inputs_are_cleared_in_the_first_equal_reply() {
        assert_eq!(inputs("a:1 u a:1 r:1"), [vec!["1"], vec![]]);
        assert_eq!(inputs("a:1 r:1 a:1 r:1"), [["1"], ["1"]]);
    }

    #[test]
    fn cleared_ids_are_sorted_by_code_points() {
        assert_eq!(inputs("a:😀,\u{E000} r:😀 r:\u{E000}"), [["\u{E000}", "😀"]]);
    }
}
