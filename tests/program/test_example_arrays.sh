#!/usr/bin/env bash
# tools/examples/example_arrays.c learns, and predicts what it learnt.   test_example_arrays.sh PROGRAM
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
"$1" 2>log.txt || { cat log.txt; exit 1; }
