//! Rules of the guard and of seen media on messages themselves, as the gateway runs them. The product decides both from
//! sizes, without texts; the properties compare its plans with these.

use clawscope::gateway::ruleset::KeptTurns;
use clawscope::js::{JsException, Value};
use clawscope::policy::guard::{COMPACTED, GuardLimits, GuardSize, compacted_message, cut_message};
use clawscope::policy::guard_2026_9::{counted_chars, fitted_result};
use clawscope::policy::media_2026_9::{first_of_last_turns, without_media};
use clawscope::policy::settings::GuardSettings;
use clawscope::store::measure::role_of;
use clawscope::units::Tokens;

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
    let total =
        messages.iter().try_fold(0.0, |sum, message| Ok(sum + GuardSize::of(message).chars.value()?))?;
    if total <= limits.budget {
        return Ok(messages);
    }
    compact_oldest(&mut messages, total - limits.budget)?;
    Ok(messages)
}

/// Replaces results, oldest first, until this many chars are free (pruning 6.35).
fn compact_oldest(messages: &mut [Value], needed: f64) -> Result<(), JsException> {
    let mut gained = 0.0;
    for message in messages.iter_mut().filter(|message| GuardSize::of(&**message).is_result) {
        let before = GuardSize::of(&*message).chars.value()?;
        if before <= COMPACTED.len() as f64 {
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
/// none where it fits already.
pub(crate) fn guarded_result(message: &Value, tokens: Tokens) -> Option<Value> {
    let tokens = if tokens.is_nan() { 1.0 } else { tokens.floor().max(Tokens(1.0)).get() };
    let limit = (tokens * 2.0 * 0.5).floor().max(1024.0);
    if counted_chars(message) <= limit { None } else { fitted_result(message, limit) }
}

/// Oracle of pruning 8, row "Legacy images", since 2026.4.25: the messages without the media that the model has seen, by
/// position.
pub(crate) fn without_seen_media(messages: &[Value], turns: KeptTurns) -> Vec<(usize, Value)> {
    let roles = messages.iter().map(role_of);
    let Some(end) = first_of_last_turns(roles, turns) else { return Vec::new() };
    let older = messages.iter().enumerate().take(end);
    older.filter_map(|(at, message)| Some((at, without_media(message, true)?))).collect()
}
