#!/usr/bin/env bash
# The layers of DESIGN.md, checked on every #include: up or sideways fails.
#   base <- gpu <- tensor <- nn, optim <- train <- study, report <- tools; data and comm know only base.
# optim may include nn (its public header does: it collects a model's parameters), nn may not include optim.
# Only src/gpu includes volk or Vulkan; system headers stand in src/base/os_*.c and tools/term.c.
# usage: check_layers.sh [ROOT]; without ROOT the check is first run on includes that it must refuse.
set -euo pipefail

# Reads "path:line:#include ..." lines; prints what is refused.
layers()
{
    awk '
    BEGIN {
        may["base"] = "base"
        may["gpu"] = "base gpu"
        may["tensor"] = "base gpu tensor"
        may["nn"] = "base gpu tensor nn"
        may["optim"] = "base gpu tensor nn optim"
        may["data"] = "base data"
        may["comm"] = "base comm"
        may["train"] = "base gpu tensor nn optim data comm train"
        may["study"] = may["train"] " study"
        may["report"] = may["train"] " report"
        split("base gpu tensor nn optim data comm train study report", all, " ")
        for (i in all) known[all[i]] = 1
        libc = " assert ctype errno float inttypes limits locale math setjmp signal stdalign stdarg stdbool stddef " \
               "stdint stdio stdlib stdnoreturn string time "
    }
    function refuse(why) { print path ":" line ": includes " what ": " why; bad = 1 }
    function check(layer, target,   allowed) {
        if (!(layer in may)) { refuse("folder \"" layer "\" is no layer of DESIGN.md: add it to check_layers.sh"); return }
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

        # Vulkan and system headers, wherever they stand
        if (name ~ /^(volk|vulkan)(\/|\.h)/ && path !~ /^src\/gpu\//) refuse("only src/gpu knows Vulkan")
        if (name ~ /^(sys\/|windows|winsock|unistd|pthread|dirent|fcntl|io\.h|dlfcn|termios|poll)/ &&
            path !~ /^src\/base\/os_[a-z0-9]*\.c$/ && path != "tools/term.c")
            refuse("system headers stand in src/base/os_*.c and tools/term.c")

        if (p[1] == "include") {
            layer = file; sub(/\.h$/, "", layer)
            if (layer == "vktrain") next
            if (public) check(layer, header)
            else if (quoted) refuse("a public header includes public headers only")
        } else if (p[1] == "src") {
            if (public && header == "vktrain") refuse("name the layers that are meant")
            else if (public) check(p[2], header)
            else if (name ~ /^\.\.\/\.\.\/shaders\/[a-z_]*\.h$/) next
            else if (quoted && (m != 2 || !(q[1] in known))) refuse("write it as \"layer/file.h\"")
            else if (m == 2 && (q[1] in known)) check(p[2], q[1])
        } else if (p[1] == "tools" && file != "embed.c" && file !~ /^bench_/) {
            if (public || name == "jansson.h" || name == "zlib.h" || (quoted && m == 1)) next
            if (m == 1 && index(libc, " " header " ")) next
            if (path == "tools/term.c" && !quoted) next
            refuse("the program uses vktrain/*.h, the C library, jansson and zlib only")
        }
    }
    END { exit bad }'
}

includes()
{
    grep -rnE '^[ \t]*#[ \t]*include' include src tools --include='*.c' --include='*.h'
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
src/base/base.c:1:#include "gpu/stream.h"
src/base/base.c:1:#include "vktrain/gpu.h"
src/gpu/slab.c:1:#include "tensor/op.h"
src/gpu/slab.c:1:  #  include <tensor/op.h>
src/tensor/op.h:7:#include "vktrain/nn.h"
src/nn/layers.c:1:#include "optim/optim_flat.h"
src/nn/layers.c:1:#include "vktrain/optim.h"
src/nn/layers.c:1:#include "data/dataset.h"
src/optim/optim.c:1:#include "train/session.h"
src/data/csv.c:1:#include "gpu/stream.h"
src/data/csv.c:1:#include "comm/comm.h"
src/comm/mpi.c:1:#include "vktrain/data.h"
src/train/run.c:1:#include "report/plot.h"
src/train/run.c:1:#include "vktrain/study.h"
src/study/lr.c:1:#include "report/plot.h"
src/report/plot.c:1:#include "study/lr.h"
src/train/run.c:1:#include "../report/plot.h"
src/train/run.c:1:#include "run.h"
src/train/run.c:1:#include "vktrain/vktrain.h"
src/train/run.c:1:#include HEADER
src/tensor/run.c:1:#include <vulkan/vulkan.h>
src/train/run.c:1:#include "volk.h"
src/train/run.c:1:#include <unistd.h>
src/data/loader.c:1:#include <pthread.h>
src/base/base.c:1:#include <windows.h>
src/widget/a.c:1:#include "base/util.h"
include/vktrain/gpu.h:1:#include "vktrain/tensor.h"
include/vktrain/data.h:1:#include "vktrain/gpu.h"
include/vktrain/train.h:1:#include "vktrain/report.h"
include/vktrain/nn.h:1:#include "base/util.h"
tools/main.c:1:#include "base/util.h"
tools/cmd_eval.c:1:#include "train/run.h" /* a comment */
tools/cmd_eval.c:1:#include <yaml.h>
tools/cmd_eval.c:1:#include <sys/stat.h>
tools/cmd_eval.c:1:#include <volk.h>
ok src/train/run.c:1:#include "base/os.h"
ok src/train/run.c:1:#include "comm/comm.h" // why
ok src/optim/optim.c:1:#include "vktrain/nn.h"
ok src/optim/optim.c:1:#include "../../shaders/rng.h"
ok src/gpu/gpu_vk.h:1:#include <volk.h>
ok src/base/os_posix.c:1:#include <sys/stat.h>
ok tools/term.c:1:#include <sys/ioctl.h>
ok tools/embed.c:1:#include "base/util.h"
ok tools/bench_x.c:1:#include "gpu/stream.h"
ok tools/main.c:1:#include "cli.h"
ok tools/main.c:1:#include <jansson.h>
CASES
    [ "$n" -ge 40 ]
}

root=${1:-$(dirname "$0")/..}
[ $# -gt 0 ] || self_test
cd "$root"
list=$(includes) || { echo "check_layers: no #include in '$root': is it vktrain's source?" >&2; exit 1; }
if ! printf '%s\n' "$list" | layers; then
    echo "check_layers: the includes above point the wrong way (DESIGN.md, Layout)" >&2
    exit 1
fi
echo "check_layers: $(printf '%s\n' "$list" | wc -l) includes point down"
