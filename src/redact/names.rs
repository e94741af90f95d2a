//! The keys of configurations, requests and arguments whose values are secrets, whatever the values look like.

use crate::js::JsString;

/// The kind of a secret that only its key reveals.
pub(super) const NAMED_KIND: &str = "value";

/// Suffixes of names whose values are secrets, in lower case and without `_`, `-` and blanks.
const SECRET_SUFFIXES: [&str; 24] = [
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
];

/// Names with such a suffix that are no secrets: positions in a list, switches.
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
        ] {
            assert!(is_secret_name(&name.into()), "{name}");
        }
        for name in ["totalTokens", "tokens", "key", "nextPageToken", "sessionKey", "publicKey", "text"] {
            assert!(!is_secret_name(&name.into()), "{name}");
        }
    }
}
