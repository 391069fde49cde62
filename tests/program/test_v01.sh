#!/usr/bin/env bash
# What version 0.1.0 wrote is opened still: runs, checkpoints, adapters, packs, shards, studies, benchmark results, recipes.
# The files and how they were made: tests/files/v0.1/README.md. usage: test_v01.sh PROGRAM
set -euo pipefail

program=$(realpath "${1:?the program}")
files=$(realpath "$(dirname "$0")/../files/v0.1")
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-v01.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp -r "$files/." "$work"
cd "$work"
fail() { echo "test_v01: FAILED: $*" >&2; sed 's/^/  log: /' log | tail -20 >&2; exit 1; }
run() { "$program" "$@" >out 2>log || fail "$*"; }
has() { grep -qF -- "$1" out || { cat out >>log; fail "the output lacks '$1'"; }; }

# near KEY VALUE: a number of the JSON in `out`. Sums of float32 in another order differ by some 1e-6 of themselves; 1e-4 allows for
# their way through a model, and is far below what another model or other data would give.
near() { python3 -c 'import json, sys; v = json.load(open("out"))[sys.argv[1]]; w = float(sys.argv[2]); assert abs(v - w) <= 1e-4 * abs(w), (v, w)' "$@" 2>>log || fail "$1 is not $2"; }

# ---- evaluated: the numbers that version 0.1.0 gave
evaluated() { run eval "$1" --split test --json; near loss "$2"; near accuracy "$3"; }
evaluated table 0.782753489 0.777777778; near macro_f1 0.764346764
evaluated table/checkpoints/step-00000020 0.782753489 0.777777778
evaluated pictures 0.728569105 0.5
evaluated language 4.13885561 0.122137405; near bits_per_byte 6.01703806
evaluated adapter 4.13757086 0.122137405
run eval hf --data times.txt --json; near loss 4.13439191
run eval peft --data times.txt --json; near loss 4.1324563

# ---- used
run predict table flowers.csv --csv; has 'flowers.csv,0,red,0.0452'; has 'flowers.csv,2,blue,0.3826'
run predict pictures shapes/disc --json; has '"disc"'
run generate language --prompt '2 times' --tokens 8 --temperature 0; has '2 timesiiiiiiii'
run generate peft --prompt '2 times' --tokens 8 --temperature 0; has '2 timesiiiiiiii'
run export table -o table.onnx; run export table -o table.safetensors; run inspect table.safetensors; has '51 values'
run export adapter --hf merged; run eval merged --data times.txt --json; near loss 4.1324563
run tokenize --tokenizer tokenizer.json --text '2 times 3' --ids; has '17 262 266'

# ---- looked at
run inspect table; has 'vktrain run'; has '0.1.0'
run inspect language/checkpoints/step-00000006; has 'vktrain checkpoint'
run inspect shapes.pack; has 'a pack of images, 8x8x3'; has 'cross      6'
run inspect shards; has '322 tokens'; has 'hash b25dfa6b684ff605'
run inspect peft; has 'LORA'
run inspect hf; has 'gpt2'
run inspect language.gguf; has '16 tensors'
run inspect tokenizer.json; has '13'
run runs --json table pictures language adapter
python3 -c 'import json; r = json.load(open("out"))["runs"]; assert [x["status"] for x in r] == ["done"] * 4, r' 2>>log || fail "the table of runs"
run runs table study/trial-0003 --compare; has 'optim.lr'
run report table language -o runs.html --no-png; [ -s runs.html ] || fail "a report of runs"
run report study -o study.html --no-png; grep -q '0\.1095' study.html || fail "a report of the study lacks its answer"
run bench compare bench.json bench.json; has 'copy 1 MiB'; has '1.00x'

# ---- gone on with
# resumed RUN STEPS LOSS: on one driver to the bit, on another to what few steps make of its rounding.
resumed()
{
    run train "$1.yaml" --run "$1" --resume --set "train.steps=$2"
    python3 - "$1" "$2" "$3" 2>>log <<'P' || fail "'$1' resumed"
import json, sys
run, steps, want = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
j = json.load(open(run + "/run.json"))
assert (j["status"], j["step"], j["n_resumes"]) == ("done", steps, 1), j
lines = [json.loads(l) for l in open(run + "/metrics.jsonl")]
assert [l["step"] for l in lines if l["kind"] == "train"] == list(range(1, steps + 1)), "steps are missing"
last = [l["loss"] for l in lines if l["kind"] == "train"][-1]
assert abs(last - want) <= 1e-3 * want, (last, want)
P
}
resumed adapter 6 4.12081385
resumed table 30 0.557938278
resumed pictures 9 0.57757473
resumed language 9 3.60962439
run study lr table.yaml --points 3 --steps 6 --seeds 1 --study study --resume; has 'optim.lr=0.1095'
[ ! -e study/trial-0000/checkpoints ] || fail "a finished trial ran again"

# ---- trained on
sed 's/source: images, path: shapes, valid_fraction: 0.2, test_fraction: 0.2/source: packed, path: shapes.pack/' pictures.yaml >packed.yaml
run train packed.yaml --run packed; has 'best        valid accuracy'
sed 's/path: times.txt, tokenizer: bytes/path: shards/; s/test_fraction: 0.2/test_fraction: 0/; s/valid_fraction: 0.2/valid_fraction: 0.4/' language.yaml >shards.yaml
run train shards.yaml --run from-shards; has 'bits per byte'

# ---- recipes: every key is known still and means the same; new ones may have come
for kind in table pictures text; do
    run train "every-$kind.yaml" --explain
    diff "every-$kind.resolved.yaml" out | grep '^<' >>log && fail "every-$kind.yaml is resolved to something else"
done
echo "test_v01: what 0.1.0 wrote is opened, evaluated and gone on with"
