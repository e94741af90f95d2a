//! The first inputs of each target, made from the fixtures of the tests instead of copies of them.

use std::fs;
use std::path::Path;

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::generate::{Options, transcript};
use crate::stores::{CONFIG, INCLUDED, LISTED};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn fixture(path: &str) -> Vec<u8> {
    fs::read(Path::new(ROOT).join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn unpacked(path: &str) -> Vec<u8> {
    let packed = fixture(path);
    let mut bytes = Vec::new();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed.as_slice()).unwrap();
    std::io::Read::read_to_end(&mut decoder, &mut bytes).unwrap();
    bytes
}

fn small(seed: u64, steps: usize) -> Vec<u8> {
    transcript(seed, &Options { steps, result_pieces: 8, ..Options::default() })
}

fn lines_of(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

fn words() -> Vec<Vec<u8>> {
    let texts = [
        "plain words\x0c漢字 😀\x0c</script><script>alert(1)</script>",
        "<!--\x0c]]>\x0c\" onload=\"x\x0c'>",
    ];
    let markdown =
        "# Title\n- [a](javascript:x)\n```rust\nfn main() {}\n```\x0c| a | b |\n|---|---|\n| `x` | **y** |";
    let diff = "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\x0c\x1b[31mred\x1b[0m\x0c{\"a\": [1, \"<b>\"]}";
    [texts[0], texts[1], markdown, diff].into_iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn journals() -> Vec<Vec<u8>> {
    let intent = br#"{"clawscopeJournal":1,"kind":"commit","timeMs":1772000000000,"device":DEVICE,"inode":INODE,"size":SIZE,"modifiedNs":null,"tailBytes":SIZE,"tailSha256":"HASH","bytes":BYTES,"leaf":"x","lock":"{}","home":null}"#;
    let line = b"{\"type\":\"custom\",\"id\":\"x\",\"parentId\":\"e1\"}\n";
    let mut seeds = vec![[&b"\x21"[..], intent, b"\x0c", line].concat(), b"\x20cut off".to_vec()];
    for kind in 0..5_u8 {
        seeds.push([&b"\x22\x01\x00\x10\x00"[..], &[0x80 | kind, 0], line].concat());
        seeds.push([&b"\x32\x50\x00\x10\x00"[..], &[kind, 7], line].concat());
    }
    seeds
}

fn seeds_of(target: &str) -> Vec<Vec<u8>> {
    match target {
        "jsonl_line" => [lines_of(&small(1, 14)), lines_of(&small(2, 14))].concat(),
        "jsonl_file" => (0..24).map(|seed| small(seed, 1 + seed as usize % 7)).collect(),
        "sessions_json" => vec![LISTED.as_bytes().to_vec(), b"{}".to_vec()],
        "openclaw_json" => {
            vec![[CONFIG, INCLUDED, "{}"].join("\x0c").into_bytes(), CONFIG.as_bytes().to_vec()]
        }
        "sqlite" => vec![
            unpacked("tests/fixtures/sqlite-2026.7.1/openclaw-agent.sqlite.zst"),
            unpacked("tests/fixtures/sqlite-2026.8.1/openclaw-agent.sqlite.zst"),
        ],
        "archive" => {
            (0..4).map(|seed| compress_to_vec(&*small(seed, 3), CompressionLevel::Fastest)).collect()
        }
        "journal" => journals(),
        "keymap" => {
            let text = fixture("assets/keymap.toml");
            let whole = String::from_utf8(text).unwrap();
            whole
                .split("\n[")
                .map(|section| format!("[{}", section.trim_start_matches('[')).into_bytes())
                .collect()
        }
        "config" => {
            let preset = "\"contextPruning.ttl\" = \"30m\"\n[agents.defaults]\ncontextTokens = \"20000\"\n";
            let config = "theme = \"dark\"\nruleset = \"2026.3.2\"\nmouse = true\nmotion = false\nascii = true\ntime = \"utc\"\n[alerts]\nenabled = true\n[summarizer]\nkind = \"command\"\ncommand = [\"cat\"]\nmodel = \"m\"\n";
            vec![format!("{config}\x0c{preset}").into_bytes()]
        }
        "redaction" => {
            words().into_iter().enumerate().map(|(at, text)| [vec![at as u8 * 7], text].concat()).collect()
        }
        "export_html" => words(),
        _ => panic!("no target {target}"),
    }
}

/// Writes the first inputs of a target to its corpus, if it is empty.
pub fn plant(target: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&folder).unwrap();
    for (at, bytes) in seeds_of(target).into_iter().enumerate() {
        let path = folder.join(format!("seed-{at}"));
        if !path.exists() {
            fs::File::create(&path)
                .and_then(|mut file| std::io::Write::write_all(&mut file, &bytes))
                .unwrap();
        }
    }
}
