#!/usr/bin/env bash
# vktrain ui: who may ask, what a page may read and write, and that hostile clients neither start, stop nor leak anything
# (tests/support/ui_clients.py); then the page in a browser, by mouse and by keyboard (tests/support/ui_browser.py), where there is one.
# test_ui.sh VKTRAIN
set -uo pipefail
. "$(dirname "$0")/../support/refusals.sh"
fail() { echo "$test: FAILED: $*"; cat log; bad=$((bad + 1)); }
if "$program" --version --verbose | grep -q 'HTTP: no$'; then
  refused 3 "install libmicrohttpd-dev" ui
  echo "$test: SKIPPED: this vktrain was built without libmicrohttpd"
  exit $((bad > 0))
fi
refused 2 "ui: --port is 70000, must be from 0 to 65535" ui --port 70000
refused 4 "ui: --root 'nowhere': no such folder" ui --root nowhere

# What init saw, as JSON: the recipe is the one that init writes, and counts are those of the data.
python3 "$source/support/serve_clients.py" make # table.csv, unnamed.csv, pictures/
works init table.csv -o t.yaml
works init table.csv --json; mv out seen.json
works init pictures --json; mv out pictures.json
printf '{"messages": [{"role": "user", "content": "hi <b>"}, {"role": "assistant", "content": "ho"}]}\n%.0s' 1 2 3 4 5 6 7 8 9 >chat.jsonl
python3 - <<'PY' || fail "init --json"
import json
j, p = json.load(open("seen.json")), json.load(open("pictures.json"))
assert j["recipe"] == open("t.yaml").read() and j["file"] == "table.yaml"
size, kind, price = j["columns"]
assert (size["as"], kind["as"], price["as"]) == ("number", "values", "label"), j["columns"]
assert sum(size["histogram"]["counts"]) == sum(j["target"]["counts"]) == j["splits"]["train"] == j["looked_at"] == 162
assert abs(size["histogram"]["low"] - size["low"]) < 1e-3 or size["histogram"]["low"] > size["low"]  # the training rows' own
assert sum(v["count"] for v in kind["values"]) == 162 and kind["n_values"] == 3
rows = [line.split(",") for line in open("table.csv").read().split()[1:]]
assert all(v["count"] <= sum(r[1] == v["value"] for r in rows) for v in kind["values"])
assert [c["name"] for c in p["classes"]] == ["green", "red"] and p["task"] == "classify"
assert all(x["path"].split("/")[1] == x["class"] for x in p["pictures"]) and len(p["pictures"]) == 20
PY
[ ! -e table.yaml ] || fail "init --json wrote a file"

mkdir -p root/data rootx outside && echo secret-of-beside >rootx/x.csv && cp -r table.csv pictures chat.jsonl root/data/ && echo secret-of-outside >outside/secret.csv
ln -s "$work/outside" root/link; ln -s "$work/outside/made" root/dangling.yaml; mkfifo root/pipe.csv; printf 'a,b\n1,2\n' >root/$'odd\xff%.csv'
(cd root && exec "$program" ui --no-browser --port 0 >../said 2>../log) & pid=$!
for _ in $(seq 300); do grep -qs token= said && break; sleep 0.1; done
port=$(sed -n 's#^http://127.0.0.1:\([0-9]*\)/.*#\1#p' said | head -1)
[ -n "$port" ] || fail "no link"
python3 "$source/support/ui_clients.py" "$port" $pid said root outside >clients 2>&1 || { cat clients; fail "clients"; }; cat clients
refused 4 "can't listen on 127.0.0.1:$port" ui --no-browser --port "$port"
if command -v chromium-headless-shell chromium chromium-browser google-chrome >/dev/null; then
  python3 "$source/support/ui_browser.py" said root ${VKT_SHOTS:+"$VKT_SHOTS"} >browser 2>&1 || { cat browser; fail "browser"; }; cat browser
else
  echo "$test: without a browser, the page itself is not tested"
fi
kill -INT $pid; wait $pid; rc=$?
[ $rc = 130 ] || fail "ended with $rc, not 130"
[ "$(ls outside)" = secret.csv ] || fail "something was written outside: $(ls outside)"
exit $((bad > 0))
