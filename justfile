# What people do daily; `just` lists it. Each recipe is one command that works without just too.

_list:
    @just --list --unsorted

# Open the demo store
demo *args:
    cargo run --release -- --demo {{args}}

# Everything a change must pass
ci:
    ./.ci/run

# Run the tests whose names contain a word, such as `just test golden` or `just test replay_naive`
test name='':
    cargo test {{name}}

# Run the golden cases of one operation, such as `just golden prune`
golden op:
    CLAWSCOPE_GOLDEN_OP={{op}} cargo test --test it golden -- --nocapture

# Run the real programs end to end, OpenClaw 2026.7.1 and 2026.9.6 as well: installs them, and runs for minutes
e2e:
    cargo test --test it real_e2e -- --include-ignored --nocapture

# Accept changed frames and outputs; read the diff afterwards
accept name='':
    INSTA_UPDATE=always INSTA_FORCE_PASS=1 cargo test --test it {{name}}
    CLAWSCOPE_UPDATE=1 cargo test --test it readme
    git diff --stat

# Measure; an argument selects benches by name
bench name='':
    cargo bench -- {{name}}

# Draw the screenshots again
screenshots:
    cargo run --example screenshots -- screenshots
