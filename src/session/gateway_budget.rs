//! The gateway's own view of the last prompt, which it stores in the session's record: its estimate, its budget and the
//! route it took (overflow-texts 1.2).

use crate::format::format_number;
use crate::gateway::ruleset::Rules;
use crate::js::Value;
use crate::policy::preflight::Route;
use crate::session::TokenCount;
use crate::store::session_records::SessionRecord;
use crate::units::{Millis, Moment, Tokens};

/// A refusal belongs to the estimate if no more time lies between them.
const SAME_PROMPT_MS: Millis = Millis(120_000.0);

/// `contextBudgetStatus` of the record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GatewayBudget {
    /// NaN if unknown.
    pub updated_at: Moment,
    /// The route, if clawscope knows its name.
    pub route: Option<Route>,
    /// The gateway's estimate of the prompt.
    pub estimate: Tokens,
    /// Tokens that the estimate may have: the window minus the reserve.
    pub budget: Tokens,
    /// The window that the gateway used.
    pub window: Option<Tokens>,
}

impl GatewayBudget {
    /// Reads the record; `None` without an estimate and a budget.
    pub fn from_record(record: &SessionRecord) -> Option<Self> {
        let status = record.member("contextBudgetStatus")?;
        let number =
            |key: &str| status.get(key).and_then(Value::as_f64).filter(|n| n.is_finite() && *n > 0.0);
        let budget = number("promptBudgetBeforeReserve").map(Tokens);
        let window = number("contextTokenBudget").map(Tokens);
        let reserve = number("effectiveReserveTokens").or(number("reserveTokens")).map(Tokens);
        let route = status.get("route").and_then(Value::as_str);
        Some(Self {
            updated_at: Moment(number("updatedAt").unwrap_or(f64::NAN)),
            route: route.and_then(|route| Route::named(&route.to_string_lossy())),
            estimate: Tokens(number("estimatedPromptTokens")?),
            budget: budget.or_else(|| Some(window? - reserve?))?,
            window,
        })
    }

    /// Returns the tokens above the budget; 0 if the estimate fits.
    pub fn excess(&self) -> Tokens {
        (self.estimate - self.budget).max(Tokens::ZERO)
    }

    /// Describes the estimate against the budget, beside the tokens of the next prompt, under a version's rules.
    pub fn description(&self, next: Option<TokenCount>, rules: &Rules) -> String {
        let number = |tokens: Tokens| format_number(tokens.whole());
        let relation = match self.excess() {
            excess if excess > Tokens::ZERO => format!("over by {}", number(excess)),
            _ => "fits".to_owned(),
        };
        let route = self
            .route
            .map(|route| format!("; {}", route.description(rules.sends_above_budget())))
            .unwrap_or_default();
        let compared = next.filter(|next| next.tokens > 0).map(|next| {
            let ratio = self.estimate.get() / next.tokens as f64;
            format!("; {ratio:.2}x the {} tokens counted here", format_number(next.tokens))
        });
        format!(
            "{} of a budget of {}, {relation}{route}{}",
            number(self.estimate),
            number(self.budget),
            compared.unwrap_or_default()
        )
    }

    /// Whether it is the estimate of a prompt that was refused at this time.
    pub fn is_of(&self, refused_at: Moment) -> bool {
        let apart = self.updated_at - refused_at;
        self.excess() > Tokens::ZERO && apart <= SAME_PROMPT_MS && Millis(-apart.get()) <= SAME_PROMPT_MS
    }
}
