//! Resolves provider and model of a session's next call.

use crate::context::Context;
use crate::ids::EntryIx;
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::store::session_records::SessionRecord;

/// Returns the provider and model that the session record chooses over the configuration, else those in force at the
/// leaf (compaction 4.5). Ignores answers that the gateway wrote itself, because they name no model.
pub(super) fn next_model(
    row: Option<&SessionRecord>,
    index: &Index,
    context: &Context,
) -> Option<(String, String)> {
    let named = |key: &str| {
        let text = row?.member(key)?.as_str()?.trim().to_string_lossy();
        (!text.is_empty()).then_some(text)
    };
    let (provider, model) = path_model(index, context).unzip();
    match (named("providerOverride"), named("modelOverride")) {
        (_, None) => provider.zip(model),
        (Some(provider), Some(model)) => Some((provider, model)),
        (None, Some(model)) => {
            let named = model.split_once('/').map(|(provider, id)| (provider.to_owned(), id.to_owned()));
            named.or_else(|| Some((provider?, model)))
        }
    }
}

/// Returns the provider and model in force at the leaf, if the path holds both as texts.
fn path_model(index: &Index, context: &Context) -> Option<(String, String)> {
    let of_call = |ix: &EntryIx| {
        let entry = index.entry(*ix);
        let chooses = entry.is_model_call() || entry.kind == EntryKind::ModelChange;
        entry.model.filter(|_| chooses)
    };
    let is_synthetic = |ix: &EntryIx| {
        let entry = index.entry(*ix);
        entry.model == context.model && entry.message.is_some_and(|size| size.is_synthetic)
    };
    let model = match context.path.iter().rev().find(|ix| is_synthetic(ix)) {
        Some(_) => context.path.iter().rev().find_map(of_call),
        None => context.model,
    };
    let (provider, model) = model?;
    Some((index.values.text(provider)?, index.values.text(model)?))
}
