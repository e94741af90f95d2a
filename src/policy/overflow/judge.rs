//! Whether an answer's words say that the prompt was larger than the context, whatever the program that read them made
//! of it (overflow-texts 2).

use crate::policy::overflow::plain::Plain;
use crate::policy::overflow::signs::{self, Sign, Signs};
use crate::policy::overflow::{Numbers, Said, sizes};

/// Look-alikes that are asked before a weak text is believed.
const BEFORE_WEAK: [(Sign, &str); 4] =
    [(Sign::Words, "L5"), (Sign::Media, "L3"), (Sign::Field, "L4"), (Sign::Output, "L2")];
/// Look-alikes that rule out a limit in bytes.
const BEFORE_BYTES: [(Sign, &str); 3] = [(Sign::Media, "L3"), (Sign::Field, "L4"), (Sign::Words, "L5")];

/// What an answer's words say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The prompt was larger than the context.
    Tokens,
    /// The request was too large for the wire; no token limit was hit.
    Bytes,
    /// Neither.
    No,
}

/// A verdict and what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// Rule of overflow-texts.md that decided, such as "T06", "C1", "C2", "L1", "B"; "" for anything else.
    pub rule: &'static str,
    /// Tokens requested and allowed, as far as an overflow's text names them.
    pub numbers: Numbers,
    /// The gateway refused by its own estimate (precheck, mid-turn precheck, tool-loop guard); no provider was asked.
    pub by_gateway: bool,
}

impl Judgement {
    fn new(verdict: Verdict, rule: &'static str) -> Self {
        Self { verdict, rule, numbers: Numbers::default(), by_gateway: false }
    }

    fn tokens(rule: &'static str, numbers: Numbers) -> Self {
        Self { numbers, ..Self::new(Verdict::Tokens, rule) }
    }

    /// Whether the prompt alone would have fitted and only the room reserved for the reply did not (overflow-texts
    /// 3.5): a smaller `max_tokens` would have helped too.
    pub fn is_output_reservation(&self) -> bool {
        let Numbers { input, output, limit, .. } = self.numbers;
        let parts = input.zip(output).zip(limit);
        self.verdict == Verdict::Tokens && parts.is_some_and(|((input, output), limit)| output > 0 && input <= limit)
    }
}

/// Judges what an answer says. An aborted answer never overflowed.
pub fn judge(said: &Said) -> Judgement {
    if said.stop_reason.trim().eq_ignore_ascii_case("aborted") {
        return Judgement::new(Verdict::No, "");
    }
    if signs::is_stop_reason(&said.stop_reason) {
        return Judgement::tokens("C2", Numbers::default());
    }
    let plain = Plain::of(said);
    if plain.whole.is_empty() {
        return Judgement::new(Verdict::No, "");
    }
    let signs = Signs::of(&plain.whole);
    let judged = by_text(&plain, &signs).unwrap_or_else(|| by_size(said, &plain, &signs));
    Judgement { by_gateway: judged.verdict == Verdict::Tokens && signs.has(Sign::Gateway), ..judged }
}

/// Steps 1 to 4: stop reasons, quotas, texts and codes.
fn by_text(plain: &Plain, signs: &Signs) -> Option<Judgement> {
    let code = signs.has(Sign::Code);
    if signs.has(Sign::StopReason) {
        return Some(Judgement::tokens("C2", Numbers::default()));
    }
    if !code && signs.has(Sign::Rate) {
        return Some(Judgement::new(Verdict::No, "L1"));
    }
    let found = sizes::find(&plain.whole)
        .filter(|found| !found.text.weak || code || signs.first(&BEFORE_WEAK).is_none());
    match found {
        Some(found) if found.asks_for_output_alone() => Some(Judgement::new(Verdict::No, "L2")),
        Some(found) => Some(Judgement::tokens(found.text.rule, found.numbers)),
        None => code.then(|| Judgement::tokens("C1", sizes::loose(&plain.whole))),
    }
}

/// Steps 5 to 8: what is left where no words name the context.
fn by_size(said: &Said, plain: &Plain, signs: &Signs) -> Judgement {
    if let Some(rule) = signs.first(&BEFORE_BYTES) {
        return Judgement::new(Verdict::No, rule);
    }
    if said.provider.to_ascii_lowercase().contains("cerebras") && is_bodyless(&plain.message) {
        return Judgement::tokens("T43", Numbers::default());
    }
    if signs.has(Sign::Bytes) {
        return match signs.has(Sign::CountsTokens) {
            true => Judgement::tokens("T32", sizes::loose(&plain.whole)),
            false => Judgement::new(Verdict::Bytes, "B"),
        };
    }
    Judgement::new(Verdict::No, if signs.has(Sign::Output) { "L2" } else { "" })
}

/// A status 400 or 413 with nothing behind it.
fn is_bodyless(plain: &str) -> bool {
    let text = plain.trim_start_matches("error:").trim_start();
    let behind = text.strip_prefix("400").or_else(|| text.strip_prefix("413"));
    behind.is_some_and(|behind| {
        let behind = behind.trim_start();
        let behind = behind.strip_prefix("status code").unwrap_or(behind).trim();
        behind.is_empty() || behind == "(no body)"
    })
}
