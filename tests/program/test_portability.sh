#!/usr/bin/env bash
# What macOS asks of a program, on this system's loader and driver: a loader that only the Vulkan SDK's variable tells of, a driver that
# calls itself a portability driver (VK_KHR_portability_enumeration: else the loader hides it), a device with VK_KHR_portability_subset, which
# must be asked for.   usage: test_portability.sh PROGRAM FAULTS_DIR
set -euo pipefail
program=$(realpath "${1:?the program}")
faults=$(realpath "${2:?the folder with the fault layer}")
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-portability.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "test_portability: FAILED: $*" >&2; [ ! -s out ] || sed 's/^/  > /' out >&2; exit 1; }
finds() { "$@" devices --json >out 2>&1 && grep -q '"name"' out; }
finds "$program" || fail "no device without all this"

mkdir -p none sdk/lib
echo 'no library' | tee none/libvulkan.so.1 >none/libvulkan.so
loader=$(ldconfig -p | sed -n 's/.*libvulkan\.so\.1 .*=> //p' | head -n 1)
[ -e "$loader" ] || fail "where is libvulkan.so.1?"
ln -s "$loader" sdk/lib/libvulkan.so.1
export LD_LIBRARY_PATH=$work/none
! finds env VULKAN_SDK= "$program" || fail "the loader is not hidden"
finds env VULKAN_SDK="$work/sdk" "$program" || fail "the loader is not found in VULKAN_SDK/lib"
unset LD_LIBRARY_PATH

# The first driver that finds a device by itself, under another name.
for manifest in ${VK_DRIVER_FILES:-/usr/share/vulkan/icd.d/*.json}; do
  VK_DRIVER_FILES=$manifest VK_ICD_FILENAMES=$manifest finds "$program" && break
done
sed 's/"ICD" *: *{/&"is_portability_driver": true,/; s/"file_format_version" *: *"1.0.0"/"file_format_version": "1.0.1"/' "$manifest" >portable.json
grep -q is_portability_driver portable.json || fail "$manifest could not be changed"
export VK_DRIVER_FILES=$work/portable.json VK_ICD_FILENAMES=$work/portable.json
finds "$program" || fail "a portability driver is not listed"
VK_LAYER_PATH=$faults VK_INSTANCE_LAYERS=VK_LAYER_VKT_fault VKFAULT_PORTABILITY=1 \
  "$program" train digits --quiet --no-cache --run r --set train.steps=4 >out 2>&1 || fail "a device with VK_KHR_portability_subset does not train"
[ -s r/run.json ] || fail "no run"
