//! Every rule has a text in which it finds a secret.

use super::compiled::COMPILED;
use super::detection::detect;
use super::views::views;

/// Texts in which only the words around `@` reveal that it is a secret: devices, protocols, code, other languages.
pub(super) const MORE_PLACES: [&str; 100] = [
    "card pin: 482913",
    "password_file_content: @",
    "auth=(\"bob\", \"@\")",
    "creds = (\"bob\", \"@\")",
    "BasicAuth bob:@",
    "vault kv put secret/x value=@",
    "vault write auth/x role=r password=@ ttl=1h",
    "Token @",
    "PASS @",
    "PASSWORD=${PASSWORD}@",
    "password: {{ pw }}@",
    "db_password: @${SUFFIX}",
    "smtpPass: '@',",
    "<entry key=\"db.password\">@</entry>",
    "jdbc:oracle:thin:scott/kX9-4fQ2z7aB@h:1521:sid",
    "cqlsh -u u -p @",
    "vercel env add SECRET_TOKEN @",
    "consul kv put x/password @",
    "security add-generic-password -a u -s x -w @",
    "rar a -hp@ x.rar f",
    "expect -c 'send \"@\\r\"'",
    "Kennwort: @",
    "senha: @",
    "wachtwoord: @",
    "パスワード: @",
    "密码：@",
    "密码是 @",
    "Пароль: @",
    "hasło: @",
    "u: bob p: @",
    "API key -> @",
    "Ocp-Apim-Subscription-Key: @",
    "activation key: @",
    "backup codes: @",
    "pairing code: @",
    "{\"ParameterKey\":\"DBPassword\",\"ParameterValue\":\"@\"}",
    "{\"credentials\":{\"user\":\"u\",\"key\":\"@\"}}",
    "passwords:\n  root: @",
    "secrets:\n  slack: abcdef1\n  other: @",
    "secrets:\n  a: abcdef1\n  b: abcdef2\n  c: @",
    "secrets:\n  a: abcdef1\n  b: abcdef2\n  c: abcdef3\n  d: @",
    "login(\"bob\", \"@\")",
    ".withCredentials(\"u\", \"@\")",
    "const PASSWORD: &str = \"@\";",
    "CREATE LOGIN u WITH PASSWORD=N'@'",
    "INSERT INTO users (name, password) VALUES ('u', '@');",
    "snmp-server community @ RO",
    "enable secret 0 @",
    "username admin password 0 @",
    "radius-server key @",
    "crypto isakmp key @ address 1.2.3.4",
    " pre-shared-key @",
    "USER u\nPASS @",
    "a1 LOGIN bob @",
    "bindpw @",
    "olcRootPW: @",
    "kinit u <<< @",
    "etcdctl --user root:@ get x",
    "ssh root-h (password @)",
    "pw: @",
    "root (pw: @)",
    "cred: @",
    "login with bob:@",
    "admin:@",
    "postgres://app:kX94fQ2z7aB@db.internal/app",
    "net use \\\\h\\s @ /user:bob",
    "snmpwalk -v3 -u a -A @ h",
    "--bearer @",
    "ENCRYPTION_IV=@",
    "SALT=@",
    "PHPSESSID=@",
    "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-MAC: 0123456789abcdef0123456789abcdef",
    "123456789:AAF@abcdefghijklmnopqrstuvwx",
    "https://api.telegram.org/bot123456:ABCdef9@GHIjkl12345/getMe",
    "MTAx9Dk4NzY1NDMyMTA5ODc2.G9abc1.abcDEF9hij2lmn3OPQrst4UVWxyz5_0",
    "ASIAABCDEFGHIJKLMNOP",
    "aws secret 'wJalrXUtnFEMIK7MDENGbPxRfiCYzKEYabc12345'",
    "AccountKey=abcdefghijklmnopqrstuv==",
    "abc7Q~abcdefghijklmnopqrstuvwxyz012345",
    "0123456789abcdef0123456789abcdef-us12",
    "SSWS 00abcdefghijklmnopqrstuv",
    "https://0123456789abcdef0123456789abcdef@o1.ingest.sentry.io/1",
    "abcdefghij1234.atlasv1.abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH",
    "https://a1B2c3D4e5F6g7H8i9J0k1L2@github.com/x",
    "https://h/?session=@abcdefgh",
    "Authorization: Basic dXNlcjpwYXNzd29yZDEyMw==",
    "basic dXNlcjpwYXNzd29yZDEyMw==",
    "bearer a1b2c3d4e5f6g7h8",
    ".a.example\tTRUE\t/\tFALSE\t0\tsid\t@",
    "{\"value\":\"@\",\"path\":\"/\",\"domain\":\".a.example\"}",
    "TOKEN = @",
    "<password><![CDATA[@]]></password>",
    "token (\"@\")",
    "{\"password\": [\"@\", \"x1y2z3w4\"]}",
    "seed phrase: abandon ability able about above absent absorb abstract absurd abuse access accident",
    "pass = \"@\"",
    "password for bob: @",
    "login: bob / @",
    "requirepass @",
    "auth(\"bob\", \"@\")",
];

/// The texts that show the rules, with a password in them.
fn texts() -> Vec<String> {
    let places = super::corpus::NAMED_PLACES.iter().chain(&MORE_PLACES);
    let plain =
        places.clone().map(|place| place.replace("@@", "kX9-4fQ2z7aB==@").replace('@', "kX9-4fQ2z7aB"));
    let padded = places.map(|place| place.replace("@@", "kX94fQ2z7aBcd8==").replace('@', "kX94fQ2z7aBcd8"));
    plain.chain(padded).chain(MORE_PLACES.iter().map(|place| (*place).to_owned())).collect()
}

#[test]
fn every_rule_has_a_text_in_which_it_finds_a_secret() {
    let texts = texts();
    let idle = COMPILED.rules_without_hit(&texts);
    assert_eq!(idle, [""; 0], "{} rules find nothing", idle.len());
}

#[test]
fn secrets_are_found_by_their_context() {
    for place in MORE_PLACES
        .iter()
        .filter(|place| place.matches('@').count() == 1 && !place.contains("://") && !place.contains("B@h"))
    {
        let text = place.replace('@', "kX9-4fQ2z7aB");
        let found = detect(&text, &views(&text));
        let start = text.find("kX9-4fQ2z7aB").unwrap();
        assert!(found.iter().any(|one| one.from <= start && start + 12 <= one.to), "{text}: {found:?}");
    }
}
