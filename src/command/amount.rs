//! Tokens, or a share of the window: `150000`, `80%`.

use super::failure::Failure;

/// An amount as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Amount {
    /// Tokens.
    Tokens(f64),
    /// A share of the window, 1 being all of it.
    Share(f64),
}

impl Amount {
    /// Reads the value of an option.
    pub(super) fn parse(option: &str, text: &str) -> Result<Self, Failure> {
        let text = text.trim();
        let positive = |number: &str| number.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
        let parsed = match text.strip_suffix('%') {
            Some(share) => positive(share).map(|share| Self::Share(share / 100.0)),
            None => positive(text).map(Self::Tokens),
        };
        parsed.ok_or_else(|| {
            Failure::usage(format!(
                "{option} {text:?}: expected tokens such as 150000, or a share of the window such as 90%"
            ))
        })
    }

    /// In tokens of a window.
    pub(super) fn tokens(self, option: &str, window: f64) -> Result<f64, Failure> {
        match self {
            Self::Tokens(tokens) => Ok(tokens),
            Self::Share(share) if window > 0.0 => Ok((share * window).floor()),
            Self::Share(_) => Err(Failure::usage(format!(
                "{option}: nothing tells the window of the model, so there is no share of it. Give tokens instead."
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_tokens_or_a_share_of_the_window() {
        let parse = |text: &str| Amount::parse("--budget", text);
        let tokens = |text: &str, window: f64| parse(text).unwrap().tokens("--budget", window);
        assert_eq!(tokens(" 150000 ", f64::NAN).unwrap(), 150_000.0);
        assert_eq!(tokens("12.5%", 200_001.0).unwrap(), 25_000.0);
        assert!(tokens("90%", f64::NAN).is_err());
        for odd in ["", "%", "-1", "0", "NaN", "inf", "90 percent"] {
            assert!(parse(odd).is_err(), "{odd}");
        }
    }
}
