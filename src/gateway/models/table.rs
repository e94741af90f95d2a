//! The embedded table: the models that every published pi and gateway lists, with the releases that list them so.
//!
//! `scripts/upstream/models.mjs` writes it from the packages and describes its lines.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::files;
use crate::js::Value;
use crate::units::Tokens;

const TABLE: &[u8] = include_bytes!("../../../assets/models.zst");

/// The program whose releases list models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Program {
    Pi,
    Gateway,
}

/// A release with a list of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListRelease {
    pub program: Program,
    pub version: &'static str,
    /// ISO date on which the package was made; empty if it does not tell.
    pub date: &'static str,
    /// The pi whose list a gateway ships; empty for none.
    pub(super) bundled: &'static str,
}

impl std::fmt::Display for ListRelease {
    /// Names the list and its date: `pi-ai 1.5.2 of 2026-11-10`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let program = match self.program {
            Program::Pi => "pi-ai",
            Program::Gateway => "openclaw",
        };
        write!(f, "{program} {}", self.version)?;
        if self.date.is_empty() { Ok(()) } else { write!(f, " of {}", self.date) }
    }
}

/// The values that a list has for a model.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ModelValues {
    /// The whole window in tokens.
    pub window: Option<Tokens>,
    /// The part of it that a run should use, `contextTokens`.
    pub context_tokens: Option<Tokens>,
    /// The most tokens of one answer.
    pub max_tokens: Option<Tokens>,
    pub price: Option<Price>,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    pi: Vec<ListRelease>,
    gateway: Vec<ListRelease>,
    /// The spans of a program's `provider\tid`.
    rows: HashMap<(Program, &'static str), &'static str>,
}

static EMBEDDED: LazyLock<Table> =
    LazyLock::new(|| Table::from_text(files::unpack_text(TABLE).unwrap_or_default().leak()));

pub(super) fn table() -> &'static Table {
    &EMBEDDED
}

impl Table {
    fn from_text(text: &'static str) -> Self {
        let mut table = Self::default();
        for line in text.lines() {
            let Some((kind, rest)) = line.split_once('\t') else { continue };
            match kind {
                "pi" => table.pi.push(release(Program::Pi, rest)),
                "gateway" => table.gateway.push(release(Program::Gateway, rest)),
                "p" => table.add_row(Program::Pi, rest),
                _ => table.add_row(Program::Gateway, rest),
            }
        }
        table
    }

    fn add_row(&mut self, program: Program, line: &'static str) {
        if let Some((end, _)) = line.match_indices('\t').nth(1) {
            self.rows.insert((program, &line[..end]), &line[end + 1..]);
        }
    }

    pub(super) fn releases(&self, program: Program) -> &[ListRelease] {
        match program {
            Program::Pi => &self.pi,
            Program::Gateway => &self.gateway,
        }
    }

    /// Returns the place of the newest release that is not newer than `version`; that of the oldest if all are.
    pub(super) fn place(&self, program: Program, version: [u32; 3]) -> usize {
        let releases = self.releases(program);
        releases.partition_point(|release| numbers(release.version) <= version).saturating_sub(1)
    }

    /// Returns the word of a row in a release, such as the target of an alias.
    pub(super) fn word(&self, program: Program, key: &str, at: usize) -> Option<&'static str> {
        spans(self.rows.get(&(program, key))?)
            .find(|span| (span.first..=span.last).contains(&at))
            .map(|span| span.value)
    }

    /// Returns the word of the newest release that has the row, and the place of that release.
    pub(super) fn newest_word(&self, program: Program, key: &str) -> Option<(usize, &'static str)> {
        spans(self.rows.get(&(program, key))?).last().map(|span| (span.last, span.value))
    }

    /// Lists every row of an id in a release, whatever the provider.
    pub(super) fn words_of_id(
        &self,
        program: Program,
        id: &str,
        at: usize,
    ) -> impl Iterator<Item = (&'static str, &'static str)> {
        let of_id = self.rows.keys().filter(move |(own, key)| {
            *own == program && key.split_once('\t').is_some_and(|(_, own)| own == id)
        });
        of_id.filter_map(move |(_, key)| Some((key.split_once('\t')?.0, self.word(program, key, at)?)))
    }
}

fn release(program: Program, line: &'static str) -> ListRelease {
    let mut words = line.split('\t');
    let mut next = || words.next().unwrap_or_default();
    ListRelease { program, version: next(), date: next(), bundled: next() }
}

/// Parses the three numbers of a version.
pub(in crate::gateway) fn numbers(version: &str) -> [u32; 3] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or_default());
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}

struct Span {
    first: usize,
    last: usize,
    value: &'static str,
}

fn spans(row: &'static str) -> impl Iterator<Item = Span> {
    row.split('\t').filter_map(|span| {
        let (places, value) = span.split_once(':')?;
        let (first, last) = places.split_once('-')?;
        Some(Span { first: first.parse().ok()?, last: last.parse().ok()?, value })
    })
}

impl ModelValues {
    /// Parses `window:contextTokens:maxTokens:rates:steps`.
    pub(super) fn from_word(word: &str) -> Self {
        let mut parts = word.split(':');
        let mut tokens = || parts.next().and_then(|part| part.parse().ok()).map(Tokens);
        let (window, context_tokens, max_tokens) = (tokens(), tokens(), tokens());
        let price = parts.next().and_then(rates).map(Price::flat);
        let steps = parts.next().unwrap_or_default().split('/').filter_map(|step| {
            let (above, step) = step.split_once(',')?;
            Some((above.parse().ok()?, rates(step)?))
        });
        Self { window, context_tokens, max_tokens, price: price.map(|price| price.with_steps(steps)) }
    }
}

fn rates(text: &str) -> Option<[f64; 4]> {
    let mut numbers = text.split(',').map(|number| number.parse().ok());
    let mut next = || numbers.next().flatten();
    Some([next()?, next()?, next()?, next()?])
}

// Prices of a model's tokens, with the steps above which a longer prompt costs more.

/// The most steps of one price in any known list.
const MAX_STEPS: usize = 2;

/// A list price in USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Prompt tokens that the provider had not cached.
    pub input: f64,
    pub output: f64,
    /// Prompt tokens read from the cache; 0 if the provider does not sell them.
    pub cache_read: f64,
    /// Prompt tokens written to the cache; 0 if they cost no more than input.
    pub cache_write: f64,
    steps: [PriceStep; MAX_STEPS],
}

/// The price of a whole call whose prompt is larger than a number of tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PriceStep {
    /// Prompt tokens, cached ones included; infinite for a step that a price does not have.
    above: f64,
    /// USD per million tokens: input, output, cache read, cache write.
    rates: [f64; 4],
}

const NO_STEP: PriceStep = PriceStep { above: f64::INFINITY, rates: [0.0; 4] };

impl Price {
    /// Builds a price that does not depend on the size of the prompt: input, output, cache read, cache write.
    pub const fn flat([input, output, cache_read, cache_write]: [f64; 4]) -> Self {
        Self { input, output, cache_read, cache_write, steps: [NO_STEP; MAX_STEPS] }
    }

    /// Adds steps, each with the prompt tokens above which its rates count. Keeps the lowest ones.
    #[must_use]
    pub fn with_steps(mut self, steps: impl Iterator<Item = (f64, [f64; 4])>) -> Self {
        let mut steps: Vec<PriceStep> = steps.map(|(above, rates)| PriceStep { above, rates }).collect();
        steps.sort_by(|a, b| a.above.total_cmp(&b.above));
        for (slot, step) in self.steps.iter_mut().zip(steps) {
            *slot = step;
        }
        self
    }

    /// Returns the rates of a call with this many prompt tokens, cached ones included: those of the highest step below it.
    #[must_use]
    pub fn at(&self, prompt_tokens: f64) -> Self {
        let step = self.steps.iter().rev().find(|step| prompt_tokens > step.above);
        step.map_or(*self, |step| Self::flat(step.rates))
    }

    /// Reads a `cost` of a configuration or a registry, with pi's `tiers` or the gateway's `tieredPricing`. `None` unless it
    /// names input and output; cache prices that it omits are 0.
    pub fn from_cost(cost: &Value) -> Option<Self> {
        let rates = rates_of(cost)?;
        let list = |key: &str| cost.get(key).and_then(Value::as_array).unwrap_or_default();
        let above = list("tiers")
            .iter()
            .filter_map(|tier| Some((tier.get("inputTokensAbove")?.as_f64()?, rates_of(tier)?)));
        let ranges = list("tieredPricing").iter().filter_map(|tier| {
            let start = tier.get("range")?.as_array()?.first()?.as_f64().filter(|start| *start > 0.0)?;
            Some((start - 1.0, rates_of(tier)?))
        });
        Some(Self::flat(rates).with_steps(above.chain(ranges)))
    }
}

fn rates_of(cost: &Value) -> Option<[f64; 4]> {
    let number = |key: &str| cost.get(key)?.as_f64().filter(|usd| usd.is_finite() && *usd >= 0.0);
    let cached = |key: &str| number(key).unwrap_or(0.0);
    Some([number("input")?, number("output")?, cached("cacheRead"), cached("cacheWrite")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_table_has_every_release_in_order_and_is_small() {
        assert!(TABLE.len() <= 250_000);
        for (program, least) in [(Program::Pi, 147), (Program::Gateway, 82)] {
            let releases = table().releases(program);
            assert!(releases.len() >= least);
            assert!(releases.windows(2).all(|pair| numbers(pair[0].version) < numbers(pair[1].version)));
            let is_date = |date: &str| date.is_empty() || date.parse::<jiff::civil::Date>().is_ok();
            assert!(releases.iter().all(|release| is_date(release.date)));
        }
        assert!(table().rows.len() > 2_600);
    }

    #[test]
    fn a_row_holds_from_its_first_to_its_last_release() {
        let table = Table::from_text(
            "pi\t0.1.0\npi\t0.2.0\t2026-01-02\npi\t1.0.0\np\ta\tm\t0-0:9::3\t2-2:8:7:3:1,2,0.5,0:200,4,5,6,7\n",
        );
        let find = |at| table.word(Program::Pi, "a\tm", at).map(ModelValues::from_word);
        assert_eq!(
            find(0).unwrap(),
            ModelValues {
                window: Some(Tokens(9.0)),
                max_tokens: Some(Tokens(3.0)),
                ..ModelValues::default()
            }
        );
        assert_eq!(find(1), None);
        let last = find(2).unwrap();
        assert_eq!((last.context_tokens, last.price.unwrap().at(201.0).input), (Some(Tokens(7.0)), 4.0));
        assert_eq!(
            [[0, 0, 9], [0, 1, 9], [0, 2, 0], [0, 9, 9], [2, 0, 0]].map(|v| table.place(Program::Pi, v)),
            [0, 0, 1, 1, 2]
        );
        assert_eq!(table.newest_word(Program::Pi, "a\tm").unwrap().0, 2);
    }
}

#[cfg(test)]
mod price_tests {
    use super::*;

    fn read(cost: &str) -> Option<Price> {
        Price::from_cost(&crate::js::parse(cost).unwrap())
    }

    #[test]
    fn a_prompt_above_a_step_costs_that_steps_rates_as_a_whole() {
        let tiers = r#"{"input":2,"output":12,"cacheRead":0.2,"cacheWrite":2.5,"tiers":[
            {"inputTokensAbove":400000,"input":8,"output":30},{"inputTokensAbove":200000,"input":4,"output":18}]}"#;
        let ranges = r#"{"input":2,"output":12,"tieredPricing":[
            {"range":[0,200001],"input":2,"output":12},{"range":[200001,400001],"input":4,"output":18},
            {"range":[400001],"input":8,"output":30}]}"#;
        for price in [tiers, ranges].map(|cost| read(cost).unwrap()) {
            let inputs =
                [0.0, 200_000.0, 200_001.0, 400_000.0, 400_001.0].map(|tokens| price.at(tokens).input);
            assert_eq!(inputs, [2.0, 2.0, 4.0, 4.0, 8.0]);
            assert_eq!(price.at(300_000.0).output, 18.0);
        }
    }

    #[test]
    fn a_price_needs_input_and_output() {
        assert_eq!(
            read(r#"{"input":1,"output":2,"cacheRead":0.5}"#),
            Some(Price::flat([1.0, 2.0, 0.5, 0.0]))
        );
        for cost in [r#"{"input":1}"#, r#"{"input":1,"output":-2}"#, "null", "5"] {
            assert_eq!(read(cost), None, "{cost}");
        }
    }
}
