//! Checks that hold for any bytes. `cargo fuzz` chooses the bytes of the targets in `targets/`; `tests/it/fuzz` includes
//! `checks` and derives bytes from seeds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failing check stops there")]

mod checks;
#[path = "../../it/support/generate.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests")]
mod generate;
#[path = "../../it/support/secrets.rs"]
mod samples;
pub mod seeds;

pub use checks::*;

/// Plants one of the sample secrets, chosen by the first byte, between two texts.
pub fn secrets_among(bytes: &[u8]) {
    thread_local! {
        static SAMPLES: Vec<samples::Sample> =
            samples::samples().into_iter().filter(|sample| secrets::is_known_alone(&sample.text, &sample.secret)).collect();
    }
    let Some((&choice, rest)) = bytes.split_first() else { return };
    let mut texts = checks::parts(rest);
    let (before, after) = (texts.next().unwrap_or_default(), texts.next().unwrap_or_default());
    SAMPLES.with(|samples| {
        let sample = &samples[usize::from(choice) % samples.len()];
        secrets::secret_stays_hidden(
            sample.name,
            &sample.secret,
            &format!("{before}\n{}\n{after}", sample.text),
        );
    });
}
