#!/usr/bin/env bash
# vktrain serve: what it answers, what it refuses, and that hostile clients neither stop nor grow it; clients: tests/support/serve_clients.py.
# test_serve.sh VKTRAIN
set -uo pipefail
. "$(dirname "$0")/../support/refusals.sh"
clients=$source/support/serve_clients.py
fail() { echo "$test: FAILED: $*"; cat log; bad=$((bad + 1)); }
bad=0
if "$program" --version --verbose | grep -q 'HTTP: no$'; then
  refused 3 "install libmicrohttpd-dev" serve digits
  echo "$test: SKIPPED: this vktrain was built without libmicrohttpd"
  exit $((bad > 0))
fi
python3 "$clients" make # table.csv, unnamed.csv, pictures/
works init table.csv -o t.yaml
works train t.yaml --set train.steps=20 --set train.patience=0 --run t --quiet
printf 'name: p\ndata: {source: images, path: pictures}\nmodel: [{conv: 4}, relu, flatten, linear]\ntrain: {steps: 20, batch: 8}\noptim: {lr: 0.01}\n' >p.yaml
works train p.yaml --run p --quiet
refused 2 "serve: --port is 70000, must be from 0 to 65535" serve t --port 70000
refused 2 "serve: --texts is 17, must be from 1 to 16" serve t --texts 17
refused 4 "'nowhere'" serve nowhere
for token in '' short 'with blanks in it, long' "$(printf 'tab\there and more of it')" "$(printf '%0600d' 0)"; do
  refused 2 "serve: a token has 16 to 512 characters" serve t --token "$token"
  VKT_SERVE_TOKEN=$token refused 2 "serve: a token has 16 to 512 characters" serve t
done
# served MODEL ARGUMENT...: on a free port; $port, $pid
served() {
  rm -f address
  "$program" serve "$@" --port 0 >address 2>log & pid=$!
  for _ in $(seq 300); do grep -qs answers address && break; sleep 0.1; done
  port=$(sed -n 's#^http://127.0.0.1:\([0-9]*\)/.*#\1#p' address)
  [ -n "$port" ] || fail "no address"
}
ended() { # by Ctrl-C, with this code
  kill -INT $pid; wait $pid; local rc=$?
  [ $rc = "$1" ] || fail "ended with $rc"
}
served p --timeout 2 --max-body 1 # first the hostile ones: the same model answers after them
"$program" predict p pictures/red/0.png --json --top 2 >want 2>log
python3 "$clients" pictures $port $pid want >said 2>&1 || { cat said; fail pictures; }; cat said
refused 4 "can't listen on 127.0.0.1:$port" serve t --port $port
ended 130
served t
printf '{"size": 31.5, "kind": "b"}\n{"size": 2, "kind": "a"}\n' >rows.jsonl
"$program" predict t rows.jsonl --json >want 2>log
python3 "$clients" table $port $pid want >said 2>&1 || { cat said; fail table; }
ended 130
VKT_SERVE_TOKEN=0123456789abcdef served t --max-body 1
grep -q 'answers requests that have the token; Ctrl-C' address || fail "it does not say that it has a token"
python3 "$clients" token $port $pid 0123456789abcdef >said 2>&1 || { cat said; fail token; }; cat said
ended 130
served t --token fedcba9876543210
python3 "$clients" token $port $pid fedcba9876543210 >said 2>&1 || { cat said; fail "token by its option"; }
ended 130
works init unnamed.csv -o u.yaml
works train u.yaml --set train.steps=60 --run u --quiet
served u
"$program" predict u unnamed-rows.csv --json >want 2>log
python3 "$clients" unnamed $port $pid want >said 2>&1 || { cat said; fail unnamed; }
ended 130
exit $((bad > 0))
