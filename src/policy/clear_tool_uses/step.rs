//! Applies clearing to a message list: makes `LangChain`'s decisions (pruning 7.2) from digests, and the edits on messages
//! as the transcript holds them.

use std::collections::HashMap;

use crate::context::tokens::chars4::estimate_or_zero;
use crate::js::{JsException, JsString};
use crate::policy::clear_tool_uses::message_digest::{MessageDigest, ValueHash};
use crate::policy::clear_tool_uses::server::{ClearSettings, ClearedBy, TokenCounting};
use crate::policy::edit::Edit;
use crate::policy::fate::{Fate, MessageFate};
use crate::policy::message_list::MessageList;
use crate::policy::reason::Reason;
use crate::units::Tokens;

/// In tokens as the settings count them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClearTotals {
    /// All messages before; the whole prompt if a server clears.
    pub tokens_before: u64,
    /// The same after.
    pub tokens_after: u64,
}

/// Clears old tool uses.
///
/// # Errors
/// If a message has no form that a model receives, or if `keep` is read and is not an integer; the list is unchanged then.
pub fn clear_list(
    list: &mut MessageList,
    settings: &ClearSettings,
) -> Result<(Vec<MessageFate>, ClearTotals), JsException> {
    let sent: Result<Vec<bool>, JsException> = (0..list.len())
        .map(|at| {
            list.features_at(at).map_or(Ok(false), |features| {
                Ok(features.digest.as_ref().map_err(|_| JsException)?.is_some())
            })
        })
        .collect();
    let sent = sent?;
    let (marks, alike) = (HashMap::new(), None);
    let mut run = ClearListRun {
        sent,
        cleared_calls: marks,
        replies_by_key: alike,
        fates: Vec::new(),
        tokens_after: 0,
        list,
        settings,
    };
    run.tokens_after = (0..run.list.len()).map(|at| run.tokens(at)).sum();
    run.fates = (0..run.list.len()).map(|at| run.unchanged_fate(at)).collect();
    let (before, prompt) = (run.tokens_after, settings.prompt_tokens());
    if (before + prompt) as f64 > settings.trigger {
        run.clear_all(before)?;
    }
    Ok((run.fates, ClearTotals { tokens_before: before + prompt, tokens_after: run.tokens_after + prompt }))
}

/// Text of a reply and ids of its calls: the same for equal replies, cleared or not.
type ReplyKey = (ValueHash, Vec<JsString>);

fn reply_key(digest: &MessageDigest) -> Option<ReplyKey> {
    let MessageDigest::Ai { text, calls, .. } = digest else { return None };
    Some((*text, calls.iter().map(|call| call.id.clone()).collect()))
}

struct ClearListRun<'l, 'a> {
    list: &'l mut MessageList<'a>,
    settings: &'l ClearSettings,
    /// Whether a model receives each message.
    sent: Vec<bool>,
    /// Ids of the calls whose arguments were cleared, sorted by code points.
    cleared_calls: HashMap<usize, Vec<JsString>>,
    /// Positions of the replies, ascending, by the parts that clearing keeps. Built once, when arguments are
    /// first cleared.
    replies_by_key: Option<HashMap<ReplyKey, Vec<usize>>>,
    fates: Vec<MessageFate>,
    tokens_after: u64,
}

impl ClearListRun<'_, '_> {
    fn digest(&self, at: usize) -> Option<&MessageDigest> {
        self.list.features_at(at)?.digest.as_ref().ok()?.as_ref()
    }

    fn tokens(&self, at: usize) -> u64 {
        match self.settings.counting {
            _ if !self.sent[at] => 0,
            TokenCounting::Approximate => self.digest(at).map_or(0, |digest| digest.tokens() as u64),
            TokenCounting::Model => {
                self.settings.counter().model_tokens(estimate_or_zero(&self.list.size(at)))
            }
        }
    }

    fn unchanged_fate(&self, at: usize) -> MessageFate {
        let result = matches!(self.digest(at), Some(MessageDigest::Tool { .. }));
        MessageFate::kept(&self.list.size(at), if result { Reason::BelowTrigger } else { Reason::Untouched })
    }

    fn clear_all(&mut self, before: u64) -> Result<(), JsException> {
        let is_result = |at: &usize| matches!(self.digest(*at), Some(MessageDigest::Tool { .. }));
        let results: Vec<usize> = (0..self.list.len()).filter(is_result).collect();
        let count = clearable_count(results.len(), self.settings.keep)?;
        let (old, kept) = results.split_at(count);
        self.set_fates(kept, Reason::KeptUse);
        let server = self.settings.cleared_by != ClearedBy::Client;
        if server && self.clearable_tokens(old) < Tokens(self.settings.clear_at_least) {
            self.set_fates(old, Reason::TooLittleToClear);
            return Ok(());
        }
        self.set_fates(old, Reason::ClearedAtLeast);
        for at in old {
            let cleared = self.clear(*at);
            let reclaimed = before.saturating_sub(self.tokens_after) as f64;
            let enough = self.settings.clear_at_least > 0.0 && reclaimed >= self.settings.clear_at_least;
            if cleared && enough && !server {
                break;
            }
        }
        Ok(())
    }

    fn set_fates(&mut self, results: &[usize], reason: Reason) {
        for at in results {
            self.fates[*at].reason = reason;
        }
    }

    /// Returns the tokens of the results that would be cleared, without those of their placeholders.
    fn clearable_tokens(&self, old: &[usize]) -> Tokens {
        let tool = |at: &usize| self.find_call(*at).map(|(_, _, name)| name);
        let goes = |at: &&usize| tool(at).is_some_and(|name| !self.settings.exclude_tools.contains(&name));
        old.iter().filter(goes).map(|at| Tokens(self.tokens(*at) as f64)).sum()
    }

    /// Clears the result at a position. Returns false if it stays (pruning 7.2, step 3).
    fn clear(&mut self, at: usize) -> bool {
        let Some((reply, id, name)) = self.find_call(at) else {
            self.fates[at].reason = Reason::UncalledResult;
            return false;
        };
        if self.settings.exclude_tools.contains(&name) {
            self.fates[at].reason = Reason::ExcludedTool;
            return false;
        }
        self.edit(at, &Edit::ClearToolResult(self.settings.placeholder.clone()), Reason::ClearedUse);
        if self.settings.clear_tool_inputs {
            self.clear_inputs(reply, id);
        }
        true
    }

    /// Returns the nearest earlier reply, the id of the result's call there, and the tool name; `None` if that reply
    /// has no such call.
    fn find_call(&self, at: usize) -> Option<(usize, JsString, JsString)> {
        let Some(MessageDigest::Tool { call: id, name, .. }) = self.digest(at) else { return None };
        let reply = (0..at).rev().find(|at| matches!(self.digest(*at), Some(MessageDigest::Ai { .. })))?;
        let Some(MessageDigest::Ai { calls, .. }) = self.digest(reply) else { return None };
        let call = calls.iter().find(|call| call.id == *id)?;
        let name = name.as_ref().filter(|name| !name.is_empty()).unwrap_or(&call.name);
        Some((reply, id.clone(), name.clone()))
    }

    /// Empties the arguments of the calls with this id, in the first reply that equals the one that holds it (pruning
    /// 7.2 f).
    fn clear_inputs(&mut self, reply: usize, id: JsString) {
        let alike = self.replies_by_key.take().unwrap_or_else(|| self.index_replies());
        let equal = |at: &usize| {
            let replies = self.digest(*at).zip(self.digest(reply));
            let equal = replies.is_some_and(|(one, other)| one.is_equal_reply(other));
            equal && self.cleared_calls.get(at) == self.cleared_calls.get(&reply)
        };
        let same = self.digest(reply).and_then(reply_key).and_then(|likeness| alike.get(&likeness));
        let mut before = same.into_iter().flatten().copied().take_while(|at| *at < reply);
        let at = before.find(equal).unwrap_or(reply);
        self.replies_by_key = Some(alike);
        let marks = self.cleared_calls.entry(at).or_default();
        marks.push(id.clone());
        marks.sort_by_cached_key(code_point_key);
        marks.dedup();
        self.edit(at, &Edit::ClearToolInputs(vec![id]), Reason::InputsCleared);
    }

    fn index_replies(&self) -> HashMap<ReplyKey, Vec<usize>> {
        let mut replies: HashMap<ReplyKey, Vec<usize>> = HashMap::new();
        for at in 0..self.list.len() {
            if let Some(likeness) = self.digest(at).and_then(reply_key) {
                replies.entry(likeness).or_default().push(at);
            }
        }
        replies
    }

    fn edit(&mut self, at: usize, edit: &Edit, reason: Reason) {
        let before = self.tokens(at);
        self.list.apply_edit(at, edit);
        self.tokens_after = self.tokens_after + self.tokens(at) - before;
        let after = self.list.size(at).prune_chars;
        self.fates[at] = MessageFate { fate: Fate::Cleared, reason, after, ..self.fates[at] };
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

/// Returns a key that sorts by code points and not by UTF-16 units.
fn code_point_key(text: &JsString) -> Vec<u32> {
    let chars = char::decode_utf16(text.units().iter().copied());
    chars.map(|char| char.map_or_else(|lone| u32::from(lone.unpaired_surrogate()), u32::from)).collect()
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;
