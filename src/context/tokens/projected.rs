//! The estimate of pi since 0.87: a provider's count is an anchor only until an edit or a compaction changes the
//! context (store-pi-1.5 E3–E6).

use crate::context::build::{Context, ContextMessage};
use crate::context::system::replay_system_messages;
use crate::context::tokens::chars4::{CHARS_PER_TOKEN, estimate_message};
use crate::context::tokens::usage::{ContextEstimate, estimate_context, estimate_context_under};
use crate::context::tokens::weighted;
use crate::gateway::ruleset::{Estimate, Rules};
use crate::ids::EntryIx;
use crate::js::{JsException, Value, length_of};
use crate::store::entry::{EntryKind, ReadMode, Role};
use crate::store::index::Index;
use crate::store::measure::{PI_IMAGE_CHARS, pi_block_chars, role_of};
use crate::store::scan::measure_message;
use crate::units::{Chars, Tokens};

/// Estimates a context under the rules of the runtime it was built for.
pub fn estimate_for_runtime(
    rules: &Rules,
    index: &Index,
    context: &Context,
) -> Result<ContextEstimate, JsException> {
    let messages = &context.messages;
    match index.reading {
        ReadMode::Entries => {
            estimate_context_under(rules, messages, |at| estimate_message(&messages[at].size))
        }
        ReadMode::Projected => estimate_projected(index, &context.path, &context.messages),
    }
}

/// Estimates projected messages. The anchor counts if its entry follows the last edit and the last compaction of the
/// path. Otherwise everything is estimated, with the system messages replayed to one (store-pi-1.5 E5).
pub fn estimate_projected(
    index: &Index,
    path: &[EntryIx],
    messages: &[ContextMessage],
) -> Result<ContextEstimate, JsException> {
    let plain = estimate_context(messages)?;
    let anchor = plain.last_usage.map(|at| messages[at].entry);
    if anchor.is_some_and(|anchor| is_after_changes(index, path, anchor)) {
        return Ok(plain);
    }
    let tokens = estimate_unanchored(index, messages)?;
    Ok(ContextEstimate { tokens, usage_tokens: Tokens::ZERO, trailing_tokens: tokens, last_usage: None })
}

/// Estimates the system messages as one and every other message by itself.
fn estimate_unanchored(index: &Index, messages: &[ContextMessage]) -> Result<Tokens, JsException> {
    let system =
        replay_system_messages(index, messages)?.map_or(Ok(0.0), |state| state.tokens().map(Tokens::get))?;
    let others = messages.iter().filter(|message| message.size.role != Role::System);
    others
        .map(|message| estimate_message(&message.size))
        .try_fold(system, |sum, tokens| Ok(sum + tokens?.get()))
        .map(Tokens)
}

fn changes_context(index: &Index, ix: EntryIx) -> bool {
    matches!(index.entry(ix).kind, EntryKind::ContextEdit | EntryKind::Compaction)
}

fn is_after_changes(index: &Index, path: &[EntryIx], anchor: EntryIx) -> bool {
    let last = path.iter().rposition(|ix| changes_context(index, *ix));
    path.iter().rposition(|ix| *ix == anchor) > last
}

// Estimates a message by version: as pi does, as OpenClaw's own runtime does since 2026.5.28 (different in two
// places), or with weighted chars (releases R20, R21; pruning 8.5).

/// Chars of absent call arguments: the length of `undefined`.
const UNDEFINED: Chars = Chars(9.0);

/// Estimates a message under a version's rules, in tokens. A system message counts 0, because the prompt is sent from
/// elsewhere.
///
/// # Errors
/// The runtime throws on the message's shape.
pub fn estimate_under(rules: &Rules, message: &Value) -> Result<Tokens, JsException> {
    if role_of(message) == Role::System {
        return Ok(Tokens::ZERO);
    }
    match rules.estimate {
        Estimate::Weighted { counts_envelope } => weighted::estimate(message, counts_envelope),
        Estimate::Units => estimate_message(&measure_message(message).size),
        Estimate::OwnRuntime { user_images, .. } => {
            let role = role_of(message);
            let chars = match (role, message.get("content").and_then(Value::as_array)) {
                (Role::Assistant, Some(blocks)) => {
                    blocks.iter().try_fold(Chars::ZERO, |sum, block| Ok(sum + answer_chars(block)?))?
                }
                (Role::User, Some(blocks)) if user_images => {
                    measure_message(message).size.pi_chars.value()? + image_chars(blocks)
                }
                _ => return estimate_message(&measure_message(message).size),
            };
            Ok(chars.to_tokens(CHARS_PER_TOKEN).ceil())
        }
    }
}

fn answer_chars(block: &Value) -> Result<Chars, JsException> {
    let lacks =
        block.get("type").is_some_and(|kind| kind.str_is("toolCall")) && block.get("arguments").is_none();
    if lacks {
        Ok(Chars(length_of(block.get("name"))?) + UNDEFINED)
    } else {
        pi_block_chars(Role::Assistant, block)
    }
}

fn image_chars(blocks: &[Value]) -> Chars {
    let images = blocks.iter().filter(|block| block.get("type").is_some_and(|kind| kind.str_is("image")));
    PI_IMAGE_CHARS * images.count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::js::parse;

    fn tokens(ruleset: Ruleset, json: &str) -> Result<Tokens, JsException> {
        estimate_under(ruleset.rules(), &parse(json).unwrap())
    }

    #[test]
    fn a_call_without_arguments_fails_before_the_gateways_own_runtime() {
        let call = r#"{"role":"assistant","content":[{"type":"toolCall","name":"abc"}]}"#;
        assert_eq!(tokens(Ruleset::V2026_5_22, call), Err(JsException));
        assert_eq!(tokens(Ruleset::V2026_5_28, call), Ok(Tokens(3.0)));
    }

    #[test]
    fn images_of_a_person_count_from_6_11_on() {
        let image = r#"{"role":"user","content":[{"type":"text","text":"abcd"},{"type":"image"}]}"#;
        assert_eq!(tokens(Ruleset::V2026_5_28, image), Ok(Tokens(1.0)));
        assert_eq!(tokens(Ruleset::V2026_6_11, image), Ok(Tokens(1201.0)));
    }
}
