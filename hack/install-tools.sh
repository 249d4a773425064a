#!/usr/bin/env bash
# Installs tools that no Debian package has: Kubernetes and etcd, Helm, linters of manifests, and the other programs of
# a node of hack/cluster. Programs that the machine has are used; the others are built from Go modules.
# Usage: hack/install-tools.sh [NAME]…            Without a name: all. Minutes, once per version.
#        hack/install-tools.sh --where PROGRAM    Prints its path; builds nothing.
# Exit: 0 ready, 1 could not be built or was not found. Safe to run again, also simultaneously with another run.
#
# A program is looked for in KUBEBUILDER_ASSETS, in PATH, then in ${XDG_CACHE_HOME:-~/.cache}/muster/tools/NAME-VERSION.
# The programs of Kubernetes come from the place of its API server first: a kubectl of another age need not fit it.
# package_of lists what builds without changes; the rest has a module in hack/tools/NAME, which pins the version.
# A build gets its final name when it is complete.
set -euo pipefail
cd "$(dirname "$0")"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/muster/tools
go_at_least=1.26

tools='kubernetes etcd helm helm3 kustomize kubeconform kube-score crane registry coredns traefik pause keda'

# What `go install` builds: package@version.
package_of() {
  case "$1" in
    helm) echo helm.sh/helm/v4/cmd/helm@v4.3.1 ;;
    helm3) echo helm.sh/helm/v3/cmd/helm@v3.22.0 ;;
    kustomize) echo sigs.k8s.io/kustomize/kustomize/v5@v5.8.1 ;; # 5.8.3 wants Go 1.27.
    kubeconform) echo github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0 ;;
    coredns) echo github.com/coredns/coredns@v1.15.0 ;;
    crane) echo github.com/google/go-containerregistry/cmd/crane@v0.22.1 ;;
    registry) echo github.com/distribution/distribution/v3/cmd/registry@v3.1.2 ;;
    kube-score) echo github.com/zegl/kube-score/cmd/kube-score@v1.20.0 ;;
    *) return 1 ;;
  esac
}
# The module whose go.mod in hack/tools pins the version.
module_of() {
  case "$1" in
    kubernetes) echo k8s.io/kubernetes ;;
    etcd) echo go.etcd.io/etcd/server/v3 ;;
    traefik) echo github.com/traefik/traefik/v3 ;; # Not 3.7: it needs modules that cannot be had.
    keda) echo github.com/kedacore/keda/v2 ;;
    *) return 1 ;;
  esac
}
# What is built in the module of hack/tools: its own main package, or that of a tool. Given a program's name.
main_of() {
  case "$1" in
    traefik) echo github.com/traefik/traefik/v3/cmd/traefik ;;
    keda-*) echo "github.com/kedacore/keda/v2/cmd/${1#keda-}" ;;
    *) echo . ;;
  esac
}
# The programs of a tool; the folder of the first is the folder of the tool.
kubernetes_programs=(kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl)
programs_of() {
  case "$1" in
    kubernetes) echo "${kubernetes_programs[@]}" ;;
    keda) echo keda-operator keda-adapter ;;
    *) echo "$1" ;;
  esac
}
tool_of() { case " $tools " in *" $1 "*) echo "$1" ;; *" ${1%%-*} "*) echo "${1%%-*}" ;; *) echo kubernetes ;; esac; }

# The programs that are compiled: those of Kubernetes are one.
mains_of() { case "$1" in kubernetes) echo kubernetes ;; *) programs_of "$1" ;; esac; }

version_of() {
  local package
  if package=$(package_of "$1"); then echo "${package##*@v}"; return; fi
  if [ "$1" = pause ]; then echo 1; return; fi # All of it is ours: raise the number with a change of hack/tools/pause.
  awk -v module="$(module_of "$1")" \
    '{ sub(/^require /, "") } $1 == module { print substr($2, 2); exit }' "tools/$1/go.mod"
}
home_of() { echo "$cache/$1-$(version_of "$1")"; }

where() {
  local tool lead folder
  tool=$(tool_of "$1")
  lead=$(programs_of "$tool")
  lead=$(command -v "${lead%% *}" || true)
  for folder in "${KUBEBUILDER_ASSETS:-}" "${lead:+$(dirname "$lead")}" "$(home_of "$tool")"; do
    if [ -n "$folder" ] && [ -x "$folder/$1" ]; then echo "$folder/$1"; return; fi
  done
  command -v "$1"
}

# Without these figures every part of Kubernetes calls itself v0.0.0-master, which clients refuse, and Helm 3 renders
# as for a Kubernetes of years ago.
flags_of() {
  local kubernetes minor base=k8s.io/component-base/version capabilities=helm.sh/helm/v3/pkg/chartutil
  kubernetes=$(version_of kubernetes)
  minor=${kubernetes#*.}
  case "$1" in
    kubernetes)
      echo "-s -w -X $base.gitVersion=v$kubernetes" \
        "-X $base.gitMajor=${kubernetes%%.*} -X $base.gitMinor=${minor%%.*}"
      ;;
    traefik) echo "-s -w -X github.com/traefik/traefik/v3/pkg/version.Version=$(version_of traefik)" ;;
    keda) echo "-s -w -X github.com/kedacore/keda/v2/version.Version=$(version_of keda)" ;;
    helm3)
      echo "-s -w -X $capabilities.k8sVersionMajor=${kubernetes%%.*}" \
        "-X $capabilities.k8sVersionMinor=${minor%%.*}"
      ;;
    *) echo '-s -w' ;;
  esac
}

compile() {
  local tool=$1 folder=$2 package built flags
  flags=$(flags_of "$tool")
  if package=$(package_of "$tool"); then
    GOBIN=$folder go install -trimpath -ldflags "$flags" "$package"
    for built in "$folder"/*; do [ "$built" = "$folder/$tool" ] || mv "$built" "$folder/$tool"; done
  else
    cd "tools/$tool"
    for built in $(mains_of "$tool"); do
      go build -mod=readonly -trimpath -ldflags "$flags" -o "$folder/$built" "$(main_of "$built")"
    done
    # Its definitions and roles, which hack/cluster installs with it.
    if [ "$tool" = keda ]; then cp -r "$(go list -m -f '{{.Dir}}' "$(module_of keda)")/config" "$folder/config"; fi
    cd - >/dev/null
  fi
}

build() {
  local tool=$1 version home
  version=$(version_of "$tool")
  home=$(home_of "$tool")
  if ! command -v go >/dev/null; then
    echo "$tool: building it needs Go $go_at_least or newer (https://go.dev/dl);" \
      "or put $tool into PATH or into the folder KUBEBUILDER_ASSETS" >&2
    return 1
  fi
  echo "building $tool $version with $(go env GOVERSION) into $home (once; up to 15 minutes on two cores)"
  mkdir -p "$cache"
  unfinished=$(mktemp -d "$home.XXXXXX")
  trap 'rm -rf "$unfinished"' EXIT
  CGO_ENABLED=0 compile "$tool" "$unfinished"
  if [ "$tool" = kubernetes ]; then
    for name in "${kubernetes_programs[@]}"; do ln -s "$tool" "$unfinished/$name"; done
  fi
  chmod -R u+w "$unfinished"
  chmod 755 "$unfinished"
  [ -e "$home" ] || mv "$unfinished" "$home" # Another run may have been faster.
}

if [ "${1:-}" = --where ]; then
  where "${2:?"name a program"}" || {
    echo "$2: not found in KUBEBUILDER_ASSETS or PATH, and not built; run make tools" >&2
    exit 1
  }
  exit
fi
# shellcheck disable=SC2086 # One word a tool.
[ "$#" -gt 0 ] || set -- $tools
for tool in "$@"; do
  case " $tools " in *" $tool "*) ;; *) echo "$tool: not known here; known: ${tools// /, }" >&2; exit 1 ;; esac
  for program in $(programs_of "$tool"); do
    where "$program" >/dev/null || { build "$tool"; break; }
  done
  for program in $(programs_of "$tool"); do echo "$program: $(where "$program")"; done
done
