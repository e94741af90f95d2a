# Sends a store as a tar stream: a line with its folder and the path in it, the archive, and whether its databases changed
# meanwhile. It writes nothing.
export LC_ALL=C
for each in cksum find sort tar; do
  if ! command -v $each >/dev/null 2>&1; then
    echo "clawscope-copy lacks $each"
    exit 0
  fi
done
name() { printf '%s' "${1##*/}"; }
if [ -z "$path" ]; then
  for each in "${OPENCLAW_STATE_DIR:-}" "${OPENCLAW_HOME:-$HOME}/.openclaw" "${PI_CODING_AGENT_DIR:-}" "$HOME/.pi/agent"; do
    if [ -n "$each" ] && [ -d "$each" ]; then path=$each; break; fi
  done
fi
if [ -z "$path" ] || [ ! -e "$path" ]; then
  echo "clawscope-copy missing"
  exit 0
fi
rest=
root=$path
case $root in */*) ;; *) root=./$root ;; esac
if [ -f "$root" ]; then rest=/$(name "$root"); root=${root%/*}; fi
root=$(cd "$root" && pwd) || exit 1
# The gateway's configuration can be some folders above.
top=$root
below=$rest
for each in 1 2 3 4; do
  if [ -f "$top/openclaw.json" ]; then root=$top; rest=$below; break; fi
  below=/$(name "$top")$below
  top=${top%/*}
  [ -n "$top" ] || break
done
cd "$root" || exit 1
echo "clawscope-copy 1"
echo "$root"
echo "$rest"
names() {
  find -L "$@" -type f \( -name '*.json' -o -name '*.json5' -o -name '*.jsonl' -o -name '*.jsonl.*' -o -name '*.sqlite' \
    -o -name '*.sqlite-wal' -o -name '*.sqlite-journal' -o -name '*.db' -o -name '*.db-wal' -o -name '*.lock' \) \
    ! -name auth.json ! -name auth-profiles.json -print 2>/dev/null
}
tree() {
  names "$@" ! \( \( -name node_modules -o -name .git -o -name credentials -o -name workspace -o -name media -o -name browser \) -prune \)
}
settings() { names "$1" ! -path "$1" -prune -name '*.json*' ! -name '*.jsonl*'; }
# A part of a store is copied with the settings above it: one agent, or one transcript with the files of its name.
agent=
case $rest in /agents/?*) agent=${rest#/agents/}; agent=./agents/${agent%%/*} ;; esac
files() {
  if [ -z "$rest" ]; then tree .; return; fi
  settings .
  if [ ! -f ".$rest" ]; then tree "${agent:-.$rest}"; return; fi
  folder=.${rest%/*}
  stem=$(name "$rest")
  names "$folder/${stem%%.*}"*
  settings "$folder"
  if [ -n "$agent" ] && [ -d "$agent/agent" ]; then settings "$agent/agent"; fi
}
sums() {
  files | while IFS= read -r file; do
    case $file in *.sqlite|*.db) cksum "$file" ;; esac
  done
}
before=$(sums)
# A database before its log: a log that grew since is newer than the pages, never older.
files | sort -u | tar -cf - -h -T - 2>/dev/null
after=$(sums)
if [ "$before" = "$after" ]; then echo "clawscope-copy same"; else echo "clawscope-copy changed"; fi
