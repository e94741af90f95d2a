//! The effect of clearing on each result of a path, computed once per trace: the results it may clear, and the size of
//! each before and after (pruning 7.1, 7.2).

use crate::context::tokens::chars4::estimate_or_zero;
use crate::policy::clear_tool_uses::{CallDigest, MessageDigest, TokenCounter, TokenCounting};
use crate::policy::edit::Edit;
use crate::policy::features::ContentFeatures;
use crate::policy::{Policy, PolicySettings};
use crate::replay::ReplaySession;
use crate::replay::base::ReplayBase;
use crate::replay::edit_digest::EditDigest;
use crate::replay::message_arena::MessageArena;
use crate::replay::range_totals::EditTotals;
use crate::store::entry::MessageSize;
use crate::units::{Chars, Tokens};

/// The clearable results and the edit that clears them.
#[derive(Debug, Clone)]
pub(super) struct ClearModel {
    edit: Edit,
    is_clearable: Vec<bool>,
}

fn clearing_digest(features: &ContentFeatures) -> Option<&MessageDigest> {
    features.digest.as_ref().ok()?.as_ref()
}

/// Whether clearing counts a message as a result.
pub(super) fn counts_as_result(features: &ContentFeatures) -> bool {
    matches!(clearing_digest(features), Some(MessageDigest::Tool { .. }))
}

impl ClearModel {
    /// Returns `None` if clearing is off, or also empties the arguments of calls: which of several equal replies that
    /// changes depends on the list.
    pub(super) fn new(
        session: &ReplaySession<'_>,
        base: &ReplayBase,
        settings: &PolicySettings,
    ) -> Option<Self> {
        let clear = &settings.clear;
        if !settings.enabled.has(Policy::Clear) || clear.clear_tool_inputs {
            return None;
        }
        let mut calls: &[CallDigest] = &[];
        let mut may_go = Vec::with_capacity(base.len());
        for at in 0..base.len() {
            let features =
                if base.is_missing(at) { base.missing_features(at) } else { base.features(session, at) };
            let result = match features.and_then(clearing_digest) {
                Some(MessageDigest::Ai { calls: own, .. }) => {
                    calls = own;
                    None
                }
                Some(MessageDigest::Tool { call, name, .. }) => {
                    let called = calls.iter().find(|own| own.id == *call);
                    called.map(|own| name.as_ref().filter(|name| !name.is_empty()).unwrap_or(&own.name))
                }
                _ => None,
            };
            may_go.push(result.is_some_and(|name| !clear.exclude_tools.contains(name)));
        }
        Some(Self { edit: Edit::ClearToolResult(clear.placeholder.clone()), is_clearable: may_go })
    }

    /// Returns the effect of clearing on a result; `None` if the result stays.
    pub(super) fn edit_totals(
        &self,
        arena: &MessageArena<'_>,
        counting: Option<TokenCounter>,
        at: usize,
        size: &MessageSize,
        features: &ContentFeatures,
    ) -> Option<EditTotals> {
        if !self.is_clearable.get(at).copied().unwrap_or(false) {
            return None;
        }
        let (after, left) = self.edit.predict(size, features);
        let tokens = arena.estimate_tokens(at, &after);
        Some(EditTotals {
            chars: Chars::ZERO,
            tokens: arena.estimate_tokens(at, size) - tokens,
            clear_tokens: clear_tokens(counting, size, Some(features))
                - clear_tokens(counting, &after, Some(&left)),
            trimmed: 0,
            cleared: 1,
            edit_digest: EditDigest::default().with_edit((at, tokens.get().round() as u64)),
        })
    }
}

/// Tokens of a message as clearing counts them; 0 where clearing is off and `counting` is `None`.
pub(super) fn clear_tokens(
    counting: Option<TokenCounter>,
    size: &MessageSize,
    features: Option<&ContentFeatures>,
) -> Tokens {
    let (Some(counter), Some(Ok(Some(digest)))) = (counting, features.map(|features| &features.digest))
    else {
        return Tokens::ZERO;
    };
    match counter.counting {
        TokenCounting::Approximate => Tokens(digest.tokens() as f64),
        TokenCounting::Model => Tokens(counter.model_tokens(estimate_or_zero(size)) as f64),
    }
}
