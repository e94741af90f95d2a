//! Commands that take a password, by the place where each takes it.

use super::rules::{NAMES, Proof, Rule, rule, secret_name};

/// An argument of a shell, in quotes or not; no option.
macro_rules! argument {
    () => {
        r#"(?:\\?"((?:[^"\\\n]|\\[^"n])+)\\?"|'([^'\n]+)'|([^\s"'`<>|;-][^\s"'`]*))"#
    };
}

/// Builds the rule of a command: the letters that it needs, and the part before the password.
macro_rules! command {
    ($letters:expr, $before:literal) => {
        rule("value", Proof::Named, &$letters, concat!($before, argument!()))
    };
}

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

pub(super) const COMMANDS: &[Rule] = &[
    rule(
        "value",
        Proof::Option,
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
        r#"\b(?:sshpass|(?:docker|podman|helm|oc|az|cf|skopeo|buildah|npm|firebase|registry)\b[^\n|;&]*\blogin|mongo\w*|(?:un)?zip|ipmitool|mosquitto_\w+|mqtt|rabbitmqadmin)\b[^\n|;&]*?\s(?:-p|-P|--pass\w*)[ =]?["']?([^\s"'=]+)"#,
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
        &["curl", "wget", "http", "xh ", "proxy-user"],
        r#"\b(?:(?:curl|wget|https?|xh|xhs)\b[^\n]*?\s(?:-u|-a|-U|--user|--auth|--proxy-user)|proxy-user)[ =]?["']?[^\s:"']*:([^\s"']{3,})"#,
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
        &["sudo", "-stdin", "-with-token", "passwd", "cryptsetup", "kinit", "gpg"],
        r#"\b(?:echo|printf)\s+(?:-\w+\s+|["']?%s(?:\\n)?["']?\s+)*(?:"([^"\n]+)"|'([^'\n]+)'|([^\s|"']+))\s*\|[^\n]*?(?:sudo\s+(?:-\w+\s+)*-\w*S|-stdin|-with-token|chpasswd|passwd|cryptsetup|kinit|gpg)"#,
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
    rule(
        "value",
        Proof::Named,
        NAMES,
        concat!(
            r"\b(?:git|npm|yarn|pnpm|poetry|composer|bundle|gcloud|pip3?|conan|dvc|glab|gh)\s+config\s+(?:--?\S+\s+|set\s+)*[\w.:/@-]*",
            secret_name!(),
            r"[ \t]+",
            argument!()
        ),
    ),
    command!(["ssh-keygen"], r"\bssh-keygen\b[^\n|;]*?\s-[NP]\s*"),
    command!(["openssl"], r"\bopenssl\b[^\n|;]*?\s-[kK]\s+"),
    command!(["net use"], r"(?i)\bnet\s+use\s[^\n|;]*?/user:\S+\s+"),
    rule("value", Proof::Named, &["net use"], r"(?i)\bnet\s+use\s+(?:\w:\s+)?\\+\S+\s+([^\s/]\S*)\s+/user"),
    command!(["securestring"], r"(?i)\bConvertTo-SecureString\s+(?:-\w+\s+)*"),
    rule(
        "value",
        Proof::Named,
        &["vault "],
        r#"\bvault\s+(?:kv\s+)?(?:put|patch|write)\s+(?:-\S+\s+)*\S+\s+((?:[\w.-]+=(?:"[^"\n]*"|'[^'\n]*'|[^\s"'@][^\s"']*)[ \t]*)+)"#,
    ),
    rule(
        "value",
        Proof::Named,
        &["vault login"],
        r#"\bvault\s+login\s+(?:-\S+\s+)*["']?([^\s"'=-][^\s"'=]*)"#,
    ),
    command!(["lftp"], r"\blftp\b[^\n|;]*?\s(?:-u|--user)\s*[^\s,]+,"),
    command!(["rclone"], r"\brclone\s+(?:obscure\s+|config\s[^\n|;]*?\bpass(?:word)?[ =])"),
    command!(["useradd", "usermod"], r"\buser(?:add|mod)\b[^\n|;]*?\s-p\s+"),
    command!(["snmp"], r"\bsnmp\w+\b[^\n|;]*?\s-[Ac]\s*"),
    command!(["snmp"], r"\bsnmp\w+\b[^\n|;]*?\s-X\s*"),
    command!(["radtest"], r"\bradtest\s+(?:-\w\s+\w+\s+)*\S+\s+"),
    command!(
        ["plink", "pscp", "psftp", "putty", "kitty"],
        r"\b(?:plink|pscp|psftp|putty|kitty)\b[^\n|;]*?\s-pw\s+"
    ),
    command!(["mc "], r"\bmc\s+(?:alias\s+set|config\s+host\s+add)\s+\S+\s+\S+\s+\S+\s+"),
    command!(["sqlcmd", "osql", "bcp", "tsql"], r"\b(?:sqlcmd|osql|bcp|tsql)\b[^\n|;]*?\s-P\s*"),
    command!(
        ["sqlplus", "sqlldr", "expdp", "impdp", "rman"],
        r#"\b(?:sqlplus|sqlldr|expdp|impdp|rman)\s+(?:-\w+\s+)*["']?\w+/"#
    ),
    command!(["secret put"], r"\bsecret\s+put:?\s+\w+\s+"),
];
