# shellcheck shell=bash disable=SC2086
# gpu-check --visit, sourced by it: which parts a stage has, in which order, and the limit of each in seconds. What is right comes before what is
# fast, GPT-2's step first. $V: vktrain, $R: the stage's results, $cap: flags for each vktrain command.
cp "$here"/visit/gpt2*.yaml . && ln -s "$here/pictures" pictures # short names: these lists are split at spaces
gpt2=gpt2.yaml chars=char-gpt resnet="fashion-resnet20 --set data.path=pictures"
checked=matmul,attention,attention_bwd memory=optim_update,layernorm,norm_bwd,softmax_xent,cast,embedding_bwd steps=20 brief=--brief
key="--key" compiled='GPT-2 124M|GPT 0.8M|ResNet-20|MLP 784'
if [ -n "$rehearse" ]; then # tiny models, no time that means anything
  gpt2=gpt2-rehearsal.yaml chars=gpt2-rehearsal.yaml resnet="fashion-cnn --set data.path=pictures --set train.batch=2 --set train.steps=4" checked=softmax memory=cast steps=2 key="--key --once"
  compiled='MLP 64'
fi

profile() { # profile LIMIT NAME RECIPE-ARGUMENTS...
  local limit=$1 name=$2; shift 2
  part "$limit" "$name" "$V" profile "$@" $cap --steps $steps --json -o "$R/$name.trace.json" --force
}
bench() { # bench LIMIT NAME ARGUMENTS...
  local limit=$1 name=$2; shift 2
  part "$limit" "$name" "$V" bench "$@" $cap --quiet --json "$R/$name.json" --force
}
torch() { # torch LIMIT NAME ARGUMENTS...: PyTorch on the rows whose names are in key-names.txt
  local limit=$1 name=$2; shift 2
  has_torch || { echo "left  $name: no python3 with PyTorch and CUDA here"; return; }
  [ -s "$R/key-names.txt" ] || timeout 10 "$V" bench --key --list >"$R/key-names.txt"
  part "$limit" "$name" python3 "$here/compare/peer_torch.py" "$R/key-names.txt" --seconds $((limit - 10)) $brief "$@" --json "$R/$name.json"
}
facts() {
  uname -r; grep -m1 'model name' /proc/cpuinfo; nproc; head -n 1 /proc/meminfo
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.max.sm,clocks.mem,power.limit,pstate,ecc.mode.current --format=csv
  ldconfig -p | grep -E 'libvulkan|libGLX_nvidia|libEGL_nvidia|libnvidia-gpucomp'; ls /usr/share/vulkan/icd.d /etc/vulkan/icd.d /usr/local/nvidia/share/vulkan/icd.d
  env | grep -E 'VK_|XDG|HOME'; df -h "$out" | tail -n 1
  return 0
} 2>&1

# Every kernel of products on the products that decide, as text: a row as soon as it is there.
candidates() { # candidates LIMIT NAME OUT LAYOUT MxNxK...
  local limit=$1 name=$2 out_type=$3 layout=$4; shift 4
  [ -n "$rehearse" ] || part "$limit" "$name" "$V" tune --list --type bf16 --out "$out_type" --layout "$layout" "$@" $cap
}
# Attention's kernels for 16 bits, by the numbers of --cap attention; 0: the device's own choice.
attentions() {
  local a steps=5
  for a in 5 6 7; do profile 20 "attention-$a" $gpt2 --no-tune --cap "attention=$a"; done
}
# Whole trainings: their curves lie beside a CPU driver's.
curve() { # curve LIMIT NAME RECIPE-ARGUMENTS...
  local limit=$1 name=$2; shift 2
  part "$limit" "$name" "$V" train "$@" $cap --run "runs/$name" --quiet
  cp "runs/$name/metrics.csv" "$R/$name.csv" 2>/dev/null; cp "runs/$name/run.json" "$R/$name-run.txt" 2>/dev/null
}

first() {
  part 10 facts bash -c "$(declare -f facts); out='$out'; facts"
  part 20 devices "$V" devices $cap && cat "$R/devices.txt"
  part 20 device-profile "$V" devices --json $cap
  part 60 doctor-products "$V" doctor --verbose --op $checked $cap
  candidates 30 candidates bf16 NT 4096x4096x4096 8192x768x3072
  profile 60 gpt2-table $gpt2 --no-tune
  profile 20 digits digits --no-tune
  profile 20 char-gpt $chars --no-tune
  candidates 40 candidates-nn bf16 NN 8192x3072x768 8192x768x3072 1024x768x50304
  candidates 40 candidates-tn f32 TN 3072x768x8192 768x768x8192
  [ -n "$rehearse" ] || attentions
  curve 25 train-digits digits
  [ -n "$rehearse" ] || part 60 doctor "$V" doctor $cap
}
second() {
  bench 100 key $key $untuned
  torch 70 torch
  torch 70 torch-compiled --compile --only "$compiled"
  profile 60 gpt2-table $gpt2 --no-tune
  profile 70 gpt2-tuned $gpt2 $untuned
  part 15 gpt2-kernels "$V" train $gpt2 --explain $cap
  profile 40 resnet20 $resnet $untuned
  profile 40 resnet20-bf16 $resnet --set train.precision=bf16 $untuned
  [ -n "$rehearse" ] || curve 40 train-char-gpt char-gpt
}
third() {
  bench 60 memory --op $memory ${rehearse:+--once}
  if [ -z "$rehearse" ]; then
    for step in 'ResNet-50' 'SmolLM2-135M, 8' 'SmolLM2-135M LoRA, 8'; do
      name=step-$(tr -c 'a-zA-Z0-9\n' - <<<"$step")
      bench 40 "$name" --quick --step "$step" && cut -f2 <("$V" bench --list) | grep -F "$step" | sed 's/^/steps\t/' >"$R/$name-names.txt"
      ! has_torch || part 30 "torch-$name" python3 "$here/compare/peer_torch.py" "$R/$name-names.txt" --brief --json "$R/torch-$name.json"
    done
    timeout -k 3 60 "$V" doctor --compile $cap >"$R/compile.txt" 2>&1 & compiling=$!
  fi
  for t in $three_tests; do part 40 "$t" "$bin/$t"; done
}
