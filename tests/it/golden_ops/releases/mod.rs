//! The ops of the sets of single gateway releases (`tests/golden-releases/README.md`).

mod chat;
mod check;
mod list;
mod overflow;
mod prune;
mod tokens;
mod window;

use std::path::Path;

use clawscope::context::Context;
use clawscope::gateway::ruleset::{Rules, Ruleset, Version};
use clawscope::js::{JsException, Value};
use clawscope::plan::{Plan, PlanError, PlanInput, message_after};
use clawscope::policy::features::ContentFeatures;
use clawscope::policy::message_list::MessageList;
use clawscope::policy::preflight::FixedPressure;
use clawscope::policy::prune::Gate;
use clawscope::policy::repair::RepairRules;
use clawscope::policy::{Policy, PolicySet, PolicySettings};
use clawscope::units::Tokens;

use super::{Session, number, object, on_session};

/// The answer to a case of the set with this name; `None` where it is not a set of a release.
pub(crate) fn answer(set: &str, op: &str, case: &Value, root: &Path) -> Option<Result<Value, JsException>> {
    let ruleset = published(set.strip_prefix("openclaw-")?)?;
    let on = |answer: &dyn Fn(&Released) -> Result<Value, JsException>| {
        on_session(case, root).and_then(|session| answer(&Released::new(ruleset, session)))
    };
    Some(match op {
        "chat_preflight" => Ok(chat::answer(ruleset, case, root)),
        "guard" => on(&check::guard),
        "preflight" => on(&check::preflight),
        "reserve" => Ok(check::reserve(ruleset.rules(), case)),
        "truncate" => on(&|session| Ok(list::truncate(session))),
        "reduce" => on(&|session| Ok(list::reduced(session))),
        "history_images" => on(&list::images),
        "history_limit" => on(&|session| Ok(list::history(session))),
        "overflow_match" => overflow::answer(ruleset, case, root),
        "repair" => on(&|session| Ok(super::repair::answer(&session.session, session.repair_rules()))),
        "prune" => on(&|session| Ok(prune::answer(session))),
        "tokens" => on(&|session| Ok(tokens::answer(session))),
        "window" => Ok(window::answer(ruleset.rules(), case)),
        _ => return None,
    })
}

/// The ruleset that clawscope picks for a published release, such as `2026.2.6-3`.
fn published(release: &str) -> Option<Ruleset> {
    let ruleset = release.parse::<Version>().ok()?.ruleset();
    let number = release.strip_prefix("2026.")?;
    ruleset.releases().any(|(known, _)| known == number).then_some(ruleset)
}

/// A case's session as a release reads it.
pub(crate) struct Released {
    pub(crate) ruleset: Ruleset,
    pub(crate) session: Session,
    pub(crate) messages: Vec<Value>,
    pub(crate) features: Vec<ContentFeatures>,
}

impl Released {
    fn new(ruleset: Ruleset, session: Session) -> Self {
        let messages = session.messages();
        let features =
            messages.iter().map(|message| ContentFeatures::of_under(ruleset.rules(), message)).collect();
        Self { ruleset, session, messages, features }
    }

    fn rules(&self) -> &'static Rules {
        self.ruleset.rules()
    }

    /// Returns the repair before a prompt, for the API that the case's text for missing results belongs to.
    fn repair_rules(&self) -> RepairRules {
        let is_responses_api = self.session.setting("missingToolResultText").is_some();
        RepairRules { rules: self.rules(), is_responses_api }
    }

    fn context(&self) -> &Context {
        &self.session.context
    }

    /// Returns the context in the form of the policies.
    fn list(&self) -> MessageList<'_> {
        MessageList::from_context(self.context(), Some(&self.features))
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.session.setting(name).and_then(Value::as_f64)
    }

    /// The plan of one step for a window in tokens.
    fn plan(
        &self,
        step: Policy,
        settings: &PolicySettings,
        window: f64,
        gate: Gate,
    ) -> Result<Plan, PlanError> {
        let settings = PolicySettings { enabled: PolicySet::of(&[step]), ..settings.clone() };
        let requested = self.session.setting("dropThinking").and_then(Value::as_bool).unwrap_or(false);
        let drops = requested && self.rules().prune_size.signatures;
        Plan::new(&PlanInput {
            index: &self.session.index,
            context: self.context(),
            branch: None,
            features: Some(&self.features),
            remembered: None,
            settings: &settings,
            window: Tokens(window),
            guard_window: Tokens(window),
            gate,
            drops_thinking: drops,
            is_responses_api: false,
            fixed_pressure: FixedPressure::default(),
        })
    }

    /// Returns the messages after a plan, and the positions of those that differ.
    fn after(&self, plan: &Plan) -> (Vec<Value>, Value) {
        let new: Vec<Value> =
            self.messages.iter().enumerate().map(|(at, message)| message_after(message, at, plan)).collect();
        let changed = self.changed(&new);
        (new, changed)
    }

    /// Returns the positions of changed messages.
    fn changed(&self, new: &[Value]) -> Value {
        let pairs = self.messages.iter().zip(new).enumerate();
        let differs = pairs.filter(|(_, (old, new))| super::canonical(old) != super::canonical(new));
        Value::Array(differs.map(|(at, _)| number(at as f64)).collect())
    }
}
