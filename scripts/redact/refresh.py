#!/usr/bin/env python3
"""Writes assets/redact/betterleaks.tsv anew from Betterleaks' rules, and prints what changed and what is left out.

    scripts/redact/refresh.py SOURCE

SOURCE is a folder of the unpacked crate kingfisher-rules (`cargo info kingfisher-rules` downloads it), which carries the
file of Betterleaks unchanged with its licence, or a file betterleaks.toml or gitleaks.toml.
"""

import gzip
import json
import pathlib
import re
import sys
import tomllib

OUT = pathlib.Path(__file__).resolve().parents[2] / "assets" / "redact"
NEAR = r"""(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}"""
END = r"""(?:\\?['"\x60]|[\s;]|\\[nr]|$)"""
# A keyword that is a common word or the name of a popular program, with a secret that looks like a digest: each would mask
# commits and checksums in texts about the program. A rule of ours by the name of the value finds such a secret.
COMMON = "bitbucket|discord|facebook|twitter|linear|square|sentry|mistral|monday|travis|looker|kraken|flickr|codecov|linkedin"
# Names and addresses, which are no secrets, and rules that our own rules surpass.
SKIPPED = {
    "generic-api-key", "generic-password", "generic-username", "generic-credential-uri", "private-key", "jwt", "jwt-base64",
    "curl-auth-header", "curl-auth-user", "kubernetes-secret-yaml", "mongodb-connection-string", "hashicorp-tf-password",
    "gcp-application-default-credentials", "gcp-service-account", "nuget-config-password", "alibaba-secret-key",
    "alibaba-sts-access-key-secret", "ovh-application-secret", "freemius-secret-key", "mapbox-api-token", "exoscale-api-key",
    "cloudsmith-api-key", "devin-service-api-key", "polymarket-api-key", "polymarket-private-key",
}


def read(source: pathlib.Path) -> tuple[str, str | None]:
    """Returns the rules and their licence."""
    bundle = source / "generated" / "upstream-sources.json.gz"
    if not source.is_dir():
        return source.read_text(), None
    files = json.load(gzip.open(bundle))
    of = lambda end: next(text for name, text in files.items() if name.endswith(end))
    return of("/betterleaks/" + next(n for n in files if n.endswith("betterleaks.toml")).split("/betterleaks/", 1)[1]), of_license(files)


def of_license(files: dict) -> str:
    return next(text for name, text in files.items() if "/betterleaks/" in name and name.endswith("/LICENSE"))


def reason_to_skip(rule: dict) -> str | None:
    pattern = rule.get("regex", "")
    if not pattern:
        return "has no pattern for text"
    if re.search(r"\(\?(?:[=!]|<[=!])|\\[1-9]", pattern):
        return "needs lookaround"
    if rule.get("skipReport") or re.search(r"-(?:id|username|url|domain|host|name)(?:\.\d)?$", rule["id"]):
        return "is a name, not a secret"
    if rule["id"] in SKIPPED:
        return "a rule of ours finds more, or it masks ordinary text"
    if re.match(rf"\(\?i\)\(\?:(?:{COMMON})\)", pattern) and re.search(r"\(\[[a-z0-9A-Z_=\\-]+\]\{\d+\}\)", pattern):
        return "masks digests near a common word"
    if re.search(r"\{0,[^}]*\}\)?\?|\.\*|\(\?s", pattern) and NEAR not in pattern:
        return "spans free text"
    return None


def prefix(pattern: str) -> str:
    """The letters with which every match begins."""
    letters = ""
    for found in re.finditer(r"\\([.\-+$_/])|([A-Za-z0-9_\-/:=!~])|(.)", pattern):
        char = found[1] or found[2]
        following = pattern[found.end() : found.end() + 1]
        if char is None or following in "?*{" and following or following == "|":
            break
        letters += char
    return letters


def token(pattern: str) -> str | None:
    """The pattern of a token that its first letters reveal; it may be longer than the rule says."""
    pattern = re.sub(r"^(\(\?i\))?\\b", r"\1", pattern)
    found = re.fullmatch(r"(\(\?i\))?\((?!\?)((?:[^()\\]|\\.|\(\?[:i][^()]*\))+)\)(.*)", pattern)
    flag, body, rest = (found[1], found[2], found[3]) if found else (None, pattern, "")
    if rest and rest.replace(END, "") not in ("", r"\b", r"(?:[\x60'\"\s;]|\\[nr]|$|\b)", r"(?:[^\w-]|\z)"):
        return None
    body = body.removesuffix(r"\b")
    if "|" in re.sub(r"\((?:[^()]|\([^()]*\))*\)", "", body):
        return None
    start = prefix(body)
    if len(start) < 3 or not re.search(r"[-_.:+=~$/\d]|[a-z][A-Z]|[A-Z]{4}", start):
        return None
    body = re.sub(r"^(.*\])\{(\d+)(?:,\d+)?\}$", r"\1{\2,}", body)
    at = re.match(re.escape(start).replace(r"\_", "_"), body) or re.match("".join(rf"\\?{re.escape(c)}" for c in start), body)
    return body[: at.end()] + (f"(?i:{body[at.end():]})" if flag else body[at.end() :])


def without_inner_groups(pattern: str) -> str:
    """Makes groups within a group uncaptured, because the last group is the secret."""
    out, open_groups, in_class = "", [], False
    for found in re.finditer(r"\\.|\((\?P<\w+>|\?)?|[^\\(]", pattern):
        part = found[0]
        if in_class or part == "[":
            in_class = part != "]"
        elif part.startswith("("):
            captures = found[1] != "?"
            part = "(?:" if captures and any(open_groups) else "(" if captures else part
            open_groups.append(captures)
        elif part == ")":
            open_groups.pop()
        out += part
    return out


def near(pattern: str) -> str:
    pattern = without_inner_groups(pattern)
    pattern = pattern.replace(NEAR, "{near}").replace(END, "{end}")
    # The same parts with another place of the bracket that ends `(?i:`.
    blanks, signs = NEAR.split("(?:=|>|")
    head, found, tail = pattern.partition(f"{blanks})(?:=|>|{signs}")
    return f"{head}){{near}}{tail}" if found else pattern


def rows(rules: list[dict]) -> tuple[dict[str, str], list[str]]:
    kept, left = {}, []
    for rule in rules:
        why = reason_to_skip(rule)
        if why:
            left.append(f"{rule['id']}: {why}")
            continue
        kind = re.sub(r"\.\d$", "", rule["id"]).replace("personnal", "personal").replace("intra42", "intra")
        kind = kind if len(kind) <= 40 else kind[:41].rpartition("-")[0]
        own = token(rule["regex"])
        if own:
            weak = "" if len(prefix(own)) > 4 or "." in prefix(own) else "~"
            kept[rule["id"]] = f"{kind}\t\t{weak}{own}"
        elif rule.get("keywords"):
            kept[rule["id"]] = f"{kind}\t{'|'.join(rule['keywords'])}\t~{near(rule['regex'])}"
        else:
            left.append(f"{rule['id']}: has no letters to search for")
    return kept, left


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    text, licence = read(pathlib.Path(sys.argv[1]))
    kept, left = rows(tomllib.loads(text)["rules"])
    out = OUT / "betterleaks.tsv"
    before = {line for line in out.read_text().splitlines() if not line.startswith("#")} if out.exists() else set()
    head = [
        "# Kinds of secrets from the rules of Betterleaks, MIT License, Copyright (c) 2026 Zachary Rice: LICENSE.betterleaks.",
        "# scripts/redact/refresh.py writes this file. Kind, letters that the text contains, pattern; without letters the pattern",
        "# begins with them. `~` asks for a random secret; {near} and {end} are parts in names.toml.",
    ]
    lines = sorted(set(kept.values()))
    out.write_text("\n".join(head + lines) + "\n")
    if licence:
        (OUT / "LICENSE.betterleaks").write_text(licence)
    print(f"{len(lines)} kinds, {len(left)} left out")
    for sign, names in (("+", set(lines) - before), ("-", before - set(lines))):
        for line in sorted(names):
            print(sign, line.split("\t")[0])
    for line in left:
        print("left out:", line)


main()
