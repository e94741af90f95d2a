//! Secrets that a terminal, a log or a page broke or encoded: each at many places of the secret.

use super::{Redactor, masked};

/// Texts with a secret between `<` and `>`, which its form or the words before it reveal.
const TEXTS: [&str; 24] = [
    "key <sk-ant-api03-Zx81Kq92Lm37Vb64Nc55Qa18Wd29Er37Ty46AA> end",
    "export GITHUB_TOKEN=<ghp_8fNq2LmZ4kRwYtXc6VbHj3Pd7sGa1TeU0iOx>",
    "id <AKIAQ7W3E5R2T6Y4U2I7> of the account",
    "slack <xoxb-123456789012-987654321098-aB3dE5gH7jK9mN2pQ4rS6tU8>",
    "DB_PASSWORD=<tall9-orange42-Zebra>",
    "password: <tall9-orange42-Zebra>",
    "the password is <tall9-orange42-Zebra> now",
    "mysql -u root -p<tall9-orange42-Zebra> app",
    "curl -u admin:<tall9-orange42-Zebra> https://x.example/v1",
    "postgres://app:<tall9orange42Zebra7q>@db.internal:5432/app",
    "Authorization: Bearer <mF_9.B5f-4.1JqM2pQ4rS6tU8wX0yZ>",
    "{\"password\": \"<tall9-orange42-Zebra>\", \"port\": 1}",
    "aws_secret_access_key = <wJalrXUtnFEMIK7MDENGbPxRfiCYzKEYabc12345>",
    "token: <f81d4fae7dec11d0a76500a0c91e6bf6>",
    "OPENAI_API_KEY='<sk-proj-T3BlbkFJx91Kq92Lm37Vb64Nc55Qa18Wd29Er37>'",
    "client_secret=<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>&grant=1",
    "redis-cli -a <tall9-orange42-Zebra> ping",
    "sshpass -p <tall9-orange42-Zebra> ssh a@b",
    "glpat <glpat-aB3dE5gH7jK9mN2pQ4rS> there",
    "Cookie: sid=<s3cr3tC00kie9f8e7d6c5b4a>; theme=dark",
    "x-api-key: <9f8e7d6c5b4a39281706f5e4d3c2b1a0>",
    "https://h.example/cb?access_token=<ya29.a0AfB3dE5gH7jK9mN2pQ4rS6tU8>&x=1",
    "docker login -u me --password <tall9-orange42-Zebra> r.io",
    "-e API_SECRET=<Kq92Lm37Vb64Nc55Qa18Wd29> -p 80:80",
];

/// Prefixes of lines; `#` is the number of the line.
const PREFIXES: [&str; 24] = [
    "",
    "  ",
    "> ",
    "> > ",
    "# ",
    "// ",
    " * ",
    "| ",
    "│ ",
    "┃ ",
    "+",
    "-- ",
    "#: ",
    "  #\t",
    "#→",
    "[#] ",
    "L#: ",
    "src/main.rs:#:",
    "src/main.rs-#-",
    "2026-03-05T14:0#:00.123Z ",
    "Mar  5 14:02:1# host app[123]: ",
    "I0305 14:02:12.12#456 1 main.go:12] ",
    "web_1  | ",
    "[14:02:1#] INFO ",
];

fn parts(text: &str) -> (&str, &str, &str) {
    let (before, rest) = text.split_once('<').unwrap();
    let (secret, after) = rest.split_once('>').unwrap();
    (before, secret, after)
}

/// Seven characters of a secret in a row tell something; the letters that every such secret has do not.
fn telling(secret: &str) -> Vec<String> {
    let starts = ["sk-ant-api03-", "sk-proj-", "glpat-", "GOCSPX-", "xoxb-", "ghp_", "AKIA", "ya29."];
    let start = starts.iter().find(|start| secret.starts_with(**start)).map_or(0, |start| start.len());
    let chars: Vec<char> = secret[start..].chars().collect();
    chars.windows(7).map(|window| window.iter().collect()).collect()
}

fn outputs(text: &str) -> [String; 2] {
    let mut redactor = Redactor::default();
    redactor.learn(text);
    [masked(text).into_owned(), redactor.redact_text(text).into_owned()]
}

/// Checks every disguise of every text and names those that leak.
fn check(disguised: impl Iterator<Item = (String, String, Vec<String>)>) {
    let (mut tried, mut leaked) = (0, Vec::new());
    for (name, text, telling) in disguised {
        tried += 1;
        let leaks = |out: &String| telling.iter().any(|piece| out.contains(piece));
        if let Some(out) = outputs(&text).into_iter().find(leaks) {
            leaked.push(format!("{name}: {text:?} -> {out:?}"));
        }
    }
    eprintln!("{} of {tried} leak", leaked.len());
    assert!(
        tried > 100 && leaked.is_empty(),
        "{} of {tried} leak: {:#?}",
        leaked.len(),
        &leaked[..leaked.len().min(40)]
    );
}

/// Breaks a secret at a position, with a prefix before each line.
fn broken(text: &str, at: usize, prefix: &str, more: &str) -> (String, Vec<String>) {
    let (before, secret, after) = parts(text);
    let (head, tail) = secret.split_at(at);
    let line = |number: usize| prefix.replace('#', &number.to_string());
    let text = format!(
        "{}some words before\n{}{before}{head}\n{}{tail}{after}{more}\n{}some words behind",
        line(6),
        line(7),
        line(8),
        line(9)
    );
    (text, telling(secret))
}

#[test]
fn a_secret_is_masked_on_both_sides_of_the_end_of_a_line() {
    check(TEXTS.iter().flat_map(|text| {
        let len = parts(text).1.len();
        (4..len - 3).flat_map(move |at| {
            ["", " and more words of the line"].into_iter().map(move |more| {
                let (said, secret) = broken(text, at, "", more);
                (format!("at {at}"), said, secret)
            })
        })
    }));
}

#[test]
fn a_secret_that_is_broken_between_prefixes_is_masked() {
    check(TEXTS.iter().flat_map(|text| {
        let len = parts(text).1.len();
        PREFIXES.iter().flat_map(move |prefix| {
            [len / 3, len / 2, len * 3 / 4].into_iter().map(move |at| {
                let (said, secret) = broken(text, at, prefix, "");
                (format!("{prefix:?} at {at}"), said, secret)
            })
        })
    }));
}

/// Entities of HTML: decimal, hex, padded, without `;`, by name, and of entities.
const ENTITIES: [fn(char) -> String; 8] = [
    |char| format!("&#{};", u32::from(char)),
    |char| format!("&#x{:x};", u32::from(char)),
    |char| format!("&#X{:X};", u32::from(char)),
    |char| format!("&#{:07};", u32::from(char)),
    |char| format!("&#x{:06x};", u32::from(char)),
    |char| format!("&#{}", u32::from(char)),
    |char| format!("&amp;#{};", u32::from(char)),
    |char| named_entity(char).map_or(char.to_string(), |name| format!("&{name};")),
];

fn named_entity(char: char) -> Option<&'static str> {
    let names = [
        ('!', "excl"),
        ('"', "quot"),
        ('#', "num"),
        ('$', "dollar"),
        ('%', "percnt"),
        ('&', "amp"),
        ('\'', "apos"),
        ('(', "lpar"),
        (')', "rpar"),
        ('*', "ast"),
        ('+', "plus"),
        (',', "comma"),
        ('-', "hyphen"),
        ('.', "period"),
        ('/', "sol"),
        (':', "colon"),
        (';', "semi"),
        ('<', "lt"),
        ('=', "equals"),
        ('>', "gt"),
        ('?', "quest"),
        ('@', "commat"),
        ('[', "lsqb"),
        ('\\', "bsol"),
        (']', "rsqb"),
        ('^', "Hat"),
        ('_', "lowbar"),
        ('`', "grave"),
        ('{', "lcub"),
        ('|', "vert"),
        ('}', "rcub"),
        ('\n', "NewLine"),
        ('\t', "Tab"),
    ];
    names.into_iter().find(|(own, _)| *own == char).map(|(_, name)| name)
}

#[test]
fn a_secret_in_entities_is_masked() {
    check(TEXTS.iter().flat_map(|text| {
        ENTITIES.iter().enumerate().flat_map(move |(at, entity)| {
            let (before, secret, after) = parts(text);
            let all = |text: &str| text.chars().map(entity).collect::<String>();
            let signs = |text: &str| {
                // A number without its `;` takes the digits behind it.
                let is_plain = |char: char| char.is_ascii_alphanumeric() || !entity(char).ends_with(';');
                let one = |char: char| if is_plain(char) { char.to_string() } else { entity(char) };
                text.chars().map(one).collect::<String>()
            };
            let pieces =
                |encode: &dyn Fn(&str) -> String| telling(secret).iter().map(|piece| encode(piece)).collect();
            [
                (format!("secret {at}"), format!("{before}{}{after}", all(secret)), pieces(&all)),
                (format!("signs {at}"), signs(&text.replace(['<', '>'], "")), pieces(&signs)),
                (format!("all {at}"), all(&text.replace(['<', '>'], "")), pieces(&all)),
            ]
        })
    }));
}

#[test]
fn a_secret_in_a_mail_is_masked() {
    check(TEXTS.iter().flat_map(|text| {
        let (before, secret, after) = parts(text);
        let coded = |text: &str| text.replace('=', "=3D").replace('"', "=22").replace('_', "=5F");
        (5..secret.len() - 4).map(move |at| {
            let (head, tail) = (coded(&secret[..at]), coded(&secret[at..]));
            let said = format!("a =3D 1\n{}{head}=\r\n{tail}{}", coded(before), coded(after));
            (format!("at {at}"), said, telling(secret).iter().map(|piece| coded(piece)).collect())
        })
    }));
}
