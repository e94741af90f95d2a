//! One invented secret of each shape, in the typical context of a transcript. They are assembled at run time, so that
//! no scanner of repositories takes them for real ones.

/// Its name, the secret itself, and a text that holds it.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) secret: String,
    pub(crate) text: String,
}

/// Letters and digits without a pattern, reproducible.
pub(crate) fn random(seed: u64, length: usize, alphabet: &str) -> String {
    let text_features: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text_features[(state % text_features.len() as u64) as usize]
    };
    (0..length).map(|_| next()).collect()
}

const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";
const DIGITS: &str = "123456789";

/// Every shape.
#[allow(clippy::too_many_lines, reason = "a table")]
pub(crate) fn samples() -> Vec<Sample> {
    let mut seed = 0;
    let mut word = |length, alphabet| {
        seed += 1;
        random(seed, length, alphabet)
    };
    let mut samples = Vec::new();
    let mut add = |name, secret: String, text: String| {
        assert!(text.contains(&secret), "{name}");
        samples.push(Sample { name, secret, text });
    };
    // Recognised by shape: in a sentence.
    for (name, start, length, alphabet) in [
        ("anthropic key", "sk-ant-api03-", 95, WORD),
        ("anthropic token", "sk-ant-oat01-", 86, WORD),
        ("openai key", "sk-", 48, WORD),
        ("openai project key", "sk-proj-", 120, WORD),
        ("openai service key", "sk-svcacct-", 60, WORD),
        ("openrouter key", "sk-or-v1-", 64, HEX),
        ("github token", "ghp_", 36, WORD),
        ("github app token", "ghs_", 36, WORD),
        ("github fine token", "github_pat_", 82, WORD),
        ("gitlab token", "glpat-", 20, WORD),
        ("slack bot token", "xoxb-", 50, WORD),
        ("slack user token", "xoxp-", 60, WORD),
        ("slack app token", "xapp-1-", 70, WORD),
        ("aws key id", "AKIA", 16, UPPER),
        ("google key", "AIza", 35, WORD),
        ("google token", "ya29.", 80, WORD),
        ("google secret", "GOCSPX-", 28, WORD),
        ("stripe key", "sk_live_", 24, WORD),
        ("npm token", "npm_", 36, WORD),
        ("pypi token", "pypi-", 150, WORD),
        ("huggingface token", "hf_", 34, WORD),
        ("groq key", "gsk_", 52, WORD),
        ("xai key", "xai-", 80, WORD),
        ("perplexity key", "pplx-", 48, WORD),
        ("sendgrid key", "SG.", 0, WORD),
        ("twilio key", "SK", 32, HEX),
        ("digitalocean token", "dop_v1_", 64, HEX),
        ("shopify token", "shpat_", 32, HEX),
        ("notion token", "ntn_", 46, WORD),
        ("linear key", "lin_api_", 40, WORD),
        ("vault token", "hvs.", 90, WORD),
        ("databricks token", "dapi", 32, HEX),
        ("tailscale key", "tskey-auth-", 30, WORD),
        ("age key", "AGE-SECRET-KEY-1", 58, UPPER),
        ("brave key", "BSA", 28, WORD),
        ("tavily key", "tvly-", 32, WORD),
    ] {
        let rest = if name == "sendgrid key" {
            format!("{}.{}", word(22, WORD), word(43, WORD))
        } else {
            word(length, alphabet)
        };
        let secret = format!("{start}{rest}");
        let text = format!("I use {secret} for it, as said.");
        add(name, secret, text);
    }
    let telegram = format!("{}:AA{}", word(10, DIGITS), word(33, WORD));
    add("telegram token", telegram.clone(), format!("the bot is {telegram}"));
    let telegram = format!("{}:AA{}", word(10, DIGITS), word(33, WORD));
    add("telegram address", telegram.clone(), format!("GET https://api.telegram.org/bot{telegram}/getMe"));
    let discord = format!("M{}.{}.{}", word(25, WORD), word(6, WORD), word(38, WORD));
    add("discord token", discord.clone(), format!("login {discord}"));
    let jwt = format!("eyJ{}.eyJ{}.{}", word(33, WORD), word(70, WORD), word(43, WORD));
    add("jwt", jwt.clone(), format!("session={jwt}; path=/"));
    let body: Vec<String> = (0..6).map(|_| word(64, WORD)).collect();
    let key = |lines: &str| {
        format!("-----BEGIN OPENSSH {k} KEY-----{lines}-----END OPENSSH {k} KEY-----", k = "PRIVATE")
    };
    add(
        "private key",
        body[1].clone(),
        format!("cat id\n{}\n", key(&format!("\n{}\n", body[..3].join("\n")))),
    );
    add(
        "private key in JSON",
        body[4].clone(),
        format!(r#"{{"k":"{}"}}"#, key(&format!("\\n{}\\n", body[3..].join("\\n")))),
    );
    add("private key by a line", body[2].clone(), format!("line 3 was {}", body[2]));
    let bearer = word(40, WORD);
    add("bearer header", bearer.clone(), format!("curl -H 'Authorization: Bearer {bearer}' x"));
    let basic = word(24, WORD);
    add("basic header", basic.clone(), format!("Authorization: Basic {basic}=="));
    let header = word(32, WORD);
    add("key header", header.clone(), format!("-H \"x-api-key: {header}\""));
    let cookie = word(40, WORD);
    add("cookie", cookie.clone(), format!("Cookie: sid={cookie}; lang=en"));
    let url = word(14, WORD);
    add("url password", url.clone(), format!("postgres://app:{url}@db.internal:5432/app"));
    let url = word(40, WORD);
    add("url token", url.clone(), format!("git clone https://{url}@example.org/x.git"));
    let parameter = word(30, WORD);
    add(
        "url parameter",
        parameter.clone(),
        format!("https://x.example/hook?a=1&access_token={parameter}&b=2"),
    );
    let webhook = format!("T{}/B{}/{}", word(8, UPPER), word(8, UPPER), word(24, WORD));
    add("slack webhook", webhook.clone(), format!("https://hooks.slack.com/services/{webhook}"));
    let aws = word(40, WORD);
    add("aws secret", aws.clone(), format!("aws_secret_access_key = {aws}"));
    let env = word(20, WORD);
    add(".env line", env.clone(), format!("PORT=8080\nDB_PASSWORD={env}\nDEBUG=1"));
    let env = word(20, WORD);
    add("exported variable", env.clone(), format!("export STRIPE_KEY=\"{env}\" && run"));
    let short = format!("Blau-{}", word(4, DIGITS));
    add("short password", short.clone(), format!("MYSQL_ROOT_PASSWORD={short}"));
    let json = word(24, WORD);
    add("JSON member", json.clone(), format!("{{\"botToken\": \"{json}\", \"port\": 1}}"));
    let json = word(24, WORD);
    add("JSON in a text", json.clone(), format!("{{\\\"clientSecret\\\": \\\"{json}\\\"}}"));
    let yaml = word(18, WORD);
    add("YAML member", yaml.clone(), format!("db:\n  password: {yaml}\n  port: 1"));
    let toml = word(18, WORD);
    add("TOML member", toml.clone(), format!("api_key = '{toml}'"));
    let option = word(18, WORD);
    add("option", option.clone(), format!("mysql -u root --password={option} app"));
    let user = word(12, WORD);
    add("curl user", user.clone(), format!("curl -s -u admin:{user} https://x.example"));
    let prose = word(22, WORD);
    add("prose", prose.clone(), format!("The password is {prose} by the way."));
    let azure = word(86, WORD);
    add("azure key", azure.clone(), format!("AccountName=x;AccountKey={azure}==;Endpoint=y"));
    samples
}
