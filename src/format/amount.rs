//! Parses tokens, or a share of the window, as a person writes them: `150000`, `150k`, `80%`.

use crate::units::Tokens;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    Tokens(Tokens),
    /// A share of the window, from 0 to 1.
    Share(f64),
}

impl Amount {
    /// The expected forms, for an error message.
    pub const EXPECTED: &str = "tokens such as 150000 or 150k, or a share of the window such as 90%";

    /// Returns `None` if the text is not a positive number or share.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let positive = |number: &str| number.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
        match text.strip_suffix('%') {
            Some(share) => positive(share).map(|share| Self::Share(share / 100.0)),
            None => match text.strip_suffix(['k', 'K']) {
                Some(thousands) => {
                    positive(thousands).map(|thousands| Self::Tokens(Tokens(thousands * 1000.0)))
                }
                None => positive(text).map(|tokens| Self::Tokens(Tokens(tokens))),
            },
        }
    }

    /// Returns the tokens; `None` for a share of an unknown window.
    pub fn tokens(self, window: Tokens) -> Option<Tokens> {
        match self {
            Self::Tokens(tokens) => Some(tokens),
            Self::Share(share) => (window > Tokens::ZERO).then(|| (window * share).floor()),
        }
    }

    /// Formats the amount as a person would write it.
    pub fn text(self) -> String {
        match self {
            Self::Tokens(tokens) => crate::js::number_text(tokens.get()),
            Self::Share(share) => format!("{}%", crate::js::number_text((share * 1e6).round() / 1e4)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_tokens_or_a_share_of_the_window() {
        let tokens = |text: &str, window: f64| {
            Amount::parse(text).and_then(|amount| amount.tokens(Tokens(window))).map(Tokens::get)
        };
        assert_eq!(tokens(" 150000 ", f64::NAN), Some(150_000.0));
        assert_eq!(tokens("150k", f64::NAN), Some(150_000.0));
        assert_eq!(tokens("12.5%", 200_001.0), Some(25_000.0));
        assert_eq!(tokens("90%", f64::NAN), None);
        for odd in ["", "%", "k", "-1", "0", "NaN", "inf", "90 percent"] {
            assert_eq!(Amount::parse(odd), None, "{odd}");
        }
        for text in ["150000", "12.5%", "7%"] {
            assert_eq!(Amount::parse(text).map(Amount::text).as_deref(), Some(text));
        }
    }
}
