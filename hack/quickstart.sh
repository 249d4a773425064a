#!/usr/bin/env bash
# Installs Muster with two workers into the cluster of KUBECONFIG, and gives the workers something to do. It is the last
# step of `make up`.
# Usage: KUBECONFIG=FILE hack/quickstart.sh    Exit: 0 the FleetWorkers are Ready, 1 a timeout. Safe to run again.
# STORE_IMAGE=default: the cluster pulls the Redis image of the chart. Otherwise it must have localhost/redis:cluster.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${KUBECONFIG:?"name the cluster; make up starts one"}"
kubectl=$(hack/install-tools.sh --where kubectl)
helm=$(hack/install-tools.sh --where helm)
store=()
if [ "${STORE_IMAGE:-}" != default ]; then
  image=redis.embedded.image
  store=(--set "$image.registry=localhost,$image.repository=redis,$image.tag=cluster")
fi

"$helm" upgrade --install muster charts/muster --namespace muster --create-namespace --wait --timeout 180s \
  --values charts/muster/examples/quickstart.yaml ${store[@]+"${store[@]}"}
"$kubectl" apply -n muster -k manifests/samples
"$kubectl" wait -n muster --for=condition=Ready fleetworkers --all --timeout=120s
echo "
export KUBECONFIG=$KUBECONFIG PATH=$(dirname "$kubectl"):$(dirname "$helm"):\$PATH"
