# shellcheck shell=bash
# gpu-check --pack, sourced by it: the program, the tests that need a device, the libraries beside them, the tests' files, PyTorch's side, and what
# a visit needs, in a folder or in one file. $here: tools, $bin: the build, $pack: FILE.tar.xz or DIR; gpu_tests lists the tests.

# The libraries look for what they need in turn beside themselves: where one names a folder for it (RUNPATH), that is written over.
beside_each_other() {
  python3 - "$@" <<'E_PY'
import re, subprocess, sys
for path in sys.argv[1:]:
    said = subprocess.run(["readelf", "-d", path], capture_output=True, text=True).stdout
    for old in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", said):
        with open(path, "rb") as f:
            data = f.read()
        new = b"$ORIGIN" if len(old) >= 7 else b""
        with open(path, "wb") as f:
            f.write(data.replace(old.encode() + b"\0", new.ljust(len(old), b"\0") + b"\0"))
E_PY
}

fill_pack() { # fill_pack DIR
  local to=$1 libraries t
  mkdir -p "$to/bin" "$to/lib" "$to/compare" "$to/tests" || return 1
  cp "$bin/vktrain" "$to/bin/" || return 1
  for t in $(gpu_tests); do # a test is a link to its room's runner
    { cp -L "$bin/$(readlink "$bin/$t")" "$to/bin/" && cp -P "$bin/$t" "$to/bin/"; } 2>/dev/null || { echo "gpu-check: $t is not built in $bin" >&2; return 1; }
  done
  libraries=$(find "$to/bin" -type f -exec ldd {} + | awk '/=> \// { print $3 }' | sort -u | grep -Ev '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*|libvulkan)\.so')
  # shellcheck disable=SC2086
  cp -L $libraries "$to/lib/" && chmod u+w "$to"/lib/* || return 1
  beside_each_other "$to"/lib/* || return 1
  find "$to/bin" -type f -exec strip {} + 2>/dev/null
  cp -r "$here/../tests/golden" "$here/../tests/files" "$to/tests/" && rm -rf "$to/tests/golden/pages" || return 1
  cp "$here"/compare/peer_torch.py "$here"/compare/peer_models.py "$to/compare/" || return 1
  cp -r "$here/visit" "$here/gpu-check" "$to/" || return 1
  python3 "$here/visit/noise.py" "$to/pictures" || return 1
  { git -C "$here" rev-parse HEAD 2>/dev/null || echo unknown; } >"$to/commit"
}

case $pack in
  *.tar.xz)
    w=$(mktemp -d) || exit 1
    trap 'rm -rf "$w"' EXIT
    fill_pack "$w/vktrain-visit" || { echo "gpu-check: the pack could not be filled in $w" >&2; exit 1; }
    mkdir -p "$(dirname "$pack")" && rm -f "$pack" || exit 1
    # Runners hold the same library: a dictionary as large as all of them sees it once.
    tar -C "$w" --sort=name --owner=0 --group=0 -cf - vktrain-visit | xz -T1 --lzma2=preset=3,dict=192MiB >"$pack.part" && mv "$pack.part" "$pack" ||
      { rm -f "$pack.part"; echo "gpu-check: can't write $pack" >&2; exit 1; }
    bytes=$(stat -c %s "$pack")
    echo "$pack: $((bytes / 1048576)).$((bytes % 1048576 * 10 / 1048576)) MiB, $(gpu_tests | wc -l) tests, commit $(cut -c1-12 "$w/vktrain-visit/commit")"
    [ "$bytes" -lt 40000000 ] || { echo "gpu-check: more than the 40 MB that travel" >&2; exit 1; }
    ;;
  *) fill_pack "$pack" && du -sh "$pack" | cut -f1 ;;
esac
exit
