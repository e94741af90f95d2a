//! When auto-compaction fires (compaction 2.7).

/// Settings of the trigger.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trigger {
    /// Whether compaction is on at all.
    pub enabled: bool,
    /// Tokens held back from the window.
    pub reserve_tokens: f64,
}

impl Default for Trigger {
    /// pi's own defaults (compaction 2.1).
    fn default() -> Self {
        Self { enabled: true, reserve_tokens: 16_384.0 }
    }
}

impl Trigger {
    /// Tokens above which a compaction starts; negative where the reserve exceeds the window (compaction 2.3).
    pub fn threshold(&self, window_tokens: f64) -> f64 {
        window_tokens - self.reserve_tokens
    }

    /// Whether a context of this size compacts: strictly above the threshold; NaN never does.
    pub fn fires(&self, context_tokens: f64, window_tokens: f64) -> bool {
        self.enabled && context_tokens > self.threshold(window_tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_itself_does_not_fire_and_one_more_does() {
        let trigger = Trigger { enabled: true, reserve_tokens: 20_000.0 };
        assert!(!trigger.fires(180_000.0, 200_000.0));
        assert!(trigger.fires(180_001.0, 200_000.0));
        assert!(!trigger.fires(f64::NAN, 200_000.0));
    }

    #[test]
    fn an_unknown_window_of_zero_fires_at_once() {
        assert!(Trigger::default().fires(0.0, 0.0));
    }
}
