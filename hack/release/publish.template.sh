#!/usr/bin/env bash
# Publishes Muster @version@ from this folder: image, chart, packages for npm and Python.
# Usage: ./publish.sh    Needs crane, curl, helm, npm and twine, each signed in to its registry.
# Exit: 0 published; 1 refused or failed, with the reason on stderr. Safe to run again: it skips what a registry has
#       with the same content, and fails before the first push if a registry has other content under this version.
#
# Digests are pushed before the tags that name them. The tags that move, `@minor@` and `latest`, are set at the end, and
# only if no newer version is published.
set -euo pipefail
cd "$(dirname "$0")"
version=@version@
image=@image@
digest=@digest@
chart=@chart@
npm_packages=(@npm_packages@) # In this order; each is a name, a file and its hash.
python=@python@
python_files=(@python_files@)

step() { echo "==> $*"; }
fail() {
  echo "publish.sh: $*" >&2
  exit 1
}

for program in crane curl helm npm twine; do
  command -v "$program" >/dev/null || fail "$program is not installed"
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

step 'compare the files with SHA256SUMS'
sha256sum --check --quiet SHA256SUMS || fail 'a file differs from SHA256SUMS; nothing was pushed'

hash_of() { awk -v file="$1" '$2 == file { print $1 }' SHA256SUMS; }

# MISSING COMMAND…: prints what a registry returns, or nothing if its error matches MISSING. Another error ends the
# script, because a registry that cannot be read may have the version.
read_registry() {
  local missing=$1
  shift
  if "$@" 2>"$scratch/error"; then return; fi
  if grep -Eq "$missing" "$scratch/error"; then return; fi
  cat "$scratch/error" >&2
  fail "cannot read from the registry, so nothing was pushed: $*"
}
image_missing='MANIFEST_UNKNOWN|NAME_UNKNOWN|404 Not Found'

# NAME FOUND OWN: compares the hash in the registry with the hash of this release.
declare -A absent
conflicts=0
compare() {
  if [ -z "$2" ]; then
    absent[$1]=1
    echo "$1: not published"
  elif [ "$2" = "$3" ]; then
    echo "$1: published with the same content, skipped"
  else
    conflicts=$((conflicts + 1))
    echo "$1: published with other content: the registry has $2, this release $3" >&2
  fi
}
is_absent() { [ -n "${absent[$1]:-}" ]; }

step 'compare the registries with this release'
found=$(read_registry "$image_missing" crane digest "$image:$version")
compare "$image:$version" "$found" "$digest"

# Helm puts the time into the manifest of a chart, so the hash of the archive in it is compared.
own=sha256:$(hash_of "muster-$version.tgz")
found=$(read_registry "$image_missing" crane manifest "${chart#oci://}:$version")
case "$found" in *"$own"*) found=$own ;; ?*) found='another archive' ;; esac
compare "$chart:$version" "$found" "$own"

for ((at = 0; at < ${#npm_packages[@]}; at += 3)); do
  found=$(read_registry E404 npm view "${npm_packages[at]}@$version" dist.integrity)
  compare "${npm_packages[at]}@$version" "$found" "${npm_packages[at + 2]}"
done

index=$(read_registry 'error: 404' curl --fail --silent --show-error "https://pypi.org/simple/$python/")
for file in "${python_files[@]}"; do
  found=$(grep -o "[/\"]$file#sha256=[0-9a-f]*" <<<"$index" | head -n 1 | sed 's/.*=//' || true)
  compare "$file" "$found" "$(hash_of "$file")"
done
if [ "$conflicts" -gt 0 ]; then
  fail "nothing was pushed: a published version is never replaced; publish a new version"
fi

# Versions of the image without prereleases. A tag `1.2` or `latest` is none.
tags=$(read_registry "$image_missing" crane ls "$image")
# PREFIX: whether no published version that begins with PREFIX is newer than this one. Prereleases never are the newest.
is_newest() {
  local newest
  case "$version" in *-*) return 1 ;; esac
  newest=$({ grep -E '^[0-9]+\.[0-9]+\.[0-9]+$' <<<"$tags" || true; echo "$version"; } |
    awk -v prefix="$1" 'index($0, prefix) == 1' | sort --version-sort | tail -n 1)
  [ "$newest" = "$version" ]
}

if is_absent "$image:$version"; then
  step "push the image by its digest, and then the tag $version"
  mkdir "$scratch/image"
  tar -xf "muster-$version.oci.tar" -C "$scratch/image"
  crane push "$scratch/image" "$image@$digest" >/dev/null
  crane tag "$image@$digest" "$version"
fi

if is_absent "$chart:$version"; then
  step "push the chart"
  helm push "muster-$version.tgz" "${chart%/*}"
fi

case "$version" in *-*) npm_tag=next ;; *) npm_tag=latest ;; esac
if [ "$npm_tag" = latest ] && ! is_newest ''; then npm_tag=release-@minor@; fi
for ((at = 0; at < ${#npm_packages[@]}; at += 3)); do
  if ! is_absent "${npm_packages[at]}@$version"; then continue; fi
  step "push ${npm_packages[at]} with the tag $npm_tag"
  npm publish --access public --tag "$npm_tag" "./${npm_packages[at + 1]}"
done

for file in "${python_files[@]}"; do
  if ! is_absent "$file"; then continue; fi
  step "push $file"
  twine upload --non-interactive --disable-progress-bar "$file"
done

if is_newest '@minor@.'; then
  step "set the tag @minor@ of the image"
  crane tag "$image@$digest" @minor@
fi
if is_newest ''; then
  step "set the tag latest of the image"
  crane tag "$image@$digest" latest
fi
step "Muster $version is published"
