//! The shapes of secrets: the names before secrets without a form, and their surroundings.
//!
//! The forms of tokens are in `assets/redact/tokens.tsv`, the commands that take a password in `commands.rs`. A rule may
//! match too much, never too little: a false match costs a word in a report, a missed one leaks a key that must be changed.

/// The evidence that a match needs besides its pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// None: nothing else has this shape.
    Shape,
    /// It must look random, because words contain its first letters.
    Random,
    /// A name before it says that it is a secret: anything but a placeholder counts.
    Named,
    /// A name before it says that it is a secret, in a place where code has expressions: they do not count.
    Unquoted,
    /// The option before it says that it is a secret: anything but a word counts, as in prose about the option.
    Option,
    /// A name is before it, in text that may be prose or code: it must not look like a word, a type or an expression.
    Loose,
}

/// A kind of secret. The secret is the last group that matched, else the whole match.
#[derive(Debug)]
pub(super) struct Rule {
    /// The word in the placeholder.
    pub kind: &'static str,
    pub pattern: &'static str,
    pub proof: Proof,
    /// Letters, in any case, without which the rule cannot match; empty for the letters that the pattern begins with.
    pub letters: &'static [&'static str],
}

pub(super) const fn rule(
    kind: &'static str,
    proof: Proof,
    letters: &'static [&'static str],
    pattern: &'static str,
) -> Rule {
    Rule { kind, pattern, proof, letters }
}

/// The end of a name whose value is a secret, and the characters that may follow it in the name.
macro_rules! secret_name {
    () => {
        r"(?:token|secret|passw(?:or)?d|passwd|pwd|passwort|contraseña|mot[_ ]de[_ ]passe|passphrase|passcode|[_.-](?:pass|pw|psk|pin|salt|cred)|(?-i:[a-z0-9](?:Pass|Pw|Psk))|(?:subscription|activation|product|pairing|unlock)[_ -]?key|db_?pass|psk|preshared_?key|pre[_-]shared[_-]key|api[_ -]?key|apikey|app[_-]?key|access[_-]?key(?:[_-]?id)?|private[_-]?key|secret[_-]?key|client[_-]?secret|auth[_-]?key|signing[_-]?key|encryption[_-]?key|account[_-]?key|service[_-]?key|master[_-]?key|bot[_-]?key|license[_-]?key|webhook[_-]?key|hmac[_-]?key|credentials?|connection[_-]?string|[_.-]auth|otp|mnemonic|seed[_ -]?phrase|recovery[_ -]?(?:phrase|codes?))(?:[_-]?(?:base|value|val|raw|(?:file[_-]?)?contents?|plain|text|b64|base64|string|prod|dev|test|staging|old|new|live|current|hash|[0-9]{1,3}))?"
    };
}
pub(super) use secret_name;

/// The separators allowed between a name and its value.
macro_rules! separator {
    () => {
        r#"[\\"'`*\])]{0,4}[ \t]*(?::=|=>|->|→|==?|:)[*]{0,2}\s*"#
    };
}

/// A value in quotes.
macro_rules! quoted {
    () => {
        r#"(?:[brunBRUN]{0,2}\\?"((?:[^"\\\n]|\\[^"n])+)\\?"|[brunBRUN]{0,2}'([^'\n]+)'|`([^`\n]+)`|\*\*([^*\n]+)\*\*)"#
    };
}
pub(super) use quoted;

/// The name of a variable whose value is a secret.
macro_rules! variable_name {
    () => {
        concat!(r#"\b[A-Z][A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|PWD|_PW|PASSPHRASE|PASS|CREDENTIALS?|CREDS?|API_?KEY|(?:ACCESS|PRIVATE|SECRET|SIGNING|ENCRYPTION|AUTH|MASTER|SERVICE|ACCOUNT)_KEY(?:_ID)?|_KEY|_KEY_BASE|_DSN|DATABASE_URL|_SALT|_AUTH|_?PSK|_PIN)"#, r#"(?:_[A-Z0-9]{1,8})?["'\]]{0,2}"#)
    };
}

/// Every `variable_name!` contains one of these.
const VARIABLES: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASS",
    "PWD",
    "_PW",
    "CRED",
    "KEY",
    "_DSN",
    "DATABASE_URL",
    "SALT",
    "_AUTH",
    "PSK",
    "PIN",
];
/// Every `secret_name!` contains one of these.
pub(super) const NAMES: &[&str] = &[
    "token",
    "secret",
    "pass",
    "pwd",
    "key",
    "cred",
    "connection",
    "otp",
    "mnemonic",
    "phrase",
    "_pw",
    "-pw",
    ".pw",
    "psk",
    "salt",
    "_auth",
    "-auth",
    ".auth",
    "_pin",
    "-pin",
    ".pin",
    "contrase",
    "recovery",
    "pw",
];
/// Most specific first: if two rules match the same range, the first names it. Tokens with a form precede all of these.
pub(super) const RULES: &[Rule] = &[
    rule(
        "private-key",
        Proof::Shape,
        &["PuTTY-User-Key-File"],
        r"PuTTY-User-Key-File-\d:[\s\S]*?Private-MAC: [0-9a-fA-F]{16,}",
    ),
    // A bot's number, a colon, and 35 characters; addresses have `bot` before it.
    rule("telegram-token", Proof::Random, &[":AA"], r"(\d{6,12}:AA[A-Za-z0-9_-]{30,37})"),
    rule(
        "telegram-token",
        Proof::Random,
        &["api.telegram.org"],
        r"api\.telegram\.org/(?:file/)?bot(\d{5,12}:[A-Za-z0-9_-]{20,})",
    ),
    rule(
        "discord-token",
        Proof::Random,
        &["."],
        r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}",
    ),
    rule(
        "aws-key-id",
        Proof::Shape,
        &["AKIA", "ASIA", "ABIA", "ACCA", "A3T"],
        r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}",
    ),
    rule(
        "aws-secret",
        Proof::Random,
        &["aws", "secret"],
        r#"(?i:aws|secret)[^\n]{0,30}?["'=:\s]([0-9a-zA-Z/+]{40})(?:["'\s\\,]|$)"#,
    ),
    rule(
        "azure-key",
        Proof::Shape,
        &["accountkey=", "sharedaccesskey="],
        r"(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/=]{20,})",
    ),
    rule("azure-secret", Proof::Shape, &["Q~"], r"[A-Za-z0-9_.~-]{3}\dQ~[A-Za-z0-9_.~-]{31,34}"),
    rule("mailchimp-key", Proof::Shape, &["-us"], r"[0-9a-f]{32}-us\d{1,2}\b"),
    rule("okta-token", Proof::Shape, &["SSWS"], r"SSWS\s+([A-Za-z0-9_-]{20,})"),
    rule("sentry-dsn", Proof::Shape, &["ingest"], r"https://([0-9a-f]{32})@[\w.]*ingest"),
    rule("terraform-token", Proof::Shape, &[".atlasv1."], r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}"),
    rule(
        "url-password",
        Proof::Named,
        &["://"],
        r#"[a-zA-Z][a-zA-Z0-9+.-]*://[^\s:/?#"<>`\[]*:([^\s"<>`]+)@[\w\[$%{]"#,
    ),
    rule("url-token", Proof::Random, &["://"], r"\bhttps?://([A-Za-z0-9_.-]{20,})@"),
    rule(
        "url-parameter",
        Proof::Named,
        &["token=", "key=", "secret=", "pass", "pwd=", "sig=", "signature="],
        r#"(?i)[?&;](?:[a-z_-]*token|[a-z_-]*api_?key|[a-z_-]*secret|password|passwd|pass|pwd|sig|signature|x-amz-signature|x-goog-signature)=([^&\s"'<>#\\]{6,})"#,
    ),
    rule(
        "url-parameter",
        Proof::Loose,
        &["key=", "code=", "auth=", "session=", "sid="],
        r#"(?i)[?&](?:key|code|auth|session|sid)=([^&\s"'<>#\\]{16,})"#,
    ),
    rule(
        "authorization",
        Proof::Named,
        &["authorization"],
        r#"(?i)authorization["'\\\])]*\s*[:=,]\s*["'\\`f]*(?:(?:bearer|basic|token|digest|apikey|bot|negotiate|aws4-hmac-sha256|ssws)\s+)?([^\s"'\\`]{6,})"#,
    ),
    rule("authorization", Proof::Loose, &["bearer"], r"(?i)bearer[\s:=]+([A-Za-z0-9._~+/=-]{12,})"),
    rule("authorization", Proof::Random, &["basic "], r"(?i)\bbasic\s+([A-Za-z0-9+/]{16,}={0,2})"),
    rule(
        "authorization",
        Proof::Named,
        &["x-", "api-key", "private-token", "-authorization"],
        r#"(?i)(?:x-[a-z0-9-]*(?:auth|key|token|secret|password|signature)|private-token|api-key|proxy-authorization)["'\\]*\s*[:=]\s*["'\\]*([^\s"',;\\]{4,})"#,
    ),
    rule(
        "cookie",
        Proof::Named,
        &["cookie"],
        r#"(?i)(?:set-)?cookie["'\\]*\s*[:=]\s*["'\\]*([A-Za-z0-9_.%-]+=[^"'\r\n\\]{4,})"#,
    ),
    // A jar: domain, flag, path, flag, time, name, value.
    rule(
        "cookie",
        Proof::Named,
        &["TRUE", "FALSE"],
        r"\s(?:TRUE|FALSE)\s+\S+\s+(?:TRUE|FALSE)\s+\d+\s+\S+\s+([^\s]+)",
    ),
    rule(
        "cookie",
        Proof::Loose,
        &["domain"],
        r#""value"\s*:\s*"([^"]{8,})"[^{}]{0,200}"domain"|"domain"[^{}]{0,200}"value"\s*:\s*"([^"]{8,})""#,
    ),
    // `NAME=value` as in `.env`, shells and units; upper case shows that it is a variable.
    rule(
        "env",
        Proof::Named,
        VARIABLES,
        concat!(
            variable_name!(),
            r#"(?:\s?[?+]?=\s?(?:\\?"((?:[^"\\\n]|\\[^"n])+)\\?"|'([^'\n]+)')|[?+]?=([^\s"'`<>\\][^\s"'`]*))"#
        ),
    ),
    // With blanks it is an assignment in code.
    rule("env", Proof::Loose, VARIABLES, concat!(variable_name!(), r#"\s?[?+]?=\s?([^\s"'`<>\\][^\s"'`]*)"#)),
    // `"name": "value"` as in JSON, YAML, TOML and code; the quotes may be escaped once more.
    rule("value", Proof::Named, NAMES, concat!(r"(?i)", secret_name!(), separator!(), quoted!())),
    // `<password>value</password>`
    rule(
        "value",
        Proof::Named,
        &["</"],
        concat!(
            r"(?i)<[\w:.-]*",
            secret_name!(),
            r"(?:\s[^<>]*)?>\s*(?:<!\[CDATA\[)?([^<>\]]{3,}?)\s*(?:\]\]>)?</"
        ),
    ),
    // A name as a value, and the value next to it.
    rule(
        "value",
        Proof::Unquoted,
        NAMES,
        concat!(
            r#"(?i)(?:name|key|id|field|variable|var|env|header|property|setting)["']?\s*[:=]\s*["']?[\w. -]*"#,
            secret_name!(),
            r#"["']?\s*[,;\n\s][^{}]{0,120}?["']?\b(?:value|val|default|defaultValue|content|plaintext|data)["']?\s*[:=]\s*(?:"((?:[^"\\\n]|\\.)+)"|'([^'\n]+)'|([^\s"',}\]]{3,}))"#
        ),
    ),
    rule(
        "value",
        Proof::Unquoted,
        NAMES,
        concat!(
            r#"(?i)["']?\b(?:value|val)["']?\s*[:=]\s*(?:"((?:[^"\\\n]|\\.)+)"|'([^'\n]+)'|([^\s"',}\]]{3,}))\s*[,;\n\s][^{}]{0,60}?["']?\b(?:name|key)["']?\s*[:=]\s*["']?[\w. -]*"#,
            secret_name!(),
            r#"["'\s]"#
        ),
    ),
    rule(
        "value",
        Proof::Named,
        &["</key>", "</name>"],
        concat!(r"(?i)<(?:key|name)>[^<>]*", secret_name!(), r"\s*</(?:key|name)>\s*<\w+>([^<>]+)<"),
    ),
    // A list of secrets, and a value below the name.
    rule(
        "value",
        Proof::Named,
        NAMES,
        concat!(
            r"(?i)",
            secret_name!(),
            r#"s?["']?\s*[:=]\s*[\[({]\s*((?:"[^"\n]+"|'[^'\n]+')(?:\s*,\s*(?:"[^"\n]+"|'[^'\n]+'))*)\s*,?\s*[\])}]"#
        ),
    ),
    rule(
        "value",
        Proof::Named,
        NAMES,
        concat!(
            r"(?i)",
            secret_name!(),
            r#"s?["']?\s*[:=]\s*\{\s*["']?\w+["']?\s*[:=]\s*(?:"((?:[^"\\\n]|\\.)+)"|'([^'\n]+)')"#
        ),
    ),
    rule(
        "value",
        Proof::Loose,
        NAMES,
        concat!(r"(?i)", secret_name!(), r#"s?["']?:[ \t]*\r?\n[ \t>|#*]*-[ \t]+["']?([^\s"']+)"#),
    ),
    rule(
        "value",
        Proof::Named,
        NAMES,
        concat!(r"(?im)", secret_name!(), r#"["']?:[ \t]*[|>][+-]?[ \t]*\r?\n[ \t]+(\S[^\n]*)"#),
    ),
    // A line that is nothing but a name and a value.
    rule(
        "value",
        Proof::Unquoted,
        NAMES,
        concat!(
            r"(?m)^[ \t>#*|+-]*(?:\d+[:.)|]?[ \t]+)?[\w.-]*(?i:",
            secret_name!(),
            r#")[ \t]*:[ \t]+([^\sA-Z"'`<>|\[{(][^\s"'`]*|[A-Z][^\s"'`]*[0-9!$%^+=~][^\s"'`]*)[ \t]*$"#
        ),
    ),
    // `name: value` without quotes: YAML, prose, command lines.
    rule(
        "value",
        Proof::Loose,
        NAMES,
        concat!(r"(?i)", secret_name!(), separator!(), r#"([^\s"'`<>*\\][^\s"'`\\]{4,})"#),
    ),
    rule(
        "value",
        Proof::Loose,
        NAMES,
        concat!(
            r"(?i)",
            secret_name!(),
            r#"(?:["'`*]{0,2}\s+(?:is|was|to|now|ist|lautet|es|est|of|for \w+ is))+\s*:?\s*["'`*(]{0,3}([^\s"'`<>*]{5,})"#
        ),
    ),
    rule(
        "value",
        Proof::Loose,
        NAMES,
        concat!(r"(?i)", secret_name!(), r#"["']?\s*[,(]?\s*["'`]([^\s"'`]{6,})["'`]"#),
    ),
    rule(
        "value",
        Proof::Loose,
        NAMES,
        concat!(r"(?i)", secret_name!(), r#"[\s*`_]*\|[\s*`]*([^\s"'`<>*|]{6,})"#),
    ),
    rule(
        "value",
        Proof::Loose,
        NAMES,
        concat!(r"(?i)", secret_name!(), r#"["']\s*\]?\)?\s*[,=]\s*["']([^"'\n]{6,})["']"#),
    ),
    rule(
        "value",
        Proof::Named,
        &["phrase", "mnemonic", "words"],
        r#"(?i)(?:seed|recovery|mnemonic|secret|backup)[ _-]?(?:phrase|words)?["'*`\s]*(?:is|:|=|are)+\s*["'`*]*((?:[a-z]{3,8}[ ,\n]+){11,23}[a-z]{3,8})"#,
    ),
    // A bare `pass`, which prose and test reports contain too.
    rule(
        "value",
        Proof::Named,
        &["pass"],
        concat!(r#"(?i)\b(?:pass|pw)["'`]?\s*(?::=|=>|=|:)\s*"#, quoted!()),
    ),
    rule(
        "value",
        Proof::Loose,
        &["pass", "sk"],
        r#"\b(?:pass|PASS|sk)[ \t]*[:=][ \t]*([^\s"'`<>*\\][^\s"'`\\]{5,})"#,
    ),
    rule(
        "value",
        Proof::Loose,
        &["pass"],
        r#"(?i)\bpass(?:word|phrase|code)\s+(?:for|of)\s+(?:(?:the|user|account)\s+)*\S+?\s*(?:is|:)\s+["'`]?([^\s"'`]{4,})"#,
    ),
    rule(
        "value",
        Proof::Loose,
        &["credential", "login"],
        r#"(?i)\b(?:credentials?|login)["'*`]*\s*[:=]\s*["'`]?[\w.@+-]+["'`]?\s*[/|:,]\s*["'`]?([^\s"'`]{4,})"#,
    ),
    // Files of programs.
    rule(
        "value",
        Proof::Named,
        &["requirepass", "masterauth", "auth_pass", "auth-pass"],
        r#"(?i)\b(?:requirepass|masterauth|auth_pass|auth-pass\s+\S+)["']?[\s=:]+["']?([^\s"']+)"#,
    ),
    rule(
        "value",
        Proof::Loose,
        &["password "],
        r#"(?im)^[ \t]*password[ \t]+["']?([^\s"']{5,})["']?[ \t]*$"#,
    ),
    rule(
        "value",
        Proof::Named,
        &["code_verifier"],
        r#"(?i)code_verifier["'\\]*\s*[=:]\s*["'\\]*([^\s"'&\\]{6,})"#,
    ),
    rule(
        "value",
        Proof::Named,
        &["set password"],
        r#"(?i)\bset\s+password\s+(?:for\s+\S+\s+)?(?:=|to)\s*(?:password\s*\()?\s*["']([^"'\n]+)["']"#,
    ),
    rule(
        "value",
        Proof::Loose,
        &["auth(", "auth ("],
        r#"(?i)\bauth\s?\(\s*(?:["'][^"'\n]*["']\s*,\s*)?["']([^"'\n]{4,})["']\s*\)"#,
    ),
    rule(
        "value",
        Proof::Named,
        &["auth", "cred", "login"],
        r#"(?i)\b(?:[\w.]*auth|creds?|credentials?|login)["']?\s*[:=]\s*[(\[]\s*["'][^"'\n]*["']\s*,\s*["']([^"'\n]{4,})["']\s*[)\]]"#,
    ),
    rule(
        "value",
        Proof::Loose,
        &["basic"],
        r#"(?i)\bbasic[_ -]?auth["']?\s*[:=]?\s*["']?[\w.@+-]+:([^\s"']{4,})"#,
    ),
    rule("value", Proof::Shape, &["pin"], r#"(?i)\bpin(?:[_ -]?code)?["']?\s*(?:is|:|=)\s*["']?(\d{4,8})\b"#),
    rule("authorization", Proof::Random, &["token "], r#"(?i)\btoken[ \t]+["'`]?([A-Za-z0-9_-]{12,})"#),
    // A reference that more text follows.
    rule(
        "value",
        Proof::Random,
        NAMES,
        concat!(r"(?i)", secret_name!(), separator!(), r#"\{\{[^}\n]*\}\}([^\s"'`]{6,})"#),
    ),
    // The login of mail and file servers; a test report has the name of a file after the word.
    rule(
        "value",
        Proof::Random,
        &["PASS "],
        r"(?m)^[ \t>|]*(?:C:|-+>)?[ \t]*PASS[ \t]+([^\s/]{6,})[ \t]*\r?$",
    ),
    rule("value", Proof::Loose, &["AUTH "], r"\bAUTH[ \t]+(?:\w+[ \t]+)?([^\s]{4,})"),
    rule("value", Proof::Named, &["_auth"], r#"(?i)\b_auth(?:token)?["']?\s*[=:]\s*["']?([^\s"']{4,})"#),
    rule(
        "value",
        Proof::Named,
        &["\"auth\"", "'auth'", "auth:", "identitytoken"],
        r#"(?i)["']?\b(?:auth|identitytoken|registrytoken)["']?\s*:\s*["']?([A-Za-z0-9+/=_.-]{8,}=|[A-Za-z0-9+/=_.-]{16,})["'\s,}]"#,
    ),
    rule(
        "value",
        Proof::Named,
        &["login", "machine"],
        r"(?i)\b(?:login|user|account)\s+\S+\s+(?:password|pass)\s+([^\s]+)",
    ),
    rule(
        "value",
        Proof::Named,
        &["identified"],
        r#"(?i)identified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+)?["'`]([^"'`\n]+)["'`]"#,
    ),
    rule(
        "value",
        Proof::Named,
        &["password '", "password('", "password ('"],
        r"(?i)password\s*\(?\s*'([^'\n]+)'",
    ),
];
