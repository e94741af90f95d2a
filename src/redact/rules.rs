//! The shapes of secrets: the form of each kind of token, and the names before secrets without a form.
//!
//! The forms of tokens are in `assets/redact/tokens.tsv`; the rules here look at the surroundings. A rule may match too
//! much, never too little: a false match costs a word in a report, a missed one leaks a key that must be changed.
//!
//! One search for the letters that rules need finds all that may match. A token is matched only where its letters are.

use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Regex;

use super::proof::{is_ordinary, is_placeholder, is_random};
use super::tokens::tokens;

/// The evidence that a match needs besides its pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// None: nothing else has this shape.
    Shape,
    /// It must look random, because words contain its first letters.
    Random,
    /// A name before it says that it is a secret: anything but a placeholder counts.
    Named,
    /// A name is before it, in text that may be prose or code: it must not look like a word, a type or an expression.
    Loose,
}

/// A kind of secret. The secret is the last group that matched, else the whole match.
#[derive(Debug)]
struct Rule {
    /// The word in the placeholder.
    kind: &'static str,
    pattern: &'static str,
    proof: Proof,
    /// Letters, in any case, without which the rule cannot match; empty for the letters that the pattern begins with.
    letters: &'static [&'static str],
}

const fn rule(
    kind: &'static str,
    proof: Proof,
    letters: &'static [&'static str],
    pattern: &'static str,
) -> Rule {
    Rule { kind, pattern, proof, letters }
}

/// The end of a name whose value is a secret, and what may follow it in the name.
macro_rules! secret_name {
    () => {
        r"(?:token|secret|passw(?:or)?d|passwd|pwd|passwort|contraseña|mot[_ ]de[_ ]passe|passphrase|passcode|[_.-](?:pass|pw|psk|pin|salt|cred)|db_?pass|psk|preshared_?key|pre[_-]shared[_-]key|api[_-]?key|apikey|app[_-]?key|access[_-]?key(?:[_-]?id)?|private[_-]?key|secret[_-]?key|client[_-]?secret|auth[_-]?key|signing[_-]?key|encryption[_-]?key|account[_-]?key|service[_-]?key|master[_-]?key|bot[_-]?key|license[_-]?key|webhook[_-]?key|hmac[_-]?key|credentials?|connection[_-]?string|[_.-]auth|otp|mnemonic|seed[_ -]?phrase|recovery[_ -]?(?:phrase|codes?))(?:[_-]?(?:base|value|val|raw|plain|text|b64|base64|string|prod|dev|test|staging|old|new|live|current|hash|[0-9]{1,3}))?"
    };
}

/// What may be between a name and its value.
macro_rules! separator {
    () => {
        r#"[\\"'`*\])]{0,4}[ \t]*(?::=|=>|==?|:)[*]{0,2}\s*"#
    };
}

/// A value in quotes.
macro_rules! quoted {
    () => {
        r#"(?:[bru]{0,2}\\?"((?:[^"\\\n]|\\[^"n])+)\\?"|[bru]{0,2}'([^'\n]+)'|`([^`\n]+)`|\*\*([^*\n]+)\*\*)"#
    };
}

/// Every `secret_name!` contains one of these.
const NAMES: &[&str] = &[
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
];
/// Programs that take a password as an option.
const P_PROGRAMS: &[&str] = &[
    "mysql",
    "mariadb",
    "sshpass",
    "docker",
    "podman",
    "helm",
    "mongo",
    "login",
    "7z",
    "rar",
    "zip",
    "ipmitool",
    "mosquitto",
    "mqtt",
    "rabbitmq",
];

/// Most specific first: if two rules match the same range, the first names it. Tokens with a form precede all of these.
const RULES: &[Rule] = &[
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
        r#"[a-zA-Z][a-zA-Z0-9+.-]*://[^\s:/?#@"<>`\[]*:([^\s"<>`]+)@[\w\[$%{]"#,
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
        r#"(?i)authorization["'\\\])]*\s*[:=,]\s*["'\\`f]*(?:(?:bearer|basic|token|digest|apikey|bot|negotiate|aws4-hmac-sha256|ssws)\s+)?([^\s"',;\\`]{6,})"#,
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
        &[
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
        ],
        concat!(
            r#"\b[A-Z][A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|PWD|_PW|PASSPHRASE|PASS|CREDENTIALS?|CREDS?|API_?KEY|(?:ACCESS|PRIVATE|SECRET|SIGNING|ENCRYPTION|AUTH|MASTER|SERVICE|ACCOUNT)_KEY(?:_ID)?|_KEY|_KEY_BASE|_DSN|DATABASE_URL|_SALT|_AUTH|_?PSK|_PIN)"#,
            r#"(?:_[A-Z0-9]{1,8})?["'\]]{0,2}\s?(?:\?|\+)?=\s?(?:\\?"((?:[^"\\\n]|\\[^"n])+)\\?"|'([^'\n]+)'|([^\s"'`<>\\][^\s"'`]*))"#
        ),
    ),
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
    // A name as a value, and the value beside it.
    rule(
        "value",
        Proof::Named,
        NAMES,
        concat!(
            r#"(?i)(?:name|key|id|field|variable|var|env|header|property|setting)["']?\s*[:=]\s*["']?[\w. -]*"#,
            secret_name!(),
            r#"["']?\s*[,;\n\s][^{}]{0,120}?["']?\b(?:value|val|default|defaultValue|content|plaintext|data)["']?\s*[:=]\s*(?:"((?:[^"\\\n]|\\.)+)"|'([^'\n]+)'|([^\s"',}\]]{3,}))"#
        ),
    ),
    rule(
        "value",
        Proof::Named,
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
        Proof::Named,
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
    // Files of programs.
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
    // Command lines.
    rule(
        "value",
        Proof::Loose,
        &["-"],
        concat!(
            r"(?i)--?[\w-]*?(?:pass|pw|auth|cred|",
            secret_name!(),
            r#")[ =]+["']?([^\s"'`<>-][^\s"'`]{3,})"#
        ),
    ),
    rule(
        "value",
        Proof::Named,
        &["mysql", "mariadb", "rar", "7z"],
        r#"\b(?:mysql\w*|mariadb[\w-]*|7z|unrar|rar)\b[^\n|;&]*?\s-p["']?([^\s"'=][^\s"']*)"#,
    ),
    rule(
        "value",
        Proof::Named,
        P_PROGRAMS,
        r#"\b(?:sshpass|(?:docker|podman|helm|oc|az|cf|skopeo|buildah|npm|firebase|registry)\b[^\n|;&]*\blogin|mongo\w*|zip|ipmitool|mosquitto_\w+|mqtt|rabbitmqadmin)\b[^\n|;&]*?\s(?:-p|-P|--pass\w*)[ =]?["']?([^\s"'=]+)"#,
    ),
    rule(
        "value",
        Proof::Named,
        &["redis-cli", "valkey-cli"],
        r#"(?:redis|valkey)-cli\b[^\n|;]*?\s(?:-a|--pass)[ =]?["']?([^\s"']+)"#,
    ),
    rule(
        "value",
        Proof::Named,
        &["ldap", "kinit", "bw "],
        r#"\b(?:ldap\w+)\b[^\n|;]*?\s-w[ ]?["']?([^\s"']+)"#,
    ),
    rule(
        "value",
        Proof::Named,
        &["htpasswd"],
        concat!(
            r"\bhtpasswd(?:[ \t]+-[a-mo-zA-Z]+(?:[ \t]+\d+\b)?)*?[ \t]+-[a-mo-zA-Z]*b[a-mo-zA-Z]*(?:[ \t]+\d+\b)?",
            r#"(?:[ \t]+-[a-mo-zA-Z]+(?:[ \t]+\d+\b)?)*[ \t]+[^\s-]\S*[ \t]+[^\s-]\S*[ \t]+["']?([^\s"'|;&#]+)"#
        ),
    ),
    // `-n` prints the line instead of writing it to a file.
    rule(
        "value",
        Proof::Named,
        &["htpasswd"],
        concat!(
            r"\bhtpasswd(?:[ \t]+-\w+(?:[ \t]+\d+\b)?)*?[ \t]+(?:-\w*n\w*(?:[ \t]+-\w+)*?[ \t]+-\w*b\w*|-\w*b\w*(?:[ \t]+-\w+)*?[ \t]+-\w*n\w*|-\w*(?:b\w*n|n\w*b)\w*)",
            r#"(?:[ \t]+\d+\b)?(?:[ \t]+-\w+(?:[ \t]+\d+\b)?)*[ \t]+[^\s-]\S*[ \t]+["']?([^\s"'|;&#]+)"#
        ),
    ),
    rule(
        "value",
        Proof::Named,
        &["curl", "wget", "http", "xh "],
        r#"\b(?:curl|wget|https?|xh|xhs)\b[^\n]*?\s(?:-u|-a|-U|--user|--auth|--proxy-user)[ =]?["']?[^\s:"']*:([^\s"']{3,})"#,
    ),
    rule(
        "value",
        Proof::Named,
        &["smbclient", "rpcclient", "mount"],
        r#"\b(?:smbclient|rpcclient)\b[^\n]*?-U\s*["']?[^\s%"']+%([^\s"']+)|\bpassword=([^\s,"']+)"#,
    ),
    rule(
        "value",
        Proof::Named,
        &["setx", "set ", "setenv", "env ", "config", "secret", "export "],
        concat!(
            r#"(?i)\b(?:setx|set|setenv|env|configure|config(?:ure)? set|secrets?(?: set)?|variables? set)\s+(?:-{1,2}\w+\s+)*["']?[\w.:/-]*"#,
            secret_name!(),
            r#"["']?\s+(?:--?\w+[ =]+)?["']?([^\s"'`=:|&<>-][^\s"'`]{2,})"#
        ),
    ),
    rule("value", Proof::Named, &["authtoken"], r#"(?i)authtoken["']?[\s:=]+["']?([^\s"']{8,})"#),
    rule(
        "value",
        Proof::Named,
        &["sudo", "-stdin", "chpasswd", "passwd"],
        r#"\b(?:echo|printf)\s+(?:-\w+\s+)*(?:"([^"\n]+)"|'([^'\n]+)'|([^\s|"']+))\s*\|[^\n]*?(?:sudo\s+(?:-\w+\s+)*-\w*S|-stdin|chpasswd|passwd)"#,
    ),
    rule(
        "value",
        Proof::Named,
        &["<<<"],
        r#"(?:sudo\s[^\n]*-\w*S|chpasswd|passwd|-stdin)[^\n]*?<<<\s*["']?([^\s"']+)"#,
    ),
    rule("value", Proof::Named, &["pass:"], r#"(?:-pass(?:in|out|word)?\s+|\b)["']?pass:([^\s"']{3,})"#),
    rule(
        "value",
        Proof::Named,
        &["add_user", "change_password", "net user", "wpa_passphrase", "nmcli"],
        r#"(?:add_user|change_password|net user|wpa_passphrase)\s+(?:"[^"]*"|\S+)\s+["']?([^\s"'/]+)|nmcli\b[^\n]*\bpassword\s+["']?([^\s"']+)"#,
    ),
];

/// Every rule, each compiled for the first text that needs it.
pub(super) struct CompiledRules {
    rules: Vec<CompiledRule>,
    /// The letters of all rules in any case; `None` if they cannot be searched for, and then every rule is tried.
    anchors: Option<AhoCorasick>,
    /// For each of the letters, the rules that need them and whether in this very case.
    rules_by_anchor: Vec<Vec<(usize, Option<String>)>>,
}

struct CompiledRule {
    kind: &'static str,
    proof: Proof,
    pattern: String,
    /// Whether matches begin with the letters that the rule needs.
    is_anchored: bool,
    regex: OnceLock<Regex>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    pub from: usize,
    pub to: usize,
    pub kind: &'static str,
}

/// Every rule.
///
/// A pattern that does not compile would match nothing; a test checks that all compile.
pub(super) static COMPILED: LazyLock<CompiledRules> = LazyLock::new(CompiledRules::new);

impl CompiledRules {
    fn new() -> Self {
        let mut made = Self { rules: Vec::new(), anchors: None, rules_by_anchor: Vec::new() };
        let mut anchors: Vec<String> = Vec::new();
        for token in tokens() {
            let proof = if token.needs_random { Proof::Random } else { Proof::Shape };
            let letters = prefix_letters(token.pattern);
            made.need(&mut anchors, &letters, Some(letters.clone()));
            made.push(token.kind, proof, format!("^(?:{})", token.pattern), true);
        }
        for rule in RULES {
            for letters in rule.letters {
                made.need(&mut anchors, letters, None);
            }
            made.push(rule.kind, rule.proof, ascii_pattern(rule.pattern), false);
        }
        let mut builder = AhoCorasick::builder();
        let builder = builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA));
        made.anchors = builder.build(&anchors).ok();
        made
    }

    fn push(&mut self, kind: &'static str, proof: Proof, pattern: String, is_anchored: bool) {
        self.rules.push(CompiledRule { kind, proof, pattern, is_anchored, regex: OnceLock::new() });
    }

    /// Notes that the rule which is added next needs some letters.
    fn need(&mut self, anchors: &mut Vec<String>, letters: &str, exact: Option<String>) {
        let folded = letters.to_ascii_lowercase();
        let at = anchors.iter().position(|other| *other == folded).unwrap_or_else(|| {
            anchors.push(folded);
            self.rules_by_anchor.push(Vec::new());
            anchors.len() - 1
        });
        self.rules_by_anchor[at].push((self.rules.len(), exact));
    }

    /// Finds all matches in a text, in order and without overlap; the first rule of the table names a match.
    pub(super) fn find_hits(&self, text: &str, shapes_only: bool) -> Vec<Hit> {
        let mut found: Vec<(usize, Hit)> = Vec::new();
        let mut scanned = vec![self.anchors.is_none(); self.rules.len()];
        let mut ends = vec![0; self.rules.len()];
        for at in self.anchors.iter().flat_map(|anchors| anchors.find_overlapping_iter(text)) {
            for (rule, exact) in &self.rules_by_anchor[at.pattern().as_usize()] {
                let tried = &self.rules[*rule];
                if !tried.is_anchored {
                    scanned[*rule] = true;
                } else if at.start() >= ends[*rule]
                    && exact.as_deref().is_none_or(|exact| text.as_bytes()[at.range()] == *exact.as_bytes())
                    && let Some(hit) = tried.hit_at(text, at.start())
                {
                    ends[*rule] = hit.to;
                    found.push((*rule, hit));
                }
            }
        }
        for (at, rule) in self.rules.iter().enumerate().filter(|(at, rule)| scanned[*at] && !rule.is_anchored)
        {
            if !shapes_only || matches!(rule.proof, Proof::Shape | Proof::Random) {
                found.extend(rule.hits(text).map(|hit| (at, hit)));
            }
        }
        merge(found)
    }
}

/// Merges matches that overlap; the first rule names them.
fn merge(mut found: Vec<(usize, Hit)>) -> Vec<Hit> {
    found.sort_unstable_by_key(|(rule, hit)| (hit.from, *rule, std::cmp::Reverse(hit.to)));
    let mut merged: Vec<(usize, Hit)> = Vec::with_capacity(found.len());
    for (rule, hit) in found {
        match merged.last_mut() {
            Some((first, last)) if hit.from < last.to => {
                if rule < *first {
                    (*first, last.kind) = (rule, hit.kind);
                }
                last.to = last.to.max(hit.to);
            }
            _ => merged.push((rule, hit)),
        }
    }
    merged.into_iter().map(|(_, hit)| hit).collect()
}

impl CompiledRule {
    fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| compile(&self.pattern))
    }

    fn hit_at(&self, text: &str, at: usize) -> Option<Hit> {
        let at = text.is_char_boundary(at).then_some(at)?;
        self.hit(text, at, &self.regex().captures(&text[at..])?)
    }

    fn hits(&self, text: &str) -> impl Iterator<Item = Hit> {
        self.regex().captures_iter(text).filter_map(move |found| self.hit(text, 0, &found))
    }

    fn hit(&self, text: &str, base: usize, found: &regex::Captures<'_>) -> Option<Hit> {
        let secret = found.iter().skip(1).flatten().last().or_else(|| found.get(0))?;
        let (from, to) = (base + secret.start(), base + secret.end());
        let (from, to) = if matches!(self.proof, Proof::Named | Proof::Loose) {
            trimmed(text, from, to)
        } else {
            (from, to)
        };
        let hit = Hit { from, to, kind: self.kind };
        (from < to && is_proven(&text[from..to], self.proof, self.kind) && !is_in_placeholder(text, from))
            .then_some(hit)
    }
}

/// Leaves punctuation behind a value to the text, unless the value has its other half.
fn trimmed(text: &str, from: usize, to: usize) -> (usize, usize) {
    let mut end = to;
    while let Some(last) = text[from..end].chars().next_back() {
        let opener = match last {
            ')' => '(',
            '}' => '{',
            ']' => '[',
            ',' | ';' | '.' => '\0',
            _ => break,
        };
        let count = |char: char| text[from..end].matches(char).count();
        if opener != '\0' && count(opener) >= count(last) {
            break;
        }
        end -= last.len_utf8();
    }
    (from, end)
}

/// The letters with which every match of a pattern begins.
fn prefix_letters(pattern: &str) -> String {
    let mut letters = String::new();
    let mut chars = pattern.chars().peekable();
    while let Some(char) = chars.next() {
        let plain = match char {
            '\\' => match chars.next() {
                Some(escaped) if !escaped.is_ascii_alphanumeric() => escaped,
                _ => break,
            },
            char if char.is_ascii_alphanumeric() || "-_/:=~!".contains(char) => char,
            _ => break,
        };
        if chars.peek().is_some_and(|next| "?*{".contains(*next)) {
            break;
        }
        letters.push(plain);
    }
    letters
}

/// Makes `\b` ASCII-only: a letter of another script before a secret does not extend its word.
fn ascii_pattern(pattern: &str) -> String {
    pattern.replace(r"\b", r"(?-u:\b)")
}

fn compile(pattern: &str) -> Regex {
    let built = regex::RegexBuilder::new(pattern).size_limit(1 << 24).build();
    built.unwrap_or_else(|_| LazyLock::force(&MATCH_NOTHING).clone())
}

#[expect(clippy::unwrap_used, reason = "a pattern of one class, which compiles")]
static MATCH_NOTHING: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[^\s\S]").unwrap());

/// Whether a position is inside a placeholder, whose kind may be a name that rules search for.
fn is_in_placeholder(text: &str, at: usize) -> bool {
    let before = &text[text.floor_char_boundary(at.saturating_sub(80))..at];
    let closed = before.rfind(']').map_or(0, |end| end + 1);
    before[closed..].contains("[redacted:")
}

fn is_proven(secret: &str, proof: Proof, kind: &str) -> bool {
    match proof {
        Proof::Shape => true,
        Proof::Random => is_random(secret),
        // A port and a path precede an `@` in addresses too.
        Proof::Named if kind == "url-password" => {
            let port = secret.split(['/', '?', '#']).next().unwrap_or_default();
            let is_port = port.len() < secret.len()
                && port.len() <= 5
                && port.bytes().all(|byte| byte.is_ascii_digit());
            !is_port && !is_placeholder(secret)
        }
        Proof::Named => !is_placeholder(secret),
        Proof::Loose => !is_placeholder(secret) && !is_ordinary(secret),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_needs_letters() {
        assert!(COMPILED.anchors.is_some());
        for (at, rule) in COMPILED.rules.iter().enumerate() {
            let built = regex::RegexBuilder::new(&rule.pattern).size_limit(1 << 24).build();
            assert!(built.is_ok(), "{}: {built:?}", rule.pattern);
            assert!(
                COMPILED.rules_by_anchor.iter().flatten().any(|(rule, _)| *rule == at),
                "{}",
                rule.pattern
            );
        }
        for token in tokens() {
            assert!(prefix_letters(token.pattern).len() >= 2, "{}", token.pattern);
        }
    }

    #[test]
    fn what_replaces_a_secret_is_none_whatever_follows_it() {
        for text in ["[redacted:authorization:1]%27%20x", "[redacted:cookie:2]a=b; c=defghijkl"] {
            assert_eq!(COMPILED.find_hits(text, false), [], "{text}");
        }
    }

    #[test]
    fn prose_code_and_numbers_about_tokens_are_no_secrets() {
        for text in [
            "The token: see the documentation for what it means.",
            "password: string;",
            "const token = getToken();",
            "max_tokens=4096 totalTokens: 200000",
            "tokens: 128000",
            "apiKey: process.env.OPENAI_API_KEY",
            "api_key=${OPENAI_API_KEY}",
            "export GITHUB_TOKEN=$TOKEN",
            "\"password\": \"\"",
            "secret: true",
            "password is required",
            "the secret is simplicity",
            "https://user:${PASSWORD}@example.org/",
            "https://example.org/a:b@c",
            "Authorization: Bearer <token>",
            "a commit 3f786850e387550fdab836ed7e6dc881de23001b",
            "uuid 123e4567-e89b-12d3-a456-426614174000",
            "sk-fading-circle is a class",
            "12:30:45 and 1234567:8",
        ] {
            assert_eq!(COMPILED.find_hits(text, false), [], "{text}");
        }
    }
}
