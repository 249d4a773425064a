#!/usr/bin/env bash
# Runs the tests of test/cluster on the running cluster. Autoscaling comes last and alone: it measures times, and the
# definitions of Muster belong to one release at a time.
# Usage: hack/cluster/test.sh [ARGUMENT OF JEST]…    Exit: 0 passed, else that of Jest.
set -euo pipefail
cd "$(dirname "$0")/../.."
npm test --silent -- test/cluster --testPathIgnorePatterns /node_modules/ test/cluster/autoscaling "$@"
npm test --silent -- test/cluster/autoscaling --testPathIgnorePatterns /node_modules/ "$@"
