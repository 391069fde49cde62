# shellcheck shell=bash disable=SC2034
# Sourced by quickstart and test: what the build needs, by the names of Debian and Ubuntu, and how to get it.
packages_build="build-essential cmake ninja-build pkg-config libvulkan-dev libvulkan-volk-dev glslc libstb-dev
  libyaml-dev libjansson-dev libpcre2-dev libutf8proc-dev zlib1g-dev libmicrohttpd-dev libvulkan1 mesa-vulkan-drivers"
packages_mpi="libopenmpi-dev openmpi-bin" # several devices: optional for the build, needed by tests
packages_tests="libcmocka-dev python3 python3-numpy python3-sklearn libwebp7 libturbojpeg0 locales vulkan-validationlayers clang libclang-rt-dev dataset-fashion-mnist"
# Optional: Windows, cross-built and run under Wine (tools/windows/run; winex11 loads the libraries of X), and shaders as macOS gets them
packages_windows="gcc-mingw-w64-x86-64-posix libz-mingw-w64-dev wine64 xvfb libxi6 libxrandr2 libxrender1 libxcursor1 libxcomposite1
  libxinerama1 libxfixes3 libxxf86vm1"
packages_metal="spirv-cross"
packages_arm="gcc-aarch64-linux-gnu qemu-user" # 64-bit Arm (tools/arm/run)

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else echo "this needs root, and there is no sudo: run as root: $*" >&2; return 1
  fi
}

# packages_missing NAME...: those that are not installed (apt systems)
packages_missing() {
  local p
  for p in "$@"; do
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || printf '%s ' "$p"
  done
}

# packages_ensure INSTALL NAME...: installs what is missing where apt is; elsewhere says what is needed.
packages_ensure() {
  local install=$1 missing; shift
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    packages_elsewhere
    return
  fi
  missing=$(packages_missing "$@")
  if [ -z "$missing" ]; then echo "all packages are there"; return; fi
  if [ "$install" = no ]; then
    echo "missing; install them with:  sudo apt-get install $missing"
    return 1
  fi
  echo "installing: $missing"
  as_root apt-get update -qq || echo "apt-get update failed; trying with the lists that are there"
  # shellcheck disable=SC2086
  if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null; then
    case " $missing " in *" glslc "*)
      echo "if glslc was not found: Ubuntu has it from 24.04 on; before, take it from the Vulkan SDK" \
           "(https://vulkan.lunarg.com) and put it on PATH (glslang-tools does not have it)" >&2 ;;
    esac
    return 1
  fi
}

# Other systems: says what to install; fails only when a tool that CMake can't do without is absent.
packages_elsewhere() {
  local t absent=""
  for t in cmake ninja pkg-config glslc cc; do command -v $t >/dev/null || absent="$absent $t"; done
  if [ -n "$absent" ]; then echo "not found:$absent"; fi
  echo "vktrain needs a C17 compiler, CMake, Ninja, pkg-config, glslc, Vulkan headers and loader, volk, stb, libyaml, jansson, PCRE2, utf8proc, zlib, and for 'vktrain serve' libmicrohttpd:"
  case "$(uname -s) $( . /etc/os-release 2>/dev/null; echo "${ID:-} ${ID_LIKE:-}")" in
    *fedora*|*rhel*)
      echo "  sudo dnf install gcc cmake ninja-build pkgconf glslc vulkan-headers vulkan-loader-devel vulkan-volk-devel" \
           "stb_image-devel stb_image_write-devel stb_truetype-devel libyaml-devel jansson-devel pcre2-devel utf8proc-devel zlib-devel libmicrohttpd-devel mesa-vulkan-drivers" ;;
    *arch*) echo "  sudo pacman -S base-devel cmake ninja shaderc vulkan-headers vulkan-icd-loader volk stb libyaml jansson pcre2 libutf8proc zlib libmicrohttpd" \
                 "and your GPU's driver: vulkan-radeon, vulkan-intel, nvidia-utils or vulkan-swrast" ;;
    Darwin*) echo "  brew install cmake ninja pkg-config shaderc vulkan-headers vulkan-loader vulkan-volk molten-vk libyaml jansson pcre2 utf8proc libmicrohttpd" \
                  "and stb's headers (https://github.com/nothings/stb) on CMAKE_PREFIX_PATH; nobody has tried macOS yet" ;;
    MINGW*|MSYS*) echo "  pacman -S mingw-w64-ucrt-x86_64-{gcc,cmake,ninja,pkgconf,shaderc,vulkan-headers,vulkan-loader,stb,libyaml,jansson,pcre2,libutf8proc,zlib,libmicrohttpd}" \
                       "and volk's header: not tried; vktrain.exe is cross-built by tools/windows/run" ;;
    *) echo "  by your system's names; see the README" ;;
  esac
  [ -z "$absent" ]
}
