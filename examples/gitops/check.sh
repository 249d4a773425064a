#!/usr/bin/env bash
# Checks the configs of FleetWorkerSets with the schemas of `muster dev`, before they are merged. Usage: check.sh FILE…
# Environment: SVC_MASTER_URL and SVC_API_TOKEN_FILE. Exit: 0 all valid, 1 not.
# Each file contains one object, indented by two blanks. If you have yq, use `yq .spec.config FILE` instead of sed.
set -uo pipefail
config=$(mktemp --suffix=.yaml)
trap 'rm -f "$config"' EXIT
code=0
for file in "$@"; do
  type=$(sed -n 's/^  type: //p' "$file")
  sed -n '/^  config:/,/^  [a-z]/s/^    //p' "$file" >"$config"
  echo "$file"
  if [ -s "$config" ]; then
    npx muster config set "$type/dev-$type" -f "$config" --dry-run || code=1
  else
    echo 'has no config' && code=1
  fi
done
exit "$code"
