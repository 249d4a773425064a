#!/usr/bin/env bash
# Muster in the cluster that KUBECONFIG names, with two workers that have something to do: what `make up` ends with.
# Usage: KUBECONFIG=FILE hack/quickstart.sh    Exit: 0 their FleetWorkers are Ready, 1 they were not in time. Safe to run again.
# STORE_IMAGE=default: the cluster pulls the store's image of the chart; otherwise it has the image localhost/redis:cluster.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${KUBECONFIG:?"name the cluster; make up starts one"}"
kubectl=$(hack/install-tools.sh --where kubectl)
helm=$(hack/install-tools.sh --where helm)
store=()
if [ "${STORE_IMAGE:-}" != default ]; then
  store=(--set 'redis.embedded.image.registry=localhost,redis.embedded.image.repository=redis,redis.embedded.image.tag=cluster')
fi

"$helm" upgrade --install muster charts/muster --namespace muster --create-namespace --wait --timeout 180s \
  --values charts/muster/examples/quickstart.yaml ${store[@]+"${store[@]}"}
"$kubectl" apply -n muster -k manifests/samples
"$kubectl" wait -n muster --for=condition=Ready fleetworkers --all --timeout=120s
echo "
export KUBECONFIG=$KUBECONFIG PATH=$(dirname "$kubectl"):$(dirname "$helm"):\$PATH"
