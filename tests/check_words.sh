#!/usr/bin/env bash
# Phrases that a reader has to read twice, in comments, messages and pages: their number may only fall. Say who does what, in the
# field's words: "the rank", "the caller", "the driver"; "again" for "anew", "except" for "but for", "with several ranks" for "of
# several ranks".  usage: check_words.sh [--list]     --list: prints each
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."
most=14 # lower it with each phrase that goes
phrases=('so many' '\banew\b' '\b(is|are|was) told\b' '\bof which\b' '\bof several ranks\b' '\bwhat there (is|was)\b' '\bto be had\b'
  '\bOf (a|an|the|two|several|those|each|all) ' '\bbut for\b' '\bas (it comes|they are|they come|they lie)\b'
  '\bwhat is (told|left|wanted|asked|said|kept|there)\b')
pattern=$(IFS='|'; echo "${phrases[*]}")
found=$(grep -rnE "$pattern" src shaders include tools docs tests README.md CONTRIBUTING.md \
  --include='*.c' --include='*.h' --include='*.comp' --include='*.glsl' --include='*.md' --include='*.js' |
  grep -vE '^(tools/results|tests/files|tests/golden)/' || true)
n=$(printf '%s' "$found" | grep -c . || true)
[ "${1:-}" != --list ] || printf '%s\n' "$found"
[ "$(printf 'they are told\nonce more\n' | grep -cE "$pattern")" = 1 ] || { echo "check_words: self-test: phrases are not found" >&2; exit 1; }
[ "$n" -le "$most" ] || { echo "check_words: $n phrases to read twice, and $most are allowed: see --list" >&2; exit 1; }
echo "check_words: $n phrases to read twice, at most $most"
