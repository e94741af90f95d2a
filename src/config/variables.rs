//! The settings that the environment says.

use super::{Config, ConfigError, Named};
use crate::gateway::env::Environment;

const THEME: &str = "CLAWSCOPE_THEME";
const RULESET: &str = "CLAWSCOPE_RULESET";
const MOUSE: &str = "CLAWSCOPE_MOUSE";
const MOTION: &str = "CLAWSCOPE_MOTION";
const ASCII: &str = "CLAWSCOPE_ASCII";

/// Puts what the variables say over what is there.
pub(super) fn lay_over(config: &mut Config, env: &Environment) -> Result<(), ConfigError> {
    if let Some(name) = env.get(THEME) {
        config.theme = Some(Named { name: name.to_owned(), origin: THEME.to_owned() });
    }
    if let Some(name) = env.get(RULESET) {
        config.ruleset = Some(Named { name: name.to_owned(), origin: RULESET.to_owned() });
    }
    config.mouse = switch(MOUSE, env)?.unwrap_or(config.mouse);
    config.motion = switch(MOTION, env)?.unwrap_or(config.motion);
    config.ascii = switch(ASCII, env)?.or(config.ascii);
    Ok(())
}

/// A yes or a no; none where the variable is not set.
fn switch(name: &'static str, env: &Environment) -> Result<Option<bool>, ConfigError> {
    let Some(value) = env.get(name) else { return Ok(None) };
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(Some(true)),
        "0" | "false" | "no" | "off" => Ok(Some(false)),
        _ => Err(ConfigError::Switch { name, value: value.to_owned() }),
    }
}
