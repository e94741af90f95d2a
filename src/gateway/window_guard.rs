//! The gateway's check of a window before it runs a model: it logs a warning, or refuses the model (compaction 7.2).

use crate::gateway::window::{WindowInfo, WindowSource};
use crate::js::number_text;
use crate::units::Tokens;

/// Tokens below which the gateway warns (compaction 7.2).
pub const WARN_BELOW: f64 = 32_000.0;
/// Tokens below which the gateway refuses a model (compaction 7.2).
pub const BLOCK_BELOW: f64 = 16_000.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowGuard {
    /// The window in tokens, at least 0.
    pub tokens: Tokens,
    pub source: WindowSource,
    /// Whether the gateway logs a warning.
    pub should_warn: bool,
    /// Whether the run fails.
    pub should_block: bool,
}

/// Judges a window. The limits default to [`WARN_BELOW`] and [`BLOCK_BELOW`]; each counts as at least 1. An unknown
/// window of 0 passes.
pub fn guard_window(info: WindowInfo, warn_below: Option<f64>, block_below: Option<f64>) -> WindowGuard {
    let limit = |given: Option<f64>, default: f64| given.unwrap_or(default).floor().max(1.0);
    let tokens = info.tokens.floor().max(Tokens::ZERO);
    let below = |limit: f64| tokens > Tokens::ZERO && tokens < Tokens(limit);
    WindowGuard {
        tokens,
        source: info.source,
        should_warn: below(limit(warn_below, WARN_BELOW)),
        should_block: below(limit(block_below, BLOCK_BELOW)),
    }
}

impl WindowGuard {
    /// Returns the gateway's log line, the refusal if both apply; `None` for a window that is large enough.
    pub fn log_line(&self, provider: &str, model: &str) -> Option<String> {
        let (tokens, source) = (number_text(self.tokens.get()), self.source.name());
        if self.should_block {
            return Some(format!(
                "blocked model (context window too small): {provider}/{model} ctx={tokens} (min=16000) source={source}"
            ));
        }
        let warning =
            format!("low context window: {provider}/{model} ctx={tokens} (warn<32000) source={source}");
        self.should_warn.then_some(warning)
    }

    pub fn error(&self) -> Option<String> {
        let tokens = number_text(self.tokens.get());
        let error = format!("Model context window too small ({tokens} tokens). Minimum is 16000.");
        self.should_block.then_some(error)
    }

    /// Describes the window: `too small`, `small`, or nothing.
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

    fn judged(tokens: Tokens) -> WindowGuard {
        guard_window(WindowInfo::of_model(tokens, WindowSource::Model), None, None)
    }

    #[test]
    fn the_guard_warns_below_32000_and_blocks_below_16000() {
        let judge = |tokens| {
            let guard = judged(tokens);
            (guard.tokens, guard.should_warn, guard.should_block, guard.label())
        };
        assert_eq!(judge(Tokens(32_000.0)), (Tokens(32_000.0), false, false, None));
        assert_eq!(judge(Tokens(31_999.0)), (Tokens(31_999.0), true, false, Some("small")));
        assert_eq!(judge(Tokens(16_000.0)), (Tokens(16_000.0), true, false, Some("small")));
        assert_eq!(judge(Tokens(15_999.0)), (Tokens(15_999.0), true, true, Some("too small")));
        assert_eq!(judge(Tokens(-1.0)), (Tokens::ZERO, false, false, None));
    }

    #[test]
    fn limits_count_as_at_least_one() {
        let info = WindowInfo::of_model(Tokens(1.0), WindowSource::Model);
        let guard = guard_window(info, Some(0.0), Some(-5.0));
        assert!(!guard.should_warn && !guard.should_block);
    }

    #[test]
    fn messages_use_the_gateways_wording() {
        assert_eq!(
            judged(Tokens(20_000.0)).log_line("p", "m").as_deref(),
            Some("low context window: p/m ctx=20000 (warn<32000) source=model")
        );
        let small = judged(Tokens(8000.0));
        assert_eq!(
            small.log_line("p", "m").as_deref(),
            Some("blocked model (context window too small): p/m ctx=8000 (min=16000) source=model")
        );
        let error = "Model context window too small (8000 tokens). Minimum is 16000.";
        assert_eq!(small.error().as_deref(), Some(error));
        assert_eq!(
            (judged(Tokens(32_000.0)).log_line("p", "m"), judged(Tokens(16_000.0)).error()),
            (None, None)
        );
    }
}
