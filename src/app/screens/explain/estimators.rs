//! The block of the estimators. Estimates read every message, so they start when the block opens, and stop when it or
//! the screen closes.

use std::sync::Arc;

use crate::app::effect_error::EffectError;
use crate::format::{format_deviation, format_signed_percent, format_size, quantity};
use crate::report::estimators::{Estimates, Estimator, MeasuredCall, description};
use crate::session::LoadedSession;
use crate::units::Bytes;

/// The most counted calls on the page: the newest ones.
const MAX_CALLS: usize = 100;

#[derive(Debug, Clone, Default)]
pub struct EstimatorsBlock {
    pub is_open: bool,
    pub state: EstimatesState,
    /// The basis of the numbers, in sentences.
    pub notes: Vec<String>,
}

/// Progress of the estimates.
#[derive(Debug, Clone)]
pub enum EstimatesState {
    /// Messages are being read: bytes read, and bytes in total (0 while unknown).
    Reading(Bytes, Bytes),
    Done(Arc<Estimates>),
    /// The reason that the estimates failed, and the remedy.
    Failed(String),
}

impl Default for EstimatesState {
    fn default() -> Self {
        Self::Reading(Bytes::ZERO, Bytes::ZERO)
    }
}

impl EstimatorsBlock {
    pub fn estimates(&self) -> Option<&Estimates> {
        match &self.state {
            EstimatesState::Done(estimates) => Some(estimates),
            _ => None,
        }
    }

    /// Whether messages are to be read.
    pub fn is_reading(&self) -> bool {
        self.is_open && matches!(self.state, EstimatesState::Reading(..))
    }

    /// The estimates on the page; `None` while the block is folded.
    pub fn shown(&self) -> Option<&Estimates> {
        self.estimates().filter(|_| self.is_open)
    }

    /// The counted calls on the page.
    pub fn calls(&self) -> &[MeasuredCall] {
        let calls = self.shown().map_or(&[][..], |estimates| &estimates.calls);
        &calls[calls.len().saturating_sub(MAX_CALLS)..]
    }

    /// Says how far chars/4 is off, or how far the reading is.
    pub(super) fn headline(&self) -> String {
        match &self.state {
            EstimatesState::Done(estimates) => description::headline(estimates),
            EstimatesState::Failed(error) => error.clone(),
            EstimatesState::Reading(..) if !self.is_open => {
                "compare every estimator with the provider's counts (reads every message)".to_owned()
            }
            EstimatesState::Reading(done, total) if *total > Bytes::ZERO => {
                format!("reading every message: {} of {}", format_size(*done), format_size(*total))
            }
            EstimatesState::Reading(..) => "reading every message…".to_owned(),
        }
    }

    /// Takes the estimates, or why they failed.
    pub(super) fn set_estimates(&mut self, estimates: Result<Arc<Estimates>, EffectError>) {
        self.state = match estimates {
            Ok(estimates) => {
                self.notes = notes(&estimates);
                EstimatesState::Done(estimates)
            }
            Err(error) => EstimatesState::Failed(error.to_string()),
        };
    }

    pub(super) fn estimator_text(&self, estimator: Estimator) -> String {
        let Some(estimates) = self.estimates() else { return String::new() };
        let next = estimates.describe_next(estimator).unwrap_or_default();
        let mean = estimates
            .deviation(estimator)
            .map(|it| format!(", {} off on average", format_deviation(it.mean)));
        format!("{}: next prompt {next}{}", estimator.name(), mean.unwrap_or_default())
    }

    /// Returns a counted call as one line of text.
    pub(super) fn call_text(call: &MeasuredCall, session: Option<&LoadedSession>) -> String {
        let name = session.map(|session| session.index.display_id(call.entry)).unwrap_or_default();
        let numbers = Estimator::ALL.into_iter().filter_map(|estimator| {
            let (number, error) = (call.estimates.get(estimator)?, call.error(estimator)?);
            Some(format!("{} ~{number} ({})", estimator.name(), format_signed_percent(error)))
        });
        let numbers = numbers.collect::<Vec<_>>().join(", ");
        format!("{name}: counted {}; {numbers}", call.measured)
    }

    /// Returns the number of calls on the page, of all.
    pub fn calls_title(&self) -> Option<String> {
        let (all, shown) = (self.shown()?.calls.len() as u64, self.calls().len() as u64);
        let all_words = quantity(all, "counted call");
        Some(if shown < all { format!("the newest {shown} of {all_words}") } else { all_words })
    }
}

fn notes(estimates: &Estimates) -> Vec<String> {
    let notes = [description::describe_fixed(estimates), description::describe_factors(estimates)];
    notes.into_iter().chain(description::describe_confidence(estimates)).collect()
}
