//! The built-in limits of one tool result. The settings and every version of the cut use them, so this file knows
//! neither (pruning 6.1, 6.2, 8.3).

use crate::units::{Chars, Tokens};

/// Share of the window that one tool result may take (pruning 6.1).
pub const WINDOW_SHARE: f64 = 0.3;
/// Chars that one tool result may have under any window (pruning 6.1).
pub const HARD_MAX_CHARS: Chars = Chars(400_000.0);
/// Chars that every cut text keeps at least (pruning 6.1).
pub const MIN_KEEP_CHARS: Chars = Chars(2000.0);
/// Chars per token of the limit (pruning 6.2).
pub(in crate::policy) const CHARS_PER_TOKEN: f64 = 4.0;
/// Limit of one result, in chars, if the window is unknown.
pub const UNKNOWN_WINDOW_CHARS: Chars = Chars(16_000.0);

/// Returns the largest limit of one result in chars, for a window in tokens.
pub fn result_chars_cap(tokens: Tokens) -> Chars {
    match tokens.get() {
        tokens if tokens.is_nan() => UNKNOWN_WINDOW_CHARS,
        ..100_000.0 => Chars(16_000.0),
        ..200_000.0 => Chars(32_000.0),
        _ => Chars(64_000.0),
    }
}
