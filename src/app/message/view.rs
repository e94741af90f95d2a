//! The view of a message and the space for it.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MessageView {
    /// The parts of the message.
    #[default]
    Text,
    /// Before and after the plan, side by side when there is room.
    Diff,
    /// The entry's JSON as stored in the file.
    Raw,
}

/// The space for the message: columns inside the edges of the pane, rows below its title line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageArea {
    pub columns: usize,
    pub rows: usize,
    /// Whether it takes the whole screen.
    pub zoom: bool,
}
