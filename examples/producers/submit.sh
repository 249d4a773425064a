#!/usr/bin/env bash
# Submits one task per image and prints the result of each.
# Usage: submit.sh IMAGE…    Environment: MUSTER_URL, and ADMIN_TOKEN_FILE (default .muster/admin-token).
set -euo pipefail
url=$MUSTER_URL/api/v1/automations/thumbnails
call() { # METHOD PATH BODY
  # The token is read from a file descriptor, so that it is not in the list of processes.
  curl --silent --show-error --fail-with-body --retry 5 --request "$1" --header 'Content-Type: application/json' \
    --header @<(printf 'Authorization: Bearer %s' "$(cat "${ADMIN_TOKEN_FILE:-.muster/admin-token}")") \
    --data "$3" "$url/$2"
}
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }

for image in "$@"; do
  # A repeated submit with the same key adds no second task, so the retries of curl are safe.
  task=$(call POST tasks "{\"payload\": {\"image\": \"$image\", \"width\": 320},
    \"idempotency_key\": \"thumbnail-$image-320\", \"retain_seconds\": 300}" | field task_id)
  until result=$(call POST tasks/await "{\"task_ids\": [\"$task\"], \"wait_seconds\": 20}") &&
    [[ $result =~ '"place":"'(done|dead|expired|cancelled)'"' ]]; do :; done
  echo "$image: ${BASH_REMATCH[1]} $(field path <<<"$result")"
done
