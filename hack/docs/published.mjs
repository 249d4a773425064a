// Generates the block of the README that says where the published packages are, from release.json.
import { readFileSync } from 'node:fs'

const NOTHING =
  'No version is published yet: no package on npm, no image and no chart in a registry. Build it from a clone.'

/** @returns one sentence while nothing is published, else the three ways to start without a build. */
export function publishedBlock({ published, npm, image, chart }) {
  if (!published) return NOTHING
  return [
    'Without a build, on this machine, in a container, or in a cluster:',
    '',
    `- \`npx ${npm} dev\`; in a project, \`npm install muster@npm:${npm}\` and \`npx muster dev\``,
    `- \`docker run --rm -p 8080:8080 ${image} dev --listen :8080\``,
    `- \`helm install muster ${chart} --namespace muster --create-namespace --wait\``,
  ].join('\n')
}

export const publishedNames = () => JSON.parse(readFileSync('release.json', 'utf8'))
