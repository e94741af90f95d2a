//! The gateway's and pi's estimate: four chars a token, rounded up per message (compaction 1.1).

use crate::js::JsException;
use crate::store::entry::{MessageSize, Role};

/// Chars that count as one token.
pub const CHARS_PER_TOKEN: f64 = 4.0;

/// Tokens of one message as pi estimates them: a whole number, NaN for odd input, or an exception.
pub fn estimate_message(size: &MessageSize) -> Result<f64, JsException> {
    Ok((size.pi_chars.value()? / CHARS_PER_TOKEN).ceil())
}

/// Tokens for people: what cannot be estimated counts 0. So do system messages: what they come to is counted before all
/// messages, as system prompt and tools ([`system_report`](crate::context::system_report)).
pub fn estimate_or_zero(size: &MessageSize) -> u64 {
    if size.role == Role::System { 0 } else { estimate_chars(size.pi_chars.whole_chars()) }
}

/// Tokens of a number of chars, rounded up (compaction 11.3).
pub fn estimate_chars(chars: u64) -> u64 {
    chars.div_ceil(4)
}
