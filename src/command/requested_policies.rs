//! The policies that the options of a command switch on.

use super::failure::Failure;
use crate::gateway::provenance::Provenance;
use crate::policy::{Policy, PolicySet};
use crate::session::LoadedSession;
use crate::session::setting_change::SettingChange;

/// Resolves `--policy`. Without it, pruning is on, and every policy with a changed setting.
pub(super) fn requested_policies(
    policy: &[String],
    changes: &[SettingChange],
    session: &LoadedSession,
) -> Result<PolicySet, Failure> {
    let changed = changes.iter().filter_map(|change| Some((change.policy()?, change)));
    if policy.is_empty() {
        return Ok(changed
            .fold(PolicySet::of(&[Policy::Prune]), |policies, (policy, _)| policies.with(policy, true)));
    }
    let requested = policy.iter().fold(PolicySet::NONE, |policies, word| match word.as_str() {
        "all" => {
            let all = Policy::visible_for(session.ruleset.id.rules());
            all.into_iter().fold(policies, |policies, policy| policies.with(policy, true))
        }
        "gateway" => {
            session.gateway_policies().iter().fold(policies, |policies, policy| policies.with(policy, true))
        }
        word => Policy::from_word(word).map_or(policies, |policy| policies.with(policy, true)),
    });
    for (policy, change) in changed.filter(|(policy, _)| !requested.has(*policy)) {
        // A settings file may hold settings of policies that are off; a `--set` for one is a mistake.
        if change.origin == Provenance::Flag {
            let (key, policy) = (change.key(), policy.word());
            return Err(Failure::usage(format!(
                "--set {key}: belongs to the policy `{policy}`, which --policy leaves out. Add {policy} to --policy."
            )));
        }
    }
    Ok(requested)
}

/// Resolves `--policy` for a replay. Without it, the gateway's policies are on, and every policy with a changed
/// setting.
pub(super) fn replay_policies(
    policy: &[String],
    changes: &[SettingChange],
    session: &LoadedSession,
) -> Result<PolicySet, Failure> {
    if !policy.is_empty() {
        return requested_policies(policy, changes, session);
    }
    Ok(crate::session::simulated_settings::default_replay_policies(session, changes))
}
