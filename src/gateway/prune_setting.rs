//! The type of a setting: its control with range and unit.

/// The path of the settings object in the configuration.
pub const PRUNING_PATH: [&str; 3] = ["agents", "defaults", "contextPruning"];

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Control {
    Switch,
    /// A number in a range. The gateway may accept numbers outside it.
    Slider {
        min: f64,
        max: f64,
        step: f64,
        unit: Unit,
    },
    /// A list of tool names and patterns.
    List,
    Text,
    /// A built-in value: the version does not read the key.
    Fixed {
        unit: Option<Unit>,
        /// The reason, such as `built in since 2026.8.1`.
        why: &'static str,
    },
}

impl Control {
    /// Returns the reason for which the setting cannot change; `None` if it can.
    pub fn fixed_reason(self) -> Option<&'static str> {
        match self {
            Self::Fixed { why, .. } => Some(why),
            _ => None,
        }
    }

    /// Returns the unit of a number; `None` for other values.
    pub fn unit(self) -> Option<Unit> {
        match self {
            Self::Slider { unit, .. } => Some(unit),
            Self::Fixed { unit, .. } => unit,
            Self::Switch | Self::List | Self::Text => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Shown as a duration.
    Milliseconds,
    Messages,
    /// Share of the window, 0 to 1.
    Share,
    /// UTF-16 code units.
    Chars,
    Tokens,
    /// Turns of the person.
    Turns,
    Bytes,
}
