//! The models that pi and the gateway list themselves, by release: windows, output limits and prices (releases R76).
//!
//! A lookup follows the program: provider and id exactly, its aliases, its own fallback. For example, `anthropic` and
//! `claude-opus-4-6` have 200,000 tokens in 2026.3.2 and 1,000,000 in 2026.9.6.

mod fallback;
mod table;

pub use table::{ListRelease, ModelValues, Price, Program};

use std::cell::RefCell;
use std::collections::HashMap;

use super::window_rules::provider_alias;
use crate::units::Tokens;
pub(super) use table::numbers;
use table::{Table, table};

/// The list of a release; without one, every list, of which the newest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModelList(Option<(Program, [u32; 3])>);

/// Where the values of a model come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// The list of the release, or of another one where the release is unknown or has no entry.
    Listed,
    /// The program's own guess for an id that it does not list.
    Assumed,
}

/// A model as a release knows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ListedModel {
    pub values: ModelValues,
    pub listing: Listing,
    /// The release whose list it is.
    pub release: &'static ListRelease,
}

thread_local! {
    static FOUND: RefCell<Lookups> = RefCell::default();
}

/// Names of models that a thread remembers: stores of 100,000 sessions use a few, and damaged ones may use any number.
const MAX_LOOKUPS: usize = 256;
/// Longer names are not remembered.
const MAX_NAME_BYTES: usize = 200;

/// The last lookups in one list. A listing asks several times per session, and each search makes a dozen keys.
#[derive(Default)]
struct Lookups {
    list: ModelList,
    by_name: HashMap<String, Option<ListedModel>>,
    /// The last provider and model: most sessions of a store use the same.
    last: Option<(String, String, Option<ListedModel>)>,
}

impl Lookups {
    fn get_or_search(&mut self, list: ModelList, (provider, model): (&str, &str)) -> Option<ListedModel> {
        if self.list != list || self.by_name.len() >= MAX_LOOKUPS {
            *self = Self { list, ..Self::default() };
        }
        if let Some((_, _, found)) = self.last.as_ref().filter(|last| last.0 == provider && last.1 == model) {
            return *found;
        }
        let search = || list.search(provider, model);
        if provider.len() + model.len() > MAX_NAME_BYTES || provider.contains('\t') {
            return search();
        }
        let found = *self.by_name.entry(key(provider, model)).or_insert_with(search);
        self.last = Some((provider.to_owned(), model.to_owned(), found));
        found
    }
}

impl ModelList {
    /// The list of a release of a program: year, month and day of a gateway; major, minor and patch of pi. A part of
    /// `u32::MAX` is the newest.
    pub const fn of(program: Program, release: [u32; 3]) -> Self {
        Self(Some((program, release)))
    }

    /// Finds a model of a provider. Where the release's list has no price, that of the newest list counts.
    pub fn find(self, provider: &str, model: &str) -> Option<ListedModel> {
        FOUND.with_borrow_mut(|found| found.get_or_search(self, (provider, model)))
    }

    fn search(self, provider: &str, model: &str) -> Option<ListedModel> {
        let (table, of) = (table(), (provider, model));
        let newest = || newest(table, provider, model);
        let found = match self.0 {
            Some((Program::Pi, release)) => in_pi(table, release, of),
            Some((Program::Gateway, release)) => {
                let is_open = !fallback::takes_any_id(release, provider);
                in_gateway(table, release, of).or_else(|| newest().filter(|_| is_open))
            }
            None => newest(),
        }?;
        let price = found.values.price.or_else(|| newest()?.values.price);
        Some(ListedModel { values: ModelValues { price, ..found.values }, ..found })
    }

    /// Returns the smallest window of an id under any provider of the list.
    pub fn smallest_window(self, model: &str) -> Option<Tokens> {
        let newest = (Program::Pi, [u32::MAX; 3]);
        let windows = places(table(), self.0.unwrap_or(newest)).flat_map(|(program, at)| {
            let words = table().words_of_id(program, model, at);
            words.filter_map(|(_, word)| ModelValues::from_word(word).window)
        });
        windows.reduce(Tokens::min)
    }
}

/// The lists of a release in their order: of a gateway the bundled pi's, then the plug-ins'.
fn places(
    table: &'static Table,
    (program, release): (Program, [u32; 3]),
) -> impl Iterator<Item = (Program, usize)> {
    let own = table.place(program, release);
    let bundled =
        table.releases(program).get(own).map(|release| release.bundled).filter(|bundled| !bundled.is_empty());
    let bundled = bundled.map(|version| (Program::Pi, table.place(Program::Pi, numbers(version))));
    bundled.into_iter().chain([(program, own)])
}

fn key(provider: &str, id: &str) -> String {
    format!("{provider}\t{id}")
}

fn listed(table: &'static Table, program: Program, at: usize, word: &str) -> ListedModel {
    let release = &table.releases(program)[at];
    ListedModel { values: ModelValues::from_word(word), listing: Listing::Listed, release }
}

/// An id that no provider of pi ever listed has the values of the provider's default model.
fn in_pi(table: &'static Table, release: [u32; 3], (provider, model): (&str, &str)) -> Option<ListedModel> {
    let at = table.place(Program::Pi, release);
    let exact = table.word(Program::Pi, &key(provider, model), at);
    let found =
        exact.map(|word| listed(table, Program::Pi, at, word)).or_else(|| newest(table, provider, model));
    found.or_else(|| {
        let stand_in = table.word(Program::Pi, &key(provider, "*"), at)?;
        let word = table.word(Program::Pi, &key(provider, stand_in), at)?;
        Some(ListedModel { listing: Listing::Assumed, ..listed(table, Program::Pi, at, word) })
    })
}

fn in_gateway(
    table: &'static Table,
    release: [u32; 3],
    (provider, model): (&str, &str),
) -> Option<ListedModel> {
    let own = table.place(Program::Gateway, release);
    let exact = |provider: &str, model: &str| {
        places(table, (Program::Gateway, release)).find_map(|(program, at)| {
            Some(listed(table, program, at, table.word(program, &key(provider, model), at)?))
        })
    };
    let lower = provider.trim().to_lowercase();
    let known = provider_alias(&lower).unwrap_or(&lower);
    let target = table.word(Program::Gateway, &key(known, "@"), own);
    let of_list = |id: &str| exact(known, id).map(|found| found.values);
    let by_rule = |values: Option<ModelValues>, listing| {
        Some(ListedModel { values: values?, listing, release: &table.releases(Program::Gateway)[own] })
    };
    let stated = by_rule(fallback::claude(release, (known, model), of_list), Listing::Listed);
    let renamed = || exact(known, model).or_else(|| exact(target?, model));
    let related = || by_rule(fallback::related(release, (known, model), of_list), Listing::Assumed);
    stated.or_else(|| exact(provider, model)).or_else(renamed).or_else(related)
}

/// The price of Claude Opus 4.6, for tests of costs.
#[cfg(test)]
pub(crate) fn opus_price() -> Price {
    newest(table(), "anthropic", "claude-opus-4-6").and_then(|model| model.values.price).expect("in the list")
}

/// Returns the newest entry of any list; of two programs, the later one, with the other's price where it names none.
fn newest(table: &'static Table, provider: &str, model: &str) -> Option<ListedModel> {
    let of = |program| {
        let (at, word) = table.newest_word(program, &key(provider, model))?;
        Some(listed(table, program, at, word))
    };
    let (Some(plugins), Some(pi)) = (of(Program::Gateway), of(Program::Pi)) else {
        return of(Program::Gateway).or_else(|| of(Program::Pi));
    };
    let (later, other) = if plugins.release.date > pi.release.date { (plugins, pi) } else { (pi, plugins) };
    let price = later.values.price.or(other.values.price);
    Some(ListedModel { values: ModelValues { price, ..later.values }, ..later })
}
