#!/usr/bin/env bash
# Calls that fail: of Vulkan through a layer, of libc through a preloaded shim (tests/support/faults). Each run ends by the contract:
# the exit code of its kind, exactly one error line if it is not 0 and none if it is, and what it wrote can be gone on with.
# usage: test_faults.sh PROGRAM FAULTS_DIR
set -euo pipefail
program=$(realpath "${1:?the program}")
faults=$(realpath "${2:?the folder with the fault layer}")
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-faults.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
n=0 bad=0
export LP_NUM_THREADS=1 # a CPU driver's threads: how often is waited for them depends on time

# ended RC TEXT: the last run's exit code, its one error line (TEXT is in it; RC 0: none, and TEXT is in what it says).
ended()
{
    local lines=1
    [ "$1" != 0 ] || lines=0
    n=$((n + 1))
    if [ $rc = "$1" ] && [ "$(grep -c 'error:' err || true)" = $lines ] && { [ -z "$2" ] || grep -q -- "$2" err; }; then return 0; fi
    bad=$((bad + 1))
    echo "test_faults: FAILED: $what: exit $rc, must be $1 with $lines error lines that say: $2"
    sed 's/^/  > /' err
}
# vk FAULT ARGS...: sticky: a lost device stays lost until it is destroyed, as Vulkan has it.
vk()
{
    what="VKFAULT=$1 ${*:2}" rc=0
    VK_LAYER_PATH=$faults VK_INSTANCE_LAYERS=VK_LAYER_VKT_fault VKFAULT_STICKY=1 VKFAULT=$1 \
        timeout 60 "$program" "${@:2}" >out 2>err </dev/null || rc=$?
}
io()
{
    what="IOFAULT=$1 ${*:2}" rc=0
    LD_PRELOAD=$faults/libiofault.so IOFAULT=$1 timeout 60 "$program" "${@:2}" >out 2>err </dev/null || rc=$?
}
train=(train digits --no-cache --quiet --set train.steps=12 --set eval.every=4)
train() { rm -rf run; "$1" "$2" "${train[@]}" --run run "${@:3}"; }
same() { cmp -s straight/checkpoints/step-00000012/model.safetensors run/checkpoints/step-00000012/model.safetensors && return 0; bad=$((bad + 1)); echo "test_faults: FAILED: $what: other bits"; }
# same_or RC...: the last run ended with 0 and wrote what `whole` is, or with one of these and an error line.
same_or()
{
    n=$((n + 1))
    if [ $rc = 0 ] && cmp -s whole "$1"; then return 0; fi
    if [[ " ${*:2} " == *" $rc "* ]] && [ "$(grep -c 'error:' err)" = 1 ]; then return 0; fi
    bad=$((bad + 1))
    echo "test_faults: FAILED: $what: exit $rc, not the same and not one error line of ${*:2}"
    sed 's/^/  > /' err
}

# full FILE: the last run told that the disk was full as it wrote this, and left nothing of it.
full()
{
    ended 4 "can't write '$1': No space left on device"
    [ -z "$(compgen -G "$1*")" ] || { bad=$((bad + 1)); echo "test_faults: FAILED: $what: left $(compgen -G "$1*")"; }
}

train vk vkQueueSubmit2:1000000:DEVICE_LOST
ended 0 ''
mv run straight

# ---- in set-up
set_up()
{
    train vk vkCreateInstance:1:INITIALIZATION_FAILED; ended 3 'vkCreateInstance: initialization failed'
    train vk vkCreateDevice:1:INITIALIZATION_FAILED; ended 3 'vkCreateDevice: initialization failed'
    train vk vkMapMemory:1:MEMORY_MAP_FAILED; ended 5 'vkMapMemory: no room to map memory'
    train vk vkAllocateMemory:2+:OUT_OF_DEVICE_MEMORY; ended 5 'no device memory for'
    train vk vkCreateBuffer:1:OUT_OF_HOST_MEMORY; ended 5 'vkCreateBuffer: out of host memory'
    train vk vkCreateComputePipelines:1:DEVICE_LOST; ended 0 'it is opened again'; same
    train vk vkCreateComputePipelines:1+:DEVICE_LOST; ended 6 'vkCreate.*: device lost' # of several threads' calls one
    [ ! -e run ] || { bad=$((bad + 1)); echo "test_faults: FAILED: $what: left a run folder"; }
    # No memory while kernels are made, of the device or of the host.
    for why in DEVICE HOST; do
        train vk vkCreateComputePipelines:1+:OUT_OF_${why}_MEMORY; ended 5 "vkCreateComputePipelines: out of ${why,,} memory"
        [ ! -e run ] || { bad=$((bad + 1)); echo "test_faults: FAILED: $what: left a run folder"; }
    done
    vk vkCreateComputePipelines:1+:OUT_OF_DEVICE_MEMORY eval straight --no-cache; ended 5 'vkCreateComputePipelines: out of device memory'
    vk vkCreateComputePipelines:1+:OUT_OF_DEVICE_MEMORY tune 8x8x8 --no-cache; ended 5 'no kernel could be timed'
    vk vkAllocateMemory:2:DEVICE_LOST eval straight --no-cache; ended 6 'vkAllocateMemory: device lost'
}

# ---- at work: a loss is got over, to the same bits; what comes of a second one is told with the first
at_work()
{
    train vk vkWaitSemaphores:14:DEVICE_LOST; ended 0 'vkWaitSemaphores: device lost'; same
    train vk vkWaitSemaphores:14:DEVICE_LOST,vkCreateDevice:2+:OUT_OF_DEVICE_MEMORY
    ended 6 'the device was lost at step .* (vkWaitSemaphores: device lost (VkResult -4)) and could not be used again: vkCreateDevice: out of device memory'

    # A wait that fails says nothing about the device, which may still run: nothing that it uses is freed.
    train vk vkWaitSemaphores:6+:OUT_OF_DEVICE_MEMORY; ended 5 'vkWaitSemaphores: out of device memory'
    train vk vkWaitSemaphores:6+:OUT_OF_DEVICE_MEMORY,vkDeviceWaitIdle:1+:OUT_OF_HOST_MEMORY; ended 5 'vkWaitSemaphores: out of device memory'
    # The last call of all: what was done is done.
    train vk vkDeviceWaitIdle:1:DEVICE_LOST; ended 0 ''; same
}

# ---- a message of the validation layer: the exit code says so, also of what set-up tries in silence
validation()
{
    if "$program" train digits --quiet --no-cache --validate --set train.steps=1 --run silent >out 2>err; then
        rc=0; what="--validate"; ended 0 ''
        export VK_LAYER_ENABLES=VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT # it has something to say of everyone
        rc=0; "$program" train digits --quiet --no-cache --validate --set train.steps=1 --run told >out 2>err || rc=$?
        ended 1 'the validation layer found mistakes in vktrain ('
        unset VK_LAYER_ENABLES
    else
        grep -q 'no validation layer' err || { cat err; bad=$((bad + 1)); }
        echo "test_faults: SKIPPED: messages of the validation layer: it is not installed"
    fi
}

# ---- memory: an allocation that fails ends the run with a line, and what was saved is gone on with (all of them: tools/hardening/faults)
memory()
{
    for at in 30 200 500 900; do
        train io malloc:$at:ENOMEM
        ended 5 'memory'
        rc=0; again=--resume
        [ -d run/checkpoints ] || again=
        "$program" "${train[@]}" --run run $again >out 2>err || rc=$?
        ended 0 ''
        same
    done

    # What a resumed run reads of itself is not passed over where memory is short: no error line with exit code 0.
    for at in $(seq 212 227); do
        rm -rf run && cp -a straight run
        io malloc:$at:ENOMEM "${train[@]}" --run run --resume
        if [ $rc = 0 ]; then ended 0 ''; else ended 5 'memory'; fi
    done

    for at in 2 3 4; do
        rm -rf run && cp -a straight run
        io fopen:$at:EIO "${train[@]}" --run run --resume
        [ $rc = 0 ] || ended 4 "run.json can't be read"
    done

    # No memory at all any more: not even what is set aside for such cases.
    for at in 30 300 900; do train io malloc:$at+:ENOMEM; ended 5 'memory'; done
    # jansson's allocations are ours: none is made but from the memory that is set aside at need.
    IOFAULT_FROM=libjansson train io malloc:200+:ENOMEM
    ended 0 ''
    same

    # Other libraries': libyaml reads recipes; zlib unpacks kernels, which is tried twice.
    for at in 17 21; do IOFAULT_FROM=libyaml train io malloc:$at:ENOMEM; ended 5 'no memory'; done
    IOFAULT_FROM=libz train io malloc:3:ENOMEM; ended 0 ''; same
    IOFAULT_FROM=libz train io malloc:3+:ENOMEM; ended 5 'no memory to unpack the kernel'

    "$program" inspect straight >whole
    IOFAULT_FROM=libjansson io malloc:1+:ENOMEM inspect straight; ended 0 ''
    cmp -s whole out || { bad=$((bad + 1)); echo "test_faults: FAILED: $what: a part is left out"; }
    # Nor is the recipe that a run holds left out of its report.
    for at in 1 9 40; do IOFAULT_FROM=libyaml io malloc:$at:ENOMEM report straight; ended 5 'no memory for the YAML parser'; done
    # A table that there is no memory for is not left out.
    printf 'a,b\n1,2\n' >rows.csv
    for at in 1 2 3; do io malloc:$at:ENOMEM inspect rows.csv; ended 5 'memory'; done
    io malloc:4:ENOMEM inspect rows.csv; ended 0 '' # numbers that are kept for speed alone
}

# ---- checkpoints, which a thread writes while steps go on: a call of it that fails ends the run with one line; what was saved is gone on with
checkpoints()
{
    # calls FAULT RC: 0, or this with one line; then it ends as the straight run.
    calls()
    {
        train io "$1"
        sed -i '/^vktrain: warning: .* written again at the next checkpoint$/d' err
        if [ $rc = 0 ]; then ended 0 ''; else ended "$2" ''; left=1; fi
        [ -z "$(compgen -G 'run/checkpoints/.*-step-*')" ] || [ $rc = 0 ] || [ "${1%%:*}" = rename ] || { bad=$((bad + 1)); echo "test_faults: FAILED: $what: left $(ls -A run/checkpoints)"; }
        rc=0; again=--resume
        [ -d run ] || again=
        "$program" "${train[@]}" --run run $again >out 2>err || rc=$?
        what="$what, resumed"
        ended 0 ''
        same
    }
    left=0
    for at in $(seq 3 2 21); do calls fsync:$at:EIO 4; done
    for at in $(seq 1 7); do calls rename:$at:EIO 4; done
    for at in $(seq 2 5); do calls mkdir:$at:EACCES 4; done
    for at in $(seq 20 40 260); do calls fwrite:$at:ENOSPC 4; done
    for at in 1 2 3; do calls symlink:$at:EIO 4; done
    [ $left = 1 ] || { bad=$((bad + 1)); echo "test_faults: FAILED: no call of a checkpoint failed"; }
    # The thread itself: the driver's and the loader's come before it.
    told=0
    for at in $(seq 24); do
        train io pthread_create:$at:EAGAIN
        [ $rc = 0 ] || ended 5 "can't start a thread: Resource temporarily unavailable"
        if [ $rc = 5 ] && [ -d run ]; then
            told=$((told + 1))
            rc=0; "$program" "${train[@]}" --run run --resume >out 2>err || rc=$?
            ended 0 ''
            same
        fi
    done
    [ $told -ge 3 ] || { bad=$((bad + 1)); echo "test_faults: FAILED: $told of 3 checkpoints' threads were refused"; }
}

# ---- a kernel that loses the device while it is timed is left out, and told as a warning
timing()
{
    vk vkQueueSubmit2:6:DEVICE_LOST tune 8x8x8 --no-cache; ended 0 'warning: .*kernel .* lost the device and is no longer used: vkQueueSubmit2'
    vk vkQueueSubmit2:6+:DEVICE_LOST tune 8x8x8 --no-cache; ended 6 'kernel .* lost the device'
    # A device that can't be opened is told at once, and is not tried again.
    for call in vkCreateSemaphore vkCreatePipelineLayout; do
        vk $call:1:DEVICE_LOST tune 8x8x8 --no-cache; ended 6 "$call: device lost"
    done
    vk vkCreateSemaphore:1+:DEVICE_LOST tune digits --no-cache; ended 6 'vkCreateSemaphore: device lost'
    # A loss that is found where what was used is freed is told, too.
    vk vkWaitSemaphores:8:DEVICE_LOST doctor --op add --no-cache; ended 6 'vkWaitSemaphores: device lost'
    vk vkAllocateMemory:1:DEVICE_LOST doctor --op add --no-cache; ended 6 'vkAllocateMemory: device lost'

    # ---- what could not be written once is not forgotten because the next time it could
    io rename:1:EACCES bench --once --no-cache --only steps --step MLP --quiet --json b.json; ended 4 "can't rename to 'b.json': Permission denied"
}

# ---- files: what can't be read is not passed over
reading()
{
    io opendir:1:EIO report straight; ended 4 "can't open folder 'straight/predictions'"
    io fopen:3:EIO report straight; ended 4 "can't open 'straight/predictions/step-00000012.csv': Input/output error"
    # A folder that the system failed to read does not hide the runs of the others.
    mkdir -p many/deep && cp -a straight many/kept
    io opendir:1:EIO runs many; ended 4 "can't open folder 'many': Input/output error"
    io opendir:2:EIO runs many; ended 0 "warning: can't open folder 'many/deep': Input/output error; runs in it are not listed"
    grep -q '^many/kept ' out || { bad=$((bad + 1)); echo "test_faults: FAILED: $what: the run beside it is not listed"; }
    # What can't be looked at is not what is not there (a calibration left out made other probabilities).
    for i in 1 2 3; do printf '%s' "$i"; for k in $(seq 63); do printf ',%s' $((i * k % 17)); done; printf '\n'; done >rows64.csv
    "$program" predict straight rows64.csv --no-cache --quiet >whole
    for at in $(seq 20 32); do
        io stat:$at:EIO predict straight rows64.csv --no-cache --quiet
        n=$((n + 1))
        [ $rc != 0 ] || cmp -s whole out || { bad=$((bad + 1)); echo "test_faults: FAILED: $what: exit 0 with other probabilities"; }
    done
    # The best checkpoint is not passed over because one look at the folder failed.
    cp -a straight run-best && rm run-best/best && ln -s checkpoints/step-00000004 run-best/best
    "$program" export run-best -o whole.onnx >out && mv whole.onnx whole
    for at in $(seq 10); do rm -f m.onnx; io stat:$at:EIO export run-best -o m.onnx; same_or m.onnx 4; done
}

pictures()
{
    # A picture that the system failed to read, or had no memory for, is not a damaged one: only that is left out.
    python3 - <<'P'
import pathlib, struct, zlib
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
for c in "ab":
    pathlib.Path("pictures", c).mkdir(parents=True)
    for i in range(3):
        rows = b"".join(b"\0" + bytes((x * y * (i + 1) + 99 * (c == "a")) % 251 for x in range(8)) for y in range(8))
        pathlib.Path("pictures", c, f"{i}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
P
    printf 'name: p\ndata: {source: images, path: pictures, test_fraction: 0, valid_fraction: 0.3}\nmodel: [flatten, linear]\n' >p.yaml
    "$program" pack p.yaml --out whole.pack --quiet >out && mv whole.pack whole
    for at in $(seq 2 17); do rm -f p.pack; io fopen:$at:EIO pack p.yaml --out p.pack --quiet; same_or p.pack 4; done
    for at in 2 8 12; do rm -f p.pack; io fread:$at:EIO pack p.yaml --out p.pack --quiet; same_or p.pack 4; done
    rm -f p.pack
    for at in fwrite:1 fwrite:3 fwrite:10 fsync:1; do io $at:ENOSPC pack p.yaml --out p.pack --quiet; full p.pack; done
    io fopen:2:EMFILE pack p.yaml --out p.pack --quiet; ended 4 "can't open 'pictures/a/0.png': Too many open files"
    for at in $(seq 40 2 110); do rm -f p.pack; io malloc:$at:ENOMEM pack p.yaml --out p.pack --quiet; same_or p.pack 5; done
    # What another process removes between the look at it and its opening is not there.
    for at in 2 5 8 11; do
        rm -rf going p.pack && cp -a pictures going
        io fopen:$at:GONE pack p.yaml --out p.pack --quiet --set data.path=going; ended 0 "skipped: can't open 'going/[ab]/[0-2].png': No such file"
    done
    rm -rf run && cp -a straight run
    io fopen:3:GONE report run; ended 0 ''
    [ ! -e run/predictions/step-00000012.csv ] || { bad=$((bad + 1)); echo "test_faults: FAILED: $what: removed something else"; }
}

texts()
{
    # A tokenizer's settings that can't be looked at are not left out.
    mkdir words
    printf '%s\n' '[UNK]' '[CLS]' '[SEP]' '[PAD]' '[MASK]' it It is a >words/vocab.txt
    echo '{"do_lower_case": false}' >words/tokenizer_config.json
    echo 'It is a It is a' >it.txt
    "$program" pack it.txt --tokenizer words --out packed --quiet >out && mv packed/shard-00000.tok whole
    for at in $(seq 12); do rm -rf packed; io stat:$at:EIO pack it.txt --tokenizer words --out packed --quiet; same_or packed/shard-00000.tok 4; done
    # Preferences that there is no memory for are preferences.
    for i in 1 2 3 4 5 6; do echo "{\"prompt\": \"$i?\", \"chosen\": \"It $i\", \"rejected\": \"No.\"}"; done >pairs.jsonl
    mkdir base
    for at in $(seq 56 27 245); do io malloc:$at:ENOMEM init pairs.jsonl --set init=base -o r.yaml; ended 5 memory; done
}

# A head, rows, what is left of them in the buffer, and the disk.
models()
{
    for i in $(seq 40); do echo "It is a truth $i"; done >truths.txt
    printf 'data: {source: text, path: truths.txt, context: 8, valid_fraction: 0.3, test_fraction: 0}\nmodel: [{transformer: {layers: 1, heads: 2, width: 16}}]\ntrain: {steps: 1, batch: 1}\n' >gpt.yaml
    "$program" train gpt.yaml --run gpt --no-cache --quiet >out
    for at in fwrite:1 fwrite:2 fwrite:20 fsync:1; do io $at:ENOSPC export gpt --gguf m.gguf; full m.gguf; done
}

recipes()
{
    # A recipe is written whole or not at all, so that init can be called again.
    { echo a,b,y; for i in $(seq 40); do echo $((i % 7)),$((i * i % 11)),$((i % 2)); done; } >rows.csv
    "$program" init rows.csv -o whole.yaml >out
    for call in fprintf fwrite fread fflush fsync fclose rename; do
        for at in $(seq 12); do
            rm -f r.yaml
            io $call:$at:EIO init rows.csv -o r.yaml
            n=$((n + 1))
            if [ $rc = 0 ] && cmp -s r.yaml whole.yaml; then continue; fi
            if [ $rc = 4 ] && [ ! -e r.yaml ] && [ "$(grep -c 'error:' err)" = 1 ]; then continue; fi
            bad=$((bad + 1))
            echo "test_faults: FAILED: $what: exit $rc, with $([ -e r.yaml ] || echo no) recipe"
            sed 's/^/  > /' err
        done
    done
}

words()
{
    # The text is not to blame where memory is short.
    printf 'It is a truth universally acknowledged\n' >novel.txt
    for at in $(seq 10 16); do io malloc:$at:ENOMEM pack novel.txt --tokenizer bytes --out packed-$at --quiet; ended 5 'memory'; done
    for at in 2; do # the first is written
        IOFAULT_TO=/state.json train io fopen:$at:EIO
        ended 4 "can't open 'run/checkpoints/step-0000000[48]/state.json': Input/output error"
        rc=0; "$program" "${train[@]}" --run run --resume >out 2>err || rc=$?
        ended 0 ''
        same
    done
}

# ---- a checkpoint has its name after everything in it is on the disk, and is done when the name is there too
order()
{
    rm -rf run
    IOFAULT_ORDER=$work/order LD_PRELOAD=$faults/libiofault.so "$program" "${train[@]}" --run run >out 2>err || { cat err; bad=$((bad + 1)); }
    n=$((n + 1))
    sed "s| $work/| |" order | awk '
        $1 == "sync" { synced[$2] = 1; if ($2 == parent) { kept++; parent = "" } }
        $1 == "rename" && $3 ~ /checkpoints\/step-[0-9]+$/ {
            split("/state.json /model.safetensors /optimizer.safetensors /", names, " ")
            for (i in names) { path = $2 names[i]; sub(/\/$/, "", path); if (!synced[path]) { print path " is not synced before it is renamed to " $3; wrong = 1 } }
            parent = "run/checkpoints"; n++
        }
        END { if (n != 3 || kept != n) { print n + 0 " checkpoints, of " kept + 0 " the folder is synced"; wrong = 1 }; exit wrong }' >wrong ||
        { echo "test_faults: FAILED: the order of syncing and renaming"; cat wrong order; bad=$((bad + 1)); }

    # ---- run.json is for readers: where it can't be replaced at work the training goes on, and writes it at the end
    IOFAULT_TO=/run.json train io rename:2:EACCES # the first is written before the first step
    ended 0 "warning: can't rename to 'run/run.json': Permission denied: it is written again at the next checkpoint"
    same
    grep -q '"status": "done"' run/run.json || { bad=$((bad + 1)); echo "test_faults: FAILED: $what: run.json is not of the end"; }

    # ---- `best`, too: it names the checkpoint before until the next one is written, and that is kept
    IOFAULT_TO=/best train io rename:2:EACCES
    ended 0 "warning: can't rename to 'run/best': Permission denied: it is written again at the next checkpoint"
    same
    more=("${train[@]}" --run run --resume --set train.steps=16)
    train vk vkQueueSubmit2:1000000:DEVICE_LOST
    IOFAULT_TO=/best io rename:1:EACCES "${more[@]}" # as the resumed run begins
    ended 0 "warning: can't rename to 'run/best': Permission denied: it is written again at the next checkpoint"

    # ---- a disk that stays full: the last checkpoint is not written, and run.json is not either, which is told once
    at=$(grep '^rename' order | grep -n 'checkpoints/step-00000012$' | sed -n '1s/:.*//p' || true)
    train io "rename:${at:-0}+:ENOSPC"
    ended 4 "checkpoints/step-00000012': No space left on device"

    # ---- a file system that can no longer be written: what was half done can't be removed either, and the first line is the only one
    train io "rename:${at:-0}+:EROFS,unlink:1+:EROFS,remove:1+:EROFS"
    ended 4 "checkpoints/step-00000012': Read-only file system"
    printf 'It is a truth universally acknowledged\n' >novel.txt
    io "fsync:1+:EROFS,unlink:1+:EROFS,remove:1+:EROFS" pack novel.txt --tokenizer bytes --out read-only --quiet
    ended 4 'Read-only file system'
}

# kept FILE: the trials of this study.json that are done are in s/study.json as they were, and none is infeasible.
kept()
{
    n=$((n + 1))
    python3 - "$1" s/study.json >why <<'P' || { bad=$((bad + 1)); echo "test_faults: FAILED: $what: $(cat why)"; }
import json, sys
was, now = (json.load(open(f))["trials"] for f in sys.argv[1:])
for i, t in enumerate(was):
    if t["state"] == "done" and (i >= len(now) or now[i] != t): sys.exit(print(t["name"], "is lost") or 1)
for t in now:
    if t["state"] == "infeasible": sys.exit(print(t["name"], "is infeasible:", t["why"]) or 1)
P
}
# resumed STUDY FAULT RC ARGS...: this study goes on, and ends with 0 or RC.
resumed()
{
    rm -rf s && cp -a "$1" s
    io "$2" "${@:4}" --resume
    if [ $rc = 0 ]; then ended 0 ''; else ended "$3" ''; fi
    kept "$1/study.json"
}

# ---- a resumed study that ends early keeps what it has done, and takes no lack of memory or of a file for an outcome
studies()
{
    sweep=(study lr digits --no-cache --quiet --points 3 --steps 4 --seeds 1 --set data.workers=1 --study s)
    "$program" "${sweep[@]}" >out && mv s whole-study
    for at in $(seq 60 193 3800); do resumed whole-study malloc:$at:ENOMEM 5 "${sweep[@]}"; done
    for call in fopen:4 fread:5 stat:12 open:2 fsync:1 rename:1 fwrite:1 fflush:1 mkdir:1 flock:2; do
        for at in $(seq ${call#*:}); do resumed whole-study ${call%:*}:$at:EIO 4 "${sweep[@]}"; done
    done
    # One with a trial that was not begun: no memory for its recipe, or a file, ends the study; no memory at work is tried again.
    echo 'optim.lr: {log: [0.0005, 0.05]}' >space.yaml
    search=(study search digits --space space.yaml --no-cache --quiet --trials 2 --steps 4 --seeds 1 --set data.workers=1 --set eval.every=4 --study s)
    rm -rf s
    "$program" "${search[@]}" >out && mv s half-study
    python3 - <<'P'
import json, shutil
s = json.load(open("half-study/study.json"))
for t in s["trials"][1:]: shutil.rmtree("half-study/" + t["name"])
s["trials"] = s["trials"][:1]
json.dump(s, open("half-study/study.json", "w"))
P
    for at in $(seq 1500 237 3400); do resumed half-study malloc:$at:ENOMEM 5 "${search[@]}"; done
    for at in $(seq 12); do resumed half-study fopen:$at:EIO 4 "${search[@]}"; done
    for at in $(seq 8 2 40); do resumed half-study stat:$at:EIO 4 "${search[@]}"; done
    resumed half-study fopen:8:EIO 4 "${search[@]}"
    ended 4 "trial-0001: can't create 's/trial-0001/predictions/step-00000004.csv': Input/output error"
}

# ---- the clock is set back while serve waits: it still looks around, and ends when it is told to
clock()
{
    if ! "$program" --version --verbose | grep -q 'HTTP: no$'; then
        n=$((n + 1))
        LD_PRELOAD=$faults/libclock.so "$program" serve straight --port 0 >out 2>err </dev/null & pid=$!
        for _ in $(seq 300); do if grep -qs answers out; then break; fi; sleep 0.1; done
        kill -INT $pid || true
        for _ in $(seq 300); do if ! kill -0 $pid 2>/dev/null; then break; fi; sleep 0.1; done
        if kill -9 $pid 2>/dev/null; then bad=$((bad + 1)); echo "test_faults: FAILED: serve waits for as long as the clock was set back"; fi
        rc=0; wait $pid || rc=$?
        [ $rc = 130 ] || { bad=$((bad + 1)); echo "test_faults: FAILED: serve ended with $rc"; cat err; }
    fi
}

# VKT_TEST_PARTS: some of the functions above, to check only these. VKT_TEST_PART=K/N: every N-th, from the K-th on.
parts=(set_up at_work validation memory checkpoints timing reading pictures texts models recipes words order studies clock)
read -r -a wanted <<<"${VKT_TEST_PARTS:-${parts[*]}}"
of=${VKT_TEST_PART:-1/1}
for part_at in "${!wanted[@]}"; do
    [ $((part_at % ${of#*/} + 1)) = "${of%/*}" ] || continue
    part_began=$SECONDS
    ${wanted[part_at]}
    echo "ok ${wanted[part_at]} ($((SECONDS - part_began)) s)"
done
echo "test_faults: $n cases, $bad failed"
[ $bad = 0 ]
