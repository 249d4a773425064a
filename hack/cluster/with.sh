#!/usr/bin/env bash
# Runs a command with a running cluster. Starts a cluster if there is none, and removes it afterwards.
# Usage: hack/cluster/with.sh [--keda] [--previous] COMMAND…    Options of hack/cluster/up.mjs, for a new cluster.
# Exit: that of the command; 1 when the cluster did not start.
set -euo pipefail
cd "$(dirname "$0")/../.."
kubeconfig=$PWD/.tools/cluster/kubeconfig
options=(--ingress)
while [[ "$1" == --* ]]; do
  options+=("$1")
  shift
done

is_reachable() {
  [ -e "$kubeconfig" ] || return 1
  "$(hack/install-tools.sh --where kubectl)" --kubeconfig="$kubeconfig" --request-timeout=5s \
    get --raw /readyz >/dev/null 2>&1
}

if ! is_reachable; then
  trap 'node hack/cluster/down.mjs' EXIT
  node hack/cluster/up.mjs "${options[@]}"
fi
"$@"
