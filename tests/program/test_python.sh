#!/usr/bin/env bash
# The Python package on the shared library; left out with one line where NumPy is not there, scikit-learn's part where that is not.
#   test_python.sh LIBRARY CC PROGRAM [FILE.py]   (VKT_TEST_SKLEARN=full: all of check_estimator, minutes; else a sample)
set -euo pipefail
library=$1 cc=$2 program=$3
root=$(cd "$(dirname "$0")/../.." && pwd)
python=
for p in /usr/bin/python3 python3; do # a python3 of a version manager may stand before the system's
  if command -v "$p" >/dev/null && "$p" -c 'import numpy' 2>/dev/null; then python=$p; break; fi
done
[ -n "$python" ] || { echo "test_python: left out: NumPy is not there (python3-numpy, Debian's name)"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export VKTRAIN_LIBRARY=$library PYTHONPATH=$root/tools/python PYTHONDONTWRITEBYTECODE=1 VKT_TEST_ROOT=$root VKT_TEST_CC=$cc VKT_TEST_PROGRAM=$program TMPDIR=$tmp
cd "$tmp"
"$python" "$root/tests/program/${4:-test_python.py}"
