#!/usr/bin/env bash
# Removes the cluster of hack/kind-up.sh.
# Usage: hack/kind-down.sh    Exit: 0 removed, 1 kind is missing. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v kind >/dev/null || { echo 'kind is missing: https://kind.sigs.k8s.io' >&2; exit 1; }
kind delete cluster --name muster
rm -rf .tools/cluster
