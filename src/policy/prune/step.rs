//! Pruning as a step: decides over the sizes of a list and leaves the list as the call would be sent.

use crate::gateway::pruning::PruneSettings;
use crate::gateway::pruning::SoftTrim;
use crate::js::Throws;
use crate::policy::edit::{Edit, one_text};
use crate::policy::fate::Fate;
use crate::policy::list::List;
use crate::policy::prune::gate::Gate;
use crate::policy::prune::soft_trim::{joined_text, trimmed_text};
use crate::policy::prune::stages::{Outcome, PruneInput, prune};
use crate::policy::texture::{Text, Texture};
use crate::store::intern::Words;

/// Prunes a list. A shut gate leaves it as it is. Throws where the real pruner does; the list is untouched then.
pub fn prune_list(
    list: &mut List,
    words: &Words,
    settings: &PruneSettings,
    window: f64,
    gate: Gate,
) -> Result<Outcome, Throws> {
    let input = PruneInput { list, words, settings, window };
    let outcome = match gate.reason() {
        None => prune(&input)?,
        Some(reason) => Outcome::shut(&input, reason),
    };
    for (at, fate) in outcome.fates.iter().enumerate().filter(|(_, fate)| fate.fate.changes()) {
        let chars = fate.after.get()?;
        let (edit, texture) = if fate.fate == Fate::SoftTrimmed {
            (Edit::SoftTrim(settings.soft_trim), trimmed(list, at, &settings.soft_trim))
        } else {
            let placeholder = &settings.hard_clear.placeholder;
            let texture = list.texture(at).map(|texture| texture.with_text(Text::of(placeholder)));
            (Edit::Placeholder(placeholder.clone()), texture)
        };
        let size = one_text(list.size(at), chars);
        list.edit(at, edit, size, texture);
    }
    Ok(outcome)
}

/// The texture of a trimmed result; that of an odd one is told from its texts.
fn trimmed(list: &List, at: usize, settings: &SoftTrim) -> Option<Texture> {
    let texture = list.texture(at)?;
    if let Some(body) = list.odd(at).filter(|_| list.size(at).odd) {
        return Some(Texture::of(&Edit::SoftTrim(*settings).apply(&body)));
    }
    Some(texture.with_text(trimmed_text(settings, &joined_text(settings, texture))))
}
