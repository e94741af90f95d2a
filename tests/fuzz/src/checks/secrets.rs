//! Redaction: a secret planted among any words does not appear in the output.

use clawscope::redact::Redactor;

fn redacted(text: &str) -> String {
    let mut redactor = Redactor::default();
    redactor.learn(text);
    redactor.redact_text(text).into_owned()
}

/// Whether a text reveals this secret by itself; a line of a private key does not.
pub fn is_known_alone(text: &str, secret: &str) -> bool {
    !redacted(text).contains(secret)
}

/// Neither masking once nor masking twice leaves the secret in the text.
pub fn secret_stays_hidden(name: &str, secret: &str, text: &str) {
    let once = redacted(text);
    assert!(!once.contains(secret), "{name}: {text:?} became {once:?}");
    assert!(!redacted(&once).contains(secret), "{name}: {once:?}");
}
