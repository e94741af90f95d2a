//! The shapes of secrets: the form of each kind of token, and the names before secrets without a form.
//!
//! The forms are those that the issuers document and that repository scanners search for. A rule may match too much,
//! never too little: a false match costs a word in a report, a missed one leaks a key that must be changed.

use std::cell::OnceCell;
use std::sync::{LazyLock, OnceLock};

use memchr::memmem::{self, Finder};
use regex::Regex;

/// The evidence that a match needs besides its pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// None: nothing else has this shape.
    Shape,
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
    prefilter: Prefilter,
}

/// Letters without which a rule cannot match; searching for them is far cheaper than the pattern.
#[derive(Debug, Clone, Copy)]
enum Prefilter {
    /// The letters that the pattern begins with.
    Start,
    /// Any of these.
    Exact(&'static [&'static str]),
    /// Any of these, in either case.
    Folded(&'static [&'static str]),
}

impl Rule {
    const fn with_letters(self, text_features: &'static [&'static str]) -> Self {
        Self { prefilter: Prefilter::Exact(text_features), ..self }
    }

    const fn with_folded_letters(self, text_features: &'static [&'static str]) -> Self {
        Self { prefilter: Prefilter::Folded(text_features), ..self }
    }
}

const fn shape(kind: &'static str, pattern: &'static str) -> Rule {
    Rule { kind, pattern, proof: Proof::Shape, prefilter: Prefilter::Start }
}

const fn named(kind: &'static str, pattern: &'static str) -> Rule {
    Rule { kind, pattern, proof: Proof::Named, prefilter: Prefilter::Start }
}

const fn loose(kind: &'static str, pattern: &'static str) -> Rule {
    Rule { kind, pattern, proof: Proof::Loose, prefilter: Prefilter::Start }
}

/// A name whose value is a secret, as the end of a longer name.
macro_rules! secret_name {
    () => {
        r"(?:token|secret|passw(?:or)?d|passwd|pwd|passphrase|passcode|api[_-]?key|apikey|access[_-]?key(?:[_-]?id)?|private[_-]?key|secret[_-]?key|client[_-]?secret|auth[_-]?key|signing[_-]?key|encryption[_-]?key|account[_-]?key|service[_-]?key|master[_-]?key|bot[_-]?key|license[_-]?key|webhook[_-]?key|credentials?|connection[_-]?string|otp|mnemonic|seed[_-]?phrase)"
    };
}

/// Every `secret_name!` contains one of these.
const NAMES: &[&str] =
    &["token", "secret", "pass", "pwd", "key", "credential", "connection", "otp", "mnemonic", "phrase"];
/// Every name of a parameter with a secret contains one of these.
const PARAMETERS: &[&str] =
    &["token=", "key=", "secret=", "password=", "passwd=", "pwd=", "sig=", "signature="];

/// Most specific first: if two rules match the same range, the first names it.
const RULES: &[Rule] = &[
    // The lines may be quoted, numbered, in an array, or have escaped ends.
    shape(
        "private-key",
        r#"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:(?:\\[nrt]|[\s>|"',+\\])+(?:[A-Za-z][A-Za-z0-9-]*: [^\n\\"]*|[A-Za-z0-9+/=]+))*(?:(?:\\[nrt]|[\s>|"',+\\])*-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----)?"#,
    ),
    shape("private-key", r"PuTTY-User-Key-File-\d:[\s\S]*?Private-MAC: [0-9a-fA-F]{16,}"),
    shape("age-key", r"\bAGE-SECRET-KEY-1[A-Z0-9]{20,}"),
    shape("anthropic-key", r"\bsk-ant-[A-Za-z0-9_-]{8,}"),
    shape("openrouter-key", r"\bsk-or-(?:v\d-)?[A-Za-z0-9]{16,}"),
    shape("openai-key", r"\bsk-(?:proj|svcacct|admin|service|None)-[A-Za-z0-9_-]{12,}"),
    shape("openai-key", r"\bsk-[A-Za-z0-9]{20,}"),
    shape("google-key", r"\bAIza[0-9A-Za-z_-]{30,}"),
    shape("google-token", r"\bya29\.[0-9A-Za-z_-]{16,}"),
    shape("google-token", r"\b1//0[0-9A-Za-z_-]{24,}"),
    shape("google-secret", r"\bGOCSPX-[0-9A-Za-z_-]{16,}"),
    shape("github-token", r"\bgh[pousr]_[A-Za-z0-9]{16,}"),
    shape("github-token", r"\bgithub_pat_[A-Za-z0-9_]{16,}"),
    shape("gitlab-token", r"\bgl(?:pat|dt|rt|ptt|cbt|ft|imt|agent|soat|oas)-[A-Za-z0-9_.-]{16,}"),
    shape("slack-token", r"\bxox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{8,}"),
    shape("slack-token", r"\bxapp-\d-[A-Za-z0-9-]{8,}"),
    shape("slack-webhook", r"\bhooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{12,})"),
    // A bot's number, a colon, and 35 characters; addresses have `bot` before it.
    shape("telegram-token", r"(?:\b|bot)(\d{6,12}:[A-Za-z0-9_-]{33,37})").with_letters(&[":"]),
    shape("discord-token", r"\b[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}").with_letters(&["."]),
    shape("discord-webhook", r"\bdiscord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+/([A-Za-z0-9_-]{20,})"),
    shape("aws-key-id", r"\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b").with_letters(&["AKIA", "ASIA", "ABIA", "ACCA", "A3T"]),
    shape("aws-secret", r#"(?i:aws|secret)[^\n]{0,30}?["'=:\s]([0-9a-zA-Z/+]{40})(?:["'\s\\,]|$)"#).with_folded_letters(&["aws", "secret"]),
    shape("azure-key", r"(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/=]{20,})").with_folded_letters(&["accountkey=", "sharedaccesskey="]),
    shape("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,3}"),
    shape("stripe-key", r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{12,}").with_letters(&["_live_", "_test_"]),
    shape("webhook-secret", r"\bwhsec_[A-Za-z0-9+/=]{16,}"),
    shape("npm-token", r"\bnpm_[A-Za-z0-9]{30,}"),
    shape("pypi-token", r"\bpypi-[A-Za-z0-9_-]{16,}"),
    shape("crates-token", r"\bcio[A-Za-z0-9]{32}\b"),
    shape("huggingface-token", r"\b(?:hf_|api_org_)[A-Za-z0-9]{24,}").with_letters(&["hf_", "api_org_"]),
    shape("groq-key", r"\bgsk_[A-Za-z0-9]{24,}"),
    shape("xai-key", r"\bxai-[A-Za-z0-9]{24,}"),
    shape("perplexity-key", r"\bpplx-[A-Za-z0-9]{24,}"),
    shape("nvidia-key", r"\bnvapi-[A-Za-z0-9_-]{24,}"),
    shape("replicate-token", r"\br8_[A-Za-z0-9]{24,}"),
    shape("cerebras-key", r"\bcsk-[A-Za-z0-9]{24,}"),
    shape("elevenlabs-key", r"\bsk_[a-f0-9]{40,}"),
    shape("tavily-key", r"\btvly-[A-Za-z0-9-]{12,}"),
    shape("firecrawl-key", r"\bfc-[a-f0-9]{32}\b"),
    shape("brave-key", r"\bBSA[A-Za-z0-9_-]{24,}"),
    shape("sendgrid-key", r"\bSG\.[A-Za-z0-9_-]{12,}\.[A-Za-z0-9_-]{12,}"),
    shape("twilio-key", r"\b(?:SK|AC)[0-9a-f]{32}\b").with_letters(&["SK", "AC"]),
    shape("mailgun-key", r"\bkey-[0-9a-f]{32}\b"),
    shape("digitalocean-token", r"\bdo[opr]_v1_[a-f0-9]{32,}"),
    shape("shopify-token", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{24,}"),
    shape("square-token", r"\b(?:EAAA|sq0[a-z]{3}-)[A-Za-z0-9_-]{22,}").with_letters(&["EAAA", "sq0"]),
    shape("notion-token", r"\b(?:ntn_|secret_)[A-Za-z0-9]{40,}").with_letters(&["ntn_", "secret_"]),
    shape("linear-key", r"\blin_(?:api|oauth)_[A-Za-z0-9]{24,}"),
    shape("atlassian-token", r"\bATATT3[A-Za-z0-9_=-]{40,}"),
    shape("vault-token", r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}"),
    shape("databricks-token", r"\bdapi[a-f0-9]{32}(?:-\d)?\b"),
    shape("tailscale-key", r"\btskey-[a-z]+-[A-Za-z0-9-]{10,}"),
    shape("fly-token", r"\b(?:fo1_[A-Za-z0-9_-]{32,}|fm\d[a-z]?_[A-Za-z0-9+/=_-]{40,})").with_letters(&["fo1_", "fm"]),
    shape("matrix-token", r"\b(?:syt|mat)_[A-Za-z0-9_-]{20,}").with_letters(&["syt_", "mat_"]),
    shape("supabase-key", r"\bsb(?:p|_secret)_[A-Za-z0-9_-]{20,}"),
    shape("sentry-token", r"\bsntry[su]_[A-Za-z0-9+/=_-]{32,}"),
    shape("grafana-token", r"\bgl(?:c|sa)_[A-Za-z0-9+/=_]{32,}"),
    shape("doppler-token", r"\bdp\.(?:pt|st|ct|sa)\.[A-Za-z0-9_.-]{20,}"),
    shape("pulumi-token", r"\bpul-[a-f0-9]{40}\b"),
    shape("terraform-token", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}").with_letters(&[".atlasv1."]),
    named("url-password", r#"\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s:/?#@"'<>`\[]*:([^\s/?#@"'<>`]+)@"#).with_letters(&["://"]),
    shape("url-token", r"\bhttps?://([A-Za-z0-9_.-]{20,})@"),
    named(
        "url-parameter",
        r#"(?i)[?&](?:access_token|refresh_token|id_token|auth_token|token|api_?key|apikey|secret|client_secret|password|passwd|pwd|sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature)=([^&\s"'<>#\\]{6,})"#,
    ).with_folded_letters(PARAMETERS),
    loose("url-parameter", r#"(?i)[?&](?:key|code|auth|session|sid)=([^&\s"'<>#\\]{16,})"#).with_folded_letters(&["key=", "code=", "auth=", "session=", "sid="]),
    named(
        "authorization",
        r#"(?i)\bauthorization["'\\]*\s*[:=,]\s*["'\\]*(?:(?:bearer|basic|token|digest|apikey|bot|negotiate|aws4-hmac-sha256)\s+)?([^\s"',;\\]{6,})"#,
    ).with_folded_letters(&["authorization"]),
    loose("authorization", r"(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{12,})").with_folded_letters(&["bearer"]),
    named(
        "authorization",
        r#"(?i)\b(?:x-api-key|x-auth-token|x-access-token|x-goog-api-key|x-gitlab-token|x-vault-token|private-token|api-key|proxy-authorization|x-openclaw-token)["'\\]*\s*[:=]\s*["'\\]*([^\s"',;\\]{6,})"#,
    ).with_folded_letters(&["api-key", "-token", "-authorization"]),
    named("cookie", r#"(?i)\b(?:set-)?cookie["'\\]*\s*:\s*["'\\]*([A-Za-z0-9_.-]+=[^"'\r\n\\]{4,})"#).with_folded_letters(&["cookie"]),
    // `NAME=value` as in `.env`, shells and units; upper case shows that it is a variable.
    named(
        "env",
        r#"\b[A-Z][A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|PWD|PASSPHRASE|PASS|CREDENTIALS?|API_?KEY|(?:ACCESS|PRIVATE|SECRET|SIGNING|ENCRYPTION|AUTH|MASTER|SERVICE|ACCOUNT)_KEY(?:_ID)?|_KEY|_DSN|DATABASE_URL)\s?=\s?(?:\\?"((?:[^"\\\n]|\\[^"n])+)\\?"|'([^'\n]+)'|([^\s"'`;,&|)<>\\]+))"#,
    ).with_letters(&["TOKEN", "SECRET", "PASS", "PWD", "CREDENTIAL", "KEY", "_DSN", "DATABASE_URL"]),
    // `"name": "value"` as in JSON, YAML, TOML and code; the quotes may be escaped once more.
    named(
        "value",
        concat!(
            r#"(?i)[A-Za-z0-9_.-]*"#,
            secret_name!(),
            r#"\\?["']?\s*(?::|=>|=|:=)\s*(?:\\"((?:[^"\\\n])+)\\"|"((?:[^"\\\n]|\\.)+)"|'([^'\n]+)')"#
        ),
    ).with_folded_letters(NAMES),
    // `name: value` without quotes: YAML, prose, command lines.
    loose(
        "value",
        concat!(
            r#"(?i)[A-Za-z0-9_.-]*"#,
            secret_name!(),
            r#"["']?(?:\s*(?::|=>|=|:=)\s*|\s+is\s+)([^\s"'`;,)}\]<>\\]{6,})"#
        ),
    ).with_folded_letters(NAMES),
    loose(
        "value",
        r#"(?i)--?(?:password|passwd|token|secret|api-?key|auth-token|access-token|client-secret)[ =]["']?([^\s"'`;]{6,})"#,
    ).with_folded_letters(&["-pass", "-token", "-secret", "-api", "-auth", "-access", "-client"]),
    loose("value", r#"(?i)\b(?:curl|wget)\b[^\n]*?\s(?:-u|--user)[ =]["']?[^\s:"']+:([^\s"']{4,})"#).with_folded_letters(&["curl", "wget"]),
];

/// Every rule, each compiled for the first text that needs it.
pub(super) struct CompiledRules {
    rules: Vec<CompiledRule>,
}

struct CompiledRule {
    rule: &'static Rule,
    finders: Vec<Finder<'static>>,
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
pub(super) static COMPILED: LazyLock<CompiledRules> =
    LazyLock::new(|| CompiledRules { rules: RULES.iter().map(CompiledRule::new).collect() });

struct SearchText<'a> {
    exact: &'a [u8],
    /// In lower case; `None` if the text contains letters beyond ASCII that fold to ASCII.
    folded: OnceCell<Option<Vec<u8>>>,
}

impl<'a> SearchText<'a> {
    fn new(text: &'a str) -> Self {
        Self { exact: text.as_bytes(), folded: OnceCell::new() }
    }

    fn folded(&self) -> Option<&[u8]> {
        let fold = || {
            // ſ (U+017F) folds to s, and the Kelvin sign (U+212A) to k.
            let others = ["\u{17f}", "\u{212a}"];
            let has_other = others.iter().any(|other| memmem::find(self.exact, other.as_bytes()).is_some());
            (!has_other).then(|| self.exact.to_ascii_lowercase())
        };
        self.folded.get_or_init(fold).as_deref()
    }
}

impl CompiledRule {
    fn new(rule: &'static Rule) -> Self {
        let finders = match rule.prefilter {
            Prefilter::Start => vec![Finder::new(&prefix_letters(rule.pattern)).into_owned()],
            Prefilter::Exact(text_features) | Prefilter::Folded(text_features) => {
                text_features.iter().map(|text_features| Finder::new(*text_features)).collect()
            }
        };
        Self { rule, finders, regex: OnceLock::new() }
    }

    /// Whether the rule may match in a text.
    fn may_match(&self, text_features: &SearchText<'_>) -> bool {
        let text = match self.rule.prefilter {
            Prefilter::Folded(_) => text_features.folded(),
            Prefilter::Start | Prefilter::Exact(_) => Some(text_features.exact),
        };
        text.is_none_or(|text| self.finders.iter().any(|needs| needs.find(text).is_some()))
    }

    fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| compile(self.rule.pattern))
    }
}

/// The letters with which every match of a pattern begins.
fn prefix_letters(pattern: &str) -> String {
    let pattern = pattern.strip_prefix(r"\b").unwrap_or(pattern);
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/');
    let mut text_features: String = pattern.chars().take_while(is_plain).collect();
    if pattern[text_features.len()..].starts_with(['?', '*', '{']) {
        text_features.pop();
    }
    text_features
}

/// Makes `\b` ASCII-only: a letter of another script before a secret does not extend its word.
fn ascii_pattern(pattern: &str) -> String {
    pattern.replace(r"\b", r"(?-u:\b)")
}

fn compile(pattern: &str) -> Regex {
    let built = regex::RegexBuilder::new(&ascii_pattern(pattern)).size_limit(1 << 24).build();
    built.unwrap_or_else(|_| LazyLock::force(&MATCH_NOTHING).clone())
}

#[expect(clippy::unwrap_used, reason = "a pattern of one class, which compiles")]
static MATCH_NOTHING: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[^\s\S]").unwrap());

impl CompiledRules {
    /// Finds all matches in a text, in order and without overlap; the first rule of the table wins.
    pub(super) fn find_hits(&self, text: &str) -> Vec<Hit> {
        let mut hits: Vec<Hit> = Vec::new();
        let text_features = SearchText::new(text);
        for tried in self.rules.iter().filter(|tried| tried.may_match(&text_features)) {
            let rule = tried.rule;
            for found in tried.regex().captures_iter(text) {
                let groups = found.iter().skip(1).flatten().last();
                let Some(secret) = groups.or_else(|| found.get(0)) else { continue };
                let (from, to) = (secret.start(), secret.end());
                let clear = hits.iter().all(|hit| to <= hit.from || hit.to <= from);
                if clear && is_proven(secret.as_str(), rule.proof) && !is_in_placeholder(text, from) {
                    hits.push(Hit { from, to, kind: rule.kind });
                }
            }
        }
        hits.sort_unstable_by_key(|hit| hit.from);
        hits
    }
}

/// Whether a position is inside a placeholder, whose kind may be a name that rules search for.
fn is_in_placeholder(text: &str, at: usize) -> bool {
    let before = &text[..at];
    let closed = before.rfind(']').map_or(0, |end| end + 1);
    before[closed..].contains("[redacted:")
}

fn is_proven(secret: &str, proof: Proof) -> bool {
    match proof {
        Proof::Shape => true,
        Proof::Named => !is_placeholder(secret),
        Proof::Loose => !is_placeholder(secret) && !is_ordinary(secret),
    }
}

/// Whether a text only represents a secret: a reference, a mask, a type name, our own placeholder.
pub(super) fn is_placeholder(text: &str) -> bool {
    const WORDS: [&str; 32] = [
        "string",
        "number",
        "boolean",
        "object",
        "any",
        "unknown",
        "str",
        "bytes",
        "none",
        "null",
        "nil",
        "undefined",
        "true",
        "false",
        "required",
        "optional",
        "password",
        "token",
        "secret",
        "redacted",
        "hidden",
        "masked",
        "bearer",
        "basic",
        "text",
        "env",
        "keychain",
        "prompt",
        "plain",
        "auto",
        "off",
        "on",
    ];
    let text = text.trim_matches(|char: char| char == '"' || char == '\'' || char.is_whitespace());
    let refers = ["$", "<", "{{", "%", "[redacted:", "process.env", "os.environ", "env.", "env(", "ENV["];
    let masked = text.chars().all(|char| "*.xX•…_-█#?".contains(char));
    text.len() < 3 || masked || refers.iter().any(|start| text.starts_with(start)) || is_one_of(&WORDS, text)
}

fn is_one_of(words: &[&str], text: &str) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Whether a text is a word, a short number, a path or an expression, as in prose and code after a name.
fn is_ordinary(text: &str) -> bool {
    let word = text.trim_end_matches(['.', ':', '!', '?']);
    let text_features = word.chars().all(|char| char.is_alphabetic() || "-_/.".contains(char));
    // Short camel-case names have few capitals; in random text every second letter is one. Long mixed names count as
    // secrets.
    let capitals = word.chars().skip(1).filter(|char| char.is_uppercase()).count();
    let mixed = capitals > 0 && word.chars().any(char::is_lowercase) && !word.contains(['.', '/', '-', '_']);
    let drawn = mixed && (capitals * 3 >= word.len() || word.len() >= 16);
    let number = word.len() < 8 && word.chars().all(|char| char.is_ascii_digit() || ".,%kKmM".contains(char));
    let code = word.contains("()")
        || word.contains('(')
        || word.contains("=>")
        || word.contains("::")
        || word.contains("${");
    text_features && !drawn || number || code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for rule in RULES {
            let built = regex::RegexBuilder::new(&ascii_pattern(rule.pattern)).size_limit(1 << 24).build();
            assert!(built.is_ok(), "{}: {built:?}", rule.pattern);
        }
    }

    /// Applies every rule to a text without the prefilters.
    fn hits_of_all(text: &str) -> Vec<(usize, usize, &'static str)> {
        let all = RULES.iter().flat_map(|rule| {
            let found: Vec<_> =
                compile(rule.pattern).find_iter(text).map(|at| (at.start(), at.end())).collect();
            found.into_iter().map(|(from, to)| (from, to, rule.pattern))
        });
        all.collect()
    }

    #[test]
    fn every_rule_looks_for_letters_that_its_matches_have() {
        for tried in &COMPILED.rules {
            assert!(!tried.finders.is_empty(), "{}", tried.rule.pattern);
            assert!(tried.finders.iter().all(|needs| !needs.needle().is_empty()), "{}", tried.rule.pattern);
        }
        let hex = "0123456789abcdef".repeat(4);
        let long = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE2gI4kM6oQ8sU0wY".repeat(2);
        let fronts = [
            "sk-ant-",
            "sk-or-v1-",
            "sk-proj-",
            "sk-",
            "AIza",
            "ya29.",
            "1//0",
            "GOCSPX-",
            "ghp_",
            "github_pat_",
            "glpat-",
            "xoxb-",
            "xapp-1-",
            "hooks.slack.com/services/",
            "bot123456789:",
            "discord.com/api/webhooks/1/",
            "AKIA",
            "aws_x = ",
            "AccountKey=",
            "sk_live_",
            "whsec_",
            "npm_",
            "pypi-",
            "cio",
            "hf_",
            "gsk_",
            "xai-",
            "pplx-",
            "nvapi-",
            "r8_",
            "csk-",
            "sk_",
            "tvly-",
            "fc-",
            "BSA",
            "SG.",
            "SK",
            "key-",
            "dop_v1_",
            "shpat_",
            "sq0abc-",
            "ntn_",
            "lin_api_",
            "ATATT3",
            "hvs.",
            "dapi",
            "tskey-a-",
            "fo1_",
            "fm2_",
            "syt_",
            "sbp_",
            "sntrys_",
            "glc_",
            "dp.pt.",
            "pul-",
            "https://u:",
            "?\u{17f}ig=",
            "?sig=",
            "?code=",
            "Authorization: ",
            "BEARER ",
            "X-Api-Key: ",
            "Cookie: a=",
            "API_KEY=",
            "to\u{212a}en: ",
            "password is ",
            "--token ",
            "curl -u a:",
        ];
        for front in fronts {
            for rest in [
                &hex,
                &hex[..32].to_owned(),
                &hex[..40].to_owned(),
                &long,
                &format!("{long}.{long}.{long}@h"),
            ] {
                let text = format!("x {front}{rest} y {front}\"{rest}\"");
                let text_features = SearchText::new(&text);
                for (.., pattern) in hits_of_all(&text) {
                    let tried = COMPILED.rules.iter().find(|tried| tried.rule.pattern == pattern).unwrap();
                    assert!(tried.may_match(&text_features), "{pattern} takes {text}");
                }
            }
        }
    }

    #[test]
    fn what_replaces_a_secret_is_none_whatever_follows_it() {
        for text in ["[redacted:authorization:1]%27%20x", "[redacted:cookie:2]a=b; c=defghijkl"] {
            assert_eq!(COMPILED.find_hits(text), [], "{text}");
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
            assert_eq!(COMPILED.find_hits(text), [], "{text}");
        }
    }
}
