//! More places of secrets: configuration files of programs and devices, protocols, code, prose in other languages.

use super::rules::{NAMES, Proof, Rule, quoted, rule, secret_name};

/// Words for a password in other languages; upper and lower case where they differ.
macro_rules! foreign_password {
    () => {
        r"(?:kennwort|senha|palavra[- ]passe|wachtwoord|пароль|hasło|heslo|lösenord|adgangskode|passord|salasana|şifre|parola|jelszó|mật khẩu|パスワード|暗証番号|密码|密碼|口令|비밀번호|סיסמה|كلمة المرور|clave secreta)"
    };
}
const FOREIGN: &[&str] = &[
    "kennwort",
    "senha",
    "palavra",
    "wachtwoord",
    "пароль",
    "Пароль",
    "ПАРОЛЬ",
    "hasło",
    "HASŁO",
    "heslo",
    "lösenord",
    "adgangskode",
    "passord",
    "salasana",
    "şifre",
    "Şifre",
    "parola",
    "jelszó",
    "mật khẩu",
    "Mật khẩu",
    "パスワード",
    "暗証番号",
    "密码",
    "密碼",
    "口令",
    "비밀번호",
    "סיסמה",
    "كلمة المرور",
    "clave secreta",
];

/// Names of maps whose every value is a secret.
macro_rules! secret_map {
    () => {
        r"(?im)(?:^[^\n\w]*(?:\d+[:.)|→\t][ \t]*|\d+[ \t]+)?|[\x22'`\[])(?:passwords|secrets|tokens|credentials|api_?keys|stringData)[\x22']?:[ \t]*\r?\n"
    };
}

/// Builds the rule of one line below the name of such a map.
macro_rules! member_line {
    ($above:literal) => {
        rule(
            "value",
            Proof::Unquoted,
            &["passwords", "secrets", "tokens", "credentials", "keys", "stringdata"],
            concat!(
                secret_map!(),
                r"(?:[^\n]*[ \t][\w.-]+:[ \t][^\n]*\n){", $above, r"}[^\n\w]*(?:\d+[:.)|→\t][ \t]*|\d+[ \t]+)?[\w.-]+:[ \t]+[\x22']?([^\s\x22'{}\[\]|>&*][^\s\x22']{3,})"
            ),
        )
    };
}

pub(super) const PLACES: &[Rule] = &[
    rule(
        "value",
        Proof::Loose,
        FOREIGN,
        concat!(
            r"(?i)",
            foreign_password!(),
            r#"["'*`]*[ \t]*(?:[:=]{1,2}|は|是|为|為|is|é|to|jest|это|:=)[ \t]*["'*`]*([^\s"'`<>]{4,})"#
        ),
    ),
    member_line!("0"),
    member_line!("1"),
    member_line!("2"),
    member_line!("3"),
    // `<entry key="db.password">value</entry>`
    rule(
        "value",
        Proof::Named,
        &["</"],
        concat!(
            r#"(?i)<\w+[^<>]*\b(?:key|name|id)\s*=\s*["'][\w.: -]*"#,
            secret_name!(),
            r#"["'][^<>]*>\s*([^<>\s][^<>]{2,}?)\s*</"#
        ),
    ),
    rule("url-password", Proof::Named, &["jdbc:oracle"], r"jdbc:oracle:\w+:[^/\s:]+/([^@\s]+)@"),
    // A pair of a name and a value in a list of parameters.
    rule(
        "value",
        Proof::Unquoted,
        NAMES,
        concat!(
            r#"(?i)\w*(?:key|name)["']?\s*[:=]\s*["'][\w.:/ -]*"#,
            secret_name!(),
            r#"["']\s*,\s*["']?\w*(?:value|val)["']?\s*[:=]\s*["']((?:[^"'\\\n]|\\.)+)["']"#
        ),
    ),
    rule(
        "value",
        Proof::Named,
        &["credential", "secret", "login", "auth"],
        r#"(?i)\b(?:credentials?|secrets?|login|auth)["']?\s*[:=]\s*\{[^{}]{0,300}?["']?\b(?:key|pass|pw|secret|value)["']?\s*[:=]\s*["']((?:[^"'\\\n]|\\.){4,})["']"#,
    ),
    // Code: a typed constant, the second argument of a login, an insert.
    rule(
        "value",
        Proof::Named,
        NAMES,
        concat!(r"(?i)", secret_name!(), r"\s*:\s*[&'\w<>\[\]. ?]{1,40}\s*=\s*", quoted!()),
    ),
    rule(
        "value",
        Proof::Loose,
        &["login", "signin", "sign_in", "authenticate", "credential", "auth(", "auth (", "user("],
        r#"(?i)\b(?:\w*login|sign_?in|authenticate|\w*credentials?|\w*auth|(?:add|create|set)_?user)\s*\(\s*["'][^"'\n]*["']\s*,\s*["']([^"'\n]{4,})["']"#,
    ),
    rule(
        "value",
        Proof::Named,
        &["insert"],
        concat!(
            r"(?i)\binsert\s+(?:into\s+)?\S+\s*\([^()\n]*",
            secret_name!(),
            r"[^()\n]*\)\s*values\s*\(([^()\n]+)\)"
        ),
    ),
    // Devices of a network.
    rule(
        "value",
        Proof::Named,
        &["community", "enable ", "username ", "-server", "isakmp", "shared-key", "key-string", "neighbor "],
        r"(?im)\b(?:snmp-server\s+community|enable\s+(?:secret|password)(?:\s+level\s+\d+)?|username\s+\S+\s+(?:privilege\s+\d+\s+)?(?:secret|password)|(?:radius|tacacs)-server\s+(?:host\s+\S+\s+)?key|crypto\s+isakmp\s+key|(?:ikev[12]\s+)?(?:local-|remote-)?pre-shared-key|key-string|neighbor\s+\S+\s+password)[ \t]+(?:[0-9][ \t]+)?(?:ascii-text[ \t]+)?(\S{4,})",
    ),
    // Protocols.
    rule("value", Proof::Named, &["PASS "], r"\bUSER[ \t]+\S+[^\n]*\n[^\n]{0,60}?\bPASS[ \t]+:?(\S{4,})"),
    rule(
        "value",
        Proof::Named,
        &["LOGIN "],
        r#"(?m)^[^\n]{0,40}?\b[A-Za-z]{0,4}\d{1,6}[ \t]+LOGIN[ \t]+\S+[ \t]+["']?([^\s"']{4,})"#,
    ),
    rule(
        "cookie",
        Proof::Named,
        &["PHPSESSID", "JSESSIONID", "ASP.NET_SessionId", "connect.sid", "laravel_session", "sessionid="],
        r#"(?i)\b(?:PHPSESSID|JSESSIONID|ASP\.NET_SessionId|connect\.sid|laravel_session)=([^;\s"'&]{8,})|\bsessionid=([^;\s"'&]{8,});"#,
    ),
    // Short names that words contain too.
    rule(
        "value",
        Proof::Loose,
        &["pw", "pin", "cred"],
        r#"(?im)(?:^|[\s"'(*_>#+→:`|\[])(?:pw|pin|creds?|pword|\w*(?:bind|root|admin|user|db|ldap|mail)_?pw)["'*`]*(?:[ \t]*[:=][ \t]*|[ \t]+=[ \t]+)["'*`]*([^\s"'`<>*]{5,})"#,
    ),
    rule("value", Proof::Loose, &["bindpw", "rootpw"], r"(?i)\b(?:bind|root)pw[ \t]+(\S{5,})"),
    rule(
        "env",
        Proof::Named,
        &["SALT=", "PEPPER=", "PSK=", "_IV=", "sonar.login="],
        r#"\b(?:(?:[A-Z0-9_]*_)?(?:SALT|PEPPER|PSK)|[A-Z0-9_]+_IV|sonar\.login)=["']?([^\s"']{6,})"#,
    ),
    // Prose.
    rule(
        "value",
        Proof::Loose,
        &["pairing", "activation", "unlock", "backup", "security", "verification", "time", "2fa", "mfa"],
        r#"(?i)\b(?:pairing|activation|unlock|backup|security|verification|one[ _-]?time|2fa|mfa)[ _-]?codes?["'*`]*\s*(?:[:=]|is|->)+\s*["'*`]*([^\s"'`<>*]{5,})"#,
    ),
    rule(
        "value",
        Proof::Random,
        &["password ", "passwd ", "passphrase ", "passcode ", "pwd "],
        r#"(?i)\b(?:password|passwd|passphrase|passcode|pwd)[ \t]+["'`(*]*([^\s"'`)*,;]{6,})"#,
    ),
    rule(
        "value",
        Proof::Loose,
        &[" p:", " p=", "/p:", ",p:"],
        r#"(?i)\bu(?:ser)?[ \t]*[:=][ \t]*\S+[\s,;/]+p[ \t]*[:=][ \t]*["'`]?([^\s"'`]{4,})"#,
    ),
    rule(
        "value",
        Proof::Random,
        &["admin:", "root:", "administrator:"],
        r#"(?i)\b(?:admin|root|administrator):([^\s"'/,;:@]{6,})"#,
    ),
    rule(
        "value",
        Proof::Random,
        &["login", "log in", "sign in", "basic auth"],
        r#"(?i)\b(?:log ?in|sign ?in|basic auth)(?: with| as)?[ \t]+["'`]?[\w.@-]+:([^\s"'`,;]{6,})"#,
    ),
    rule(
        "value",
        Proof::Option,
        &["(pass", "(pw"],
        r"(?i)\((?:pass|pw|password|passwd)[: =]+([^\s()]{4,})\)",
    ),
    // Commands.
    rule(
        "value",
        Proof::Named,
        &["add-generic-password", "add-internet-password"],
        r#"\badd-(?:generic|internet)-password\b[^\n|;]*?\s-w[ ]*["']?([^\s"']+)"#,
    ),
    rule("value", Proof::Loose, &["send "], r#"\bsend\s+(?:--\s+)?["']([^"'\n]{5,}?)\\[rn]["']"#),
    rule("value", Proof::Loose, &["--user"], r#"--(?:proxy-)?user(?:name)?[ =]["']?[^\s:"']+:([^\s"']{5,})"#),
    rule(
        "value",
        Proof::Named,
        &[
            "cqlsh",
            "cockroach",
            "impala-shell",
            "beeline",
            "arangosh",
            "cbq",
            "mssql-cli",
            "isql",
            "pgcli",
            "mycli",
        ],
        r#"\b(?:cqlsh|cockroach|impala-shell|beeline|arangosh|cbq|mssql-cli|isql|pgcli|mycli)\b[^\n|;&]*?\s(?:-p|-P|--password)[ =]?["']?([^\s"'=]+)"#,
    ),
    rule("value", Proof::Named, &["-hp"], r#"\b(?:rar|7z)\b[^\n|;&]*?\s-hp["']?([^\s"']+)"#),
    rule(
        "value",
        Proof::Named,
        &["<<<"],
        r#"\b(?:kinit|cryptsetup|gpg2?|openssl|login|passwd|psql|mysql)\b[^\n]*?<<<\s*["']?([^\s"']+)"#,
    ),
    rule(
        "value",
        Proof::Named,
        &["env add", "env set", "secret add", "secrets add", "secret create", "kv put", "kv set"],
        concat!(
            r#"(?i)\b(?:env|secrets?|variables?|kv)\s+(?:add|set|create|put)\s+(?:-{1,2}\S+\s+)*["']?[\w.:/-]*"#,
            secret_name!(),
            r#"["']?\s+["']?([^\s"'`=:|&<>-][^\s"'`]{2,})"#
        ),
    ),
    rule(
        "value",
        Proof::Option,
        &["--bearer", "--jwt"],
        r#"--(?:bearer|jwt)[ =]+["']?([^\s"'`<>-][^\s"'`]{4,})"#,
    ),
];
