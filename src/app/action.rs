//! Every action a person can take, by name. One table feeds the keymap, help, footer and palette, so that all four
//! agree; the kebab-case names are public, as users write them in their keymap.

/// A screen or window that a key opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScreenKind {
    Help,
    Palette,
    Findings,
    /// The policies, each with its effect.
    Steps,
    Estimators,
    Breakdown,
    /// Compares the recorded recovery from an overflow with the expected one.
    Recovery,
    Explain,
    /// Lists the commits of the session and which are in force.
    Commits,
    Branches,
    /// Shows the text of the rule behind the selected row.
    Rule,
    /// Shows every call: recorded, and under the tuned settings.
    Timeline,
    Compare,
}

/// A user action. [`ACTIONS`] has its keymap name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Quits from any screen.
    Quit,
    /// Steps back once: closes the screen, clears the filter or leaves the pane; at the top level, quits.
    Back,
    /// Opens a screen, or closes it when it is on top.
    Show(ScreenKind),
    NextPane,
    PreviousPane,
    FocusSessions,
    FocusTranscript,
    FocusMessage,
    FocusTuning,
    /// Shows the focused pane over the whole screen, or ends that.
    Zoom,
    Down,
    Up,
    HalfPageDown,
    HalfPageUp,
    PageDown,
    PageUp,
    Top,
    /// Moves to the last row and follows appended rows.
    Bottom,
    NextMessage,
    PreviousMessage,
    NextTurn,
    PreviousTurn,
    NextChange,
    PreviousChange,
    Open,
    Fold,
    /// Folds the row, or moves to its turn or branch.
    Collapse,
    /// Unfolds the row, or moves into it.
    Expand,
    FoldAll,
    UnfoldAll,
    /// Searches or filters the focused pane.
    Search,
    NextMatch,
    PreviousMatch,
    /// Shows the next row filter: conversation, no tools, user turns, labelled, everything.
    CycleFilter,
    CycleFilterBack,
    /// Switches between the live window and the full history.
    ToggleHistory,
    TogglePrune,
    /// Shows the next call, the failed call or the whole session.
    NextTarget,
    ToggleStep,
    NextStep,
    PreviousStep,
    /// Switches between respecting shut gates and previewing pruning as if it ran.
    ToggleGate,
    Diff,
    /// Shows the entry as the file stores it.
    Raw,
    Wrap,
    Thinking,
    /// Lowers the focused setting by one slider step.
    Less,
    More,
    /// Lowers the focused setting by ten slider steps.
    MuchLess,
    MuchMore,
    ToDefault,
    ToConfig,
    AllToConfig,
    Edit,
    Copy,
    CopyPath,
    /// Copies the entry id or the session key.
    CopyId,
    /// Copies the changed settings as a config patch.
    CopyPatch,
    Pager,
    Commit,
    /// Makes the branch from before the last commit active again.
    Undo,
    /// Settles an interrupted commit.
    Repair,
    Reload,
    TogglePause,
    NextCall,
    PreviousCall,
    /// Moves ten calls forward.
    SkipCalls,
    SkipCallsBack,
    NextOverflow,
    PreviousOverflow,
    ZoomIn,
    ZoomOut,
    InWords,
    /// Switches the bars between cost and uncached tokens.
    CostOrCache,
    CellRight,
    CellLeft,
    /// Selects the next value of the setting that the map holds fixed.
    NextHeld,
    PreviousHeld,
    NextMeasure,
    /// Moves to the smallest change after which every call fits.
    Smallest,
    /// Swaps the axes of the map.
    TurnAxes,
    NextAxis,
    PreviousAxis,
    NextAxisDown,
    PreviousAxisDown,
    /// Edits the varied settings and their ranges.
    EditAxes,
    /// Edits the tokens that every prompt must leave free.
    Headroom,
    Demo,
    /// Captures the mouse, or leaves it to the terminal.
    ToggleMouse,
    NextTheme,
    /// Shows or hides the secrets in titles and rows.
    ShowSecrets,
    /// Switches to the rules of the next gateway version.
    NextRuleset,
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
            Self::Screen => "Panes",
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
    (Action::Bottom, "bottom", ActionGroup::Move, "last row, follow"),
    (Action::NextPane, "next-pane", ActionGroup::Screen, "next pane"),
    (Action::PreviousPane, "previous-pane", ActionGroup::Screen, "pane before"),
    (Action::FocusSessions, "focus-sessions", ActionGroup::Screen, "sessions"),
    (Action::FocusTranscript, "focus-transcript", ActionGroup::Screen, "transcript"),
    (Action::FocusMessage, "focus-message", ActionGroup::Screen, "message"),
    (Action::FocusTuning, "focus-tuning", ActionGroup::Screen, "tuning"),
    (Action::Zoom, "zoom", ActionGroup::Screen, "pane over the whole screen"),
    (Action::Show(ScreenKind::Breakdown), "breakdown", ActionGroup::Screen, "what is in the window"),
    (Action::Open, "open", ActionGroup::Screen, "open"),
    (Action::Back, "back", ActionGroup::Screen, "back"),
    (Action::Search, "search", ActionGroup::Screen, "search or filter"),
    (Action::NextMatch, "next-match", ActionGroup::Screen, "next match"),
    (Action::PreviousMatch, "previous-match", ActionGroup::Screen, "match before"),
    (Action::Show(ScreenKind::Explain), "explain", ActionGroup::Screen, "why it overflowed"),
    (Action::Show(ScreenKind::Timeline), "timeline", ActionGroup::Screen, "call by call"),
    (Action::Show(ScreenKind::Compare), "compare", ActionGroup::Screen, "settings side by side"),
    (Action::Show(ScreenKind::Recovery), "recovery", ActionGroup::Screen, "recovery from an overflow"),
    (Action::Show(ScreenKind::Rule), "rule", ActionGroup::Screen, "rule behind the row"),
    (Action::Fold, "fold", ActionGroup::Transcript, "fold"),
    (Action::Collapse, "collapse", ActionGroup::Transcript, "fold, or out"),
    (Action::Expand, "expand", ActionGroup::Transcript, "unfold, or in"),
    (Action::FoldAll, "fold-all", ActionGroup::Transcript, "fold every turn"),
    (Action::UnfoldAll, "unfold-all", ActionGroup::Transcript, "unfold everything"),
    (Action::NextMessage, "next-message", ActionGroup::Transcript, "next message"),
    (Action::PreviousMessage, "previous-message", ActionGroup::Transcript, "message before"),
    (Action::NextTurn, "next-turn", ActionGroup::Transcript, "next user turn"),
    (Action::PreviousTurn, "previous-turn", ActionGroup::Transcript, "user turn before"),
    (Action::NextChange, "next-change", ActionGroup::Transcript, "next changed message"),
    (Action::PreviousChange, "previous-change", ActionGroup::Transcript, "changed message before"),
    (Action::CycleFilter, "cycle-filter", ActionGroup::Transcript, "other selection of rows"),
    (Action::CycleFilterBack, "cycle-filter-back", ActionGroup::Transcript, "selection before"),
    (Action::ToggleHistory, "toggle-history", ActionGroup::Transcript, "live window or all history"),
    (Action::Diff, "diff", ActionGroup::Message, "before and after"),
    (Action::Raw, "raw", ActionGroup::Message, "raw JSON"),
    (Action::Wrap, "wrap", ActionGroup::Message, "wrap lines"),
    (Action::Thinking, "thinking", ActionGroup::Message, "show thinking"),
    (Action::Copy, "copy", ActionGroup::Message, "copy"),
    (Action::CopyPath, "copy-path", ActionGroup::Message, "copy the file's path"),
    (Action::CopyId, "copy-id", ActionGroup::Message, "copy the id"),
    (Action::Pager, "pager", ActionGroup::Message, "open in pager"),
    (Action::TogglePrune, "toggle-prune", ActionGroup::Tuning, "preview, or not"),
    (Action::NextTarget, "next-target", ActionGroup::Tuning, "next call, failed call, whole session"),
    (Action::Show(ScreenKind::Steps), "steps", ActionGroup::Tuning, "what each step does"),
    (Action::ToggleStep, "toggle-step", ActionGroup::Tuning, "step on or off"),
    (Action::NextStep, "next-step", ActionGroup::Tuning, "next step's settings"),
    (Action::PreviousStep, "previous-step", ActionGroup::Tuning, "step before"),
    (Action::ToggleGate, "toggle-gate", ActionGroup::Tuning, "obey the gates, or not"),
    (Action::Less, "less", ActionGroup::Tuning, "less"),
    (Action::More, "more", ActionGroup::Tuning, "more"),
    (Action::MuchLess, "much-less", ActionGroup::Tuning, "ten less"),
    (Action::MuchMore, "much-more", ActionGroup::Tuning, "ten more"),
    (Action::Edit, "edit", ActionGroup::Tuning, "type the value"),
    (Action::ToDefault, "to-default", ActionGroup::Tuning, "default"),
    (Action::ToConfig, "to-config", ActionGroup::Tuning, "config value"),
    (Action::AllToConfig, "all-to-config", ActionGroup::Tuning, "everything as configured"),
    (Action::CopyPatch, "copy-patch", ActionGroup::Tuning, "copy patch"),
    (Action::NextRuleset, "next-ruleset", ActionGroup::Tuning, "rules of the next version"),
    (Action::NextCall, "next-call", ActionGroup::Timeline, "next call"),
    (Action::PreviousCall, "previous-call", ActionGroup::Timeline, "call before"),
    (Action::SkipCalls, "skip-calls", ActionGroup::Timeline, "ten calls on"),
    (Action::SkipCallsBack, "skip-calls-back", ActionGroup::Timeline, "ten calls back"),
    (Action::NextOverflow, "next-overflow", ActionGroup::Timeline, "next overflow"),
    (Action::PreviousOverflow, "previous-overflow", ActionGroup::Timeline, "overflow before"),
    (Action::ZoomIn, "zoom-in", ActionGroup::Timeline, "fewer calls, larger"),
    (Action::ZoomOut, "zoom-out", ActionGroup::Timeline, "more calls"),
    (Action::InWords, "in-words", ActionGroup::Timeline, "in sentences"),
    (Action::CostOrCache, "cost-or-cache", ActionGroup::Timeline, "cost or cache"),
    (Action::CellRight, "cell-right", ActionGroup::Compare, "cell on the right"),
    (Action::CellLeft, "cell-left", ActionGroup::Compare, "cell on the left"),
    (Action::NextMeasure, "next-measure", ActionGroup::Compare, "other measure"),
    (Action::Smallest, "smallest", ActionGroup::Compare, "smallest change"),
    (Action::NextAxis, "next-axis", ActionGroup::Compare, "other setting across"),
    (Action::PreviousAxis, "previous-axis", ActionGroup::Compare, "setting across before"),
    (Action::NextAxisDown, "next-axis-down", ActionGroup::Compare, "other setting down"),
    (Action::PreviousAxisDown, "previous-axis-down", ActionGroup::Compare, "setting down before"),
    (Action::TurnAxes, "turn-axes", ActionGroup::Compare, "settings change places"),
    (Action::EditAxes, "edit-axes", ActionGroup::Compare, "type settings and ranges"),
    (Action::Headroom, "headroom", ActionGroup::Compare, "tokens to leave free"),
    (Action::NextHeld, "next-held", ActionGroup::Compare, "third setting up"),
    (Action::PreviousHeld, "previous-held", ActionGroup::Compare, "third setting down"),
    (Action::Commit, "commit", ActionGroup::Commit, "commit…"),
    (Action::Undo, "undo", ActionGroup::Commit, "undo a commit…"),
    (Action::Show(ScreenKind::Commits), "commits", ActionGroup::Commit, "what was committed"),
    (Action::Show(ScreenKind::Branches), "branches", ActionGroup::Commit, "compare branches"),
    (Action::Repair, "repair", ActionGroup::Commit, "settle a broken commit"),
    (Action::Yes, "yes", ActionGroup::Commit, "write"),
    (Action::No, "no", ActionGroup::Commit, "cancel"),
    (Action::SavePlan, "save-plan", ActionGroup::Commit, "save plan as JSON"),
    (Action::Show(ScreenKind::Help), "help", ActionGroup::Program, "help"),
    (Action::Show(ScreenKind::Palette), "palette", ActionGroup::Program, "run any action"),
    (Action::Reload, "reload", ActionGroup::Program, "read again"),
    (Action::TogglePause, "toggle-pause", ActionGroup::Program, "pause or follow"),
    (Action::Show(ScreenKind::Findings), "findings", ActionGroup::Program, "what was found"),
    (Action::Show(ScreenKind::Estimators), "estimators", ActionGroup::Program, "estimates beside counts"),
    (Action::ExportHtml, "export-html", ActionGroup::Program, "export as a page"),
    (Action::ExportMarkdown, "export-markdown", ActionGroup::Program, "export as Markdown"),
    (Action::ExportJson, "export-json", ActionGroup::Program, "export as JSON"),
    (Action::ExportPi, "export-pi", ActionGroup::Program, "export the branch as a transcript"),
    (Action::SaveScreen, "save-screen", ActionGroup::Program, "save the screen as a picture"),
    (Action::Demo, "demo", ActionGroup::Program, "demo store"),
    (Action::ToggleMouse, "toggle-mouse", ActionGroup::Program, "mouse on or off"),
    (Action::NextTheme, "next-theme", ActionGroup::Program, "next theme"),
    (Action::ShowSecrets, "show-secrets", ActionGroup::Program, "show secrets"),
    (Action::Quit, "quit", ActionGroup::Program, "quit"),
];

impl Action {
    pub fn definition(self) -> &'static ActionRow {
        ACTIONS.iter().find(|row| row.0 == self).unwrap_or(&ACTIONS[0])
    }

    pub fn name(self) -> &'static str {
        self.definition().1
    }

    pub fn description(self) -> &'static str {
        self.definition().3
    }

    pub fn from_name(name: &str) -> Option<Self> {
        ACTIONS.iter().find(|row| row.1 == name).map(|row| row.0)
    }
}
