#!/usr/bin/env bash
# The rooms of the source and their order, checked on every #include: what points up or sideways fails.
#   base <- gpu, formats, comm, jinja <- tokenizers <- data <- baseline; tensor <- onnx <- nn <- optim <- recipe <- runs <- models <- train
#        <- study, profile, bench <- report <- the program
# data and tensor have an order inside, too (the table below). Only src/gpu includes volk or Vulkan; system headers stand in
# src/base/os_*.[ch] and tools/program/cli/term.c. No two files under src have the same name.
# usage: check_layers.sh [ROOT]     without ROOT the check is first run on includes that it must refuse
#        check_layers.sh --lines    checks lines "path:number:#include ..." from standard input instead of the source's
set -euo pipefail

# Reads "path:line:#include ..." lines; prints what is refused.
layers()
{
    awk '
    BEGIN {
        may["base"] = "base"
        may["gpu"] = "base gpu"
        may["formats"] = "base formats"
        may["comm"] = "base comm"
        may["jinja"] = "base jinja"
        may["tokenizers"] = "base formats tokenizers"
        may["data/parts"] = "base formats tokenizers data/parts"
        may["data/chat"] = "base formats jinja data/chat"
        may["data/text"] = may["data/parts"] " data/chat data/text"
        may["data/tables"] = may["data/parts"] " data/text data/tables"
        may["data/pictures"] = may["data/parts"] " data/tables data/pictures"
        may["data/boxes"] = may["data/pictures"] " data/boxes"
        may["data/points"] = may["data/boxes"] " data/points"
        may["data/instances"] = may["data/boxes"] " data/instances"
        may["data"] = may["data/points"] " data/instances data/chat data/text data"
        may["baseline"] = may["data"] " baseline"
        may["tensor/graph"] = "base gpu tensor/graph"
        may["tensor/kernels"] = may["tensor/graph"] " tensor/kernels"
        may["tensor/twins"] = may["tensor/kernels"] " tensor/twins"
        may["tensor/ops"] = may["tensor/twins"] " tensor/ops"
        may["tensor/passes"] = may["tensor/ops"] " tensor/passes"
        may["tensor/plan"] = may["tensor/passes"] " tensor/plan"
        may["tensor/run"] = may["tensor/plan"] " tensor/run"
        may["tensor/check"] = may["tensor/run"] " tensor/check"
        may["tensor"] = may["tensor/check"] " tensor"
        may["onnx"] = may["tensor"] " formats onnx"
        may["nn"] = may["onnx"] " nn"
        may["optim"] = may["nn"] " optim"
        may["recipe"] = may["optim"] " " may["data"] " recipe"
        may["runs"] = may["recipe"] " runs"
        may["models"] = may["runs"] " models"
        may["train/measures"] = may["models"] " comm baseline train/measures"
        may["train"] = may["train/measures"] " train"
        may["study"] = may["train"] " study"
        may["profile"] = may["train"] " profile"
        may["bench"] = may["train"] " bench"
        may["report"] = may["train"] " study bench report"
        for (room in may) known[room] = 1
        libc = " assert ctype errno float inttypes limits locale math setjmp signal stdalign stdarg stdbool stddef " \
               "stdint stdio stdlib stdnoreturn string time "
    }
    # The room of a path "a/b/file.h" whose parts are p[first..last].
    # The families of ops, the formats of models, and languages and ranks in training are shelves of one room each.
    function room_of(p, first, last,   r, i) {
        r = p[first]; for (i = first + 1; i < last; i++) r = r "/" p[i]
        sub(/^tensor\/ops\/(elements|matmul|conv|norm|loss|language|experts|general|optim)$/, "tensor/ops", r)
        sub(/^models\/(huggingface|gguf|peft)$/, "models", r)
        sub(/^train\/(detect|language|points|instances|ranks)$/, "train", r)
        return r
    }
    # A public header belongs to a whole room: to data/text and to data, data.h is its own.
    function own_public(layer, header) { return header == layer || index(layer, header "/") == 1 }
    function refuse(why) { print path ":" line ": includes " what ": " why; bad = 1 }
    function check(layer, target,   allowed) {
        if (!(layer in may)) { refuse("folder \"" layer "\" is no room of check_layers.sh: add it there, with what it may include"); return }
        allowed = " " may[layer] " "
        if (index(allowed, " " target " ") == 0) refuse(layer " may include " may[layer] " only")
    }
    {
        path = $0; sub(/:.*/, "", path)
        line = $0; sub(/^[^:]*:/, "", line); sub(/:.*/, "", line)
        what = $0; sub(/^[^:]*:[0-9]*:[ \t]*#[ \t]*include[ \t]*/, "", what); sub(/[ \t]*(\/[\/*].*)?$/, "", what)
        name = substr(what, 2, length(what) - 2)
        quoted = substr(what, 1, 1) == "\""
        if (!quoted && substr(what, 1, 1) != "<") { refuse("an include by macro can not be checked"); next }
        file = path; sub(/.*\//, "", file)
        n = split(path, p, "/"); m = split(name, q, "/")
        public = m == 2 && q[1] == "vktrain"
        header = q[m]; sub(/\.h$/, "", header)
        if (public) sub(/_.*/, "", header) # tensor_ops.h is a part of tensor.h

        # Vulkan and system headers, wherever they stand
        if (name ~ /^(volk|vulkan)(\/|\.h)/ && path !~ /^src\/gpu\// && path != "tools/examples/replay_row.c") refuse("only src/gpu knows Vulkan, and replay_row.c, which runs without vktrain")
        if (name ~ /^(sys\/|windows|winsock|unistd|pthread|dirent|fcntl|io\.h|dlfcn|termios|poll)/ &&
            path !~ /^src\/base\/os_[a-z0-9_]*\.[ch]$/ && path !~ /^tools\/program\/(cli\/term\.c|serve\/http_os\.[ch]|ui\/ui_os_[a-z0-9]*\.c)$/)
            refuse("system headers stand in src/base/os_*.[ch], tools/program/cli/term.c, serve/http_os.[ch] and ui/ui_os_*.c")

        if (p[1] == "include") {
            layer = file; sub(/(_.*)?\.h$/, "", layer)
            if (layer == "vktrain" || (public && header == layer)) next
            if (public) check(layer, header)
            else if (quoted) refuse("a public header includes public headers only")
        } else if (p[1] == "src") {
            layer = room_of(p, 2, n)
            if (public && header == "vktrain") refuse("name the layers that are meant")
            else if (public && own_public(layer, header)) next
            else if (public) check(layer, header)
            else if (name ~ /^shaders\/[a-z_]*\.h$/) next
            else if (quoted && !(room_of(q, 1, m) in known)) refuse("write it as \"room/file.h\"")
            else if (room_of(q, 1, m) in known) check(layer, room_of(q, 1, m))
        } else if (p[1] == "tools" && file != "embed.c" && file !~ /^bench_/) {
            if (public || name == "jansson.h" || name == "zlib.h" || (quoted && m == 1)) next
            if (m == 1 && index(libc, " " header " ")) next
            if (path ~ /^tools\/program\/(cli\/term|serve\/http_os|ui\/ui_os_[a-z0-9]*)\.c$/ && !quoted) next
            if (path == "tools/examples/replay_row.c" && name == "vulkan/vulkan.h") next
            if (path ~ /^tools\/program\/serve\/http_(inside|os)\.h$/ && !quoted && name ~ /^(microhttpd\.h|netinet\/in\.h|pthread\.h)$/) next
            refuse("the program uses vktrain/*.h, the C library, jansson and zlib only")
        }
    }
    END { exit bad }'
}

includes()
{
    # tools/windows has programs of its own, for tests
    grep -rnE '^[ \t]*#[ \t]*include' include src tools --include='*.c' --include='*.h' --exclude-dir=windows
}

# Each line must be refused, and those after "ok" must not.
self_test()
{
    local n=0 text
    while IFS= read -r text; do
        [ -n "$text" ] || continue
        n=$((n + 1))
        if [ "${text#ok }" != "$text" ]; then
            printf '%s\n' "${text#ok }" | layers >/dev/null || { echo "check_layers: self-test: refused '${text#ok }'" >&2; return 1; }
        elif printf '%s\n' "$text" | layers >/dev/null; then
            echo "check_layers: self-test: let '$text' pass" >&2
            return 1
        fi
    done <<'CASES'
src/base/log.c:1:#include "gpu/commands.h"
src/base/log.c:1:#include "vktrain/gpu.h"
src/formats/yaml.c:1:#include "recipe/recipe.h"
src/formats/gguf.c:1:#include "data/parts/parts.h"
src/gpu/slab.c:1:#include "tensor/graph/op.h"
src/gpu/slab.c:1:  #  include <tensor/graph/op.h>
src/gpu/slab.c:1:#include "formats/yaml.h"
src/jinja/template.c:1:#include "data/chat/conversation.h"
src/jinja/template.c:1:#include "formats/json_text.h"
src/tokenizers/tokenizer.c:1:#include "data/chat/conversation.h"
src/tokenizers/tokenizer.c:1:#include "vktrain/data.h"
src/data/parts/split.c:1:#include "data/dataset.h"
src/data/parts/split.c:1:#include "data/tables/csv.h"
src/data/tables/csv.c:1:#include "jinja/template.h"
src/data/text/corpus.c:1:#include "data/tables/csv.h"
src/data/text/corpus.c:1:#include "data/pictures/picture.h"
src/data/loader.c:1:#include "gpu/commands.h"
src/data/loader.c:1:#include "comm/comm.h"
src/tensor/graph/op.h:7:#include "vktrain/nn.h"
src/tensor/graph/op.h:7:#include "tensor/ops/ops.h"
src/tensor/ops/rows.c:1:#include "tensor/plan/plan.h"
src/tensor/ops/norm/ops_norm.c:1:#include "tensor/plan/plan.h"
src/tensor/ops/nowhere/ops_norm.c:1:#include "tensor/ops/ops.h"
src/tensor/kernels/conv.h:1:#include "tensor/ops/ops.h"
src/tensor/plan/plan.c:1:#include "tensor/check/tune.h"
src/tensor/run/run.c:1:#include "tensor/check/tune.h"
src/tensor/run/run.c:1:#include "vktrain/data.h"
src/nn/layers.c:1:#include "optim/optim_flat.h"
src/nn/layers.c:1:#include "vktrain/optim.h"
src/nn/layers.c:1:#include "data/dataset.h"
src/optim/optim.c:1:#include "train/session.h"
src/optim/optim.c:1:#include "recipe/options.h"
src/recipe/config.c:1:#include "runs/run_folder.h"
src/recipe/config.c:1:#include "models/trained.h"
src/runs/history.c:1:#include "models/hf.h"
src/models/onnx.c:1:#include "train/session.h"
src/comm/mpi.c:1:#include "vktrain/data.h"
src/train/steps.c:1:#include "report/plot.h"
src/train/steps.c:1:#include "vktrain/study.h"
src/study/study_lr.c:1:#include "report/plot.h"
src/bench/bench.c:1:#include "report/plot.h"
src/profile/trace.c:1:#include "bench/bench.h"
src/train/steps.c:1:#include "../report/plot.h"
src/train/steps.c:1:#include "steps.h"
src/train/steps.c:1:#include "tensor/nowhere/steps.h"
src/train/steps.c:1:#include "vktrain/vktrain.h"
src/train/steps.c:1:#include HEADER
src/tensor/run/run.c:1:#include <vulkan/vulkan.h>
src/train/steps.c:1:#include "volk.h"
src/train/steps.c:1:#include <unistd.h>
src/data/loader.c:1:#include <pthread.h>
src/base/log.c:1:#include <windows.h>
src/widget/a.c:1:#include "base/os.h"
src/baseline/ridge.c:1:#include "train/session.h"
src/data/loader.c:1:#include "baseline/linear.h"
include/vktrain/gpu.h:1:#include "vktrain/tensor.h"
include/vktrain/data.h:1:#include "vktrain/gpu.h"
include/vktrain/tensor_ops.h:1:#include "vktrain/nn_layers.h"
ok include/vktrain/tensor_ops.h:1:#include "vktrain/tensor_graph.h"
ok include/vktrain/nn.h:1:#include "vktrain/tensor_ops.h"
include/vktrain/train.h:1:#include "vktrain/report.h"
include/vktrain/nn.h:1:#include "base/os.h"
tools/program/main.c:1:#include "base/os.h"
tools/program/cmd_eval.c:1:#include "runs/run_folder.h" /* a comment */
tools/program/cmd_eval.c:1:#include <yaml.h>
tools/program/cmd_eval.c:1:#include <sys/stat.h>
tools/program/cmd_eval.c:1:#include <volk.h>
tools/program/cmd_serve.c:1:#include <microhttpd.h>
tools/program/serve/http_server.c:1:#include <sys/stat.h>
ok tools/program/serve/http_inside.h:1:#include <microhttpd.h>
ok tools/program/serve/http_os.c:1:#include <sys/socket.h>
ok src/runs/run_folder.c:1:#include "base/os.h"
ok src/train/steps.c:1:#include "comm/comm.h" // why
ok src/train/steps.c:1:#include "data/text/corpus.h"
ok src/data/text/corpus.c:1:#include "vktrain/data.h"
ok src/data/dataset.c:1:#include "data/tables/csv.h"
ok src/optim/optim.c:1:#include "vktrain/nn.h"
ok src/optim/optim.c:1:#include "shaders/rng.h"
ok src/report/report_study.c:1:#include "study/study_run.h"
ok src/gpu/gpu_vk.h:1:#include <volk.h>
ok src/base/os_posix.c:1:#include <sys/stat.h>
ok tools/program/cli/term.c:1:#include <sys/ioctl.h>
ok tools/build/embed.c:1:#include "base/os.h"
ok tools/bench_x.c:1:#include "gpu/commands.h"
ok tools/program/main.c:1:#include "cli.h"
ok tools/program/main.c:1:#include <jansson.h>
CASES
    [ "$n" -ge 40 ]
}

if [ "${1:-}" = --lines ]; then
    layers
    exit
fi
root=${1:-$(dirname "$0")/..}
[ $# -gt 0 ] || self_test
cd "$root"
list=$(includes) || { echo "check_layers: no #include in '$root': is it vktrain's source?" >&2; exit 1; }
if ! printf '%s\n' "$list" | layers; then
    echo "check_layers: the includes above point the wrong way (the order of the rooms stands in its head)" >&2
    exit 1
fi
echo "check_layers: $(printf '%s\n' "$list" | wc -l) includes point down"
