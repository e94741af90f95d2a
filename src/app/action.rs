//! Everything a person can do, by name: keymap, help, footer and palette all speak this list.

use serde::Deserialize;

/// One thing a person can do. Its name in the keymap is the kebab-case of the variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Leave the program, from any screen.
    Quit,
    /// One step back: close what is open, clear the filter, leave the pane; at the top, leave.
    Back,
    /// Show the keys.
    Help,
    /// Run any action by name.
    Palette,
    /// Focus the next pane.
    NextPane,
    /// Focus the pane before.
    PreviousPane,
    /// Focus the sessions.
    FocusSessions,
    /// Focus the transcript.
    FocusTranscript,
    /// Focus the message.
    FocusMessage,
    /// Focus the tuning pane.
    FocusTuning,
    /// The focused pane over the whole screen, and back.
    Zoom,
    /// One row down.
    Down,
    /// One row up.
    Up,
    /// Half a page down.
    HalfPageDown,
    /// Half a page up.
    HalfPageUp,
    /// A page down.
    PageDown,
    /// A page up.
    PageUp,
    /// To the first row.
    Top,
    /// To the last row, and follow what is appended.
    Bottom,
    /// To the next message of the conversation.
    NextMessage,
    /// To the message before.
    PreviousMessage,
    /// To the next user turn.
    NextTurn,
    /// To the user turn before.
    PreviousTurn,
    /// To the next change of the plan.
    NextChange,
    /// To the change before.
    PreviousChange,
    /// Open what the cursor is on.
    Open,
    /// Fold or unfold.
    Fold,
    /// Fold, or go to the turn or branch it belongs to.
    Collapse,
    /// Unfold, or go inside.
    Expand,
    /// Fold everything.
    FoldAll,
    /// Unfold everything.
    UnfoldAll,
    /// Search or filter this pane.
    Search,
    /// Next match.
    NextMatch,
    /// Match before.
    PreviousMatch,
    /// Show the next selection of rows: conversation, without tools, turns, labelled, everything.
    CycleFilter,
    /// Show the selection of rows before.
    CycleFilterBack,
    /// Live window, or the full history.
    ToggleHistory,
    /// Preview the steps, or not.
    TogglePrune,
    /// Show the next call, the failed one or the whole session.
    NextTarget,
    /// What each step does.
    Steps,
    /// Switch the focused step on or off.
    ToggleStep,
    /// The settings of the next step.
    NextStep,
    /// The settings of the step before.
    PreviousStep,
    /// Leave everything as it is while a gate is shut, or show what pruning does once it runs.
    ToggleGate,
    /// Side by side: before and after.
    Diff,
    /// The entry as it stands in the file.
    Raw,
    /// Wrap long lines, or cut them.
    Wrap,
    /// Show or hide thinking.
    Thinking,
    /// The focused setting one step down.
    Less,
    /// The focused setting one step up.
    More,
    /// Ten steps down.
    MuchLess,
    /// Ten steps up.
    MuchMore,
    /// The focused setting back to the gateway's default.
    ToDefault,
    /// The focused setting back to the configured value.
    ToConfig,
    /// Every setting back to the configured values.
    AllToConfig,
    /// Type the focused setting.
    Edit,
    /// Copy what the cursor is on.
    Copy,
    /// Copy the file's path.
    CopyPath,
    /// Copy the entry id or the session key.
    CopyId,
    /// Copy the changed settings as a config patch.
    CopyPatch,
    /// Open the message in the pager.
    Pager,
    /// Show what a commit would write.
    Commit,
    /// Make the branch before the last commit active again.
    Undo,
    /// What was committed to the session, and what of it is in force.
    Commits,
    /// Two branches beside each other.
    Branches,
    /// Settle a commit that was broken off.
    Repair,
    /// Read the store again.
    Reload,
    /// Stop or resume following the files.
    TogglePause,
    /// What was found while reading, with file and line.
    Findings,
    /// Every way to count tokens, beside what was counted.
    Estimators,
    /// What is in the window, part by part.
    Breakdown,
    /// What the gateway tries after an overflow, recorded beside expected.
    Recovery,
    /// Why the session overflowed, and what would have helped.
    Explain,
    /// Every call again, recorded and under the tuned settings.
    Timeline,
    /// To the next call.
    NextCall,
    /// To the call before.
    PreviousCall,
    /// Ten calls on.
    SkipCalls,
    /// Ten calls back.
    SkipCallsBack,
    /// To the next call that did not fit.
    NextOverflow,
    /// To the one before.
    PreviousOverflow,
    /// Fewer calls on the screen.
    ZoomIn,
    /// More calls on the screen.
    ZoomOut,
    /// The timeline in sentences, or as curves.
    InWords,
    /// Bars of cost, or of what the cache did not hold.
    CostOrCache,
    /// Settings side by side.
    Compare,
    /// To the cell on the right.
    CellRight,
    /// To the cell on the left.
    CellLeft,
    /// The next value of the setting that the map does not show.
    NextHeld,
    /// The value before.
    PreviousHeld,
    /// Another measure on the map.
    NextMeasure,
    /// To the smallest change after which all fits.
    Smallest,
    /// The settings change places.
    TurnAxes,
    /// Another setting across.
    NextAxis,
    /// The setting before, across.
    PreviousAxis,
    /// Another setting down.
    NextAxisDown,
    /// The setting before, down.
    PreviousAxisDown,
    /// Type what is varied.
    EditAxes,
    /// Type what every prompt leaves free of the window.
    Headroom,
    /// Open the embedded demo store.
    Demo,
    /// Take the mouse, or leave it to the terminal.
    ToggleMouse,
    /// The next theme.
    NextTheme,
    /// Show the secrets in titles and rows, or hide them.
    ShowSecrets,
    /// The rules of the next version.
    NextRuleset,
    /// Confirm the dialog.
    Yes,
    /// Cancel the dialog.
    No,
    /// Save the plan as JSON beside the working directory.
    SavePlan,
    /// The session, with the plan shown, as a page in a new file.
    ExportHtml,
    /// The same as Markdown.
    ExportMarkdown,
    /// The same as JSON.
    ExportJson,
    /// The branch, or what the plan makes of it, as a transcript of its own in a new file.
    ExportPi,
    /// The screen as a picture in a new file.
    SaveScreen,
}

/// Where an action belongs in help and palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ActionGroup {
    /// Moving the cursor.
    Move,
    /// Panes and screens.
    Screen,
    /// The transcript.
    Transcript,
    /// The message.
    Message,
    /// Tuning.
    Tuning,
    /// The timeline.
    Timeline,
    /// The comparison.
    Compare,
    /// Commit and undo.
    Commit,
    /// The program.
    Program,
}

impl ActionGroup {
    /// Every group, in the order of the help.
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

    /// Its heading.
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

/// One row of the table of actions: the action, its name, its group, what it does in a few words.
pub type ActionRow = (Action, &'static str, ActionGroup, &'static str);

/// Every action. The name is what the keymap and the palette use; the words are what help shows.
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
    (Action::Breakdown, "breakdown", ActionGroup::Screen, "what is in the window"),
    (Action::Open, "open", ActionGroup::Screen, "open"),
    (Action::Back, "back", ActionGroup::Screen, "back"),
    (Action::Search, "search", ActionGroup::Screen, "search or filter"),
    (Action::NextMatch, "next-match", ActionGroup::Screen, "next match"),
    (Action::PreviousMatch, "previous-match", ActionGroup::Screen, "match before"),
    (Action::Explain, "explain", ActionGroup::Screen, "why it overflowed"),
    (Action::Timeline, "timeline", ActionGroup::Screen, "call by call"),
    (Action::Compare, "compare", ActionGroup::Screen, "settings side by side"),
    (Action::Recovery, "recovery", ActionGroup::Screen, "recovery from an overflow"),
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
    (Action::Steps, "steps", ActionGroup::Tuning, "what each step does"),
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
    (Action::Commits, "commits", ActionGroup::Commit, "what was committed"),
    (Action::Branches, "branches", ActionGroup::Commit, "compare branches"),
    (Action::Repair, "repair", ActionGroup::Commit, "settle a broken commit"),
    (Action::Yes, "yes", ActionGroup::Commit, "write"),
    (Action::No, "no", ActionGroup::Commit, "cancel"),
    (Action::SavePlan, "save-plan", ActionGroup::Commit, "save plan as JSON"),
    (Action::Help, "help", ActionGroup::Program, "help"),
    (Action::Palette, "palette", ActionGroup::Program, "run any action"),
    (Action::Reload, "reload", ActionGroup::Program, "read again"),
    (Action::TogglePause, "toggle-pause", ActionGroup::Program, "pause or follow"),
    (Action::Findings, "findings", ActionGroup::Program, "what was found"),
    (Action::Estimators, "estimators", ActionGroup::Program, "estimates beside counts"),
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
    /// The row of this action.
    pub fn definition(self) -> &'static ActionRow {
        ACTIONS.iter().find(|row| row.0 == self).unwrap_or(&ACTIONS[0])
    }

    /// Its name in keymap and palette.
    pub fn name(self) -> &'static str {
        self.definition().1
    }

    /// What it does, in a few words.
    pub fn description(self) -> &'static str {
        self.definition().3
    }

    /// The action of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        ACTIONS.iter().find(|row| row.1 == name).map(|row| row.0)
    }
}
