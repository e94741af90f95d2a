//! The cache ledger against pi's own statistics of cache misses: the same calls, tokens and cost on pi's sessions and on
//! generated ones. Says `skipped: …` where the real program is not here.

use std::fmt::Write as _;
use std::path::Path;

use clawscope::gateway::models::ModelList;
use clawscope::js::iso_text;
use clawscope::report::cache_ledger::{CacheTotals, cache_ledger};
use clawscope::units::Moment;

use crate::support::inspected::inspected_under;
use crate::support::pi_1_5::{CacheWaste, Pi};
use crate::support::session::Session;

/// 2026-11-19T10:00:00Z, ms.
const START: i64 = 1_795_082_400_000;
const MODELS: [&str; 2] = ["claude-opus-4-6", "claude-sonnet-4-6"];

/// A reproducible sequence of numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A session of pi 1.5 with warm and cold calls, failed ones, other models, compactions, summaries and warmed caches.
fn story(seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-11-19T10:00:00.000Z\",\"cwd\":\"/\"}\n".to_owned();
    let (mut time, mut prompt, mut entries) = (START, 5_000, 0);
    let mut add = |rest: &str, time: i64| {
        let parent = if entries == 0 { "null".to_owned() } else { format!("\"e{}\"", entries - 1) };
        let iso = iso_text(Moment::from_whole(time));
        let _ = writeln!(text, r#"{{"id":"e{entries}","parentId":{parent},"timestamp":"{iso}",{rest}}}"#);
        entries += 1;
    };
    for turn in 0..40 {
        time += [5_000, 60_000, 400_000, 4_000_000][dice.roll(4) as usize];
        match dice.roll(12) {
            0 => {
                add(
                    r#""type":"compaction","summary":"so far","firstKeptEntryId":"e0","tokensBefore":9000"#,
                    time,
                );
                prompt = 4_000;
            }
            1 => add(r#""type":"branch_summary","summary":"so far","fromId":"e0""#, time),
            2 => add(
                &format!(
                    r#""type":"usage","kind":"cache_warm","provider":"anthropic","model":"claude-opus-4-6","usage":{{"input":3,"output":1,"cacheRead":{prompt},"cacheWrite":0,"totalTokens":{},"cost":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.01}}}}"#,
                    prompt + 4
                ),
                time,
            ),
            _ => {}
        }
        add(
            &format!(r#""type":"message","message":{{"role":"user","content":"go on","timestamp":{time}}}"#),
            time,
        );
        time += 1_000;
        prompt += 200 + dice.roll(4_000);
        let is_silent = seed.is_multiple_of(5) && turn < 20;
        let read =
            if is_silent { 0 } else { [0, prompt / 2, prompt - 1_500, prompt - 100][dice.roll(4) as usize] };
        let input = if is_silent { prompt } else { dice.roll(prompt - read + 1) };
        let write = prompt - read - input;
        let model = MODELS[usize::from(dice.roll(6) == 0)];
        let stop = ["stop", "stop", "stop", "aborted", "error"][dice.roll(5) as usize];
        let [usd_in, usd_read, usd_write] =
            [input as f64 * 5e-6, read as f64 * 0.5e-6, write as f64 * 6.25e-6];
        let total = usd_in + usd_read + usd_write;
        add(
            &format!(
                r#""type":"message","message":{{"role":"assistant","content":[{{"type":"text","text":"done {turn}"}}],"api":"anthropic-messages","provider":"anthropic","model":"{model}","stopReason":"{stop}","timestamp":{time},"usage":{{"input":{input},"output":{turn},"cacheRead":{read},"cacheWrite":{write},"totalTokens":{},"cost":{{"input":{usd_in},"output":0,"cacheRead":{usd_read},"cacheWrite":{usd_write},"total":{total}}}}}}}"#,
                prompt + turn
            ),
            time,
        );
    }
    text
}

/// Returns the misses of the ledger in the form of pi's statistics.
fn own_waste(path: &Path) -> CacheWaste {
    let session = inspected_under(path, None);
    let totals = CacheTotals::of(&cache_ledger(&session).expect("a ledger").calls);
    CacheWaste {
        misses: totals.misses.calls as f64,
        tokens: totals.misses.tokens.get(),
        cost: totals.misses.cost.recorded.unwrap_or(0.0),
    }
}

#[test]
fn the_ledger_counts_the_misses_of_generated_sessions_as_pi_does() {
    let Some(pi) = Pi::find() else { return };
    let sessions: Vec<Session> = (0..60).map(|seed| Session::new(story(seed).as_bytes())).collect();
    let files: Vec<_> = sessions.iter().map(|session| session.path.clone()).collect();
    let reads = MODELS.map(|model| {
        let listed = ModelList::default().find("anthropic", model).expect("known");
        format!("\"anthropic/{model}\":{}", listed.values.price.expect("a price").cache_read)
    });
    let theirs = pi.cache_waste(&files, &format!("{{{}}}", reads.join(",")));
    let mut misses = 0.0;
    for (seed, (file, theirs)) in files.iter().zip(theirs).enumerate() {
        let (own, theirs) = (own_waste(file), theirs.expect("pi opens it"));
        misses += theirs.misses;
        assert_eq!((own.misses, own.tokens), (theirs.misses, theirs.tokens), "seed {seed}");
        assert!((own.cost - theirs.cost).abs() < 1e-9, "seed {seed}: {} and {}", own.cost, theirs.cost);
    }
    assert!(misses > 600.0, "only {misses} misses");
}

#[test]
fn the_ledger_counts_the_misses_of_pis_recorded_sessions_as_pi_does() {
    let Some(pi) = Pi::find() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden-pi-1.5/transcripts");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the folder").map(|file| file.expect("a file").path()).collect();
    files.sort();
    let theirs = pi.cache_waste(&files, "{}");
    let mut compared = 0;
    for (file, theirs) in files.iter().zip(theirs) {
        let Some(theirs) = theirs else { continue };
        let own = own_waste(file);
        let name = file.display();
        assert_eq!((own.misses, own.tokens), (theirs.misses, theirs.tokens), "{name}");
        compared += 1;
    }
    assert!(compared > 40, "only {compared} sessions");
}
