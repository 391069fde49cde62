#!/usr/bin/env bash
# Hugging Face folders as GGUF files: llama.cpp (Debian testing's packages, unpacked beside, in the lab's root) writes the same greedy
# text as vktrain does of the folder, and of the file. Run by hand where the lab is; of random weights the vocabulary must have no more
# ids than the tokenizer, since vktrain never writes an id without a token.
# usage: check_llama.sh PROGRAM FOLDER...
set -euo pipefail
program=$(realpath "${1:?the program}")
shift
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lab=${VKT_LAB_DIR:-$here/../../../shared/lab}
work=$(mktemp -d /tmp/vkt-llama.XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$lab/in-testing" sh -c 'apt-get -qq download llama.cpp-tools libllama0 libcurl4t64 libggml0 && for f in *.deb; do dpkg -x "$f" root; done' 2>/dev/null
cat >greedy <<'RUN'
libs=$PWD/root/usr/lib/x86_64-linux-gnu
LD_LIBRARY_PATH=$libs:$libs/llama root/usr/bin/llama-completion -m "$1" -p "$2" -n 12 --temp 0 -no-cnv --no-warmup -c 128 \
    -ctk f32 -ctv f32 -fa off --device none </dev/null 2>/dev/null | tr -d '\000' | sed 's/^ //'
RUN
bad=0 prompt='The quick'
for folder; do
    folder=$(realpath "$folder")
    "$program" export "$folder" --gguf model.gguf --quiet >/dev/null
    theirs=
    for try in 1 2 3 4 5; do # its output is sometimes cut short, where bytes are no whole character
        now=$("$lab/in-testing" sh greedy model.gguf "$prompt")
        [ ${#now} -le ${#theirs} ] || theirs=$now
    done
    for ours in "$folder" model.gguf; do
        text=$("$lab/with-driver" mesa25 "$program" generate "$ours" --prompt "$prompt" --tokens 12 --temperature 0 2>/dev/null | tr -d '\000')
        [ "$text" = "$theirs" ] && echo "ok   $ours: $text" || { echo "FAIL $ours: '$text', llama.cpp: '$theirs'"; bad=1; }
    done
    rm model.gguf
done
exit $bad
