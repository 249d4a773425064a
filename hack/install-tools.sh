#!/usr/bin/env bash
# Brings an API server of Kubernetes and its store: what the machine has is used; else both are built from Go modules.
# Usage: hack/install-tools.sh [kubernetes|etcd]…    Without a name: both. Minutes, once per version.
#        hack/install-tools.sh --where PROGRAM       Prints its path; builds nothing.
# Exit: 0 ready, 1 could not be built or is nowhere. Safe to run again, also beside another run.
#
# A program is looked for in KUBEBUILDER_ASSETS, in PATH, then in ${XDG_CACHE_HOME:-~/.cache}/muster/tools/NAME-VERSION.
# The programs of Kubernetes come from the place of its API server first: a kubectl of another age need not fit it.
# The version is the one in hack/tools/NAME/go.mod. A build gets its final name when it is whole.
set -euo pipefail
cd "$(dirname "$0")"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/muster/tools
go_at_least=1.26

# The module a tool is built from; the program that shows where the tool lies; all its programs that we use.
module_of() { case "$1" in kubernetes) echo k8s.io/kubernetes ;; etcd) echo go.etcd.io/etcd/server/v3 ;; *) return 1 ;; esac; }
lead_of() { case "$1" in kubernetes) echo kube-apiserver ;; etcd) echo etcd ;; esac; }
programs_of() { case "$1" in kubernetes) echo kube-apiserver kube-controller-manager kubectl ;; etcd) echo etcd ;; esac; }
tool_of() { case "$1" in etcd) echo etcd ;; *) echo kubernetes ;; esac; }

version_of() { awk -v module="$(module_of "$1")" '{ sub(/^require /, "") } $1 == module { print substr($2, 2); exit }' "tools/$1/go.mod"; }
home_of() { echo "$cache/$1-$(version_of "$1")"; }

where() {
  local tool lead folder
  tool=$(tool_of "$1")
  lead=$(command -v "$(lead_of "$tool")" || true)
  for folder in "${KUBEBUILDER_ASSETS:-}" "${lead:+$(dirname "$lead")}" "$(home_of "$tool")"; do
    if [ -n "$folder" ] && [ -x "$folder/$1" ]; then echo "$folder/$1"; return; fi
  done
  command -v "$1"
}

# Without these figures every part calls itself v0.0.0-master, which clients refuse.
kubernetes_flags() {
  local version=$1 base=k8s.io/component-base/version minor=${1#*.}
  echo "-X $base.gitVersion=v$version -X $base.gitMajor=${version%%.*} -X $base.gitMinor=${minor%%.*}"
}

build() {
  local tool=$1 version home flags='-s -w'
  version=$(version_of "$tool")
  home=$(home_of "$tool")
  if ! command -v go >/dev/null; then
    echo "$tool: Go $go_at_least or newer is needed to build it (https://go.dev/dl); or point KUBEBUILDER_ASSETS at kube-apiserver, etcd and kubectl" >&2
    return 1
  fi
  echo "building $tool $version with $(go env GOVERSION) into $home (once; up to 15 minutes on two cores)"
  mkdir -p "$cache"
  unfinished=$(mktemp -d "$home.XXXXXX")
  trap 'rm -rf "$unfinished"' EXIT
  [ "$tool" = kubernetes ] && flags="$flags $(kubernetes_flags "$version")"
  (cd "tools/$tool" && CGO_ENABLED=0 go build -mod=readonly -trimpath -ldflags "$flags" -o "$unfinished/$tool" .)
  if [ "$tool" = kubernetes ]; then
    for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl; do ln -s "$tool" "$unfinished/$name"; done
  fi
  chmod 755 "$unfinished"
  [ -e "$home" ] || mv "$unfinished" "$home" # Another run may have been faster.
}

if [ "${1:-}" = --where ]; then
  where "${2:?"name a program"}" || { echo "$2: neither in KUBEBUILDER_ASSETS nor in PATH, and not built; run make tools" >&2; exit 1; }
  exit
fi
[ "$#" -gt 0 ] || set -- kubernetes etcd
for tool in "$@"; do
  module_of "$tool" >/dev/null || { echo "$tool: not known here; known: kubernetes, etcd" >&2; exit 1; }
  for program in $(programs_of "$tool"); do
    where "$program" >/dev/null || { build "$tool"; break; }
  done
  for program in $(programs_of "$tool"); do echo "$program: $(where "$program")"; done
done
