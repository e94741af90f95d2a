//! Every action a person can take, by name. One table feeds the keymap, help, footer and palette, so that all four
//! agree; the kebab-case names are public, as users write them in their keymap.

/// A screen or window that a key opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScreenKind {
    Help,
    Palette,
    Problems,
    Breakdown,
    Explain,
    /// Lists the commits of the session and which are in force, and compares two branches.
    Branches,
    /// Shows the store's record of a session.
    Record,
    /// Searches every session.
    Search,
    /// Shows every call: recorded, and under the tuned settings.
    Timeline,
    Compare,
}

/// A user action. [`ACTIONS`] has its keymap name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Closes the screen on top; without one, quits.
    Close,
    /// Quits from any screen.
    Quit,
    /// Steps back once: closes the screen, clears the filter or leaves the pane; at the top level, quits.
    Back,
    /// Returns to the place before the last jump: to the screen, the row and the session.
    JumpBack,
    /// Undoes going back.
    JumpForward,
    /// Opens a screen, or closes it when it is on top.
    Show(ScreenKind),
    /// Shows the tuning pane at full height, with the effect of every policy, or ends that.
    ShowPolicies,
    /// Compares the presets with the configuration and with each other, or returns to the map.
    ShowPresets,
    /// Opens the help at the rule behind the selected row.
    ShowRule,
    NextPane,
    PreviousPane,
    FocusSessions,
    FocusTranscript,
    FocusMessage,
    FocusTuning,
    /// Shows the focused pane over the whole screen, or ends that.
    Zoom,
    /// Moves the border of the focused pane; the one above the tuning pane moves down.
    BorderLeft,
    BorderRight,
    Down,
    Up,
    HalfPageDown,
    HalfPageUp,
    PageDown,
    PageUp,
    Top,
    /// Moves to the last row and follows appended rows.
    Bottom,
    /// Moves left, folds a row, or lowers the focused setting.
    Left,
    /// Moves right, unfolds a row, or raises the focused setting.
    Right,
    /// Does ten times the step of [`Action::Left`].
    FarLeft,
    FarRight,
    NextMessage,
    PreviousMessage,
    /// Moves to the next user turn, or shows the next setting on the map.
    Next,
    Previous,
    NextChange,
    PreviousChange,
    Open,
    Fold,
    /// Searches or filters the focused pane.
    Search,
    NextMatch,
    PreviousMatch,
    /// Sorts the sessions by the next column.
    NextOrder,
    ReverseOrder,
    /// Shows the next row filter: conversation, no tools, user turns, labelled, everything.
    CycleFilter,
    CycleFilterBack,
    /// Switches between the live window and the full history.
    ToggleHistory,
    TogglePrune,
    /// Shows the next call, the failed call or the whole session.
    NextTarget,
    TogglePolicy,
    NextPolicy,
    PreviousPolicy,
    /// Switches between respecting shut gates and previewing pruning as if it ran.
    ToggleGate,
    Diff,
    /// Shows the entry as the file stores it.
    Raw,
    Wrap,
    Thinking,
    /// Lowers the focused setting by one slider step; folds every row of a tree.
    Less,
    More,
    ToDefault,
    ToConfig,
    AllToConfig,
    /// Undoes the last change of a setting.
    UndoTuning,
    RedoTuning,
    /// Copies what a screen is about; on the main screen, offers the texts by letter.
    Copy,
    /// Offers what to show and how, by letter.
    ViewMenu,
    /// Copies the command that sets the values of a fix.
    CopyCommand,
    /// Copies the changed settings as a config patch.
    CopyPatch,
    Pager,
    Commit,
    /// Makes the branch that ends with the selected message active.
    BranchHere,
    /// Continues on a branch without the selected message.
    DropMessage,
    /// Makes the branch from before the last commit active again.
    Undo,
    /// Settles an interrupted commit.
    Repair,
    Reload,
    TogglePause,
    InWords,
    /// Switches the bars between cost and uncached tokens.
    CostOrCache,
    /// Swaps the axes of the map.
    TurnAxes,
    /// Edits the varied settings and their ranges.
    EditAxes,
    /// Edits the tokens that every prompt must leave free.
    Headroom,
    Demo,
    /// Captures the mouse, or leaves it to the terminal.
    ToggleMouse,
    /// Shows times in UTC, or in the local zone.
    ToggleUtc,
    NextTheme,
    /// Shows or hides the secrets in titles and rows.
    ShowSecrets,
    /// Switches to the rules of the next gateway version.
    ChooseRuleset,
    Yes,
    No,
    /// Saves the plan as JSON in the working directory.
    SavePlan,
    /// Exports the session and its plan as an HTML page in a new file.
    ExportHtml,
    ExportMarkdown,
    ExportJson,
    /// Exports the branch, or the branch after the plan, as a transcript in a new file.
    ExportPi,
    SaveScreen,
    /// Runs a command of the person, by its place in the settings; it is not in [`ACTIONS`].
    Custom(u16),
}

/// The section of help and palette that lists an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ActionGroup {
    Move,
    Screen,
    Transcript,
    Message,
    Tuning,
    Timeline,
    Compare,
    Commit,
    Program,
}

impl ActionGroup {
    /// Every group, in help order.
    pub const ALL: [Self; 9] = [
        Self::Move,
        Self::Screen,
        Self::Transcript,
        Self::Message,
        Self::Tuning,
        Self::Timeline,
        Self::Compare,
        Self::Commit,
        Self::Program,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Move => "Move",
            Self::Screen => "Panes and screens",
            Self::Transcript => "Transcript",
            Self::Message => "Message",
            Self::Tuning => "Tuning",
            Self::Timeline => "Timeline",
            Self::Compare => "Compare",
            Self::Commit => "Commit",
            Self::Program => "Program",
        }
    }
}

/// One row of the action table: action, name, group, description.
pub type ActionRow = (Action, &'static str, ActionGroup, &'static str);

/// Every action, in help order. Keymap and palette use the name; help shows the description.
pub const ACTIONS: &[ActionRow] = &[
    (Action::Down, "down", ActionGroup::Move, "down"),
    (Action::Up, "up", ActionGroup::Move, "up"),
    (Action::HalfPageDown, "half-page-down", ActionGroup::Move, "half a page down"),
    (Action::HalfPageUp, "half-page-up", ActionGroup::Move, "half a page up"),
    (Action::PageDown, "page-down", ActionGroup::Move, "page down"),
    (Action::PageUp, "page-up", ActionGroup::Move, "page up"),
    (Action::Top, "top", ActionGroup::Move, "first row"),
    (Action::Bottom, "bottom", ActionGroup::Move, "last row, and follow"),
    (Action::Left, "left", ActionGroup::Move, "left: fold, scroll, previous call or cell, decrease"),
    (Action::Right, "right", ActionGroup::Move, "right: unfold, scroll, next call or cell, increase"),
    (Action::FarLeft, "far-left", ActionGroup::Move, "ten steps left"),
    (Action::FarRight, "far-right", ActionGroup::Move, "ten steps right"),
    (Action::NextPane, "next-pane", ActionGroup::Screen, "next pane"),
    (Action::PreviousPane, "previous-pane", ActionGroup::Screen, "previous pane"),
    (Action::FocusSessions, "focus-sessions", ActionGroup::Screen, "focus the sessions"),
    (Action::FocusTranscript, "focus-transcript", ActionGroup::Screen, "focus the transcript"),
    (Action::FocusMessage, "focus-message", ActionGroup::Screen, "focus the message"),
    (Action::FocusTuning, "focus-tuning", ActionGroup::Screen, "focus the tuning pane"),
    (Action::Zoom, "zoom", ActionGroup::Screen, "toggle full screen"),
    (Action::BorderLeft, "border-left", ActionGroup::Move, "move the border left"),
    (Action::BorderRight, "border-right", ActionGroup::Move, "move the border right"),
    (Action::Show(ScreenKind::Breakdown), "breakdown", ActionGroup::Screen, "what is in the window"),
    (Action::Open, "open", ActionGroup::Screen, "open, or edit the value"),
    (Action::Back, "back", ActionGroup::Screen, "back"),
    (Action::JumpBack, "jump-back", ActionGroup::Screen, "back to before a jump"),
    (Action::JumpForward, "jump-forward", ActionGroup::Screen, "forward again"),
    (Action::Search, "search", ActionGroup::Screen, "search or filter"),
    (Action::Show(ScreenKind::Search), "search-all", ActionGroup::Screen, "search all sessions"),
    (Action::NextMatch, "next-match", ActionGroup::Screen, "next match, overflow or smallest change"),
    (Action::PreviousMatch, "previous-match", ActionGroup::Screen, "previous match or overflow"),
    (Action::NextOrder, "next-order", ActionGroup::Screen, "next column or measure"),
    (Action::ReverseOrder, "reverse-order", ActionGroup::Screen, "reverse the order"),
    (Action::Show(ScreenKind::Record), "session-record", ActionGroup::Screen, "the session's record"),
    (Action::Show(ScreenKind::Explain), "explain", ActionGroup::Screen, "why it overflowed"),
    (Action::Show(ScreenKind::Timeline), "timeline", ActionGroup::Screen, "timeline, call by call"),
    (Action::Show(ScreenKind::Compare), "compare", ActionGroup::Screen, "compare settings"),
    (Action::ShowRule, "rule", ActionGroup::Screen, "show the row's rule"),
    (Action::Fold, "fold", ActionGroup::Transcript, "fold"),
    (Action::NextMessage, "next-message", ActionGroup::Transcript, "next message"),
    (Action::PreviousMessage, "previous-message", ActionGroup::Transcript, "previous message"),
    (Action::Next, "next", ActionGroup::Transcript, "next user turn, next setting on a map"),
    (Action::Previous, "previous", ActionGroup::Transcript, "previous user turn or setting"),
    (Action::NextChange, "next-change", ActionGroup::Transcript, "next changed message"),
    (Action::PreviousChange, "previous-change", ActionGroup::Transcript, "previous changed message"),
    (Action::CycleFilter, "cycle-filter", ActionGroup::Transcript, "next filter of rows"),
    (Action::CycleFilterBack, "cycle-filter-back", ActionGroup::Transcript, "previous filter of rows"),
    (Action::ToggleHistory, "toggle-history", ActionGroup::Transcript, "toggle full history"),
    (Action::BranchHere, "branch-here", ActionGroup::Transcript, "continue from the message…"),
    (Action::DropMessage, "drop-message", ActionGroup::Transcript, "continue without it…"),
    (Action::Diff, "diff", ActionGroup::Message, "toggle diff"),
    (Action::Raw, "raw", ActionGroup::Message, "toggle raw JSON"),
    (Action::Wrap, "wrap", ActionGroup::Message, "toggle line wrap"),
    (Action::Thinking, "thinking", ActionGroup::Message, "toggle thinking"),
    (Action::Copy, "copy", ActionGroup::Screen, "copy…"),
    (Action::ViewMenu, "view", ActionGroup::Screen, "what to show…"),
    (Action::Pager, "pager", ActionGroup::Message, "open in pager"),
    (Action::TogglePrune, "toggle-prune", ActionGroup::Tuning, "toggle the preview"),
    (Action::NextTarget, "next-target", ActionGroup::Tuning, "failed call, next call, session"),
    (Action::ShowPolicies, "policies", ActionGroup::Tuning, "effect of each policy"),
    (Action::TogglePolicy, "toggle-policy", ActionGroup::Tuning, "toggle the policy"),
    (Action::NextPolicy, "next-policy", ActionGroup::Tuning, "next policy"),
    (Action::PreviousPolicy, "previous-policy", ActionGroup::Tuning, "previous policy"),
    (Action::ToggleGate, "toggle-gate", ActionGroup::Tuning, "prune anyway, or wait as the gateway does"),
    (Action::Less, "less", ActionGroup::Tuning, "decrease; fold everything"),
    (Action::More, "more", ActionGroup::Tuning, "increase; unfold everything"),
    (Action::ToDefault, "to-default", ActionGroup::Tuning, "reset to default"),
    (Action::ToConfig, "to-config", ActionGroup::Tuning, "reset to config"),
    (Action::AllToConfig, "all-to-config", ActionGroup::Tuning, "reset all to config"),
    (Action::UndoTuning, "undo-tuning", ActionGroup::Tuning, "undo the last change"),
    (Action::RedoTuning, "redo-tuning", ActionGroup::Tuning, "redo the change"),
    (Action::CopyCommand, "copy-command", ActionGroup::Screen, "copy the command that sets a fix"),
    (Action::CopyPatch, "copy-patch", ActionGroup::Tuning, "copy the config patch"),
    (Action::ShowPresets, "presets", ActionGroup::Tuning, "compare presets, or return to the map"),
    (Action::ChooseRuleset, "release", ActionGroup::Tuning, "use the rules of another release"),
    (Action::InWords, "in-words", ActionGroup::Timeline, "toggle text view"),
    (Action::CostOrCache, "cost-or-cache", ActionGroup::Timeline, "toggle cost and cache"),
    (Action::TurnAxes, "turn-axes", ActionGroup::Compare, "swap axes"),
    (Action::EditAxes, "edit-axes", ActionGroup::Compare, "edit settings and ranges"),
    (Action::Headroom, "headroom", ActionGroup::Compare, "set the headroom, tokens to keep free"),
    (Action::Commit, "commit", ActionGroup::Commit, "commit…"),
    (Action::Undo, "undo", ActionGroup::Commit, "undo a commit…"),
    (Action::Show(ScreenKind::Branches), "branches", ActionGroup::Commit, "branches and commits"),
    (Action::Repair, "repair", ActionGroup::Commit, "repair a broken commit"),
    (Action::Yes, "yes", ActionGroup::Commit, "write"),
    (Action::No, "no", ActionGroup::Commit, "cancel"),
    (Action::SavePlan, "save-plan", ActionGroup::Commit, "save plan as JSON"),
    (Action::Show(ScreenKind::Help), "help", ActionGroup::Program, "help"),
    (Action::Show(ScreenKind::Palette), "palette", ActionGroup::Program, "run any action"),
    (Action::Reload, "reload", ActionGroup::Program, "reload"),
    (Action::TogglePause, "toggle-pause", ActionGroup::Program, "pause or resume live updates"),
    (Action::Show(ScreenKind::Problems), "problems", ActionGroup::Program, "problems in files"),
    (Action::ExportHtml, "export-html", ActionGroup::Program, "export as HTML"),
    (Action::ExportMarkdown, "export-markdown", ActionGroup::Program, "export as Markdown"),
    (Action::ExportJson, "export-json", ActionGroup::Program, "export as JSON"),
    (Action::ExportPi, "export-pi", ActionGroup::Program, "export the branch for pi"),
    (Action::SaveScreen, "save-screen", ActionGroup::Program, "save the screen as SVG"),
    (Action::Demo, "demo", ActionGroup::Program, "open the demo store"),
    (Action::ToggleMouse, "toggle-mouse", ActionGroup::Program, "toggle mouse capture"),
    (Action::ToggleUtc, "toggle-utc", ActionGroup::Program, "toggle UTC and local"),
    (Action::NextTheme, "next-theme", ActionGroup::Program, "next theme"),
    (Action::ShowSecrets, "show-secrets", ActionGroup::Program, "toggle secrets"),
    (Action::Close, "close", ActionGroup::Program, "close the screen, or quit"),
    (Action::Quit, "quit", ActionGroup::Program, "quit"),
];

impl Action {
    pub fn definition(self) -> &'static ActionRow {
        ACTIONS.iter().find(|row| row.0 == self).unwrap_or(&ACTIONS[0])
    }

    pub fn name(self) -> &'static str {
        self.definition().1
    }

    /// Returns the words that run the action from the palette, as `:repair`.
    pub fn typed_name(self) -> String {
        format!(":{}", self.name())
    }

    pub fn description(self) -> &'static str {
        self.definition().3
    }

    /// Whether the action moves the focus between panes.
    pub fn is_focus(self) -> bool {
        matches!(
            self,
            Self::FocusSessions
                | Self::FocusTranscript
                | Self::FocusMessage
                | Self::FocusTuning
                | Self::NextPane
                | Self::PreviousPane
        )
    }

    /// Whether repeating the action moves on: a number before its key repeats it.
    pub fn is_movement(self) -> bool {
        matches!(
            self,
            Self::Down
                | Self::Up
                | Self::HalfPageDown
                | Self::HalfPageUp
                | Self::PageDown
                | Self::PageUp
                | Self::NextMessage
                | Self::PreviousMessage
                | Self::Next
                | Self::Previous
                | Self::NextChange
                | Self::PreviousChange
                | Self::NextMatch
                | Self::PreviousMatch
                | Self::NextPolicy
                | Self::PreviousPolicy
                | Self::Less
                | Self::More
                | Self::JumpBack
                | Self::JumpForward
                | Self::Left
                | Self::Right
                | Self::FarLeft
                | Self::FarRight
                | Self::UndoTuning
                | Self::RedoTuning
        )
    }

    pub fn from_name(name: &str) -> Option<Self> {
        ACTIONS.iter().find(|row| row.1 == name).map(|row| row.0)
    }
}
