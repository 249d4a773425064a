#!/usr/bin/env bash
# Builds the previous release from the history of this repository, for the tests of two adjacent versions (make
# test-skew). hack/previous-release names its commit; a new release changes it.
# Usage: hack/install-release.sh            Builds it, unless that was done before. Half a minute, once per commit.
#        hack/install-release.sh --where    Prints the folder of its checkout; builds nothing.
# Exit: 0 ready, 1 it could not be built, or the clone does not contain the commit.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=$(cat hack/previous-release)
release=.tools/releases/$commit
if [ "${1:-}" = --where ]; then
  echo "$PWD/$release"
  exit
fi
if [ -e "$release/ready" ]; then exit; fi
if ! git cat-file -e "$commit^{commit}" 2>/dev/null; then
  echo "this clone does not contain commit $commit of hack/previous-release; fetch it with: git fetch --unshallow" >&2
  exit 1
fi
echo "building the previous release, ${commit:0:7}"
rm -rf "$release"
mkdir -p "$release"
git archive "$commit" | tar -x -C "$release"
if cmp -s package-lock.json "$release/package-lock.json"; then
  ln -s ../../../node_modules "$release/node_modules"
else
  (cd "$release" && npm ci --prefer-offline --loglevel error >/dev/null)
fi
(cd "$release" && npm run --silent build)
touch "$release/ready"
