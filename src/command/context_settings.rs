//! `clawscope context SESSION --set KEY=VALUE`: the next call under other settings, as the gateway would send it now.

use super::environment::Workspace;
use super::failure::Failure;
use super::output::Output;
use super::preview::{Preview, preview_session};
use crate::cli::{PlanArgs, ReplaySettingsArgs};
use crate::policy::Policy;
use crate::session::LoadedSession;
use crate::session::setting_change::{SettingChange, read_changes};

/// Whether an option changes a setting.
pub(super) fn has_changes(args: &ReplaySettingsArgs) -> bool {
    !args.set.is_empty() || args.settings.is_some() || args.window.is_some() || !args.policy.is_empty()
}

/// Builds the plan of the next call under the settings. It respects the gates, because it predicts the gateway's next
/// prompt, not the potential of a policy.
pub(super) fn plan_next_call(
    workspace: Workspace,
    session: LoadedSession,
    leaf: Option<&str>,
    args: &ReplaySettingsArgs,
    output: &mut Output,
) -> Result<Preview, Failure> {
    let plan = PlanArgs {
        policy: if args.policy.is_empty() { default_policies(args)? } else { args.policy.clone() },
        set: args.set.clone(),
        settings: args.settings.clone(),
        window: args.window,
        now: None,
        gates: true,
    };
    let mut preview = preview_session(workspace, session, leaf, &plan, output)?;
    if let Some(window) = preview.simulated.assumed.runtime_window {
        preview.session.limits.runtime_window = window;
    }
    Ok(preview)
}

/// Returns the gateway's policies and those whose settings change, as `--policy` names them.
fn default_policies(args: &ReplaySettingsArgs) -> Result<Vec<String>, Failure> {
    let changes = read_changes(args.settings.as_deref(), &args.set)?;
    let changed = changes.iter().filter_map(SettingChange::policy).map(Policy::word);
    Ok(std::iter::once("gateway").chain(changed).map(str::to_owned).collect())
}
