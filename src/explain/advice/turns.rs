//! A limit of user turns: the highest under which the call fits.

use crate::explain::advice::{Advice, change};
use crate::explain::failure::Failure;
use crate::explain::simulate::limited;
use crate::js::Value;
use crate::store::entry::Role;

const KEY: &str = "historyLimit";

/// The largest limit that helps; where none does, the smallest, to show how little that is. None for sessions that have no
/// such setting (pruning 2.3).
pub(super) fn advice(failure: &Failure) -> Option<Advice> {
    let messages = &failure.then.context.messages;
    let asked = messages.iter().filter(|message| message.size.role == Role::User).count();
    let turns = if failure.ahead { asked } else { asked.saturating_sub(1) };
    let configured = failure.then.configured.history_limit;
    let most = if configured > 0.0 { turns.min(configured as usize) } else { turns };
    if most < 2 {
        return None;
    }
    // Fewer turns never make a longer prompt, so the limit is found by halving.
    let (mut low, mut high) = (1, most);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if failure.fits(limited(failure, middle as f64)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    let after = limited(failure, low as f64);
    let note = if failure.fits(after) {
        "older turns are not sent, and not summarised either"
    } else {
        "even one turn is too large"
    };
    let mut change = change(&failure.then, KEY, &Value::from(low as f64))?;
    if configured <= 0.0 {
        "off".clone_into(&mut change.was);
    }
    Some(Advice::new(failure, vec![change], after, note))
}
