//! Measures the redaction of a transcript against reading it: `cargo bench --bench redact`.
//!
//! Both run in turn, several times, in one run, so that the ratio holds on a busy machine too; it is the same for both sizes
//! where redaction is linear. The first row has almost no text: it is the time that the rules take to compile.

#![allow(clippy::unwrap_used, reason = "a bench that cannot begin stops there")]
#![allow(clippy::print_stdout, reason = "a bench prints its numbers")]

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clawscope::js::{self, Value};
use clawscope::redact::Redactor;

const ROUNDS: usize = 5;
const SECRETS: usize = 300;
/// Entries whose secrets are learnt together, as an export does.
const LEARNT_TOGETHER: usize = 128;

fn main() {
    println!("{:>10} {:>8} {:>10} {:>10} {:>7}", "size", "secrets", "read", "redacted", "ratio");
    for (megabytes, rounds) in [(0.01, 1), (4.0, ROUNDS), (16.0, ROUNDS)] {
        let text = transcript((megabytes * 1e6) as usize);
        let mut runs: Vec<(Duration, Duration)> = Vec::new();
        let mut secrets = 0;
        for _ in 0..rounds {
            let began = Instant::now();
            let values: Vec<Value> = text.lines().map(|line| js::parse(line).unwrap()).collect();
            let read = began.elapsed();
            secrets = redact(&values);
            runs.push((read, began.elapsed().saturating_sub(read)));
        }
        let median = |pick: fn(&(Duration, Duration)) -> Duration| {
            let mut times: Vec<Duration> = runs.iter().map(pick).collect();
            times.sort();
            times[times.len() / 2]
        };
        let (read, redacted) = (median(|run| run.0), median(|run| run.1));
        let ratio = redacted.as_secs_f64() / read.as_secs_f64();
        println!("{megabytes:>7} MB {secrets:>8} {read:>10.1?} {redacted:>10.1?} {ratio:>7.1}");
    }
}

/// Redacts a transcript as an export does. Returns the number of its secrets without the signatures.
fn redact(values: &[Value]) -> usize {
    let mut redactor = Redactor::default();
    values.chunks(LEARNT_TOGETHER).for_each(|values| redactor.learn_values(values));
    for value in values {
        js::stringify(&redactor.redact_value(value));
    }
    redactor.counts().iter().filter(|(kind, _)| **kind != "value").map(|(_, count)| count).sum()
}

/// A transcript of some bytes: German and English sentences, logs with Windows paths, thinking with its signature, and
/// [`SECRETS`] secrets of eight forms.
fn transcript(bytes: usize) -> String {
    let mut chance = Chance { state: 1, secrets: 0 };
    let (mut lines, mut size): (Vec<String>, usize) = (Vec::new(), 0);
    while size < bytes {
        let is_due = size * SECRETS / bytes > chance.secrets;
        let secret = if is_due { chance.secret() } else { String::new() };
        let said = format!("{}\n{secret}\n{}", chance.sentence(40), chance.log());
        let (thought, signature) = (chance.sentence(60), STANDARD.encode(chance.letters(1500)));
        let block = js::stringify(&Value::from(said.as_str()));
        let line = format!(
            r#"{{"type":"message","message":{{"role":"assistant","content":[{{"type":"thinking","thinking":"{thought}","thinkingSignature":"{signature}"}},{{"type":"text","text":{block}}}]}}}}"#,
        );
        size += line.len() + 1;
        lines.push(line);
    }
    lines.join("\n")
}

/// Repeatable chance, and the secrets that it made.
struct Chance {
    state: u64,
    secrets: usize,
}

impl Chance {
    fn next(&mut self, below: usize) -> usize {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % below
    }

    fn letters(&mut self, count: usize) -> String {
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        (0..count).map(|_| char::from(letters[self.next(letters.len())])).collect()
    }

    fn sentence(&mut self, words: usize) -> String {
        const WORDS: &str = "der die Verbindung Datei prüfen Übertragung Schlüssel während Straße Zugriff verweigert the build fails \
                             because config token value missing in function returns error for request with response";
        let all: Vec<&str> = WORDS.split_whitespace().collect();
        (0..words).map(|_| all[self.next(all.len())]).collect::<Vec<_>>().join(" ")
    }

    fn log(&mut self) -> String {
        let line = |at: usize, chance: &mut Self| {
            let name = chance.letters(7);
            match chance.next(3) {
                0 => format!(
                    r#"C:\Users\Jörg Müller\AppData\Local\{name}.ts({at},12): error TS2304: "{name}""#
                ),
                1 => format!(r#"{at}:    if (token === "{name}") {{ return getToken(apiKey); }}"#),
                _ => format!("2026-03-05T10:00:12.123Z INFO [gateway] {}", chance.sentence(6)),
            }
        };
        (0..30).map(|at| line(at, self)).collect::<Vec<_>>().join("\n")
    }

    fn secret(&mut self) -> String {
        self.secrets += 1;
        let (short, long) = (self.letters(16), self.letters(40));
        match self.secrets % 8 {
            0 => format!("sk-ant-api03-{long}"),
            1 => format!("ghp_{}", &long[..36]),
            2 => format!("AKIA{}", short.to_uppercase()),
            3 => format!("DB_PASSWORD={short}!"),
            4 => format!("postgres://app:{short}@db.local:5432/app"),
            5 => format!("Authorization: Bearer {long}"),
            6 => format!("eyJ{long}.eyJ{long}.{long}"),
            _ => format!("-----BEGIN RSA PRIVATE KEY-----\n{long}\n{long}\n-----END RSA PRIVATE KEY-----"),
        }
    }
}
