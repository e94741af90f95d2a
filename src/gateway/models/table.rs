//! The embedded table: the models that every published pi and gateway lists, with the releases that list them so.
//!
//! `scripts/upstream/models.mjs` writes it from the packages and describes its lines.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::price::Price;
use crate::files;
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
pub(super) fn numbers(version: &str) -> [u32; 3] {
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
