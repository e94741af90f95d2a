//! One sentence for each number of a pane or screen.

use crate::app::action::ScreenKind;
use crate::app::layout::Pane;

/// A number as the screen names it, and its meaning.
pub(super) type NumberNote = (&'static str, &'static str);

const SESSIONS: &[NumberNote] = &[
    (
        "93%",
        "Tokens of the prompt as a share of the window: amber where the gateway would compact, red above the window.",
    ),
    ("cost", "All branches, as the provider recorded it; list prices have a ~."),
    ("—", "The session is not counted yet, or its window is unknown."),
];
const TRANSCRIPT: &[NumberNote] = &[
    (
        "~tokens",
        "The size of the message in the prompt: its share of what the provider counted, or one token per four chars where no call was counted. A ~ in the head of a column stands for all its numbers.",
    ),
    ("~total", "The prompt up to and including the row, with system prompt and tools."),
    (
        "~before → ~after",
        "The size of the message without and with the plan; before a compaction, the recorded prompt.",
    ),
];
const MESSAGE: &[NumberNote] = &[
    ("chars", "UTF-16 code units, because the gateway counts them."),
    ("tokens", "As in the transcript, with the share of the prompt."),
    ("rule", "The rule that decides the fate; the key of the rule shows its text."),
];
const TUNING: &[NumberNote] = &[
    ("frees", "Tokens that the plan removes from the prompt."),
    (
        "next call",
        "The change in cost of the next call: text that changes is not read from the provider's cache.",
    ),
    ("config", "The value in your configuration, marked on the slider."),
    ("default", "The value of the release without a configuration."),
    ("alone", "At full height: what the policy frees if only it runs."),
    ("together", "At full height: what all policies that are on free, one after another."),
];
const TIMELINE: &[NumberNote] = &[
    ("recorded", "Tokens of each call as it was sent."),
    ("simulated", "Tokens of each call under the settings in the strip."),
    ("peak", "The largest prompt of the session."),
    ("cost", "This branch with its summaries, as the provider recorded it; list prices have a ~."),
    (
        "p m b s x ?",
        "Why a call missed the cache: pause, model, branch, system prompt or tools, changed prefix, unknown. ─ was read, + is a new prompt.",
    ),
];
const EXPLAIN: &[NumberNote] = &[
    ("sent", "The provider's count of the refused call; without a ~."),
    ("limit", "The window, or the limit that the provider named."),
    ("peak", "The largest prompt when the session is replayed with the change."),
    ("over", "Calls that would still be refused with the change."),
    (
        "tokens",
        "In the recovery: the prompt before and after an attempt, as recorded or as the rules expect.",
    ),
    (
        "last, mean, worst",
        "In the estimators: an estimate compared with the provider's count of the same call.",
    ),
    ("chars/4", "The estimate of four chars per token, as pi and the gateway's compaction count."),
    ("pruning", "The same as context pruning counts it."),
    ("weighted", "The same with more for Chinese, Japanese and Korean, as in gateway 2026.9."),
    ("usage", "The provider's last count, and chars/4 of everything since."),
    ("calibrated", "The estimate after scaling to this session."),
];
const BREAKDOWN: &[NumberNote] = &[
    ("~tokens", "The part, scaled to the provider's count; all parts add up to the number beside the bar."),
    ("Count minus chars/4", "How far four chars per token are from the provider's count."),
];
const COMPARE: &[NumberNote] = &[
    ("cell", "One replay of the whole session with two settings; the measure is named above the map."),
    ("peak", "The largest prompt of that replay."),
    ("cost", "All calls of this branch in that replay, with their summaries."),
    (
        "freed",
        "Tokens that policies and compactions keep out of a prompt, on average over the calls of that replay.",
    ),
    ("↺", "Messages that a prompt of that replay lacked and that were used again after it."),
];
const COMMITS: &[NumberNote] = &[(
    "~next prompt",
    "The tokens of the next prompt before and after the commit, as its dialog showed them.",
)];
const SEARCH: &[NumberNote] =
    &[("3/35", "The hit under the cursor, and the messages found in all sessions.")];
const WINDOW: &[NumberNote] = &[
    ("bar", "The prompt of the next call in the window of the model."),
    ("counted", "The provider counted this prompt."),
    ("scaled", "An estimate, scaled by the provider's last count."),
    ("estimate", "Four chars per token, as the gateway estimates; est. where the bar is narrow."),
    ("soft, hard", "Shares of the window from which pruning trims and clears."),
    (
        "memory flush",
        "Before the next message the gateway lets the model save what it must keep: due, or after so many more tokens.",
    ),
    ("compact", "The prompt at which the gateway compacts: the window without the reserve."),
];

/// Returns the numbers of a pane, and those of the bar above all panes.
pub(super) fn of_pane(pane: Pane) -> Vec<NumberNote> {
    let own = match pane {
        Pane::Sessions => SESSIONS,
        Pane::Transcript => TRANSCRIPT,
        Pane::Message => MESSAGE,
        Pane::Tuning => TUNING,
    };
    own.iter().chain(WINDOW).copied().collect()
}

pub(super) fn of_screen(kind: ScreenKind) -> Vec<NumberNote> {
    let own = match kind {
        ScreenKind::Timeline => TIMELINE,
        ScreenKind::Explain => EXPLAIN,
        ScreenKind::Breakdown => BREAKDOWN,
        ScreenKind::Compare => COMPARE,
        ScreenKind::Branches => COMMITS,
        ScreenKind::Search => SEARCH,
        ScreenKind::Help | ScreenKind::Palette | ScreenKind::Problems | ScreenKind::Record => &[],
    };
    own.to_vec()
}

/// Returns every number with the name of its place.
pub(super) fn all() -> Vec<(&'static str, NumberNote)> {
    let places = [
        ("Sessions", SESSIONS),
        ("Transcript", TRANSCRIPT),
        ("Message", MESSAGE),
        ("Tuning", TUNING),
        ("Window", WINDOW),
        ("Timeline", TIMELINE),
        ("Explain", EXPLAIN),
        ("Breakdown", BREAKDOWN),
        ("Compare", COMPARE),
        ("Commits", COMMITS),
        ("Search", SEARCH),
    ];
    places.into_iter().flat_map(|(place, notes)| notes.iter().map(move |note| (place, *note))).collect()
}
