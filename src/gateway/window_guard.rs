//! What the gateway thinks of a window before it runs a model on it: it warns in its log, or refuses the model
//! (compaction 7.2).

use crate::gateway::window::{WindowInfo, WindowSource};
use crate::js::number_text;

/// The gateway warns below this many tokens (compaction 7.2).
pub const WARN_BELOW: f64 = 32_000.0;
/// The gateway refuses a model below this many tokens (compaction 7.2).
pub const BLOCK_BELOW: f64 = 16_000.0;

/// A window as the gateway judges it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowGuard {
    /// The window, never below 0.
    pub tokens: f64,
    /// What settled it.
    pub source: WindowSource,
    /// Small: a line in the gateway's log.
    pub should_warn: bool,
    /// Too small: the run fails.
    pub should_block: bool,
}

/// Judges a window. The limits are [`WARN_BELOW`] and [`BLOCK_BELOW`] unless given; each counts as at least 1.
pub fn guard_window(info: WindowInfo, warn_below: Option<f64>, block_below: Option<f64>) -> WindowGuard {
    let limit = |given: Option<f64>, default: f64| given.unwrap_or(default).floor().max(1.0);
    let tokens = info.tokens.floor().max(0.0);
    let below = |limit: f64| tokens > 0.0 && tokens < limit;
    WindowGuard {
        tokens,
        source: info.source,
        should_warn: below(limit(warn_below, WARN_BELOW)),
        should_block: below(limit(block_below, BLOCK_BELOW)),
    }
}

impl WindowGuard {
    /// What the gateway's log says of this window, the refusal before the warning; nothing of one large enough.
    pub fn log_line(&self, provider: &str, model: &str) -> Option<String> {
        let (tokens, source) = (number_text(self.tokens), self.source.name());
        if self.should_block {
            return Some(format!(
                "blocked model (context window too small): {provider}/{model} ctx={tokens} (min=16000) source={source}"
            ));
        }
        let warning =
            format!("low context window: {provider}/{model} ctx={tokens} (warn<32000) source={source}");
        self.should_warn.then_some(warning)
    }

    /// The error of a run that is refused.
    pub fn error(&self) -> Option<String> {
        let tokens = number_text(self.tokens);
        let error = format!("Model context window too small ({tokens} tokens). Minimum is 16000.");
        self.should_block.then_some(error)
    }

    /// A word for the window: `too small`, `small`, or nothing.
    pub fn label(&self) -> Option<&'static str> {
        match (self.should_block, self.should_warn) {
            (true, _) => Some("too small"),
            (false, true) => Some("small"),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(tokens: f64) -> WindowGuard {
        guard_window(WindowInfo { tokens, source: WindowSource::Model, model_tokens: tokens }, None, None)
    }

    #[test]
    fn the_guard_warns_below_32000_and_blocks_below_16000() {
        let judge = |tokens| {
            let guard = judged(tokens);
            (guard.tokens, guard.should_warn, guard.should_block, guard.label())
        };
        assert_eq!(judge(32_000.0), (32_000.0, false, false, None));
        assert_eq!(judge(31_999.0), (31_999.0, true, false, Some("small")));
        assert_eq!(judge(16_000.0), (16_000.0, true, false, Some("small")));
        assert_eq!(judge(15_999.0), (15_999.0, true, true, Some("too small")));
        assert_eq!(judge(-1.0), (0.0, false, false, None));
    }

    #[test]
    fn limits_count_as_at_least_one() {
        let info = WindowInfo { tokens: 1.0, source: WindowSource::Model, model_tokens: 1.0 };
        let guard = guard_window(info, Some(0.0), Some(-5.0));
        assert!(!guard.should_warn && !guard.should_block);
    }

    #[test]
    fn the_gateways_own_words_are_given() {
        assert_eq!(
            judged(20_000.0).log_line("p", "m").as_deref(),
            Some("low context window: p/m ctx=20000 (warn<32000) source=model")
        );
        let small = judged(8000.0);
        assert_eq!(
            small.log_line("p", "m").as_deref(),
            Some("blocked model (context window too small): p/m ctx=8000 (min=16000) source=model")
        );
        let error = "Model context window too small (8000 tokens). Minimum is 16000.";
        assert_eq!(small.error().as_deref(), Some(error));
        assert_eq!((judged(32_000.0).log_line("p", "m"), judged(16_000.0).error()), (None, None));
    }
}
