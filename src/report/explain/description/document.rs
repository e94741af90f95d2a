//! The explanation as documents, one for each question. The command prints them one below the other; the screen places
//! them on a page.

use crate::doc::{Align, Cell, Doc, Row, Table, Tone};
use crate::format::{
    format_amount, format_counted, format_displayed_timestamp, format_estimated_usd, format_number,
    format_signed_percent, format_usd_change,
};
use crate::ids::EntryIx;
use crate::js::{JsString, parse};
use crate::redact::masked;
use crate::report::explain::{
    Advice, Explanation, Finding, FindingClass, GuardReport, GuardState, Mechanism, Overflow, PromptPart,
    PromptPartKind, ReplaySummary,
};
use crate::session::LoadedSession;
use crate::text::truncate;
use crate::units::Tokens;

/// Entries named per line.
const MAX_NAMED_ENTRIES: usize = 4;
/// Newest overflows listed.
const MAX_OVERFLOWS: usize = 6;
/// Columns of an error text.
const MAX_ERROR_COLUMNS: usize = 120;
/// The most chars of an error that are read.
const MAX_ERROR_CHARS: usize = 4_000;
/// All calls of the branch, their summaries included.
const COST_COLUMN: &str = "cost with summaries";
/// Share from which a count differs notably from the first.
const NOTABLE_DIFFERENCE: f64 = 0.05;

/// A question that an explanation answers with a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// The changes of the branch that end what the verdict found.
    WaysOut,
    /// The changes of settings that would have prevented the overflow.
    Advice,
    /// The calls that overflowed.
    Overflows,
    /// The gateway's own numbers of the last prompt, and the error of its last run.
    GatewayRecord,
    /// The parts of the prompt, with the mechanism that made it large.
    Parts,
    /// The guards, and why none prevented the overflow.
    Guards,
    /// Token counts by source.
    Counts,
    /// The evidence of the verdict, and the other findings.
    Findings,
}

impl Question {
    /// Every question, in the order of the command's output.
    pub const ALL: [Self; 8] = [
        Self::Overflows,
        Self::GatewayRecord,
        Self::Parts,
        Self::Guards,
        Self::Counts,
        Self::Findings,
        Self::WaysOut,
        Self::Advice,
    ];
}

impl Explanation {
    /// Answers a question under its title; without rows if there is nothing to say.
    pub fn doc(&self, session: &LoadedSession, question: Question) -> Doc {
        let writer = Writer { explanation: self, session };
        match question {
            Question::WaysOut => writer.ways_out(),
            Question::Advice => writer.advice(),
            Question::Overflows => writer.overflows(),
            Question::GatewayRecord => writer.gateway_record(),
            Question::Parts => writer.parts(),
            Question::Guards => writer.guards(),
            Question::Counts => writer.counts(),
            Question::Findings => writer.findings(),
        }
    }
}

struct Writer<'a> {
    explanation: &'a Explanation,
    session: &'a LoadedSession,
}

fn under(title: &str, table: Table) -> Doc {
    let mut doc = Doc::new(title.to_owned());
    doc.table(table);
    doc
}

impl Writer<'_> {
    fn entry_names(&self, entries: &[EntryIx]) -> Cell {
        let shown = entries.iter().take(MAX_NAMED_ENTRIES).map(|ix| self.session.index.display_id(*ix));
        let mut names = shown.collect::<Vec<_>>().join(" ");
        if entries.len() > MAX_NAMED_ENTRIES {
            names = format!("{names} +{}", entries.len() - MAX_NAMED_ENTRIES);
        }
        Cell::new(&names, Tone::Dim)
    }

    fn ways_out(&self) -> Doc {
        let mut table = Table::new(&[("", Align::Left)]);
        for way in self.explanation.ways_out() {
            let cell = Cell::new(&way.description(), Tone::Strong).after_sign("→ ", Tone::Trimmed);
            table.push(Row::from(vec![cell]).with_note(&way.command));
        }
        under("Ways out", table)
    }

    fn overflows(&self) -> Doc {
        let overflows = &self.explanation.overflows;
        let mut table = Table::new(&[
            ("entry", Align::Left),
            ("when", Align::Left),
            ("needed", Align::Right),
            ("limit", Align::Right),
            ("", Align::Left),
            ("error", Align::Flexible),
        ]);
        for overflow in overflows.iter().rev().take(MAX_OVERFLOWS).rev() {
            table.push(Row::from(self.overflow_cells(overflow)).leading_to(Some(overflow.entry)));
        }
        let title = match overflows.len() {
            0..=MAX_OVERFLOWS => "What happened".to_owned(),
            all => format!("What happened (the last {MAX_OVERFLOWS} of {all})"),
        };
        under(&title, table)
    }

    fn overflow_cells(&self, overflow: &Overflow) -> Vec<Cell> {
        let number = |tokens: Option<u64>| tokens.map_or_else(|| "not stated".to_owned(), format_number);
        let needed = match (overflow.requested, overflow.excess) {
            (None, Some(excess)) => format!("{} too many", format_number(excess)),
            (requested, _) => number(requested),
        };
        let kind = match overflow.recognised {
            Some(false) => format!("not recognised by {}", self.session.gateway_release()),
            _ => overflow.kind.as_str().to_owned(),
        };
        let text = truncate(&error_message(&overflow.shown_text()), MAX_ERROR_COLUMNS).0;
        vec![
            self.entry_names(&[overflow.entry]),
            Cell::new(&format_displayed_timestamp(overflow.time_ms).unwrap_or_default(), Tone::Dim),
            needed.into(),
            number(overflow.limit).into(),
            Cell::new(&kind, Tone::Warning),
            Cell::new(&text, Tone::Dim),
        ]
    }

    fn gateway_record(&self) -> Doc {
        let limits = &self.session.limits;
        let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
        if let Some(budget) = limits.gateway_budget {
            let words = budget.description(self.session.item.tokens, self.session.ruleset.id.rules());
            table.push(vec!["estimate".into(), words.into()]);
        }
        if let Some(error) = limits.run_error.as_deref() {
            let words = truncate(&masked(error), MAX_ERROR_COLUMNS).0;
            table.push(vec!["last run".into(), Cell::new(&words, Tone::Warning)]);
        }
        under("What the gateway recorded", table)
    }

    fn parts(&self) -> Doc {
        let mechanism = self.explanation.mechanism.as_ref();
        let own = mechanism.and_then(mechanism_part);
        let mut table = Table::new(&[
            ("part", Align::Left),
            ("messages", Align::Right),
            ("~tokens", Align::Right),
            ("~new", Align::Right),
        ]);
        for part in &self.explanation.parts {
            let mechanism = mechanism.filter(|_| Some(part.kind) == own);
            let row = Row::from(part_cells(part, mechanism.is_some()));
            table.push(match mechanism {
                Some(mechanism) => {
                    let words = mechanism_text(mechanism).unwrap_or_default();
                    row.with_note(&format!("└ {words}")).leading_to(mechanism.entries.first().copied())
                }
                None => row,
            });
        }
        let mut doc = Doc::new("What made it large".to_owned());
        let words = mechanism.filter(|_| own.is_none() && !table.is_empty()).and_then(mechanism_text);
        if let Some(words) = words {
            doc.say(Tone::Warning, &words);
        }
        doc.table(table);
        doc
    }

    fn guards(&self) -> Doc {
        let columns =
            [("guard", Align::Left), ("", Align::Left), ("", Align::Sentence), ("entry", Align::Left)];
        let mut table = Table::new(&columns);
        for guard in &self.explanation.guards {
            let row = Row::from(self.guard_cells(guard)).leading_to(guard.entry).citing(guard.rule);
            table.push(row);
        }
        under("Why nothing prevented it", table)
    }

    fn guard_cells(&self, guard: &GuardReport) -> Vec<Cell> {
        let (sign, tone) = match guard.state {
            GuardState::Acted => ("● ", Tone::Good),
            GuardState::Blocked | GuardState::FreedNothing => ("■ ", Tone::Warning),
            GuardState::Failed => ("✗ ", Tone::Bad),
            GuardState::NotDue => ("○ ", Tone::Dim),
            GuardState::NotSet => ("· ", Tone::Dim),
        };
        let by = guard
            .missing_tokens
            .map(|by| format!(", {} below", format_counted(by, !guard.missing_is_estimate)))
            .unwrap_or_default();
        vec![
            Cell::from(guard.kind.as_str()).after_sign(sign, tone),
            Cell::new(&format!("{}{by}", guard.state.as_str()), tone),
            Cell::new(&guard.description(), Tone::Dim),
            guard.entry.map_or_else(|| "".into(), |ix| self.entry_names(&[ix])),
        ]
    }

    fn counts(&self) -> Doc {
        let counts = &self.explanation.counts;
        let first = counts.first().map_or(1, |count| count.tokens.max(1));
        let mut table = Table::new(&[
            ("who", Align::Left),
            ("tokens", Align::Right),
            ("", Align::Right),
            ("", Align::Sentence),
            ("entry", Align::Left),
        ]);
        for (at, count) in counts.iter().enumerate() {
            let off = count.tokens as f64 / first as f64 - 1.0;
            let tone = if off.abs() > NOTABLE_DIFFERENCE { Tone::Warning } else { Tone::Dim };
            let off = if at == 0 { String::new() } else { format_signed_percent(off) };
            let tokens =
                count.lower_bound().unwrap_or_else(|| format_counted(count.tokens, count.is_measured));
            let cells = vec![
                Cell::new(count.counter.as_str(), if at == 0 { Tone::Strong } else { Tone::Plain }),
                tokens.into(),
                Cell::new(&off, tone),
                Cell::new(&count.description(), Tone::Dim),
                count.entry.map_or_else(|| "".into(), |ix| self.entry_names(&[ix])),
            ];
            table.push(Row::from(cells).leading_to(count.entry));
        }
        under("Who counted what", table)
    }

    /// The headline of the verdict is above all blocks, so only its evidence is here.
    fn findings(&self) -> Doc {
        let mut table = Table::new(&[("", Align::Left), ("entries", Align::Names)]);
        for (at, finding) in self.explanation.findings.iter().enumerate() {
            let flips = finding.prevents_overflow == Some(true);
            let flips = if flips { " · correcting it makes every call fit" } else { "" };
            if at > 0 {
                let (class, confidence) = (finding.class.as_str(), finding.confidence.as_str());
                let words = format!("{class} · {confidence}{flips}: {}", finding.headline());
                let first = finding.evidence().into_iter().flat_map(|evidence| evidence.entries).next();
                let row = Row::from(vec![Cell::new(&words, Tone::Strong)]).leading_to(first);
                table.push(row.citing(finding.rule));
            }
            self.push_evidence(finding, &mut table);
        }
        let has_overflowed = self.explanation.has_overflowed();
        under(if has_overflowed { "Evidence and other findings" } else { "Findings" }, table)
    }

    fn push_evidence(&self, finding: &Finding, table: &mut Table) {
        for evidence in finding.evidence() {
            let cells = vec![
                Cell::from(&evidence.text).after_sign("  ", Tone::Plain),
                self.entry_names(&evidence.entries),
            ];
            let rule = if evidence.rule.is_empty() { finding.rule } else { evidence.rule };
            table.push(Row::from(cells).leading_to(evidence.entries.first().copied()).citing(rule));
        }
    }

    fn advice(&self) -> Doc {
        let explanation = self.explanation;
        let mut doc = Doc::new(explanation.advice_headline().1);
        let has_failed = explanation.failure.is_some();
        let mut table = Table::new(&[
            ("change", Align::Left),
            (if has_failed { "the call" } else { "" }, Align::Right),
            ("limit", Align::Right),
            ("overflows", Align::Right),
            ("peak", Align::Right),
            (COST_COLUMN, Align::Right),
            ("outcome", Align::Left),
        ]);
        table.drop_first(&["outcome", "limit", COST_COLUMN, "peak", "the call"]);
        for (at, advice) in explanation.tried().enumerate() {
            table.push(self.advice_cells(at, advice));
        }
        if let Some((recorded, first)) = explanation.recorded.zip(explanation.tried().next()) {
            table.push(self.recorded_cells(recorded, first));
        }
        doc.table(table);
        doc
    }

    fn advice_cells(&self, at: usize, advice: &Advice) -> Vec<Cell> {
        let call = format_counted(advice.tokens_after, advice.is_measured_after());
        let call = if self.explanation.failure.is_some() { call } else { String::new() };
        let (sign, tone) = if advice.fits_all { ('✓', Tone::Good) } else { ('✗', Tone::Bad) };
        let change = Cell::new(&advice.description(), if advice.fits_all { Tone::Strong } else { Tone::Dim });
        vec![
            change.after_sign(&format!("{} {sign} ", advice_letter(at)), tone),
            Cell::new(&call, if advice.fits { Tone::Good } else { Tone::Bad }),
            format_number(advice.limit).into(),
            Cell::new(&format!("{}{}", format_number(advice.overflows() as u64), advice.reservation()), tone),
            format_counted(advice.peak(), advice.whole.peak_measured).into(),
            describe_cost_change(self.explanation.recorded, advice.whole).into(),
            Cell::new(advice.outcome.description().as_ref(), Tone::Dim),
        ]
    }

    fn recorded_cells(&self, recorded: ReplaySummary, first: &Advice) -> Vec<Cell> {
        let failure = self.explanation.failure.as_ref();
        let call = failure.map(|failure| format_counted(first.tokens_before, failure.is_measured));
        let limit = failure.map_or_else(|| self.session.window.model_tokens.whole(), |failure| failure.limit);
        let cost = recorded.cost.map(|usd| format_amount(usd, recorded.cost_is_estimated));
        vec![
            Cell::new("recorded", Tone::Dim).after_sign("    ", Tone::Plain),
            call.unwrap_or_default().into(),
            format_number(limit).into(),
            format_number(recorded.overflows as u64).into(),
            format_counted(recorded.peak_tokens, recorded.peak_measured).into(),
            cost.unwrap_or_default().into(),
        ]
    }
}

/// The letter that labels a change.
pub fn advice_letter(at: usize) -> char {
    char::from(b'a' + (at % 26) as u8)
}

fn part_cells(part: &PromptPart, is_own: bool) -> Vec<Cell> {
    let tone = if is_own { Tone::Strong } else { Tone::Plain };
    let new = if part.new_tokens >= Tokens(1.0) {
        format!("+{}", format_number(part.new_tokens.whole()))
    } else {
        String::new()
    };
    let count = if part.count == 0 { String::new() } else { format_number(part.count as u64) };
    vec![
        Cell::new(part.kind.as_str(), tone),
        Cell::new(&count, Tone::Dim),
        Cell::new(&format_number(part.tokens.whole()), tone),
        Cell::new(&new, if is_own { Tone::Bad } else { Tone::Plain }),
    ]
}

/// Returns the part of the prompt that a mechanism is about; `None` when it is no single part.
fn mechanism_part(mechanism: &Mechanism) -> Option<PromptPartKind> {
    match mechanism.class {
        FindingClass::SingleResult | FindingClass::ParallelResults => Some(PromptPartKind::NewestResults),
        FindingClass::UserMessage => Some(PromptPartKind::NewestMessage),
        FindingClass::ToolLoopTreadmill => Some(PromptPartKind::RunResults),
        FindingClass::FixedOverhead => Some(PromptPartKind::Fixed),
        _ => None,
    }
}

/// The cause of the large call in a few words; `None` where it only grew.
fn mechanism_text(mechanism: &Mechanism) -> Option<String> {
    let count = format_number(mechanism.count as u64);
    Some(match mechanism.class {
        FindingClass::SingleResult | FindingClass::ParallelResults | FindingClass::UserMessage => {
            "without it the call fits".to_owned()
        }
        FindingClass::ToolLoopTreadmill => format!("{count} results in one run"),
        FindingClass::FixedOverhead => "before any message".to_owned(),
        FindingClass::ImageBloat => format!("{count} images"),
        FindingClass::BytesLimit => format!("{count} images; too many bytes"),
        FindingClass::ModelSwitch => "the previous model accepted more".to_owned(),
        FindingClass::RecurringSessionGrowth => format!("the same job ran {count} times"),
        _ => return None,
    })
}

/// Formats the cost of all calls under changed settings, always an estimate: `~$24.10 (-$2.24)`.
fn describe_cost_change(recorded: Option<ReplaySummary>, whole: ReplaySummary) -> String {
    let Some(cost) = whole.cost else { return String::new() };
    let before = recorded.and_then(|recorded| recorded.cost);
    let shown = format_estimated_usd(cost);
    let change = before.map(|before| match format_usd_change(before, cost) {
        same if same == "$0" => "same".to_owned(),
        change => change,
    });
    change.map_or_else(|| shown.clone(), |change| format!("{shown} ({change})"))
}

/// Returns the message of a provider's error on one line; for JSON its `message` field. Reads only the start of a
/// long error.
pub fn error_message(error: &str) -> String {
    let error = error.char_indices().nth(MAX_ERROR_CHARS).map_or(error, |(end, _)| &error[..end]);
    let inner = error.find('{').and_then(|at| parse(&error[at..]).ok()).and_then(|value| {
        let message = value.get("error").and_then(|inner| inner.get("message")).or(value.get("message"))?;
        message.as_str().map(JsString::to_string_lossy)
    });
    let words = inner.filter(|inner| !inner.trim().is_empty()).unwrap_or_else(|| error.to_owned());
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_json_is_read_down_to_its_message() {
        let wrapped = r#"400 {"type":"error","error":{"type":"x","message":"prompt is too long:\n 5 > 4"}}"#;
        assert_eq!(error_message(wrapped), "prompt is too long: 5 > 4");
        assert_eq!(error_message("413 {broken"), "413 {broken");
        assert_eq!(error_message("two\nlines"), "two lines");
        assert_eq!(error_message(&"é".repeat(9_000)).chars().count(), MAX_ERROR_CHARS);
    }
}
