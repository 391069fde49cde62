#!/usr/bin/env bash
# Whether `vktrain study batch-size` says the same twice in a row while two processes spin, or that the machine is too busy to tell.
# usage: busy_study.sh VKTRAIN [PAIRS [SPINNING [ARGUMENT...]]]     arguments of the study; default: digits --to 512
set -euo pipefail

program=$(realpath "${1:?the program}")
pairs=${2:-3}
spinning=${3:-2}
[ $# -gt 3 ] && study=("${@:4}") || study=(digits --to 512)
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-busy.XXXXXX")
pids=()
finish() { [ ${#pids[@]} = 0 ] || kill "${pids[@]}"; rm -rf "$work"; }
trap finish EXIT
for ((i = 0; i < spinning; i++)); do
    (while :; do :; done) &
    pids+=($!)
done
cd "$work"
same=0 unsure=0 differ=0
for ((i = 0; i < pairs; i++)); do
    said=()
    for k in a b; do
        "$program" study batch-size "${study[@]}" --study "$i$k" --json >"$i$k.json"
        said+=("$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["advice"][0])' "$i$k.json")")
        echo "pair $i$k, load $(cut -d' ' -f1 /proc/loadavg): ${said[-1]}"
    done
    # The size is what counts, not the figures after it.
    a=${said[0]%%:*} b=${said[1]%%:*}
    if [[ $a == *"too busy"* || $b == *"too busy"* ]]; then
        unsure=$((unsure + 1))
    elif [ "${a%% *}" = "${b%% *}" ]; then
        same=$((same + 1))
    else
        differ=$((differ + 1))
    fi
done
echo "$pairs pairs, $spinning spinning: $same the same, $unsure too busy to tell, $differ that differ"
[ $differ = 0 ]
