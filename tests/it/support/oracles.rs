//! Rules of the guard, of seen media, of the budget of results and of clearing on messages themselves, as the gateway and
//! `LangChain` run them. The product decides them from sizes and digests; the properties compare its plans with these.

use std::collections::{BTreeMap, BTreeSet};

use clawscope::context::tokens::weighted::NORMAL_WEIGHT;
use clawscope::gateway::ruleset::{Aggregate, KeptTurns};
use clawscope::js::{JsException, JsString, Object, Value};
use clawscope::policy::clear_tool_uses::{
    ClearSettings, ClearableCall, Content, Message, MessageDigest, clearable_count,
};
use clawscope::policy::guard::{COMPACTED, GuardLimits, GuardSize, compacted_message, cut_message};
use clawscope::policy::guard_2026_9::{counted_chars, fitted_result};
use clawscope::policy::media_2026_9::{first_of_last_turns, without_media};
use clawscope::policy::settings::GuardSettings;
use clawscope::policy::truncate::v2026_9::result_chars;
use clawscope::policy::truncate::{Reduction, ResultBudget, ResultEditor, reduce_results};
use clawscope::store::entry::Role;
use clawscope::store::measure::role_of;
use clawscope::units::{Chars, Tokens};

/// Oracle of pruning 6.33–6.36: the messages of a call after the guard, for a window in tokens. A comparison with NaN is
/// false, as in the gateway, so NaN counts as over the limit. Throws where a message cannot be counted.
pub(crate) fn guard_messages(
    messages: &[Value],
    window: Tokens,
    settings: &GuardSettings,
) -> Result<Vec<Value>, JsException> {
    let limits = GuardLimits::new(window, settings);
    let capped = messages.iter().map(|message| {
        let counted = GuardSize::of(message);
        let stays = !counted.is_result || counted.chars.value()? <= limits.single;
        Ok(if stays { message.clone() } else { cut_message(message, limits.single) })
    });
    let mut messages = capped.collect::<Result<Vec<Value>, JsException>>()?;
    let total = messages
        .iter()
        .try_fold(Chars::ZERO, |sum, message| Ok(sum + GuardSize::of(message).chars.value()?))?;
    if total <= limits.budget {
        return Ok(messages);
    }
    compact_oldest(&mut messages, total - limits.budget)?;
    Ok(messages)
}

/// Replaces results, oldest first, until this many chars are free (pruning 6.35).
fn compact_oldest(messages: &mut [Value], needed: Chars) -> Result<(), JsException> {
    let mut gained = Chars::ZERO;
    for message in messages.iter_mut().filter(|message| GuardSize::of(&**message).is_result) {
        let before = GuardSize::of(&*message).chars.value()?;
        if before <= Chars::from_len(COMPACTED.len()) {
            continue;
        }
        *message = compacted_message(message);
        let after = GuardSize::of(&*message).chars.value()?;
        if after >= before {
            continue;
        }
        gained += before - after;
        if gained >= needed {
            break;
        }
    }
    Ok(())
}

/// Oracle of pruning 8.7: the copy of a tool result that fits half a window in tokens, at two chars for each plain one;
/// `None` where it fits already.
pub(crate) fn guarded_result(message: &Value, tokens: Tokens) -> Option<Value> {
    let tokens = if tokens.is_nan() { 1.0 } else { tokens.floor().max(Tokens(1.0)).get() };
    let limit = (tokens * 2.0 * 0.5).floor().max(1024.0);
    if counted_chars(message) <= Chars(limit) { None } else { fitted_result(message, Chars(limit)) }
}

/// Oracle of pruning 8, row "Legacy images", since 2026.4.25: the messages without the media that the model has seen, by
/// position.
pub(crate) fn without_seen_media(messages: &[Value], turns: KeptTurns) -> Vec<(usize, Value)> {
    let roles = messages.iter().map(role_of);
    let Some(end) = first_of_last_turns(roles, turns) else { return Vec::new() };
    let older = messages.iter().enumerate().take(end);
    older.filter_map(|(at, message)| Some((at, without_media(message, true)?))).collect()
}

/// Oracle of releases R35–R38 and pruning 8.3: the messages after the budget of all tool results, each text cut for real.
pub(crate) fn reduced(messages: &[Value], budget: &ResultBudget) -> Vec<Value> {
    let is_result: Vec<bool> = messages.iter().map(|message| role_of(message) == Role::ToolResult).collect();
    let chars = messages.iter().map(|message| reducible_chars(message, budget)).collect();
    let mut texts = Texts { messages: messages.to_vec(), budget, previous: Value::Null };
    reduce_results(&mut texts, &is_result, chars, budget);
    texts.messages
}

fn reducible_chars(message: &Value, budget: &ResultBudget) -> Chars {
    match budget.rule {
        Aggregate::Weighted => result_chars(message, NORMAL_WEIGHT),
        _ => budget.ends.chars(message),
    }
}

struct Texts<'a> {
    messages: Vec<Value>,
    budget: &'a ResultBudget,
    previous: Value,
}

impl ResultEditor for Texts<'_> {
    fn change(&mut self, at: usize, by: Reduction) -> Chars {
        let message = &mut self.messages[at];
        self.previous = message.clone();
        if let Some(new) = by.apply(self.budget.ends, self.budget.rule, message) {
            *message = new;
        }
        reducible_chars(message, self.budget)
    }

    fn revert(&mut self, at: usize) {
        self.messages[at] = std::mem::replace(&mut self.previous, Value::Null);
    }
}

/// Messages after clearing (pruning 7.2).
pub(crate) struct Cleared {
    pub(crate) messages: Vec<Message>,
    pub(crate) tokens_before: usize,
    pub(crate) tokens_after: usize,
}

/// Oracle of pruning 7.2: `LangChain`'s edit on full messages, with its approximate counts. Throws where `keep` is read
/// and is not an integer.
pub(crate) fn clear_messages(
    messages: Vec<Message>,
    settings: &ClearSettings,
) -> Result<Cleared, JsException> {
    let before: usize = messages.iter().map(message_tokens).sum();
    let cleared_calls = vec![BTreeSet::new(); messages.len()];
    let mut run = ClearRun { messages, settings, cleared_calls };
    let total = |run: &ClearRun<'_>| run.messages.iter().map(message_tokens).sum::<usize>();
    if before as f64 > settings.trigger {
        for at in run.candidates()? {
            let cleared = run.clear(at);
            let reclaimed = before.saturating_sub(total(&run)) as f64;
            if cleared && settings.clear_at_least > 0.0 && reclaimed >= settings.clear_at_least {
                break;
            }
        }
    }
    Ok(Cleared { tokens_before: before, tokens_after: total(&run), messages: run.messages })
}

fn message_tokens(message: &Message) -> usize {
    MessageDigest::new(message).tokens()
}

struct ClearRun<'a> {
    messages: Vec<Message>,
    settings: &'a ClearSettings,
    /// Ids of the calls whose arguments were cleared, by message: equal replies have equal ids here.
    cleared_calls: Vec<BTreeSet<JsString>>,
}

impl ClearRun<'_> {
    /// The tool results that may be cleared, oldest first.
    fn candidates(&self) -> Result<Vec<usize>, JsException> {
        let is_result = |at: &usize| matches!(self.messages[*at], Message::Tool { .. });
        let mut results: Vec<usize> = (0..self.messages.len()).filter(is_result).collect();
        results.truncate(clearable_count(results.len(), self.settings.keep)?);
        Ok(results)
    }

    /// Clears a result; returns false if it stays.
    fn clear(&mut self, at: usize) -> bool {
        let Message::Tool { call: id, name, .. } = &self.messages[at] else { return false };
        let (id, name) = (id.clone(), name.clone().filter(|name| !name.is_empty()));
        let is_reply = |message: &Message| matches!(message, Message::Ai { .. });
        let Some(reply) = self.messages[..at].iter().rposition(is_reply) else { return false };
        let Message::Ai { calls, .. } = &self.messages[reply] else { return false };
        let Some(call) = calls.iter().find(|call| call.id == id) else { return false };
        if self.settings.exclude_tools.contains(name.as_ref().unwrap_or(&call.name)) {
            return false;
        }
        if let Message::Tool { content, .. } = &mut self.messages[at] {
            *content = Content::Text(self.settings.placeholder.clone());
        }
        if self.settings.clear_tool_inputs {
            self.clear_inputs(reply, &id);
        }
        true
    }

    /// Empties the arguments of the calls with this id, in the first message that equals the reply: an earlier equal
    /// message is edited in its place (pruning 7.2 f).
    fn clear_inputs(&mut self, reply: usize, id: &JsString) {
        let equal = |at: &usize| {
            self.cleared_calls[*at] == self.cleared_calls[reply]
                && is_equal_reply(&self.messages[*at], &self.messages[reply])
        };
        let at = (0..reply).find(equal).unwrap_or(reply);
        if let Message::Ai { calls, .. } = &mut self.messages[at] {
            for call in calls.iter_mut().filter(|call| call.id == *id) {
                call.arguments = Object::default();
            }
        }
        self.cleared_calls[at].insert(id.clone());
    }
}

/// Whether Python finds two replies equal.
fn is_equal_reply(a: &Message, b: &Message) -> bool {
    let (Message::Ai { text, calls }, Message::Ai { text: other, calls: others }) = (a, b) else {
        return false;
    };
    let equal = |(a, b): (&ClearableCall, &ClearableCall)| {
        a.id == b.id && a.name == b.name && is_equal_object(&a.arguments, &b.arguments)
    };
    text == other && calls.len() == others.len() && calls.iter().zip(others).all(equal)
}

/// Whether Python finds two values equal: the order of keys does not matter, and `true` is 1.
fn is_equal(a: &Value, b: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::Bool(bool) => Some(f64::from(u8::from(*bool))),
        Value::Number(number) => Some(*number).filter(|number| number.is_finite()),
        _ => None,
    };
    let is_none = |value: &Value| matches!(value, Value::Null | Value::Number(_));
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => is_equal_object(a, b),
        (Value::String(a), Value::String(b)) => a == b,
        _ => match (number(a), number(b)) {
            (Some(a), Some(b)) => a == b,
            (None, None) => is_none(a) && is_none(b),
            _ => false,
        },
    }
}

fn is_equal_object(a: &Object, b: &Object) -> bool {
    let members = |object: &Object| object.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let (a, b): (BTreeMap<JsString, Value>, BTreeMap<JsString, Value>) = (members(a), members(b));
    a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| is_equal(value, other)))
}
