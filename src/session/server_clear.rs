//! The server-side clearing of tool uses that a gateway requests of the provider (pruning 7.10 to 7.12).

use std::collections::BTreeSet;

use crate::js::{JsString, Value};
use crate::policy::clear_tool_uses::ClearSettings;
use crate::policy::clear_tool_uses::server::{ServerClearRequest, ServerFacts, server_state};
use crate::session::LoadedSession;

/// Returns the settings that the gateway requests, or `None` if it requests no clearing. The known tools are those with
/// results in the session: a transcript does not list the tools of the next call.
pub(super) fn server_clear_settings(session: &LoadedSession, config: &Value) -> Option<ClearSettings> {
    let LoadedSession { provider, route, configured_settings: configured, .. } = session;
    let facts = ServerFacts::from_config(config, session.pruning_configured, provider, route);
    let asks = session.ruleset.id.rules().server_clearing && server_state(&facts).is_on();
    let known = known_tools(session);
    asks.then(|| {
        let clearing = ServerClearRequest::new(session.window.tokens, Some(&configured.prune.tools), &known);
        clearing.settings(session.fixed_tokens())
    })
}

fn known_tools(session: &LoadedSession) -> BTreeSet<JsString> {
    let words = session.context.messages.iter().map(|message| message.size.tool_name);
    words
        .filter_map(|word| session.index.values.value(word)?.as_str().cloned())
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::js;
    use crate::policy::clear_tool_uses::ClearedBy;
    use crate::policy::prune::Gate;
    use crate::policy::{Policy, PolicySet, PolicySettings, Reason};
    use crate::session::testing::{call, loaded_session, result, transcript, user};
    use crate::units::Tokens;

    fn session(chars: usize, ruleset: Ruleset) -> LoadedSession {
        let long = "x".repeat(chars);
        let uses = (0..5).flat_map(|at| {
            let id = format!("c{at}");
            [call(&id, "exec", "{}"), result(&id, "exec", &long, "")]
        });
        let lines: Vec<String> = std::iter::once(user("go")).chain(uses).collect();
        let mut session = loaded_session(&transcript(&lines), 200_000.0);
        session.ruleset.id = ruleset;
        session
    }

    #[test]
    fn only_the_newest_gateway_clears_at_anthropic_and_only_with_an_api_key() {
        let asks = |ruleset, config: &str, provider: &str| {
            let session = LoadedSession { provider: provider.into(), ..session(1, ruleset) };
            server_clear_settings(&session, &js::parse(config).unwrap()).map(|settings| settings.trigger)
        };
        let profile = |mode: &str| {
            format!(r#"{{"auth":{{"profiles":{{"a":{{"provider":"anthropic","mode":"{mode}"}}}}}}}}"#)
        };
        assert_eq!(asks(Ruleset::V2026_9_6, "{}", "anthropic"), Some(60_000.0));
        assert_eq!(asks(Ruleset::V2026_9_6, &profile("api_key"), "anthropic"), Some(60_000.0));
        assert_eq!(asks(Ruleset::V2026_9_6, &profile("oauth"), "anthropic"), None);
        assert_eq!(asks(Ruleset::V2026_9_6, "{}", "openrouter"), None);
        assert_eq!(asks(Ruleset::V2026_3_2, "{}", "anthropic"), None);
    }

    /// Returns the reasons of the five results.
    fn reasons(chars: usize) -> Vec<Reason> {
        let session = session(chars, Ruleset::V2026_9_6).load_details().expect("reads");
        let clear = server_clear_settings(&session, &Value::Null).expect("asks");
        assert_eq!(clear.cleared_by, ClearedBy::Server { prompt_tokens: 0 });
        let policies = PolicySet::of(&[Policy::Clear]);
        let settings = PolicySettings {
            enabled: policies,
            clear,
            ..PolicySettings::built_in(Ruleset::V2026_9_6, Tokens(200_000.0))
        };
        let plan = session.plan(&settings, Gate::Off).expect("plans");
        [2, 4, 6, 8, 10].map(|at: usize| plan.fates()[at].reason).to_vec()
    }

    #[test]
    fn the_server_clears_all_uses_but_the_last_three_above_the_trigger() {
        use Reason::{BelowTrigger, ClearedUse, KeptUse};
        assert_eq!(reasons(40_000), [BelowTrigger; 5]);
        assert_eq!(reasons(60_000), [ClearedUse, ClearedUse, KeptUse, KeptUse, KeptUse]);
    }

    #[test]
    fn no_use_is_cleared_if_it_frees_too_little() {
        let long = "x".repeat(100_000);
        let mut lines = vec![user("go")];
        for (at, text) in ["short", &long, &long, &long].into_iter().enumerate() {
            let id = format!("c{at}");
            lines.extend([call(&id, "exec", "{}"), result(&id, "exec", text, "")]);
        }
        let mut session = loaded_session(&transcript(&lines), 200_000.0);
        session.ruleset.id = Ruleset::V2026_9_6;
        let session = session.load_details().expect("reads");
        let clear = server_clear_settings(&session, &Value::Null).expect("asks");
        let settings =
            PolicySettings { enabled: PolicySet::of(&[Policy::Clear]), clear, ..PolicySettings::default() };
        let plan = session.plan(&settings, Gate::Off).expect("plans");
        assert_eq!((plan.fates()[2].reason, plan.is_empty()), (Reason::TooLittleToClear, true));
    }
}
