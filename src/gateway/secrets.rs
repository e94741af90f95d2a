//! Files and keys that hold credentials: clawscope never opens such files and never keeps such values (store A8).

use std::path::Path;

const SECRET_FILES: [&str; 2] = ["auth-profiles.json", "auth.json"];
const SECRET_KEYS: [&str; 6] = ["apikey", "api_key", "token", "password", "secret", "authorization"];

/// Whether a path leads to a file with credentials, directly or through a link.
pub fn is_secret_file(path: &Path) -> bool {
    let named =
        |path: &Path| path.file_name().and_then(|n| n.to_str()).is_some_and(|n| SECRET_FILES.contains(&n));
    named(path) || path.is_symlink() && path.canonicalize().is_ok_and(|real| named(&real))
}

pub fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SECRET_KEYS.iter().any(|word| key.ends_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_recognised_by_file_name_and_key() {
        assert!(is_secret_file(Path::new("/x/agent/auth.json")));
        assert!(is_secret_file(Path::new("auth-profiles.json")));
        assert!(!is_secret_file(Path::new("/x/models.json")));
        assert!(is_secret_key("apiKey") && is_secret_key("botToken") && is_secret_key("Authorization"));
        assert!(!is_secret_key("contextTokens") && !is_secret_key("keyboard"));
    }
}
