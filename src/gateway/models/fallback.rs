//! The gateway's assumptions about models that its list does not have: the values of a related model (releases R76).

use std::sync::LazyLock;

use serde::Deserialize;

use super::table::ModelValues;
use crate::units::Tokens;

/// The first release with pi's list no longer bundled; the plug-ins answer for their providers.
const PLUGIN_LISTS: [u32; 3] = [2026, 5, 28];
/// The first release that asks openrouter for the window of an unlisted id.
const OPENROUTER_ASKS: [u32; 3] = [2026, 3, 22];
/// Older releases have none of these rules.
const FIRST: [u32; 3] = [2026, 1, 1];

/// Ids that get the values of the first listed model of `like`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Template {
    /// The first release with the rule; without one, all have it.
    since: Option<[u32; 3]>,
    /// The first release without the rule; without one, [`PLUGIN_LISTS`].
    until: Option<[u32; 3]>,
    providers: Vec<String>,
    id: String,
    /// Whether ids that continue `id` with a dash count too.
    #[serde(default)]
    is_prefix: bool,
    like: Vec<String>,
    /// Numbers that replace the related model's.
    own: Option<OwnValues>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnValues {
    window: Tokens,
    max_tokens: Tokens,
}

#[derive(Deserialize, Default)]
struct TemplateFile {
    template: Vec<Template>,
}

/// The templates; a test checks that the file is read whole.
static FILE: LazyLock<TemplateFile> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../assets/model-templates.toml")).unwrap_or_default()
});

/// Families of Claude models to which the plug-in gives a million tokens, whatever its list says.
const MILLION: [&str; 8] = [
    "claude-opus-4-6",
    "claude-opus-4-7",
    "claude-opus-4-8",
    "claude-sonnet-4-6",
    "claude-sonnet-5",
    "claude-opus-5",
    "claude-fable-5",
    "claude-mythos-5",
];
const MILLION_TOKENS: Tokens = Tokens(1_000_000.0);
/// The window of the families with a minor version before 2026.8.1.
const EARLIER_MILLION: Tokens = Tokens(1_048_576.0);
const EXACT_MILLION: [u32; 3] = [2026, 8, 1];

/// Whether a release takes every id of a provider, with its default window: no other release's list counts.
pub(super) fn takes_any_id(release: [u32; 3], provider: &str) -> bool {
    provider == "openrouter" && release < OPENROUTER_ASKS
}

/// Returns what a release of the gateway takes for a new id from a related model. `listed` finds a model of the same provider
/// in the release's own list.
pub(super) fn related(
    release: [u32; 3],
    (provider, model): (&str, &str),
    listed: impl Fn(&str) -> Option<ModelValues>,
) -> Option<ModelValues> {
    let id = model.to_lowercase();
    let fits = |template: &&Template| {
        (template.since.unwrap_or(FIRST)..template.until.unwrap_or(PLUGIN_LISTS)).contains(&release)
            && template.providers.iter().any(|own| own == provider)
            && (id == template.id || template.is_prefix && continues(&id, &template.id))
    };
    FILE.template.iter().filter(fits).find_map(|template| {
        // A dated id prefers the related model of the same date.
        let same = template.like.first().map(|like| id.replacen(&template.id, like, 1));
        let found = same
            .as_deref()
            .and_then(&listed)
            .or_else(|| template.like.iter().find_map(|like| listed(like)))?;
        Some(match &template.own {
            Some(own) => ModelValues {
                window: Some(own.window),
                max_tokens: Some(own.max_tokens),
                price: None,
                ..found
            },
            None => found,
        })
    })
}

fn continues(id: &str, start: &str) -> bool {
    id.strip_prefix(start).is_some_and(|rest| rest.starts_with('-'))
}

/// Returns what the plug-in of Anthropic says of a model: a dated id has the values of the undated one, and the current
/// families have a million tokens.
pub(super) fn claude(
    release: [u32; 3],
    (provider, model): (&str, &str),
    listed: impl Fn(&str) -> Option<ModelValues>,
) -> Option<ModelValues> {
    let is_own = provider == "anthropic" || provider == "claude-cli" && release < EXACT_MILLION;
    if release < PLUGIN_LISTS || !is_own {
        return None;
    }
    let is_date = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    let undated = model.rsplit_once('-').filter(|(_, date)| is_date(date)).map(|(undated, _)| undated);
    let found = listed(model).or_else(|| listed(undated?));
    let Some(family) = MILLION.iter().find(|family| model == **family || continues(model, family)) else {
        return found;
    };
    let is_earlier = release < EXACT_MILLION && family.contains("-4-");
    let million = if is_earlier { EARLIER_MILLION } else { MILLION_TOKENS };
    let unlisted = ModelValues { max_tokens: Some(Tokens(128_000.0)), ..ModelValues::default() };
    let found = found.unwrap_or(unlisted);
    let raised = |tokens: Option<Tokens>| Some(tokens.map_or(million, |tokens| tokens.max(million)));
    Some(ModelValues { window: raised(found.window), context_tokens: raised(found.context_tokens), ..found })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(release: [u32; 3], provider: &str, model: &str) -> Option<ModelValues> {
        let listed = |id: &str| -> Option<ModelValues> {
            let window = match id {
                "claude-opus-4-5" | "gpt-5.2" => 200_000.0,
                "claude-opus-4-5-20251101" => 190_000.0,
                "claude-opus-5" => 1_000_000.0,
                _ => return None,
            };
            Some(ModelValues { window: Some(Tokens(window)), ..ModelValues::default() })
        };
        related(release, (provider, model), listed).or_else(|| claude(release, (provider, model), listed))
    }

    fn window(release: [u32; 3], provider: &str, model: &str) -> Option<f64> {
        of(release, provider, model).and_then(|values| Some(values.window?.get()))
    }

    #[test]
    fn every_template_is_read() {
        let file: TemplateFile =
            toml::from_str(include_str!("../../../assets/model-templates.toml")).unwrap();
        assert_eq!(file.template.len(), 13);
    }

    #[test]
    fn an_unlisted_model_has_the_values_of_its_template() {
        let old = [2026, 3, 2];
        assert_eq!(window(old, "anthropic", "claude-opus-4-6"), Some(200_000.0));
        assert_eq!(window(old, "anthropic", "claude-opus-4-6-20251101"), Some(190_000.0));
        assert_eq!(window(old, "anthropic", "claude-opus-4-60"), None);
        assert_eq!(window(old, "openrouter", "claude-opus-4-6"), None);
        assert_eq!(
            [old, [2026, 3, 7]].map(|release| window(release, "openai", "gpt-5.4")),
            [None, Some(1_050_000.0)]
        );
    }

    #[test]
    fn plug_ins_give_claude_models_a_million_tokens() {
        let new = [2026, 9, 6];
        assert_eq!(window(new, "anthropic", "claude-sonnet-4-6"), Some(1_000_000.0));
        assert_eq!(window([2026, 7, 1], "anthropic", "claude-sonnet-4-6"), Some(1_048_576.0));
        assert_eq!(window(new, "anthropic", "claude-opus-5-20261101"), Some(1_000_000.0));
        assert_eq!(window(new, "anthropic", "claude-opus-4-5-20260101"), Some(200_000.0));
        assert_eq!(window(new, "anthropic", "claude-haiku-3"), None);
        assert_eq!(
            [new, [2026, 5, 27]].map(|release| window(release, "claude-cli", "claude-opus-4-7")),
            [None; 2]
        );
        assert_eq!(window(new, "openai", "gpt-5.4"), None);
    }
}
