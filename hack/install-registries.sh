#!/usr/bin/env bash
# Installs what the test of publish.sh needs: crane, Helm and twine, which publish, and registries for images
# (distribution), npm (verdaccio) and Python (pypiserver). All have pinned versions and hashes.
# Usage: hack/install-registries.sh    Needs the network and Go, once. Exit: 0 ready, 1 failed. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/install-tools.sh crane helm registry
CI=true hack/install-python.sh publish
CI=true hack/install-python.sh clients

folder=.tools/registries
wanted=$(cksum <hack/registries/package-lock.json)
if [ "$(cat "$folder/ready" 2>/dev/null)" = "$wanted" ]; then exit 0; fi
echo "installing the npm registry of the tests into $folder"
rm -rf "$folder"
mkdir -p "$folder"
cp hack/registries/{package.json,package-lock.json,.npmrc} "$folder"
(cd "$folder" && npm ci --prefer-offline --loglevel error >/dev/null)
echo "$wanted" >"$folder/ready"
