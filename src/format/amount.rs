//! Parses tokens, or a share of the window, as a person writes them: `150000`, `150,000`, `150k`, `1.5M`, `80%`.

use crate::units::Tokens;

/// Parses a number with `k` or `M` after it, and commas or underscores between its digits: `150000`, `150,000`,
/// `150_000`, `150k`, `1.5M`.
pub fn parse_count(text: &str) -> Option<f64> {
    let text = text.trim();
    let (digits, scale) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (&text[..at], 1e3),
        (at, 'm' | 'M') => (&text[..at], 1e6),
        _ => (text, 1.0),
    };
    let whole = digits.split('.').next().unwrap_or_default();
    let mut groups = whole.split(',').skip(1);
    // A comma before other than three digits may be a decimal point.
    if !groups.all(|group| group.len() == 3) || digits.starts_with([',', '_']) {
        return None;
    }
    let number: f64 = digits.replace([',', '_'], "").trim().parse().ok()?;
    Some(number * scale).filter(|number| number.is_finite())
}

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
        let (number, is_share) = text.strip_suffix('%').map_or((text, false), |share| (share, true));
        let number = if is_share { number.trim().parse().ok() } else { parse_count(number) };
        let positive = number.filter(|number| number.is_finite() && *number > 0.0)?;
        Some(if is_share { Self::Share(positive / 100.0) } else { Self::Tokens(Tokens(positive)) })
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
        for (text, count) in
            [("150,000", 150e3), ("150_000", 150e3), ("1.5M", 1.5e6), ("1,500k", 1.5e6), ("2m", 2e6)]
        {
            assert_eq!(tokens(text, f64::NAN), Some(count), "{text}");
        }
        assert_eq!(tokens("12.5%", 200_001.0), Some(25_000.0));
        assert_eq!(tokens("90%", f64::NAN), None);
        for odd in ["", "%", "k", "-1", "0", "NaN", "inf", "90 percent", "1,5", ",100", "infk"] {
            assert_eq!(Amount::parse(odd), None, "{odd}");
        }
        for text in ["150000", "12.5%", "7%"] {
            assert_eq!(Amount::parse(text).map(Amount::text).as_deref(), Some(text));
        }
    }
}
