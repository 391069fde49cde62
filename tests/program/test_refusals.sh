#!/usr/bin/env bash
# What users get wrong on the command line of each command, beside what test_bad_input and the commands' own tests have: each
# one error line that says what, where and what to do, and the exit code of its kind. usage: test_refusals.sh PROGRAM
set -euo pipefail

. "$(dirname "$0")/../support/refusals.sh"

mkdir empty pictures broken
printf 'a,b,y\n1,2,u\n2,1,v\n3,2,u\n4,1,v\n' >table.csv
printf 'to be, or not to be: that is the question' >short.txt
echo '{' >broken/config.json
printf 'name: b\ndata: {source: text, path: short.txt, context: 4}\ninit: broken\n' >broken.yaml

# ---- bench
refused 2 "'huge' is not a set of suite 2: give auto, small, medium or large" bench --list --suite huge
refused 2 'bench: --list measures nothing: combine it only with --key or --suite' bench --list --key --json a.json
refused 2 'bench: --suite is a list of rows of its own: leave out' bench --suite small --op add
refused 2 'bench: suite 2 is fp32 throughout: leave out --math fast' bench --suite small --math fast
refused 2 'bench: --scaling measures no rows: leave out --repeat' bench --scaling --repeat 3
refused 2 'bench add: give a file and those of other programs' bench add a.json
refused 2 'bench compare: give 2 to 5 files: vktrain bench compare A.json B.json' bench compare a.json
refused 4 "'a.json': No such file" bench compare a.json b.json
refused 2 "bench: unexpected argument 'x'; to compare files: vktrain bench compare" bench x
refused 2 'bench table: give one folder, and only --html and --markdown' bench table
refused 2 'bench table: give one folder' bench table empty --quick
refused 4 "bench table: no file of .vktrain bench --submit. or --json in 'empty'" bench table empty
refused 4 "'none'" bench table none
refused 2 'bench: --html is only for .vktrain bench table' bench --html a.html
refused 2 'bench: --submit measures everything and names its file by itself: leave out' bench --submit --op add
refused 2 'bench: --scaling can be combined only with --quick, --once, --json, --csv and --svg' bench --scaling --op add
refused 2 'bench: --svg is only for .vktrain bench compare. and --scaling' bench --svg a.svg
refused 2 'bench compare: accepts only files, --svg and --markdown' bench compare a.json b.json --quick
refused 2 'bench: --op needs --only ops, or no --only' bench --op add --only steps
refused 2 'bench: --step needs --only steps, or no --only' bench --step MLP --only ops
refused 2 'bench: --step needs --only steps' bench --step MLP --op add
refused 2 'bench: --scaling ranks takes one recipe, --quick, --once and --json' bench --scaling ranks --svg a.svg
refused 2 'bench: --scaling ranks takes one recipe' bench --scaling ranks digits digits
refused 4 "no recipe 'none.yaml'" bench --scaling ranks none.yaml
refused 4 "'broken/config.json' is not a JSON object" bench --scaling ranks broken.yaml
refused 2 "nothing measured here has 'nosuchstep' in its name" bench --once --quiet --no-cache --only steps --step nosuchstep
refused 2 "'nosuchop'" bench --once --quiet --no-cache --only ops --op nosuchop
works bench --once --quiet --no-cache --only ops --op add --json add.json
sed -i 's/"name": "/&other /' add.json
refused 1 "bench: 'add.json' has no results in common with this measurement" bench --once --quiet --no-cache --only steps --step MLP --baseline add.json

# Timed, not once: several runs, whose median lies among them.
several() { python3 -c 'import json
r = [r for r in json.load(open("timed.json"))["results"] if "64-128-10" in r["name"]]
assert len(r) == 1 and r[0]["runs"] > 2 and 0 < r[0]["min"] <= r[0]["value"] <= r[0]["max"], r'; }
works bench --quick --quiet --no-cache --only steps --step 64-128-10 --json timed.json
several || { echo "$test: FAILED: a timed step"; bad=$((bad + 1)); }

# ---- a model that a recipe begins with is a file: damaged, it is one for each command
refused 4 "'broken/config.json' is not a JSON object" profile broken.yaml
refused 4 "'broken/config.json' is not a JSON object" tune broken.yaml
refused 4 "'broken/config.json' is not a JSON object" train broken.yaml --run r0
refused 4 "'broken/config.json' is not a JSON object" study lr broken.yaml --study s0

# ---- profile, tune, doctor, study, devices of ranks
echo '{"mine": 1}' >trace.json
refused 2 "profile: 'trace.json' exists, and vktrain did not write it: --force overwrites it" profile digits
refused 2 'profile: --steps must be at least 1' profile digits --steps 0
refused 2 "tune: '9x' is not MxNxK (e.g. 128x512x784); a recipe must be the only argument" tune 8x8x8 9x --no-cache
refused 2 "tune: '8x0x8' is not MxNxK" tune 8x0x8 8x8x8 --no-cache
refused 2 'nosuch' doctor --op nosuch
refused 2 "study: --steps-to is 'fast', must be a number: the validation metric to reach" study batch-size digits --steps-to fast --study s0
refused 2 "study: --steps-to is '0.5x'" study batch-size digits --steps-to 0.5x --study s0
refused 2 "unknown option '--zzzzzzzz'; see .vktrain train --help" train digits --zzzzzzzz
refused 2 "train: --device and --devices can't be used together" train digits --device 0 --devices 0,0
refused 2 'train: --devices 0,: a device between two commas is missing' train digits --devices 0,
refused 2 "train: --device and --device-profile can't be used together" train digits --explain --device 0 --device-profile x
refused 2 "study: --device and --devices can't be used together" study lr digits --device 0 --devices 0,0 --study s0
refused 2 'study: --devices 0,: a device between two commas is missing' study lr digits --devices 0, --study s0
refused 2 'study: --resume needs --study DIR, the study to continue' study lr digits --resume
refused 2 'a device between two commas is missing' train digits --devices 0,,0
if ! "$program" --version --verbose | grep -q 'MPI: no'; then
    printf '#!/bin/bash\nPATH=/nonexistent exec "%s" "$@"\n' "$program" >pathless && chmod +x pathless
    whole=$program program=$work/pathless
    refused 3 'train: there is no mpi[a-z]* to start 2 ranks with: install' train digits --devices 0,0 --run r0
    program=$whole
    # Who starts the ranks says how they ended.
    mkdir launchers
    printf '#!/bin/sh\nexit 137\n' | tee launchers/mpirun >launchers/mpiexec
    chmod +x launchers/*
    PATH=$PWD/launchers:$PATH refused 1 'train: a rank was killed by signal 9, and all have ended; --resume goes on' train digits --devices 0,0 --run r0
fi

refused 2 "manual: 'groff' is not one of man, bash, zsh, fish, markdown" manual groff
refused 2 "manual: man takes no further word, such as 'x'" manual man x
refused 2 'manual: markdown needs a part of the reference: commands, options, layers, onnx' manual markdown
refused 2 "predict: --json and --csv can't be used together" predict none table.csv --json --csv
refused 2 '--version takes --verbose alone' --version --quiet
refused 4 "no folder 'none'" watch none --stop-after-evaluation
refused 2 'watch: --every must be at least 1' watch none --every 0
refused 2 'runs: give only one of --json, --csv, --markdown and --compare' runs --json --csv

# ---- texts and what answers them
refused 2 "chat: --seed is 'x', must be a whole number" chat none --seed x
refused 2 'chat: --top-p must be from 0 to 1, --temperature and --repetition-penalty at' chat none --top-p 2
refused 2 "generate: --seed is '1x', must be a whole number" generate none --seed 1x
refused 2 'generate: --top-p must be from 0 to 1, --repetition-penalty at least 0' generate none --top-p -1
refused 4 'none' generate none --top-p 1 --prompt x # the highest one
refused 2 'generate: --system needs --chat' generate none --system 'Be brief.'
refused 2 "generate: --temperature is 'hot', must be a number from 0" generate none --temperature hot
refused 2 'eval: --tasks goes with --json and --context only' eval none --tasks t.jsonl --raw
refused 2 'tokenize: --train needs text files' tokenize --train 300
refused 2 'tokenize: give files, or --text' tokenize
refused 4 "can't read 'empty': Is a directory" tokenize empty
refused 4 "can't read 'none.txt': No such file" tokenize none.txt

# ---- init
for i in 1 2 3 4 5 6 7 8; do echo "{\"prompt\": \"$i?\", \"chosen\": \"It is $i.\", \"rejected\": \"No.\"}"; done >pairs.jsonl
refused 2 "'pairs.jsonl' has preferences: name the model that learns them" init pairs.jsonl -o r.yaml
{ echo 'a,b,y'; for i in $(seq 60); do echo "$i,$((i * i % 17)),$((i * 3))"; done; } >sixty.csv
works init sixty.csv --task regress -o numbers.yaml
grep -q 'task: *regress' numbers.yaml || { echo "$test: FAILED: init --task regress"; bad=$((bad + 1)); }
for i in $(seq 30); do echo "It is a truth universally acknowledged $i"; done >plain.txt
refused 2 'label is for tables with named columns' init plain.txt --task text --label y -o r.yaml
head -c 6500000 /dev/zero | tr '\0' a >large.txt
: >large.tokenizer.json
refused 2 "init: 'large.tokenizer.json' already exists: --force overwrites it" init large.txt -o large.yaml
[ ! -e large.yaml ] || { echo "$test: FAILED: a refused init left a recipe"; bad=$((bad + 1)); }
rm large.txt
mkdir -p folders/a folders/b # long enough for a tokenizer of their own, so that they are read twice
for d in a b; do for i in $(seq 10); do seq $((i * 10000)) $((i * 10000 + 7000)) | sed "s/$/ words of $d are many here, and so they go on/" >folders/$d/$i.txt; done; done
works init folders -o folders.yaml
[ "$(grep -c 'its 2 folders are no classes' err)" = 1 ] && grep -q 'tokenizer: *folders.tokenizer.json' folders.yaml ||
  { echo "$test: FAILED: a warning of init, once: $(cat err)"; bad=$((bad + 1)); }
rm -r folders
for i in $(seq 30); do # 20 classes of one picture, and one of ten: as many warnings, none is dropped
  mkdir -p singles/class$((i < 21 ? i : 0))
  { bytes 'BM\72\0\0\0\0\0\0\0\66\0\0\0\50\0\0\0\1\0\0\0\1\0\0\0\1\0\30\0\0\0\0\0\4\0\0\0'
    bytes '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
    bytes "\\$(printf %o $((8 * i)))\\$(printf %o $i)\\1\\0"; } >singles/class$((i < 21 ? i : 0))/$i.bmp
done
works init singles -o singles.yaml
[ "$(grep -c 'has only one picture' err)" = 20 ] || { echo "$test: FAILED: warnings of init: $(cat err)"; bad=$((bad + 1)); }
rm -r singles

# ---- inspect
bytes '\0\0\012\001\0\0\0\001' >odd.idx
refused 4 "'odd.idx' is damaged: IDX of unknown type 0x0a\|IDX of unknown type 0x0a" inspect odd.idx
bytes '\0\0\010\003\0\0' >short.idx
refused 4 'ends within its header' inspect short.idx
bytes '\0\0\010\001\0\0\0\011abc' >less.idx
refused 4 'its header promises 9 bytes of data, it holds 3' inspect less.idx
{ bytes '\0\0\010\001\0\0\234\100'; head -c 40000 "$program"; } | gzip -c >bad.idx.gz
printf '\1' | dd of=bad.idx.gz bs=1 seek=$(($(stat -c %s bad.idx.gz) - 8)) conv=notrunc 2>/dev/null
refused 4 'its gzip data is damaged' inspect bad.idx.gz
bytes '\037\213\010\0\0\0\0\0\0\003\377\377\377\377\377\377' >bad.csv.gz
refused 4 'its gzip data is damaged' inspect bad.csv.gz
bytes '[\n {"a": 1},\n {"a": 2}\n]\n' >list.csv
refused 4 "'list.csv' is JSON, not CSV" inspect list.csv
bytes 'a,b\n1,\001\n' >odd.bin
refused 4 'no kind of file that .vktrain inspect --help. names' inspect odd.bin
bytes '\n\n\n' >blank.csv
refused 4 'is empty' inspect blank.csv
mkdir of-run of-model other
echo '[]' >of-run/run.json
refused 4 'no JSON object' inspect of-run
echo '{' >of-run/run.json
refused 4 'of-run/run.json' inspect of-run
echo '{"model_type": "llama"}' >of-model/config.json
echo '{}' >of-model/model.safetensors.index.json
refused 4 'no weight_map in it' inspect of-model
echo '{"weight_map": {"a": "../a.safetensors"}}' >of-model/model.safetensors.index.json
refused 4 'its weight_map names a file outside the folder' inspect of-model
: >other/notes.bin
refused 4 'neither a run (run.json), a checkpoint (state.json), a Hugging Face model' inspect other

# ---- what can't be written
if [ -e /dev/full ]; then
    n=$((n + 1)) rc=0
    "$program" recipes >/dev/full 2>err || rc=$?
    if [ $rc != 4 ] || [ "$(cat err)" != 'vktrain: error: the output could not be written' ]; then
        echo "$test: FAILED: recipes >/dev/full: exit $rc"; sed 's/^/  > /' err; bad=$((bad + 1))
    fi
fi
[ ! -e r0 ] && [ ! -e s0 ] || { echo "$test: FAILED: a refused command left a folder"; bad=$((bad + 1)); }

conclude
