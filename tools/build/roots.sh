# shellcheck shell=bash
# Sourced by try-packages and try-source: clean systems in folders, made by debootstrap, each used through an overlay that is thrown away.
roots=${VKT_ROOTS:-/var/tmp/vkt-roots} # where root_of keeps what it made
work=$(mktemp -d)
up=() root=
roots_cleanup() {
  for ((i = ${#up[@]} - 1; i >= 0; i--)); do umount -l "${up[i]}" 2>/dev/null || true; done
  rm -rf "$work"
}
trap roots_cleanup EXIT
mount_on() { mount "$@"; up+=("${@: -1}"); }

inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }
apt() { inside apt-get -qq "$@" >"$work/apt.log" 2>&1 || { cat "$work/apt.log"; return 1; }; }
as_user() { inside setpriv --reuid=1000 --regid=1000 --clear-groups env HOME=/try/home sh -c "cd /try/home && $1"; }

# The mirror of Debian's packages that apt is configured to use.
root_mirror() { apt-get indextargets --format '$(REPO_URI)' 'Codename: '"$(. /etc/os-release; echo "$VERSION_CODENAME")" 2>/dev/null | sed -n '1s#/*$##p'; }

# root_of SUITE: prints the folder of that system, made now if need be: a release of Ubuntu, with its updates, or of Debian. Ubuntu's
# packages come from the same host's /ubuntu. Debian has no keys of Ubuntu's, so that the base system is not checked against
# a signature; what apt installs there later is. Without such a mirror, or without debootstrap: a line, and 77.
root_of() {
  local suite=$1 mirror options=() ubuntu=no made=$roots/$1
  case $suite in
    jammy|noble|plucky|questing|resolute) ubuntu=yes ;;
  esac
  if [ ! -e "$made/.vkt-ready" ]; then
    [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null || { echo "$suite: wants root and debootstrap (apt install debootstrap)" >&2; return 77; }
    mirror=$(root_mirror)
    [ $ubuntu = no ] || mirror=$(sed 's#/debian$#/ubuntu#' <<<"$mirror")
    if [ -z "$mirror" ] || ! /usr/lib/apt/apt-helper download-file "$mirror/dists/$suite/Release" "$work/Release" >/dev/null 2>&1; then
      echo "$suite: apt's mirror of Debian does not have it" >&2
      return 77
    fi
    [ $ubuntu = no ] || options=(--no-check-gpg --components=main,universe)
    rm -rf "$made"; mkdir -p "$roots"
    if ! debootstrap --variant=minbase "${options[@]}" "$suite" "$made" "$mirror" \
      "/usr/share/debootstrap/scripts/$([ $ubuntu = yes ] && echo gutsy || echo sid)" >"$work/debootstrap.log" 2>&1; then
      tail -n 20 "$work/debootstrap.log" >&2
      return 1
    fi
    [ $ubuntu = no ] || sed -i "p; s/ $suite / $suite-updates /" "$made/etc/apt/sources.list"
    touch "$made/.vkt-ready"
  fi
  echo "$made"
}

# root_open FOLDER: sets `root`, the system as it is in FOLDER, which stays so: what changes lies in memory until root_close.
root_open() {
  root=$work/$(basename "$1")
  mkdir -p "$root" "$work/over"
  mountpoint -q "$work/over" || mount_on -t tmpfs tmpfs "$work/over"
  rm -rf "$work/over/up" "$work/over/w"; mkdir -p "$work/over/up" "$work/over/w"
  mount_on -t overlay overlay -o "lowerdir=$(realpath "$1"),upperdir=$work/over/up,workdir=$work/over/w" "$root"
  mount_on -t proc proc "$root/proc"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  echo "== $(inside sh -c '. /etc/os-release; echo $PRETTY_NAME'), $(inside ldd --version | head -n 1)"
  apt update
}
root_close() { umount -l "$root/proc"; umount -l "$root"; }
