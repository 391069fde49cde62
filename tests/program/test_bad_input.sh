#!/usr/bin/env bash
# What users get wrong, through the program: each one error line that says what, where and what to do, and the
# exit code of that kind of error. usage: test_bad_input.sh PROGRAM
set -euo pipefail

. "$(dirname "$0")/../support/refusals.sh"

# ---- the command line
refused 2 "unknown command 'trian'" trian
refused 2 "unknown option '--quite'; did you mean '--quiet'" train digits --quite
refused 2 'an argument is missing' train
refused 2 "unexpected argument 'x'" train digits x
refused 2 '--run needs a value' train digits --run
refused 2 'must be a whole number' predict digits x --top few

# ---- no loader, no driver, no such device
mkdir noloader
echo 'no library' >noloader/libvulkan.so.1
cp noloader/libvulkan.so.1 noloader/libvulkan.so
export LD_LIBRARY_PATH=$work/noloader
refused 3 'no Vulkan loader' devices
refused 3 'no Vulkan loader' train digits --run r0
unset LD_LIBRARY_PATH
(
    export VK_DRIVER_FILES=/nonexistent VK_ICD_FILENAMES=/nonexistent VK_ADD_DRIVER_FILES=
    refused 3 'no Vulkan driver found' devices
    refused 3 'no Vulkan driver found' train digits --run r0
    echo "$n $bad" >counts
)
read -r n bad <counts
refused 3 "'nosuch' fits no device" train digits --device nosuch --run r0
refused 3 "'77' fits no device" train digits --device 77 --run r0
refused 2 "did you mean 'memory'" train digits --cap memroy=1 --run r0
refused 2 "not name=number" train digits --cap memory=lots --run r0
[ ! -e r0 ] || { echo "$test: FAILED: a refused run left a folder"; bad=$((bad + 1)); }

# ---- recipes
recipe()
{
    cat >r.yaml
}
recipe <<'Y'
name: x
data:
  source: digits
optim:
  lrr: 3
Y
refused 2 "r.yaml:5: unknown key 'optim.lrr'; did you mean 'optim.lr'" train r.yaml
recipe <<'Y'
name: x
data: { source: digits }
model: [ flatten, linear ]
optim:
  lr: high
Y
refused 2 "r.yaml:5: optim.lr: .*number.*'high'" train r.yaml
recipe <<'Y'
name: x
data: { source: digits }
model: [ flatten, linear ]
train:
  steps: -3
Y
refused 2 'r.yaml:5: train.steps: .*-3' train r.yaml
recipe <<'Y'
name: x
data: { source: digits }
model:
  - flatten
  - linaer: 10
Y
refused 2 "r.yaml:5: unknown layer 'linaer'; did you mean 'linear'" train r.yaml
recipe <<'Y'
name: x
 data:
  : [
Y
refused 2 'r.yaml:[0-9]*: ' train r.yaml
bytes 'name: x\ndata:\n\tsource: digits\n' >r.yaml
refused 2 'r.yaml:3: a tab indents this line: YAML takes spaces' train r.yaml
mkfifo pipe.csv
refused 4 "'pipe.csv' is a pipe or a device, which has no size: write it to a file first" init pipe.csv -o x.yaml
: >r.yaml
refused 2 'r.yaml' train r.yaml
bytes 'name: \xff\xfe\n' >r.yaml
refused 2 'r.yaml' train r.yaml
bytes '\x7fELF\x02\x01\x00\x00\x00' >r.yaml
refused 2 'r.yaml' train r.yaml
refused 4 "no recipe 'nosuch.yaml'.*no such file.*\`vktrain recipes\`.*\`vktrain init DATA\`" train nosuch.yaml
refused 2 "no recipe 'digit'.*digits" train digit
mkdir folder
refused 2 "'folder/' is a folder, not a recipe: .*vktrain init" train folder/
refused 2 "'folder' is a folder, not a recipe" train folder
echo '{}' >folder/run.json
refused 2 "'folder' is a run, not a recipe: .*--resume" train folder
printf 'a,b,y\n1,2,u\n' >table.csv
refused 2 "table.csv:1: a recipe is .*if 'table.csv' is data, .vktrain init. writes a recipe" train table.csv
bytes '\xff\xd8\xff\xe0JFIF' >photo.jpg
refused 2 "photo.jpg:1: .*if 'photo.jpg' is data, .vktrain init. writes" train photo.jpg
refused 2 "optim.lr: .*'abc'" train digits --set optim.lr=abc
refused 2 'optim.lr: .*out of range' train digits --set optim.lr=-1
refused 2 "optm.lr: unknown key; did you mean 'optim.lr'" train digits --set optm.lr=1
refused 2 'train.batch 5000 is larger than the training set of 1293' train digits --set train.batch=5000 --run r0
refused 2 '' train digits --set train.batch=0 --run r0

# ---- IDX
u32() { printf "\\$(printf %03o $(($1 >> 24 & 255)))\\$(printf %03o $(($1 >> 16 & 255)))\\$(printf %03o $(($1 >> 8 & 255)))\\$(printf %03o $(($1 & 255)))"; }
images() { printf '\0\0\010\003'; u32 "$1"; u32 "$2"; u32 "$3"; head -c $(($1 * $2 * $3)) "$program"; }
labels() { printf '\0\0\010\001'; u32 "$1"; for i in $(seq 0 $(($1 - 1))); do printf "\\$(printf %03o $((i % $2)))"; done; }
I=idx/train-images-idx3-ubyte
L=idx/train-labels-idx1-ubyte
fresh()
{
    rm -rf idx
    mkdir idx
    images 100 6 5 >$I
    labels 100 4 >$L
}
idx=(train digits --set data.source=idx --set data.path=idx --set train.steps=4 --set train.batch=8 --set eval.every=4 --quiet)
fresh
works "${idx[@]}" --run of-idx
refused 4 "'none' lacks train-images-idx3-ubyte\|'none' is not a folder\|none" "${idx[@]}" --set data.path=none --run r0
rm $L
refused 4 "'idx' lacks train-labels-idx1-ubyte" "${idx[@]}" --run r0
fresh; head -c 2000 $I >x; mv x $I
refused 4 "$I' is cut off" "${idx[@]}" --run r0
fresh; head -c 9 $I >x; mv x $I
refused 4 "$I' is cut off within its header" "${idx[@]}" --run r0
fresh; gzip -c $I | head -c 500 >$I.gz; rm $I
refused 4 "$I.gz" "${idx[@]}" --run r0
fresh; echo '<html>404 not found</html>' >$I.gz; rm $I
refused 4 "$I.gz' is neither an IDX file nor gzip" "${idx[@]}" --run r0
fresh; echo 'no magic here' >$I
refused 4 "$I' is neither an IDX file nor gzip" "${idx[@]}" --run r0
fresh; : >$I
refused 4 "$I'" "${idx[@]}" --run r0
fresh; labels 99 4 >$L
refused 4 "has 100 images, .*99 labels" "${idx[@]}" --run r0
fresh; cp $L $I
refused 4 "$I' holds labels where images must be" "${idx[@]}" --run r0
fresh; cp $I idx/t10k-images-idx3-ubyte; labels 100 7 >idx/t10k-labels-idx1-ubyte
refused 4 "t10k-labels-idx1-ubyte': label 4 of record 4 is outside the 4 classes" "${idx[@]}" --run r0
fresh; images 100 5 6 >idx/t10k-images-idx3-ubyte; labels 100 4 >idx/t10k-labels-idx1-ubyte
refused 4 "images of 5x6x1, not the 6x5x1" "${idx[@]}" --run r0

# ---- CSV
for i in $(seq 1 60); do echo "$i,$((i * 7 % 13)),$((i % 3 == 0 ? 1 : 0))"; done >good.csv
csv=(train digits --set data.source=csv --set train.steps=4 --set train.batch=8 --set eval.every=4 --quiet)
cp good.csv t.csv
works "${csv[@]}" --set data.path=good.csv --run of-csv
refused 2 "data.augment is for images, and 'csv good.csv" "${csv[@]}" --set data.path=good.csv --set data.augment.flip=0.5 --device nosuch --run r0
refused 4 "none.csv': No such file" "${csv[@]}" --set data.path=none.csv --run r0
(cat good.csv; echo '1,2') >t.csv
refused 4 't.csv.*61' "${csv[@]}" --set data.path=t.csv --run r0
(cat good.csv; echo '1,2,3,4') >t.csv
refused 4 't.csv.*61' "${csv[@]}" --set data.path=t.csv --run r0
: >t.csv
refused 4 't.csv.*empty' "${csv[@]}" --set data.path=t.csv --run r0
echo 'a,b,c' >t.csv
refused 4 't.csv' "${csv[@]}" --set data.path=t.csv --run r0
(cat good.csv; echo ',2,1') >t.csv
refused 4 't.csv.*61' "${csv[@]}" --set data.path=t.csv --run r0
bytes '\x00\x01\x02' >t.csv
refused 4 't.csv' "${csv[@]}" --set data.path=t.csv --run r0
refused 2 'label' "${csv[@]}" --set data.path=good.csv --set data.label=nosuch --run r0
# what the model was trained on decides for other files
(head -5 good.csv; echo '3,tall,1') >t.csv
refused 4 "t.csv.*6.*tall" predict of-csv t.csv
(head -5 good.csv; echo '3,4,9') >t.csv
refused 4 "t.csv.*6.*9" eval of-csv --data t.csv
cut -d, -f1 good.csv >t.csv
refused 4 't.csv' predict of-csv t.csv
: >t.csv
refused 4 't.csv' predict of-csv t.csv
works predict of-csv good.csv
refused 4 'none.csv' predict of-csv none.csv
# pictures
bytes '\x89PNG\r\n\x1a\n' >p.png
refused 4 'p.png. is cut short' predict of-idx p.png
refused 4 'p.png. is a picture, but the model was trained on a table' predict of-csv p.png

# ---- run folders and checkpoints
run=(train digits --set train.steps=30 --set eval.every=10 --set checkpoint.keep=5 --quiet --run run)
works "${run[@]}"
refused 2 "'run' already holds a run: add --resume" "${run[@]}"
refused 2 "no run in 'none' to resume" train digits --run none --resume
refused 2 '--resume needs --run' train digits --resume
echo text >file
refused 2 "'file' is a file, not a folder" train digits --run file
refused 4 "there is no 'none': give a run" eval none
refused 4 "'folder' is not a run" eval folder
cat >narrow.yaml <<'Y'
name: digits
data: { source: digits, valid_fraction: 0.1, test_fraction: 0.2 }
model: [ flatten, linear: 64, relu, linear ]
train: { steps: 40, batch: 64 }
Y
refused 4 'model.safetensors.*\[128, 64\].*\[64, 64\]\|model.safetensors.*\[64, 64\].*\[128, 64\]' train narrow.yaml --run run --resume --quiet
works "${run[@]}" --resume
refused 4 'the data has changed' "${run[@]}" --resume --set data.seed=5

# flip FILE: one bit in its middle
flip()
{
    local at=$(($(stat -c %s "$1") / 2))
    printf "\\$(printf %03o $(($(od -An -tu1 -j $at -N 1 "$1") ^ 16)))" | dd of="$1" bs=1 seek=$at conv=notrunc 2>/dev/null
}
newest=run/checkpoints/step-00000030
cp -r run whole
for file in model.safetensors optimizer.safetensors state.json; do
    for harm in cut flip gone; do
        rm -rf run
        cp -r whole run
        case $harm in
        cut) truncate -s -7 $newest/$file ;;
        flip) flip $newest/$file ;;
        gone) rm $newest/$file ;;
        esac
        # eval reads what it needs: a flipped byte among the optimizer's numbers is not seen by it
        if [ $file-$harm != optimizer.safetensors-flip ]; then refused 4 "step-00000030" eval $newest; fi
        # resume says so and goes on with the checkpoint before
        works "${run[@]}" --resume
        grep -q "trying the one before it, step-00000020" err && grep -q "$file" err || {
            echo "$test: FAILED: resume with a damaged $file ($harm) does not say what it falls back to"
            sed 's/^/  > /' err
            bad=$((bad + 1))
        }
        if ! cmp -s whole/checkpoints/step-00000030/model.safetensors run/checkpoints/step-00000030/model.safetensors; then
            echo "$test: FAILED: resumed from step 20 after a damaged $file ($harm), step 30 has other bits"
            bad=$((bad + 1))
        fi
    done
done
rm -rf run
cp -r whole run
for c in run/checkpoints/*; do flip "$c/model.safetensors"; done
n=$((n + 1)) rc=0
"$program" "${run[@]}" --resume >out 2>err || rc=$?
if [ $rc != 4 ] || ! tail -1 err | grep -q "no usable checkpoint in 'run'"; then
    echo "$test: FAILED: every checkpoint damaged: exit $rc, must be 4 and say so"
    sed 's/^/  > /' err
    bad=$((bad + 1))
fi
rm -rf run
cp -r whole run
# run.json is not needed to go on; where checkpoints were, a start at step 0 would be another run.
for content in '{' ''; do
    printf '%s' "$content" >run/run.json
    works "${run[@]}" --resume
    grep -q "'run': run.json is damaged.*continuing without it" err || {
        echo "$test: FAILED: resume with a damaged run.json"
        sed 's/^/  > /' err
        bad=$((bad + 1))
    }
done
sed -i '/"step":7,/d;/"step":9,/d' run/metrics.jsonl
: >run/predictions/step-00000010.csv.tmp999999-3
: >run/run.json.tmp$$-1 # of a process that runs
works "${run[@]}" --resume
grep -q "metrics.jsonl' lacks 2 of the 30 steps so far, beginning with step 7" err || { echo "$test: FAILED: rows are missing without a word"; bad=$((bad + 1)); }
[ -e run/run.json.tmp$$-1 ] && [ -z "$(find run -name '*.tmp999999-*')" ] || { echo "$test: FAILED: leftovers of a killed write"; bad=$((bad + 1)); }
rm -r run/checkpoints
refused 4 "the checkpoints of 'run' are gone" "${run[@]}" --resume

# ---- text: tokenizers, JSON lines, shards, chats
printf 'to be, or not to be: that is the question' >short.txt
printf 'caf\351' >latin1.txt
: >empty.txt
"$program" tokenize --quiet --train 260 --out tok.json "$source/files/pride-and-prejudice.txt" 2>/dev/null || true
printf '{"text": "a"}\n{"text"\n' >bad.jsonl
echo '{"model": {"type": "Unigram", "vocab": []}}' >unigram.json
echo '{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}}' >nobytes.json
echo 'not a rank file' >bad.tiktoken
works pack short.txt --out short
refused 2 '--out PATH is missing' pack short.txt
refused 2 "'short' already exists" pack short.txt --out short
refused 4 "'empty.txt' is empty" pack empty.txt --out r0
refused 4 "can't open 'absent'" pack absent --out r0
refused 4 'byte 3 of the text is not UTF-8' pack latin1.txt --tokenizer chars --out r0
refused 4 "'bad.jsonl' line 2" pack bad.jsonl --out r0
refused 4 'a vocabulary of 0 tokens; it must have 1' pack short.txt --tokenizer unigram.json --out r0
refused 4 'the vocabulary lacks byte 0x00' pack short.txt --tokenizer nobytes.json --out r0
refused 4 "line 1 is not .base64 rank." pack short.txt --tokenizer bad.tiktoken --out r0
refused 4 "there is no tokenizer 'absent': data.tokenizer (or --tokenizer)" pack short.txt --tokenizer absent --out r0
refused 4 'folder.*no tokenizer\|no tokenizer' pack short.txt --tokenizer whole --out r0
refused 2 'a vocabulary of 9 tokens: it must have from 257' tokenize --train 9 short.txt --out r0
head -c 150 short/shard-00000.tok >cut.tok
refused 4 "'cut.tok' is cut off or damaged" inspect cut.tok
cp -r short beyond
printf '\377\377' | dd of=beyond/shard-00000.tok bs=1 seek=$((128 + 2 * 5)) conv=notrunc 2>/dev/null
text=(train digits --set data.source=text --set data.context=64 --run r0)
refused 4 'the train split has 31 tokens, at least 65 are needed' "${text[@]}" --set data.path=short.txt
refused 4 "'empty.txt' is empty" "${text[@]}" --set data.path=empty.txt
refused 4 "packed with another tokenizer than" "${text[@]}" --set data.path=short --set data.tokenizer=tok.json
refused 4 "'beyond/shard-00000.tok': token 5 of 42 has id 65535, the tokenizer's vocabulary has only 256" "${text[@]}" --set data.path=beyond
refused 2 "'novel' is not one of\|built in and takes no path" "${text[@]}" --set data.source=novel --set data.path=short
refused 2 'data.tokenizer: only for text' train digits --set data.tokenizer=bytes --run r0
refused 2 'loss.class_weight: not for text' "${text[@]}" --set data.path=short.txt --set loss.class_weight=balanced
[ ! -e r0 ] || { echo "$test: FAILED: a refused command left r0"; bad=$((bad + 1)); }

# ---- memory
refused 2 'memory=1000 is below' train digits --cap memory=1000 --run r0
rm -rf r0
refused 5 'this needs .* MiB of device memory, 1.0 MiB may be used: lower train.batch' train digits --cap memory=1048576 --set train.batch=1023 --set eval.batch=4096 --quiet --run r0
for word in parameters activations; do
    cat out err | grep -q "$word" || { echo "$test: FAILED: out of memory without a table that has '$word'"; sed 's/^/  > /' out err; bad=$((bad + 1)); }
done

conclude
