use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::js;

#[path = "../../tests/it/support/secrets.rs"]
mod secrets;

use secrets::{random, samples};

fn redacted(text: &str) -> String {
    let mut redactor = Redactor::default();
    redactor.learn(text);
    redactor.redact_text(text).into_owned()
}

#[test]
fn every_secret_shape_is_removed_and_its_surroundings_are_kept() {
    // Only the key itself reveals a single line of it.
    for sample in samples().iter().filter(|sample| sample.name != "private key by a line") {
        let text = redacted(&sample.text);
        assert!(!text.contains(&sample.secret), "{}: {text}", sample.name);
        assert!(text.contains("[redacted:"), "{}: {text}", sample.name);
        assert_eq!(redacted(&text), text, "{}", sample.name);
        let first = sample.text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        assert!(
            text.starts_with(first) || sample.text.starts_with(&sample.secret),
            "{}: {text}",
            sample.name
        );
    }
}

#[test]
fn every_secret_shape_is_removed_from_nested_json() {
    for sample in samples().iter().filter(|sample| sample.name != "private key by a line") {
        let inner =
            js::stringify(&Value::from(Object::from([("command", Value::from(sample.text.as_str()))])));
        let value = Value::from(Object::from([
            ("text", Value::from(sample.text.as_str())),
            ("arguments", Value::from(inner.as_str())),
        ]));
        let mut redactor = Redactor::default();
        redactor.learn_value(&value);
        let text = js::stringify(&redactor.redact_value(&value));
        assert!(!text.contains(&sample.secret), "{}: {text}", sample.name);
    }
}

#[test]
fn every_secret_shape_is_removed_in_every_escaped_form() {
    let percent = |text: &str| -> String {
        let one = |byte: u8| {
            let plain = byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
            if plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
        };
        text.bytes().map(one).collect()
    };
    let quoted = |text: &str| js::stringify(&Value::from(text));
    let packed = |text: &str| {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD_NO_PAD.encode(text)
    };
    // Only the key itself reveals a single line of it, and each line reveals a secret of several lines.
    for sample in samples().iter().filter(|sample| !sample.name.starts_with("private key")) {
        let forms = [
            ("JSON", quoted(&sample.text), quoted(&sample.secret)),
            ("JSON in JSON", quoted(&quoted(&sample.text)), quoted(&quoted(&sample.secret))),
            ("percent signs", percent(&sample.text), percent(&sample.secret)),
            ("percent signs twice", percent(&percent(&sample.text)), percent(&percent(&sample.secret))),
            ("base64", packed(&sample.text), packed(&sample.secret)),
        ];
        for (form, text, secret) in forms {
            let secret = secret.trim_matches(['"', '\\']);
            let out = redacted(&format!("see\n{text}\nthere"));
            assert!(!out.contains(secret) && out.contains("[redacted:"), "{} in {form}: {out}", sample.name);
            assert!(out.starts_with("see\n") && out.ends_with("\nthere"), "{} in {form}: {out}", sample.name);
            assert_eq!(redacted(&out), out, "{} in {form}", sample.name);
        }
    }
}

#[test]
fn a_learned_secret_is_found_behind_escapes_and_has_the_same_placeholder() {
    let mut redactor = Redactor::default();
    redactor.learn("password: \"tall/9-orange\"");
    assert_eq!(redactor.redact_text("x=tall%2F9-orange&y"), "x=[redacted:value:1]&y");
    assert_eq!(redactor.redact_text(r#"\"tall\/9-orange\""#), r#"\"[redacted:value:1]\""#);
    assert_eq!(redactor.redact_text("x dXNlcjp0YWxsLzktb3Jhbmdl y"), "x [redacted:value:1] y");
}

#[test]
fn the_same_secret_has_the_same_placeholder_everywhere() {
    let key = format!("ghp_{}", random(1, 36, "abcdefghijkmnpqrstuvwxyz23456789"));
    let other = format!("ghp_{}", random(2, 36, "abcdefghijkmnpqrstuvwxyz23456789"));
    let mut redactor = Redactor::default();
    let texts =
        [format!("GITHUB_TOKEN={key}"), format!("use {other}"), format!("git push https://{key}@github.com")];
    for text in &texts {
        redactor.learn(text);
    }
    let all: Vec<String> = texts.iter().map(|text| redactor.redact_text(text).into_owned()).collect();
    assert_eq!(all[0], "GITHUB_TOKEN=[redacted:github-token:1]");
    assert_eq!(all[1], "use [redacted:github-token:2]");
    assert_eq!(all[2], "git push https://[redacted:github-token:1]@github.com");
    assert_eq!(redactor.counts().get("github-token"), Some(&2));
}

#[test]
fn a_learned_secret_is_recognised_everywhere() {
    let mut redactor = Redactor::default();
    let password = "tall9-orange";
    redactor.learn(&format!("password: \"{password}\""));
    assert_eq!(redactor.redact_text("try tall9-orange then"), "try [redacted:value:1] then");
    let config = js::parse(r#"{"channels":{"telegram":{"botToken":"aB3-not-a-known-shape"}}}"#).unwrap();
    redactor.learn_value(&config);
    assert_eq!(redactor.redact_text("got aB3-not-a-known-shape"), "got [redacted:value:2]");
    assert!(!js::stringify(&redactor.redact_value(&config)).contains("aB3-not"));
}

#[test]
fn parts_of_a_cut_secret_are_removed_too() {
    let key =
        format!("sk-ant-api03-{}", random(3, 90, "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789"));
    let mut redactor = Redactor::default();
    redactor.learn(&key);
    let cut = format!("begins {}\n...\n{} ends", &key[..40], &key[60..]);
    let text = redactor.redact_text(&cut).into_owned();
    assert_eq!(text, "begins [redacted:anthropic-key:2]\n...\n[redacted:anthropic-key:1] ends");
}

#[test]
fn redaction_keeps_lone_surrogates_in_place() {
    let mut redactor = Redactor::default();
    let mut units: Vec<u16> = "é".encode_utf16().collect();
    units.push(0xD800);
    units.extend(" password: 'q1w2e3r4t5' ".encode_utf16());
    units.push(0xDC00);
    let text = JsString::from(units);
    let out = redactor.redact_js(&text);
    assert_eq!(out.units()[..2], [0xE9, 0xD800]);
    assert_eq!(out.units().last(), Some(&0xDC00));
    assert!(out.to_string_lossy().contains("password: '[redacted:value:1]'"));
}

#[test]
fn pictures_are_blanked_and_other_data_is_kept() {
    let value = js::parse(
        r#"[{"type":"image","data":"iVBOabc","mimeType":"image/png"},{"type":"custom","data":"iVBOabc"}]"#,
    );
    let mut redactor = Redactor::default();
    let text = js::stringify(&redactor.redact_value(&value.unwrap()));
    assert!(text.contains(BLANK_IMAGE) && text.matches("iVBOabc").count() == 1, "{text}");
    assert_eq!(redactor.removed_images(), 1);
}

#[test]
fn off_means_off() {
    let mut redactor = Redactor::disabled();
    let text = format!("GITHUB_TOKEN=ghp_{}", random(4, 36, "abc123"));
    redactor.learn(&text);
    assert_eq!(redactor.redact_text(&text), text);
    assert!(redactor.counts().is_empty());
}

#[test]
fn no_two_samples_are_the_same() {
    let samples = samples();
    let secrets: HashSet<&String> = samples.iter().map(|sample| &sample.secret).collect();
    assert!(samples.len() >= 60 && secrets.len() >= samples.len() - 1, "{}", samples.len());
}

proptest! {
    #[test]
    fn redacting_a_text_again_changes_nothing(text in "\\PC{0,200}") {
        let once = redacted(&text);
        prop_assert_eq!(redacted(&once), once);
    }

    #[test]
    fn a_token_is_removed_in_any_surroundings(before in "[^A-Za-z0-9_-]{0,20}", after in "[^A-Za-z0-9_-]{0,20}", seed in 1u64..5000) {
        let key = format!("sk-ant-api03-{}", random(seed, 60, "ABCDEFabcdef0123456789_"));
        let text = redacted(&format!("{before}{key}{after}"));
        prop_assert!(!text.contains(&key[..24]), "{}", text);
    }
}
