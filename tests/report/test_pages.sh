#!/usr/bin/env bash
# Pages of planted runs in a browser, against golden ones: see pages.py. usage: test_pages.sh PROGRAM
set -euo pipefail
exec python3 "$(dirname "$0")/pages.py" "$(realpath "${1:?the program}")"
