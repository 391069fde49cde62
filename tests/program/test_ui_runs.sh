#!/usr/bin/env bash
# vktrain ui: what it starts, stops, goes on with and shows of runs is what the commands do: see ui_runs.py. test_ui_runs.sh VKTRAIN
set -euo pipefail
program=$(realpath "${1:?the program}")
here=$(cd "$(dirname "$0")/.." && pwd)
if "$program" --version --verbose | grep -q 'HTTP: no$'; then
  echo "test_ui_runs: SKIPPED: this vktrain was built without libmicrohttpd"
  exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-ui.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_CACHE_HOME=$work/cache VKT_CACHE=$work/cache/vktrain # the second for ui_runs.py
python3 "$here/support/ui_runs.py" "$program" "$work"
# The page itself, where there is a browser.
if python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import browser; sys.exit(not browser.find())' "$here/report"; then
  mkdir pages
  (cd pages && python3 "$here/support/serve_clients.py" make)
  python3 "$here/support/ui_runs_browser.py" "$program" "$work/pages" ${VKT_SHOTS:+"$VKT_SHOTS"}
  mkdir chat
  python3 "$here/support/ui_chat_browser.py" "$program" "$work/chat" ${VKT_SHOTS:+"$VKT_SHOTS"}
else
  echo "test_ui_runs: no browser: the page was not looked at"
fi
