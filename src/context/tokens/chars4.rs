//! The estimate of the gateway and pi: four chars per token, rounded up per message (compaction 1.1).

use crate::js::JsException;
use crate::store::entry::{MessageSize, Role};
use crate::units::{Chars, Tokens};

pub const CHARS_PER_TOKEN: f64 = 4.0;

/// Estimates one message as pi does: a whole number, NaN for malformed input, or an exception.
pub fn estimate_message(size: &MessageSize) -> Result<Tokens, JsException> {
    Ok(size.pi_chars.value()?.to_tokens(CHARS_PER_TOKEN).ceil())
}

/// Estimates one message for display: 0 if that fails. System messages are 0 too, because they are counted before all
/// messages as system prompt and tools (see [`crate::context::system`]).
pub fn estimate_or_zero(size: &MessageSize) -> u64 {
    if size.role == Role::System { 0 } else { estimate_chars(size.pi_chars.whole_chars()) }
}

/// Converts chars to tokens, rounded up (compaction 11.3).
pub fn estimate_chars(chars: Chars) -> u64 {
    chars.to_tokens(CHARS_PER_TOKEN).ceil().whole()
}
