#!/usr/bin/env bash
# Installs Debian packages for programs that are not in PATH.
# Usage: hack/install-debian.sh NAME…    Exit: 0, also when a package cannot be installed (the tests that need it are
#        then named skips); with CI=true 1 in that case. Safe to run again.
#
# As root: apt-get install, without recommended packages and without starting services. Otherwise the packages and
# their dependencies are unpacked into .tools/debian, and .tools/bin gets a script that sets the path of the libraries.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/.tools/debian
bin=$PWD/.tools/bin
log=$PWD/.tools/install-debian.log
mkdir -p "$bin"
: >"$log"
export PATH="$bin:$PATH" DEBIAN_FRONTEND=noninteractive
export RUNLEVEL=1 # invoke-rc.d starts nothing in it: we want the program, not a server on its port.

# The program by which a package is known to be there, where it is not called like its package.
program_of() {
  case "$1" in
    nodejs) echo node ;;
    build-essential) echo gcc ;;
    prometheus) echo promtool ;;
    iproute2) echo ip ;;
    nftables) echo nft ;;
    golang-go) echo go ;;
    lua-check) echo luacheck ;;
    *) echo "$1" ;;
  esac
}

has() {
  case "$1" in
    python3-venv) python3 -c 'import ensurepip, venv' >/dev/null 2>&1 ;; # A module, no program.
    containernetworking-plugins) [ -x /usr/lib/cni/ptp ] || [ -x /opt/cni/bin/ptp ] ;; # Outside of PATH.
    *) command -v "$(program_of "$1")" >/dev/null ;;
  esac
}
quietly() { "$@" >>"$log" 2>&1; }

# Package lists are fetched once, and only when those of the machine do not know the package or are too old.
update_lists() {
  [ "$(id -u)" -eq 0 ] && [ ! -e "$log.updated" ] || return 1
  quietly apt-get update && touch "$log.updated"
}
trap 'rm -f "$log.updated"' EXIT

install_as_root() { quietly apt-get install --yes --no-install-recommends "$1"; }

# What apt would install for a package: itself and what is missing of its dependencies.
missing_packages() {
  apt-get install --simulate --no-install-recommends "$1" 2>>"$log" | awk '$1 == "Inst" { print $2 }'
}

write_starter() {
  local program target
  program=$(program_of "$1")
  # Debian's chromium in usr/bin is a script with fixed paths; the browser itself is beside its data.
  for target in "usr/lib/$program/$program" "usr/bin/$program" "usr/sbin/$program"; do
    [ -x "$root/$target" ] || continue
    cat >"$bin/$program" <<STARTER
#!/bin/sh
root=\$(dirname "\$(readlink -f "\$0")")/../debian
export LD_LIBRARY_PATH="\$root/usr/lib/$(uname -m)-linux-gnu:\$root/lib/$(uname -m)-linux-gnu"
export LUA_PATH="\$root/usr/share/lua/5.1/?.lua;\$root/usr/share/lua/5.1/?/init.lua;;"
export LUA_CPATH="\$root/usr/lib/$(uname -m)-linux-gnu/lua/5.1/?.so;;"
export PATH="\$PATH:\$root/usr/bin" # For the interpreter of a script.
exec "\$root/$target" "\$@"
STARTER
    chmod +x "$bin/$program"
    return
  done
  return 1
}

unpack() {
  local folder names
  names=$(missing_packages "$1") && [ -n "$names" ] || return 1
  folder=$(mktemp -d)
  # shellcheck disable=SC2086 # One word a package.
  (cd "$folder" && quietly apt-get download $names) &&
    mkdir -p "$root" &&
    find "$folder" -name '*.deb' -print0 | xargs -0 -I '{}' dpkg-deb -x '{}' "$root" >>"$log" 2>&1 &&
    write_starter "$1"
  local result=$?
  rm -rf "$folder"
  return "$result"
}

bring() {
  local way=unpack
  [ "$(id -u)" -eq 0 ] && way=install_as_root
  command -v apt-get >/dev/null || return 1
  "$way" "$1" || { update_lists && "$way" "$1"; } || return 1
  has "$1"
}

case " $* " in
  *' -'* | '  ') echo 'name Debian packages, and nothing else: hack/install-debian.sh NAME…' >&2; exit 1 ;;
esac
absent=()
for name in "$@"; do
  if has "$name"; then continue; fi
  echo "installing $name (Debian package)"
  bring "$name" && continue
  echo "$name: could not be installed; tests that need it are skipped (details: .tools/install-debian.log)" >&2
  absent+=("$name")
done
if [ "${CI:-}" = true ] && [ "${#absent[@]}" -gt 0 ]; then
  echo "CI=true: ${absent[*]} must be installed" >&2
  exit 1
fi
