//! The settings in environment variables.

use super::{Config, ConfigError, NamedChoice};
use crate::gateway::env::Environment;

const THEME: &str = "CLAWSCOPE_THEME";
const RULESET: &str = "CLAWSCOPE_RULESET";
const MOUSE: &str = "CLAWSCOPE_MOUSE";
const MOTION: &str = "CLAWSCOPE_MOTION";
const ASCII: &str = "CLAWSCOPE_ASCII";

/// Overrides the settings with the variables that are set.
pub(super) fn apply_variables(config: &mut Config, env: &Environment) -> Result<(), ConfigError> {
    if let Some(name) = env.get(THEME) {
        config.theme = Some(NamedChoice { name: name.to_owned(), origin: THEME.to_owned() });
    }
    if let Some(name) = env.get(RULESET) {
        config.ruleset = Some(NamedChoice { name: name.to_owned(), origin: RULESET.to_owned() });
    }
    config.mouse = read_bool(MOUSE, env)?.unwrap_or(config.mouse);
    config.motion = read_bool(MOTION, env)?.unwrap_or(config.motion);
    config.ascii = read_bool(ASCII, env)?.or(config.ascii);
    Ok(())
}

/// Parses yes or no; `None` if the variable is not set.
fn read_bool(name: &'static str, env: &Environment) -> Result<Option<bool>, ConfigError> {
    let Some(value) = env.get(name) else { return Ok(None) };
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(Some(true)),
        "0" | "false" | "no" | "off" => Ok(Some(false)),
        _ => Err(ConfigError::NotBoolean { name, value: value.to_owned() }),
    }
}
