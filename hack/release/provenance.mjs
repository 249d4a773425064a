// What a release was made from, and how to check it: an in-toto statement, checksums, and the script that publishes it.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const hash = (path) => createHash('sha256').update(readFileSync(path)).digest('hex')
/** Files that are written from the others. */
const LAST = new Set(['SHA256SUMS', 'SHA256SUMS.minisig', 'provenance.intoto.json', 'publish.sh'])
const filesIn = (out, without) =>
  readdirSync(out)
    .filter((name) => !without.has(name))
    .toSorted()

/** A SLSA v1 provenance. It states what was built from what; it proves no builder, which only a signature could. */
export function provenance({ root, out, names, version, commit }) {
  const input = (name, path) => ({ name, digest: { sha256: hash(join(root, path)) } })
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: filesIn(out, LAST).map((name) => ({ name, digest: { sha256: hash(join(out, name)) } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `${names.repository}/blob/main/hack/release/README.md`,
        externalParameters: { version, command: `make release-inputs && make release VERSION=${version}` },
        resolvedDependencies: [
          { uri: `git+${names.repository}`, digest: { gitCommit: commit } },
          input('package-lock.json', 'package-lock.json'),
          input('hack/image/pins.json', 'hack/image/pins.json'),
          input('hack/clients-requirements.txt', 'hack/clients-requirements.txt'),
        ],
      },
      runDetails: { builder: { id: 'make release, on any machine' } },
    },
  }
  return new Map([['provenance.intoto.json', `${JSON.stringify(statement, null, 2)}\n`]])
}

/** In the form of sha256sum(1), in the order of the names. */
export function checksums({ out }) {
  const names = filesIn(out, new Set(['SHA256SUMS', 'SHA256SUMS.minisig']))
  return new Map([['SHA256SUMS', names.map((name) => `${hash(join(out, name))}  ${name}\n`).join('')]])
}
