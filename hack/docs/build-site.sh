#!/usr/bin/env bash
# Builds the documentation site from the pages of this clone into docs/site/dist. Prints only what failed.
# Usage: hack/docs/build-site.sh    Needs the packages of docs/site (make docs). Exit: 0 built, 1 a link is dead, or the
#        build failed.
set -euo pipefail
cd "$(dirname "$0")/../.."
node hack/docs/site.mjs
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! (cd docs/site && ASTRO_TELEMETRY_DISABLED=1 node_modules/.bin/astro build --force) >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
echo "docs: $(find docs/site/dist -name index.html | wc -l) pages in docs/site/dist"
