//! The name of a host as the name of a folder, so that machines with different names never share one: a copy of the rows of
//! one machine would replace those of the other.
//!
//! Lower-case letters, digits, `-`, `_` and `.` stay; every other byte becomes `%` and two hexadecimal digits, which Hive,
//! Spark, Arrow and DuckDB decode. Capitals are coded too, because macOS and Windows ignore the case of names, and so is a
//! dot at the end, which Windows drops. `host=` precedes the name, so that it is never `..` or a device of Windows. A name
//! that is too long for a file system ends in a digest instead, after `~`, which no other name has.

use super::stamp::digest;

/// Limit for the name of a folder on every common file system, less `host=`.
const MAX_BYTES: usize = 255 - "host=".len();
const DIGEST_SIGN: char = '~';

/// Returns the folder's name for a host. Different hosts have different folders, whatever their case or script.
pub(super) fn encode_host(host: &str) -> String {
    let last = host.len().saturating_sub(1);
    let mut name = String::with_capacity(host.len());
    for (at, byte) in host.bytes().enumerate() {
        let is_last_dot = byte == b'.' && at == last;
        if (byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte)) && !is_last_dot {
            name.push(char::from(byte));
        } else {
            name.extend(['%', hex(byte >> 4), hex(byte & 15)]);
        }
    }
    if name.len() <= MAX_BYTES { name } else { shortened(&name, host) }
}

fn hex(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).map_or('0', |digit| digit.to_ascii_uppercase())
}

/// Replaces the end of a coded name by a digest of the host.
fn shortened(name: &str, host: &str) -> String {
    let digest = digest(&[host.as_bytes()]);
    let start = &name[..MAX_BYTES - digest.len() - 1];
    // A coded byte is not cut.
    let whole = start.rfind('%').filter(|at| start.len() - at < 3).unwrap_or(start.len());
    [&start[..whole], digest.as_str()].join(DIGEST_SIGN.encode_utf8(&mut [0; 4]))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Returns the host of a folder; `None` where a digest replaces a part of it.
    fn decode(name: &str) -> Option<String> {
        let mut bytes = Vec::new();
        let mut rest = name.as_bytes();
        while let Some((&first, after)) = rest.split_first() {
            let (byte, after) = match first {
                b'~' => return None,
                b'%' => {
                    let digits = std::str::from_utf8(&after[..2]).unwrap();
                    (u8::from_str_radix(digits, 16).unwrap(), &after[2..])
                }
                plain => (plain, after),
            };
            bytes.push(byte);
            rest = after;
        }
        Some(String::from_utf8(bytes).unwrap())
    }

    /// The name as a file system sees it that ignores case and a dot at the end.
    fn folded(name: &str) -> String {
        name.to_lowercase().trim_end_matches(['.', ' ']).to_owned()
    }

    #[test]
    fn hosts_keep_apart_on_every_file_system() {
        let hosts = [
            "web",
            "Web",
            "WEB",
            "日本",
            "中国",
            "büro",
            "bu\u{308}ro",
            "bäro",
            "a/b",
            "a_b",
            "a\\b",
            "a:b",
            "a b",
            "a.b",
            "a.",
            "a..",
            "a",
            "..",
            ".",
            "con",
            "NUL",
            "a%2fb",
            "a%2Fb",
            "~",
            "a~b",
            "a\0b",
            "a\nb",
            "-x",
            " a",
            "",
            "__HIVE_DEFAULT_PARTITION__",
            "__hive_default_partition__",
        ];
        let mut owners = HashMap::new();
        for host in hosts {
            let name = encode_host(host);
            assert_eq!(decode(&name).as_deref(), Some(host), "{name}");
            let other = owners.insert(folded(&name), host);
            assert_eq!(other, None, "{host:?} shares {name}");
        }
        assert_eq!(encode_host("gateway-1.example_x"), "gateway-1.example_x");
        assert_eq!(encode_host("Büro."), "%42%C3%BCro%2E");
    }

    #[test]
    fn a_long_name_ends_in_a_digest_of_the_whole() {
        let long = |end: &str| encode_host(&["日".repeat(200).as_str(), end].concat());
        let (one, other) = (long("a"), long("b"));
        assert!(one != other && one.len() <= MAX_BYTES && other.len() <= MAX_BYTES, "{one}");
        assert_eq!(decode(&one), None);
        let fits = "x".repeat(MAX_BYTES);
        assert_eq!(encode_host(&fits), fits);
        assert!(encode_host(&(fits + "x")).contains('~'));
    }

    fn host() -> impl Strategy<Value = String> {
        prop_oneof!["[aAbB%2Ff/_.~ \u{e4}\u{fc}\u{65e5}-]{0,6}", any::<String>(), "[aA.日]{80,300}",]
    }

    proptest! {
        #[test]
        fn a_folder_names_one_host(one in host(), other in host()) {
            let names = [&one, &other].map(|host| encode_host(host));
            for (host, name) in [&one, &other].into_iter().zip(&names) {
                prop_assert!(name.len() <= MAX_BYTES && !name.ends_with('.'));
                prop_assert!(name.chars().all(|char| char.is_ascii_graphic() && !"/\\:*?\"<>|".contains(char)));
                if let Some(decoded) = decode(name) {
                    prop_assert_eq!(&decoded, host);
                }
            }
            prop_assert_eq!(one == other, folded(&names[0]) == folded(&names[1]));
        }
    }
}
