//! The keys of configurations, requests and arguments whose values are always secrets.

use crate::js::{JsString, Object};

/// The kind of a secret that only its key reveals.
pub(super) const NAMED_KIND: &str = "value";

/// Suffixes of names whose values are secrets, in lower case and without `_`, `-` and blanks.
const SECRET_SUFFIXES: [&str; 43] = [
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "authkey",
    "accountkey",
    "masterkey",
    "servicekey",
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "connectionstring",
    "accesskeyid",
    "mnemonic",
    "seedphrase",
    "recoveryphrase",
    "secretkeybase",
    "dbpass",
    "userpass",
    "rootpass",
    "adminpass",
    "presharedkey",
    "psk",
    "authsalt",
    "hmackey",
    "appkey",
    "passwort",
    "passwords",
    "secrets",
    "apikeys",
    "authtoken",
    "signature",
    "identitytoken",
];

/// Words that are secrets only as a whole name, or after a separator.
const SECRET_WORDS: [&str; 8] = ["pass", "pw", "pin", "salt", "_auth", "cred", "creds", "otp"];

/// Names of the member with the name, and of the member with the value, of a pair.
const PAIR_NAMES: [&str; 9] =
    ["name", "key", "id", "field", "variable", "env", "header", "property", "label"];
const PAIR_VALUES: [&str; 8] =
    ["value", "val", "default", "defaultValue", "content", "plaintext", "text", "data"];

/// Whether its name, or the name next to it, makes a member of an object a secret.
pub(super) fn is_secret_member(object: &Object, key: &JsString) -> bool {
    let is_value = || PAIR_VALUES.iter().any(|value| key.eq_str(value)) || ends_in(key, &["value"]);
    let is_pair_name = |name: &JsString| {
        PAIR_NAMES.iter().any(|known| name.eq_str(known)) || ends_in(name, &["name", "key"])
    };
    let mut names =
        object.iter().filter(|(name, _)| is_pair_name(name)).filter_map(|(_, name)| name.as_str());
    is_secret_name(key) || is_value() && names.any(is_secret_name)
}

/// Whether a name ends so in any case, as `ParameterValue` does.
fn ends_in(name: &JsString, ends: &[&str]) -> bool {
    name.len() <= 64 && {
        let name = name.to_string_lossy().to_ascii_lowercase();
        ends.iter().any(|end| name.ends_with(end))
    }
}

/// Whether a member of an object below a secret name is its value.
pub(super) fn is_value_name(key: &JsString) -> bool {
    PAIR_VALUES.iter().any(|value| key.eq_str(value)) || is_secret_name(key)
}

/// Names with such a suffix that are not secrets: positions in a list, switches.
const HARMLESS_NAMES: [&str; 8] = [
    "pagetoken",
    "nextpagetoken",
    "nexttoken",
    "continuationtoken",
    "synctoken",
    "cursortoken",
    "previouspagetoken",
    "silenttoken",
];

pub(super) fn is_secret_name(key: &JsString) -> bool {
    if key.len() > 64 {
        return false;
    }
    let key = key.to_string_lossy();
    let name: String =
        key.chars().filter(|char| !"_- ".contains(*char)).flat_map(char::to_lowercase).collect();
    let lower = key.to_lowercase();
    let word = |word: &str| {
        lower == word || lower.strip_suffix(word).is_some_and(|rest| rest.ends_with(['_', '-', '.', ' ']))
    };
    // `smtpPass`, but not `bypass`.
    let is_camel = ["Pass", "Pw", "Psk"].iter().any(|end| {
        key.strip_suffix(end).is_some_and(|rest| rest.ends_with(|char: char| char.is_lowercase()))
    });
    if is_camel || SECRET_WORDS.iter().any(|name| word(name)) {
        return true;
    }
    SECRET_SUFFIXES.iter().any(|end| name.ends_with(end)) && !HARMLESS_NAMES.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_name_shows() {
        for name in [
            "password",
            "botToken",
            "API_KEY",
            "x-api-key",
            "client_secret",
            "gateway.auth.token",
            "appSecret",
            "smtpPass",
        ] {
            assert!(is_secret_name(&name.into()), "{name}");
        }
        for name in [
            "totalTokens",
            "tokens",
            "key",
            "nextPageToken",
            "sessionKey",
            "publicKey",
            "text",
            "bypass",
            "Pass3",
        ] {
            assert!(!is_secret_name(&name.into()), "{name}");
        }
    }
}
