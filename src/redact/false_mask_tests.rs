//! Ordinary texts have next to no secrets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::detection::detect;
use super::lines::views;

fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for item in std::fs::read_dir(folder).unwrap().flatten() {
        let path = item.path();
        if path.is_dir() {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
}

/// Counts words and masks of each file; redaction's own files hold secrets on purpose.
fn masks(paths: &[PathBuf]) -> (usize, BTreeMap<String, usize>) {
    let (mut words, mut masks) = (0, BTreeMap::new());
    for path in paths.iter().filter(|path| !path.to_string_lossy().contains("redact")) {
        let text = crate::files::read_text(path, 1 << 24).unwrap();
        words += text.split_whitespace().count();
        for found in detect(&text, &views(&text)) {
            let line = text[..found.from].matches('\n').count() + 1;
            *masks.entry(format!("{}:{line} {}", path.display(), found.secret)).or_default() += 1;
        }
    }
    (words, masks)
}

#[test]
fn documents_and_code_have_at_most_one_false_mask_in_ten_thousand_words() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = vec![root.join("README.md"), root.join("CHANGELOG.md"), root.join("src/ARCHITECTURE.md")];
    files(&root.join("assets/guide"), "md", &mut paths);
    files(&root.join("assets/rules"), "md", &mut paths);
    for folder in ["src/app", "src/replay", "src/store", "src/cli", "src/plan"] {
        files(&root.join(folder), "rs", &mut paths);
    }
    let (words, masks) = masks(&paths);
    assert!(words > 100_000, "{words} words");
    let count: usize = masks.values().sum();
    eprintln!("{count} masks in {words} words");
    assert!(count * 10_000 <= words, "{count} masks in {words} words: {masks:#?}");
}

#[test]
fn letters_that_begin_a_token_by_chance_are_no_secret() {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = 7_u64;
    let mut letter = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(letters[(state >> 58) as usize])
    };
    let file: String = (0..200_000).map(&mut letter).collect();
    let code =
        "checks = [() => this.findVisualStudio2019OrNewe(), () => exports.X509KeyUsage2Extension9ab()]";
    for text in [format!("const wasm = \"{file}\""), code.to_owned()] {
        let found: Vec<_> =
            detect(&text, &views(&text)).into_iter().map(|one| (one.kind, one.secret)).collect();
        // Even the name of a secret may be there by chance.
        assert!(found.len() <= 1, "{found:?}");
    }
}
