#!/usr/bin/env bash
# The greedy text of llama.cpp, prompt included, in fp32 on the CPU: llama_greedy.sh MODEL.gguf PROMPT TOKENS [LLAMA.CPP'S OPTIONS...], in the
# lab. Debian testing's packages are unpacked once, into VKT_LLAMA (/tmp/vkt-llama-cpp), where the lab's root sees them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lab=${VKT_LAB_DIR:-$here/../../../shared/lab} root=${VKT_LLAMA:-/tmp/vkt-llama-cpp}
if [ ! -x "$root/usr/bin/llama-completion" ]; then
    mkdir -p "$root"
    (cd "$root" && "$lab/in-testing" sh -c 'apt-get -qq download llama.cpp-tools libllama0 libcurl4t64 libggml0 && for f in *.deb; do dpkg -x "$f" .; done' 2>/dev/null)
fi
model=$1 prompt=$2 tokens=$3 libs=$root/usr/lib/x86_64-linux-gnu
shift 3
"$lab/in-testing" env LD_LIBRARY_PATH="$libs:$libs/llama" "$root/usr/bin/llama-completion" -m "$model" -p "$prompt" -n "$tokens" "$@" --temp 0 -no-cnv --no-warmup \
    -c 128 -ctk f32 -ctv f32 -fa off --device none </dev/null 2>/dev/null | tr -d '\000' | sed '1s/^ //'
