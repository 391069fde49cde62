#!/usr/bin/env bash
# Each page of docs/ runs as it is printed: its blocks of `sh`, one after another, in a folder of its own with the inputs of
# make_inputs.py. A block that begins with "# slow" is left out, and counted. usage: test_pages_run.sh PROGRAM [PAGE...]
# VKT_TEST_PART=K/N: of all pages every N-th, from the K-th on.
set -euo pipefail
program=$(realpath "${1:?the program}"); shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-pages.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/inputs"
ln -s "$program" "$work/bin/vktrain"
export PATH=$work/bin:$PATH NO_COLOR=1
python3 "$root/tests/docs/make_inputs.py" "$work/inputs"
# The base of the chat pages: a tiny model with a template, as such folders come.
(cd "$work/inputs" && vktrain tokenize --train 300 --out letters.json letters.txt && vktrain train base.yaml --quiet --run base-run &&
  vktrain export base-run --hf base && python3 - <<'P'
import json
config = json.load(open("base/tokenizer_config.json"))
config["chat_template"] = "{% for m in messages %}{{ '\n' + m.role + ': ' }}{% if m.role == 'assistant' %}{% generation %}{{ m.content + eos_token }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '\nassistant: ' }}{% endif %}"
json.dump(config, open("base/tokenizer_config.json", "w"))
P
) >"$work/log" 2>&1 || { cat "$work/log"; echo "test_pages_run: FAILED: the inputs"; exit 1; }

# blocks PAGE: its blocks of `sh` as one script; the number of slow ones goes to standard error
blocks() {
  awk '/^```sh$/ { on = 1; text = ""; next } /^```/ && on { on = 0; if (text ~ /^# slow/) slow++; else printf "%s", text; next }
       on { text = text $0 "\n" } END { print slow + 0 > "/dev/stderr" }' "$1"
}
ran=0 slow=0
pages=("$@")
[ $# -gt 0 ] || mapfile -t pages < <(cd "$root" && grep -rl '^```sh$' docs README.md CONTRIBUTING.md | sort)
of=${VKT_TEST_PART:-1/1}
[ $# -gt 0 ] || for at in "${!pages[@]}"; do [ $((at % ${of#*/} + 1)) = "${of%/*}" ] || unset "pages[$at]"; done
[ ${#pages[@]} -gt 0 ] || { echo "test_pages_run: FAILED: no page has a block to run"; exit 1; }
for page in "${pages[@]}"; do
  folder=$work/$(echo "$page" | tr / -)
  cp -r "$work/inputs" "$folder"
  script=$(blocks "$root/$page" 2>"$work/slow")
  slow=$((slow + $(cat "$work/slow")))
  [ -n "$script" ] || continue
  start=$SECONDS
  if ! (cd "$folder" && bash -euo pipefail -x -c "$script") >"$work/log" 2>&1 </dev/null; then
    tail -n 25 "$work/log"
    echo "test_pages_run: FAILED: $page, the last command above that begins with +"
    exit 1
  fi
  ran=$((ran + 1))
  echo "ok $page ($((SECONDS - start)) s)"
done
echo "test_pages_run: $ran pages ran; $slow slow blocks are left out"
