#!/usr/bin/env python3
"""The meaning of general ops on many random shapes and settings: PyTorch's outputs and gradients in double for the twins.
usage: many_general.py FOLDER [CASES]    with torch: writes FOLDER/golden/general.json, at least CASES (200) of each op
Then VKT_TEST_DIR=FOLDER build/tests_tensor test_golden_general twins_agree_with_pytorch compares."""
import collections
import json
import pathlib
import runpy
import sys

folder, least = pathlib.Path(sys.argv[1]), int((sys.argv[2:] or ["200"])[0])
script = pathlib.Path(__file__).resolve().parents[1] / "golden/golden_general.py"
sys.argv = [str(script)]
cases, seed = [], 100
while not cases or min(collections.Counter(c["op"] for c in cases).values()) < least:
    cases += runpy.run_path(str(script), {"SEED": seed})["cases"]
    seed += 1
(folder / "golden").mkdir(parents=True, exist_ok=True)
(folder / "golden/general.json").write_text("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
count = collections.Counter(c["op"] for c in cases)
print(f"{len(cases)} cases of {len(count)} ops, of each {min(count.values())} or more, {seed - 100} seeds")
