# What the packaging scripts share: versions, names, targets. Sourced by them.
# shellcheck shell=bash
set -euo pipefail

repo="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

manifest() { # key of [package] in Cargo.toml
    sed -n "/^\[package\]/,/^\[/s/^$1 = \"\(.*\)\"/\1/p" "$repo/Cargo.toml"
}

version="$(manifest version)"
# The one place of the address is Cargo.toml.
# shellcheck disable=SC2034
repository="$(manifest repository)"

step() { printf '\n== %s\n' "$*"; }
skipped() { printf 'skipped: %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# The name of an archive without its ending; the template of binstall in Cargo.toml makes the same name.
archive_name() { # target
    echo "clawscope-$version-$1"
}

# One column of a target's row: 2 operating system and 3 processor of npm, 4 architecture of Debian.
of_target() { # target, column
    awk -F'\t' -v target="$1" -v column="$2" '$1 == target { print $column }' "$repo/packaging/targets.tsv"
}

all_targets() { awk -F'\t' '!/^#/ { print $1 }' "$repo/packaging/targets.tsv"; }

# The release target of this machine.
host_target() {
    case "$(uname -s)-$(uname -m)" in
        Linux-x86_64) echo x86_64-unknown-linux-musl ;;
        Linux-aarch64 | Linux-arm64) echo aarch64-unknown-linux-musl ;;
        Darwin-x86_64) echo x86_64-apple-darwin ;;
        Darwin-arm64) echo aarch64-apple-darwin ;;
        *) fail "there is no release for $(uname -s) on $(uname -m). The targets are in packaging/targets.tsv." ;;
    esac
}

# Prints SHA-256 sums in the form that `sha256sum --check` and `shasum --check` read.
sha256() { # file...
    if have sha256sum; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}
