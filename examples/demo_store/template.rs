//! Text templates: `{name}` takes an item of a pool, `{#5-90}` a number, `{x8}` hex digits, `{b40}` base64. Pool items
//! may contain slots.
use super::rng::Rng;

pub(super) type Pools = [(&'static str, &'static [&'static str])];

/// Appends `template` to `out` with its slots filled. An unknown slot stays unchanged.
pub(super) fn fill(out: &mut String, rng: &mut Rng, pools: &Pools, template: &str) {
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open + 1..];
        match rest.split_once('}') {
            Some((name, after)) if is_name(name) => {
                fill_slot(out, rng, pools, name);
                rest = after;
            }
            _ => out.push('{'),
        }
    }
    out.push_str(rest);
}

/// Whether the text in braces is a slot; other braces belong to the text.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '#' || c == '-')
}

pub(super) fn fill_to_string(rng: &mut Rng, pools: &Pools, template: &str) -> String {
    let mut out = String::new();
    fill(&mut out, rng, pools, template);
    out
}

/// Appends `sentence` with a capital first letter.
pub(super) fn sentence_case(out: &mut String, sentence: &str) {
    let mut text_features = sentence.chars();
    out.extend(text_features.next().map(|first| first.to_ascii_uppercase()));
    out.push_str(text_features.as_str());
}

/// Fills random `templates` line by line until the text has about `chars` bytes.
pub(super) fn lines(rng: &mut Rng, pools: &Pools, templates: &[&str], chars: usize) -> String {
    let mut out = String::with_capacity(chars + 400);
    while out.len() < chars {
        let template = rng.pick(templates);
        fill(&mut out, rng, pools, template);
        out.push('\n');
    }
    out
}

fn fill_slot(out: &mut String, rng: &mut Rng, pools: &Pools, name: &str) {
    if let Some(number) = number(rng, name) {
        out.push_str(&number);
    } else if let Some((_, words)) = pools.iter().find(|(pool, _)| *pool == name) {
        let word = rng.pick(words);
        fill(out, rng, pools, word);
    } else {
        out.push('{');
        out.push_str(name);
        out.push('}');
    }
}

fn number(rng: &mut Rng, name: &str) -> Option<String> {
    if let Some((low, high)) = name.strip_prefix('#').and_then(|range| range.split_once('-')) {
        return Some(rng.range(low.parse().ok()?, high.parse().ok()?).to_string());
    }
    if let Some(len) = name.strip_prefix('x').and_then(|len| len.parse().ok()) {
        return Some(rng.hex(len));
    }
    name.strip_prefix('b').and_then(|len| len.parse().ok()).map(|len| rng.base64(len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filling_replaces_slots_and_keeps_other_braces() {
        let pools: &Pools = &[("word", &["({#7-7})"])];
        let text = fill_to_string(&mut Rng::new("t"), pools, "if { {word} } Tagged{{word}, 1} {nope}");
        assert_eq!(text, "if { (7) } Tagged{(7), 1} {nope}");
    }
}
