// publish.sh: what a publisher runs in the folder of a release that was checked. It is not run by any build.
import { packageFile } from './packages.mjs'

/** The script pushes by digest first and sets tags last, so that a tag never names an image that is not there. */
export function publishScript({ names, version }) {
  const npmTag = version.includes('-') ? 'next' : 'latest'
  const charts = names.chart.slice(0, names.chart.lastIndexOf('/'))
  const python = `${names.python.replaceAll('-', '_')}-*`
  const lines = [
    '#!/usr/bin/env bash',
    `# Publishes Muster ${version} from this folder: image, chart, packages for npm and Python.`,
    '# Usage: ./publish.sh    Needs crane, helm, npm and twine, each signed in to its registry.',
    '# Exit: 0 published, 1 a file differs from SHA256SUMS or a push failed. It may be run again: what a registry has',
    '# already is pushed again with the same content, or refused by npm and PyPI, which never replace a version.',
    'set -euo pipefail',
    'cd "$(dirname "$0")"',
    'sha256sum --check --quiet SHA256SUMS',
    'scratch=$(mktemp -d)',
    `trap 'rm -rf "$scratch"' EXIT`,
    `tar -xf muster-${version}.oci.tar -C "$scratch"`,
    `crane push --index "$scratch" ${names.image}:${version}`,
    `helm push muster-${version}.tgz ${charts}`,
    ...[names.client, names.npm].map(
      (name) => `npm publish --access public --tag ${npmTag} ./${packageFile(name, version)}`,
    ),
    `twine upload ${python}`,
  ]
  return new Map([['publish.sh', `${lines.join('\n')}\n`]])
}
