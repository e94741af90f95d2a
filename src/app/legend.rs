//! Every sign and colour on the screens with its meaning. The help shows this table; a test draws every screen and
//! looks up each sign.

use crate::context::budget::BudgetPart;
use crate::policy::Fate;
use crate::session::Mark;

/// The colour of a sign, by meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Key,
    Text,
    Muted,
    Focus,
    /// Exists only under changed settings.
    Plan,
    Warn,
    Danger,
    User,
    Fate(Fate),
    Part(BudgetPart),
}

/// One or several signs with the same meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegendRow {
    pub signs: &'static str,
    pub tone: Tone,
    pub name: &'static str,
    pub meaning: &'static str,
}

/// Rows about one part of the screens.
#[derive(Debug, Clone)]
pub struct LegendSection {
    pub title: &'static str,
    pub rows: Vec<LegendRow>,
}

/// The mark of a session: sign, colour, name, meaning; the most serious first.
pub const SESSION_MARKS: [(Mark, LegendRow); 17] = [
    (Mark::Unfinished, row("!", Tone::Danger, "unfinished", "a commit was interrupted; A repairs it")),
    (Mark::Overflow, row("⚠", Tone::Danger, "overflow", "the newest call did not fit")),
    (Mark::Refused, row("⚠", Tone::Danger, "refused", "the newest call was refused, not for its size")),
    (Mark::Failing, row("⚠", Tone::Warn, "failing", "the newest call failed; waiting helps")),
    (Mark::Damaged, row("!", Tone::Warn, "damaged", "it has unreadable lines")),
    (Mark::NotImported, row("!", Tone::Warn, "not imported", "missing from the database")),
    (
        Mark::AssumedWindow,
        row("?", Tone::Warn, "window assumed", "a guess of the program: no setting, row or list names it"),
    ),
    (Mark::Running, row("●", Tone::User, "running", "a run writes to it now")),
    (Mark::Missing, row("?", Tone::Warn, "missing", "its transcript is not there, or not yet")),
    (Mark::Foreign, row("?", Tone::Warn, "foreign", "its path is from another machine")),
    (Mark::Orphan, row("?", Tone::Muted, "orphan", "no record names the file")),
    (Mark::Backup, row("·", Tone::Muted, "backup", "a copy that the gateway kept")),
    (Mark::Reset, row("·", Tone::Muted, "reset", "archived by a reset")),
    (Mark::Deleted, row("·", Tone::Muted, "deleted", "archived when it was deleted")),
    (Mark::Earlier, row("·", Tone::Muted, "earlier", "an earlier transcript of the key")),
    (Mark::Archived, row("·", Tone::Muted, "archived", "no longer in use")),
    (Mark::Imported, row("·", Tone::Muted, "imported", "now in the database")),
];

const TREE: [LegendRow; 12] = [
    row("▌", Tone::Focus, "cursor", "the selected row; green: just added"),
    row("▏", Tone::Fate(Fate::Protected), "protected zone", "its position protects it"),
    row("●", Tone::User, "your turn", "a message from the user"),
    row("▸ ▾", Tone::Text, "folded, open", "space folds and unfolds"),
    row("├ │ └ ┬ ┄", Tone::Muted, "rails", "turns and branches of the tree"),
    row("⚠", Tone::Danger, "failed call", "the provider refused it"),
    row("↺", Tone::Warn, "needed again", "a prompt lacked it; then it was used"),
    row("→", Tone::Muted, "before, after", "without and with the plan"),
    row("…", Tone::Muted, "cut here", "the text continues"),
    row("⟨ ⟩", Tone::Muted, "shortened", "text that the gateway added"),
    row("━ ╸ ─", Tone::Muted, "thin bar", "share of the largest, or of the window"),
    row("┃", Tone::Muted, "scrollbar", "the visible part of a list"),
];

const BAR: [LegendRow; 6] = [
    row("╱ ░", Tone::Plan, "freed", "tokens that the plan takes out"),
    row("·", Tone::Muted, "free", "still free in the window"),
    row("│ ┊", Tone::Muted, "threshold", "the scale below the bar names it"),
    row("▏ ▎ ▍ ▌ ▋ ▊ ▉ █", Tone::Text, "fractions", "an eighth to a whole cell"),
    row("▓ #", Tone::Muted, "unknown parts", "only the total is known"),
    row("█", Tone::Danger, "past the window", "more than the model takes"),
];

const CHARTS: [LegendRow; 8] = [
    row("⣀ ⠤ ⠒ ⠉ ⡇", Tone::Text, "curve", "tokens of each call"),
    row("▁ ▂ ▃ ▄ ▅ ▆ ▇", Tone::Muted, "bars", "cost, or tokens outside the cache"),
    row("┊", Tone::Muted, "pause", "idle time between two calls"),
    row("┄", Tone::Muted, "threshold", "window, compaction, pruning"),
    row("Σ", Tone::Fate(Fate::Summarised), "compaction", "older messages became a summary"),
    row("▲", Tone::Focus, "pointer", "the selected call or cell"),
    row("◉", Tone::Focus, "selected", "the point under the cursor"),
    row("← → ↑ ↓", Tone::Muted, "more", "the map continues there"),
];

const SETTINGS: [LegendRow; 7] = [
    row("● ○", Tone::Text, "on, off", "a policy; ○ on a slider: your config"),
    row("┴ ┷", Tone::Muted, "tab", "the policy whose settings are shown"),
    row("┤", Tone::Muted, "end", "the end of a slider or a bar"),
    row("✓", Tone::User, "passed", "done, or it fits"),
    row("✗", Tone::Danger, "refused", "not done, or it does not fit"),
    row("■", Tone::Warn, "blocked", "a guard that could not act"),
    row("—", Tone::Muted, "unknown", "nothing is recorded"),
];

const NUMBERS: [LegendRow; 7] = [
    row("~12.3k", Tone::Text, "estimated", "~total: the whole column"),
    row("4.1k", Tone::Plan, "planned", "under new settings"),
    row("180k", Tone::Warn, "past a threshold", "or costly"),
    row("+3.4k", Tone::Danger, "past the window", "or refused"),
    row("counted", Tone::Muted, "counted", "by the provider"),
    row("scaled", Tone::Muted, "scaled", "an estimate, scaled by a count"),
    row("est.", Tone::Muted, "estimate", "four chars a token"),
];

const fn row(signs: &'static str, tone: Tone, name: &'static str, meaning: &'static str) -> LegendRow {
    LegendRow { signs, tone, name, meaning }
}

/// Returns the whole table.
pub fn legend() -> Vec<LegendSection> {
    let mut marks: Vec<LegendRow> = SESSION_MARKS.map(|(_, row)| row).to_vec();
    marks.dedup_by_key(|row| row.name);
    vec![
        LegendSection { title: "What happens to a message", rows: Fate::ALL.map(fate_row).to_vec() },
        LegendSection { title: "Numbers and colours", rows: NUMBERS.to_vec() },
        LegendSection { title: "Marks of sessions", rows: marks },
        LegendSection {
            title: "Budget bar",
            rows: BudgetPart::ALL.map(part_row).into_iter().chain(BAR).collect(),
        },
        LegendSection { title: "Transcript", rows: TREE.to_vec() },
        LegendSection { title: "Charts and maps", rows: CHARTS.to_vec() },
        LegendSection { title: "Settings and verdicts", rows: SETTINGS.to_vec() },
    ]
}

fn fate_row(fate: Fate) -> LegendRow {
    let meaning = match fate {
        Fate::Kept => "sent unchanged",
        Fate::Protected => "never pruned",
        Fate::SoftTrimmed => "start and end stay",
        Fate::Cleared => "a short note stays",
        Fate::Truncated => "the end is cut off",
        Fate::Summarised => "now in the summary",
        Fate::Dropped => "not sent",
    };
    row(fate.sign(), Tone::Fate(fate), fate.word(), meaning)
}

fn part_row(part: BudgetPart) -> LegendRow {
    let (signs, meaning) = match part {
        BudgetPart::System => ("S", "the system prompt"),
        BudgetPart::Tools => ("T", "schemas of the tools"),
        BudgetPart::Files => ("F", "workspace files in the prompt"),
        BudgetPart::Summary => ("Σ", "what compactions kept"),
        BudgetPart::User => ("U", "messages of people"),
        BudgetPart::Assistant => ("A", "answers of the model"),
        BudgetPart::Thinking => ("H", "thinking of the model"),
        BudgetPart::Results => ("R", "results of tools"),
    };
    row(signs, Tone::Part(part), part.name(), meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_letters_of_the_bar_are_the_letters_of_the_parts() {
        for part in BudgetPart::ALL {
            assert_eq!(part_row(part).signs, part.letter().to_string());
        }
    }

    #[test]
    fn every_mark_of_a_session_is_explained() {
        for (at, (mark, _)) in SESSION_MARKS.iter().enumerate() {
            assert!(SESSION_MARKS[..at].iter().all(|(known, _)| known != mark), "{mark:?} is there twice");
        }
    }
}
