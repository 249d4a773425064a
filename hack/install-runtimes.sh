#!/usr/bin/env bash
# Installs the runtimes in which muster/client is tested, from npm into .tools/runtimes: Node 22, Bun and Deno, with the
# versions and hashes of hack/runtimes/package-lock.json.
# Usage: hack/install-runtimes.sh
# Exit: 0, also when the installation fails (the tests that need them are then named skips); with CI=true 1 then.
#       Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=.tools/runtimes
log=.tools/install-runtimes.log
wanted=$(cksum <hack/runtimes/package-lock.json)

if [ -e "$folder/ready" ] && [ "$(cat "$folder/ready")" = "$wanted" ]; then exit 0; fi

install() {
  rm -rf "$folder"
  mkdir -p "$folder/bin"
  cp hack/runtimes/package.json hack/runtimes/package-lock.json "$folder"
  (cd "$folder" && npm ci --ignore-scripts --prefer-offline --no-fund --no-audit --loglevel error) || return 1
  local program
  for program in node-linux-*/bin/node @oven/bun-linux-*/bin/bun @deno/linux-*/deno; do
    program=$(cd "$folder/node_modules" && compgen -G "$program") || return 1 # npm leaves out what fails to install.
    ln -s "../node_modules/$program" "$folder/bin/"
    "$folder/bin/${program##*/}" --version || return 1
  done
  echo "$wanted" >"$folder/ready"
}

mkdir -p .tools
echo "installing Node 22, Bun and Deno into $folder (380 MB, once)"
if install >"$log" 2>&1; then exit 0; fi
rm -rf "$folder"
echo "Node 22, Bun and Deno could not be installed; tests that need them are skipped (details: $log)" >&2
if [ "${CI:-}" = true ]; then
  echo "CI=true: they must be installed" >&2
  exit 1
fi
