#!/usr/bin/env bash
# Starts a kind cluster with Muster in it, on a machine with Docker. Other machines use `make cluster-up`.
# Usage: hack/kind-up.sh [--ingress] [--bare]    Exit: 0 the FleetWorkers are Ready, 1 missing program or timeout.
#        --ingress  also starts Traefik, at https://127.0.0.1:8443 with a self-signed certificate
#        --bare     only the cluster and its images, without Muster, as `make e2e` needs it (with --ingress)
# Safe to run again: a running cluster is kept. The kubeconfig is .tools/cluster/kubeconfig.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/.tools/cluster
export KUBECONFIG=$folder/kubeconfig
export PATH="$PWD/.tools/bin:$PATH"

ingress='' bare=''
for word in "$@"; do
  case "$word" in
    --ingress) ingress=yes ;;
    --bare) bare=yes ;;
    *) echo "$word is not known; known: --ingress, --bare" >&2; exit 1 ;;
  esac
done
where() { hack/install-tools.sh --where "$1"; }
for program in docker kind; do
  command -v "$program" >/dev/null || { echo "$program is missing; without Docker, run make cluster-up" >&2; exit 1; }
done
kubectl=$(where kubectl)
mkdir -p "$folder"

if [ -n "$ingress" ] && ! command -v apt-get >/dev/null; then
  echo '--ingress needs apt-get: the image of Traefik is made of programs for Debian; leave --ingress out' >&2
  exit 1
fi
if ! kind get clusters 2>/dev/null | grep -qx muster; then kind create cluster --config hack/kind.yaml --wait 120s; fi
kind export kubeconfig --name muster
if command -v apt-get >/dev/null; then
  node hack/cluster/images.mjs ${ingress:+--ingress}
  for archive in .tools/image/*.tar; do kind load image-archive --name muster "$archive"; done
else # macOS, Fedora: Docker builds the image, and the cluster pulls the store's image from its registry.
  version=$(node -p 'require("./package.json").version')
  docker build --tag "localhost/muster:$version" .
  kind load docker-image --name muster "localhost/muster:$version"
  export STORE_IMAGE=default
fi
if [ -n "$ingress" ]; then
  "$kubectl" apply --filename hack/cluster/manifests/ingress.yaml
  "$kubectl" rollout status --namespace=ingress deployment/traefik --timeout=120s
  echo 127.0.0.1:8443 >"$folder/ingress"
fi
if [ -n "$bare" ]; then exit; fi

hack/quickstart.sh
