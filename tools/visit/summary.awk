# What a visit measured, beside what was predicted and what PyTorch took: awk -f summary.awk predictions.tsv FILE...
# FILE: PART.json of `vktrain bench`, torch*.json and torch-compiled*.json of peer_torch.py, PART.txt of `vktrain profile --json`. Both write a
# key a line; of candidates.txt (`vktrain tune --list`) the rows of 4096 x 4096 x 4096. Nothing else is parsed. Files that are empty or cut off give what they have.
function text(s) { sub(/^[^:]*: */, "", s); sub(/,? *$/, "", s); gsub(/^"|"$/, "", s); return s == "null" ? "" : s }
function show(v) { return v == "" ? "-" : v + 0 >= 100 ? sprintf("%.0f", v) : sprintf("%.3g", v) }
# field of the row or profile `from` as `who` measured it: m: vktrain, t: PyTorch, c: PyTorch compiled
function value(who, from, field) {
  if (from ~ /^profile:/) return who == "m" ? of[who, substr(from, 9), field == "step" ? "step_median_ms" : "empty_kernel_us"] : ""
  if (field == "tf") return of[who, from, "gflops"] == "" ? "" : of[who, from, "gflops"] / 1000
  return of[who, from, field]
}
# PyTorch has no profile: the same step in its list
function peer(who, from, field,   name) {
  name = from
  if (from ~ /^candidates/) name = "matmul bf16 NT M 4096 N 4096 K 4096, to bf16"
  if (from ~ /^profile:gpt2/) name = "GPT-2 124M, 8 x 1024 tokens, bf16"
  if (from ~ /^profile:char/) name = "GPT 0.8M, 12 x 64 tokens, adamw"
  if (from ~ /^profile:digits/) name = "MLP 64-128-10, batch 64, adam"
  return field == "empty" || field == "percent" ? "" : value(who, name, field == "step" ? "value" : field)
}
FNR == 1 {
  part = FILENAME; sub(/.*\//, "", part)
  who = part ~ /^predictions/ ? "p" : part ~ /^torch-compiled.*json$/ ? "c" : part ~ /^torch.*json$/ ? "t" : "m"
  bench = part ~ /\.json$/; sub(/\.[a-z]*$/, "", part); name = ""
}
part == "candidates" && /^[NT][NT] / { asked = / 4096 x 4096 x 4096,/ }
part == "candidates" && asked && /^  matrix/ && !/wrong|can.t run/ && $3 + 0 > 0 {
  family = "candidates:" ($1 ~ /^matrix2/ ? "matrix2" : "matrix")
  if ($3 * 1000 > of["m", family, "gflops"] + 0) { of["m", family, "gflops"] = $3 * 1000; fastest[family] = $1 }
}
who == "p" { if ($0 !~ /^#/) line[++n_lines] = $0; next }
bench && /^ *"name": / { name = text($0); if (!((who, name) in seen)) { seen[who, name] = 1; order[++n_rows] = who SUBSEP name } next }
bench && name != "" && /^ *"(unit|value|gflops|percent|error|refused|note)": / { key = $0; sub(/^ *"/, "", key); sub(/".*/, "", key); of[who, name, key] = text($0); next }
bench && /^ *}/ { name = "" }
!bench && /^ *"(step_median_ms|kernels_ms|busy|dispatches|empty_kernel_us|verdict)": / {
  key = $0; sub(/^ *"/, "", key); sub(/".*/, "", key)
  if (key == "step_median_ms" && !(part in profiled)) { profiled[part] = ++n_profiles; profile[n_profiles] = part }
  if (of[who, part, key] == "") of[who, part, key] = text($0)
}
!bench && /^ *"op": / { op = text($0) }
!bench && /^ *"result": / { op = op " " text($0) }
!bench && /^ *"count": / { count = text($0) }
!bench && /^ *"ms": / { ms = text($0) }
!bench && /^ *"gflops": / { gflops = text($0) }
!bench && /^ *"gbps": / { if (kernels[part]++ < 6) kernel[part, kernels[part]] = sprintf("%9.3f ms x%-3d %.60s  %.1f TF %.0f GB/s", ms, count, op, gflops / 1000, text($0)) }
END {
  print "== what decides: measured, predicted for an H100, PyTorch here (its prediction), PyTorch compiled"
  for (i = 1; i <= n_lines; i++) {
    split(line[i], f, "\t")
    mine = value("m", f[3], f[4]); t = peer("t", f[3], f[4]); c = peer("c", f[3], f[4])
    if (of["m", f[3], "refused"] != "") mine = "REFUSED"
    if (mine == "" && t == "" && c == "") { missing = missing (missing == "" ? "" : "; ") f[1] " " f[2]; continue }
    printf "%2s %-29s %8s %-5s predicted %-6s PyTorch %8s (%s) compiled %8s\n", f[1], f[2], mine == "REFUSED" ? mine : show(mine), f[5], f[6], show(t), f[7] == "" ? "-" : f[7], show(c)
  }
  for (family in fastest) print "fastest of " substr(family, 12) ": " fastest[family]
  if (missing != "") print "not measured in this stage: " missing
  for (i = 1; i <= n_profiles; i++) {
    p = profile[i]
    printf "== %s: step %s ms, kernels %s ms, busy %s, %s dispatches, empty kernel %s us, %s\n", p, show(of["m", p, "step_median_ms"]), show(of["m", p, "kernels_ms"]),
      show(of["m", p, "busy"]), of["m", p, "dispatches"], show(of["m", p, "empty_kernel_us"]), of["m", p, "verdict"]
    for (k = 1; k <= kernels[p] && k <= 6; k++) print kernel[p, k]
  }
  for (i = 1; i <= n_rows; i++) {
    split(order[i], f, SUBSEP)
    if (f[1] == "m" && of["m", f[2], "refused"] != "") printf "REFUSED %s: %.100s\n", f[2], of["m", f[2], "refused"]
  }
  for (i = 1; i <= n_rows; i++) {
    split(order[i], f, SUBSEP)
    if (f[1] != "m" || of["m", f[2], "value"] == "") continue
    printf "%-58s %10s %-7s %8s err %s%s\n", f[2], show(of["m", f[2], "value"]), of["m", f[2], "unit"],
      of["m", f[2], "gflops"] == "" ? "" : sprintf("%.1f TF", of["m", f[2], "gflops"] / 1000), show(of["m", f[2], "error"]),
      of["t", f[2], "value"] == "" ? "" : "  PyTorch " show(of["t", f[2], "value"])
  }
}
