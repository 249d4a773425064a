#!/usr/bin/env bash
# Installs the Python programs that tests need into .tools/NAME, with the versions and hashes of
# hack/NAME-requirements.txt and without the packages of the machine. `python` is for the tests of the API, `checkov`
# checks the rendered chart, `valkey` is the server that the chart runs by default, `clients` is for the Python worker,
# `publish` uploads the Python packages of a release and receives them.
# Usage: hack/install-python.sh [NAME]    NAME: python (when left out), checkov, valkey, clients or publish.
# Exit: 0, also when the installation fails (the tests that need them are then named skips); with CI=true 1 then.
#       Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-python}
folder=.tools/$name
log=.tools/install-$name.log
requirements=hack/$name-requirements.txt
wanted=$(cksum <"$requirements")

if [ -e "$folder/ready" ] && [ "$(cat "$folder/ready")" = "$wanted" ]; then exit 0; fi

least=10
if [ "$name" = clients ]; then least=11; fi
has_python() { python3 -c "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, $least))" >/dev/null 2>&1; }

install() {
  has_python || { hack/install-debian.sh python3 python3-venv && has_python; } || return 1
  rm -rf "$folder"
  python3 -m venv "$folder" &&
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
      --requirement "$requirements" &&
    echo "$wanted" >"$folder/ready"
}

mkdir -p .tools
echo "installing the Python programs of the tests into $folder (110 MB or more, once)"
if install >"$log" 2>&1; then exit 0; fi
rm -rf "$folder"
echo "the Python programs of the tests could not be installed; tests that need them are skipped (details: $log)" >&2
if [ "${CI:-}" = true ]; then
  echo "CI=true: they must be installed" >&2
  exit 1
fi
