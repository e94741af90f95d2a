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
pub enum Group {
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

impl Group {
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
pub type ActionRow = (Action, &'static str, Group, &'static str);

/// Every action. The name is what the keymap and the palette use; the words are what help shows.
pub const ACTIONS: &[ActionRow] = &[
    (Action::Down, "down", Group::Move, "down"),
    (Action::Up, "up", Group::Move, "up"),
    (Action::HalfPageDown, "half-page-down", Group::Move, "half a page down"),
    (Action::HalfPageUp, "half-page-up", Group::Move, "half a page up"),
    (Action::PageDown, "page-down", Group::Move, "page down"),
    (Action::PageUp, "page-up", Group::Move, "page up"),
    (Action::Top, "top", Group::Move, "first row"),
    (Action::Bottom, "bottom", Group::Move, "last row, follow"),
    (Action::NextPane, "next-pane", Group::Screen, "next pane"),
    (Action::PreviousPane, "previous-pane", Group::Screen, "pane before"),
    (Action::FocusSessions, "focus-sessions", Group::Screen, "sessions"),
    (Action::FocusTranscript, "focus-transcript", Group::Screen, "transcript"),
    (Action::FocusMessage, "focus-message", Group::Screen, "message"),
    (Action::FocusTuning, "focus-tuning", Group::Screen, "tuning"),
    (Action::Zoom, "zoom", Group::Screen, "pane over the whole screen"),
    (Action::Breakdown, "breakdown", Group::Screen, "what is in the window"),
    (Action::Open, "open", Group::Screen, "open"),
    (Action::Back, "back", Group::Screen, "back"),
    (Action::Search, "search", Group::Screen, "search or filter"),
    (Action::NextMatch, "next-match", Group::Screen, "next match"),
    (Action::PreviousMatch, "previous-match", Group::Screen, "match before"),
    (Action::Explain, "explain", Group::Screen, "why it overflowed"),
    (Action::Timeline, "timeline", Group::Screen, "call by call"),
    (Action::Compare, "compare", Group::Screen, "settings side by side"),
    (Action::Recovery, "recovery", Group::Screen, "recovery from an overflow"),
    (Action::Fold, "fold", Group::Transcript, "fold"),
    (Action::Collapse, "collapse", Group::Transcript, "fold, or out"),
    (Action::Expand, "expand", Group::Transcript, "unfold, or in"),
    (Action::FoldAll, "fold-all", Group::Transcript, "fold every turn"),
    (Action::UnfoldAll, "unfold-all", Group::Transcript, "unfold everything"),
    (Action::NextMessage, "next-message", Group::Transcript, "next message"),
    (Action::PreviousMessage, "previous-message", Group::Transcript, "message before"),
    (Action::NextTurn, "next-turn", Group::Transcript, "next user turn"),
    (Action::PreviousTurn, "previous-turn", Group::Transcript, "user turn before"),
    (Action::NextChange, "next-change", Group::Transcript, "next changed message"),
    (Action::PreviousChange, "previous-change", Group::Transcript, "changed message before"),
    (Action::CycleFilter, "cycle-filter", Group::Transcript, "other selection of rows"),
    (Action::CycleFilterBack, "cycle-filter-back", Group::Transcript, "selection before"),
    (Action::ToggleHistory, "toggle-history", Group::Transcript, "live window or all history"),
    (Action::Diff, "diff", Group::Message, "before and after"),
    (Action::Raw, "raw", Group::Message, "raw JSON"),
    (Action::Wrap, "wrap", Group::Message, "wrap lines"),
    (Action::Thinking, "thinking", Group::Message, "show thinking"),
    (Action::Copy, "copy", Group::Message, "copy"),
    (Action::CopyPath, "copy-path", Group::Message, "copy the file's path"),
    (Action::CopyId, "copy-id", Group::Message, "copy the id"),
    (Action::Pager, "pager", Group::Message, "open in pager"),
    (Action::TogglePrune, "toggle-prune", Group::Tuning, "preview, or not"),
    (Action::NextTarget, "next-target", Group::Tuning, "next call, failed call, whole session"),
    (Action::Steps, "steps", Group::Tuning, "what each step does"),
    (Action::ToggleStep, "toggle-step", Group::Tuning, "step on or off"),
    (Action::NextStep, "next-step", Group::Tuning, "next step's settings"),
    (Action::PreviousStep, "previous-step", Group::Tuning, "step before"),
    (Action::ToggleGate, "toggle-gate", Group::Tuning, "obey the gates, or not"),
    (Action::Less, "less", Group::Tuning, "less"),
    (Action::More, "more", Group::Tuning, "more"),
    (Action::MuchLess, "much-less", Group::Tuning, "ten less"),
    (Action::MuchMore, "much-more", Group::Tuning, "ten more"),
    (Action::Edit, "edit", Group::Tuning, "type the value"),
    (Action::ToDefault, "to-default", Group::Tuning, "default"),
    (Action::ToConfig, "to-config", Group::Tuning, "config value"),
    (Action::AllToConfig, "all-to-config", Group::Tuning, "everything as configured"),
    (Action::CopyPatch, "copy-patch", Group::Tuning, "copy patch"),
    (Action::NextRuleset, "next-ruleset", Group::Tuning, "rules of the next version"),
    (Action::NextCall, "next-call", Group::Timeline, "next call"),
    (Action::PreviousCall, "previous-call", Group::Timeline, "call before"),
    (Action::SkipCalls, "skip-calls", Group::Timeline, "ten calls on"),
    (Action::SkipCallsBack, "skip-calls-back", Group::Timeline, "ten calls back"),
    (Action::NextOverflow, "next-overflow", Group::Timeline, "next overflow"),
    (Action::PreviousOverflow, "previous-overflow", Group::Timeline, "overflow before"),
    (Action::ZoomIn, "zoom-in", Group::Timeline, "fewer calls, larger"),
    (Action::ZoomOut, "zoom-out", Group::Timeline, "more calls"),
    (Action::InWords, "in-words", Group::Timeline, "in sentences"),
    (Action::CostOrCache, "cost-or-cache", Group::Timeline, "cost or cache"),
    (Action::CellRight, "cell-right", Group::Compare, "cell on the right"),
    (Action::CellLeft, "cell-left", Group::Compare, "cell on the left"),
    (Action::NextMeasure, "next-measure", Group::Compare, "other measure"),
    (Action::Smallest, "smallest", Group::Compare, "smallest change"),
    (Action::NextAxis, "next-axis", Group::Compare, "other setting across"),
    (Action::PreviousAxis, "previous-axis", Group::Compare, "setting across before"),
    (Action::NextAxisDown, "next-axis-down", Group::Compare, "other setting down"),
    (Action::PreviousAxisDown, "previous-axis-down", Group::Compare, "setting down before"),
    (Action::TurnAxes, "turn-axes", Group::Compare, "settings change places"),
    (Action::EditAxes, "edit-axes", Group::Compare, "type settings and ranges"),
    (Action::Headroom, "headroom", Group::Compare, "tokens to leave free"),
    (Action::NextHeld, "next-held", Group::Compare, "third setting up"),
    (Action::PreviousHeld, "previous-held", Group::Compare, "third setting down"),
    (Action::Commit, "commit", Group::Commit, "commit…"),
    (Action::Undo, "undo", Group::Commit, "undo a commit…"),
    (Action::Commits, "commits", Group::Commit, "what was committed"),
    (Action::Branches, "branches", Group::Commit, "compare branches"),
    (Action::Repair, "repair", Group::Commit, "settle a broken commit"),
    (Action::Yes, "yes", Group::Commit, "write"),
    (Action::No, "no", Group::Commit, "cancel"),
    (Action::SavePlan, "save-plan", Group::Commit, "save plan as JSON"),
    (Action::Help, "help", Group::Program, "help"),
    (Action::Palette, "palette", Group::Program, "run any action"),
    (Action::Reload, "reload", Group::Program, "read again"),
    (Action::TogglePause, "toggle-pause", Group::Program, "pause or follow"),
    (Action::Findings, "findings", Group::Program, "what was found"),
    (Action::Estimators, "estimators", Group::Program, "estimates beside counts"),
    (Action::ExportHtml, "export-html", Group::Program, "export as a page"),
    (Action::ExportMarkdown, "export-markdown", Group::Program, "export as Markdown"),
    (Action::ExportJson, "export-json", Group::Program, "export as JSON"),
    (Action::ExportPi, "export-pi", Group::Program, "export the branch as a transcript"),
    (Action::SaveScreen, "save-screen", Group::Program, "save the screen as a picture"),
    (Action::Demo, "demo", Group::Program, "demo store"),
    (Action::ToggleMouse, "toggle-mouse", Group::Program, "mouse on or off"),
    (Action::NextTheme, "next-theme", Group::Program, "next theme"),
    (Action::ShowSecrets, "show-secrets", Group::Program, "show secrets"),
    (Action::Quit, "quit", Group::Program, "quit"),
];

impl Action {
    /// The row of this action.
    pub fn row(self) -> &'static ActionRow {
        ACTIONS.iter().find(|row| row.0 == self).unwrap_or(&ACTIONS[0])
    }

    /// Its name in keymap and palette.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// What it does, in a few words.
    pub fn words(self) -> &'static str {
        self.row().3
    }

    /// The action of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        ACTIONS.iter().find(|row| row.1 == name).map(|row| row.0)
    }
}
