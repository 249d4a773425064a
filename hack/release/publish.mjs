// publish.sh: what a publisher runs in the folder of a release that was checked. It is not run by any build.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageFile } from './packages.mjs'

const TEMPLATE = new URL('publish.template.sh', import.meta.url)

/** @returns the hash of a package as npm registries give it. */
const integrity = (path) => `sha512-${createHash('sha512').update(readFileSync(path)).digest('base64')}`

/** The script of this release, whose packages are in `out`. The client is first, because it depends on no other. */
export function publishScript({ out, names, version, imageDigest }) {
  const pythonPrefix = `${names.python.replaceAll('-', '_')}-`
  const values = {
    version,
    minor: version.split('.', 2).join('.'),
    image: names.image,
    digest: imageDigest,
    chart: names.chart,
    npm_packages: [names.client, names.npm]
      .map((name) => [name, packageFile(name, version)])
      .map(([name, file]) => `${name} ${file} ${integrity(join(out, file))}`)
      .join(' '),
    python: names.python,
    python_files: readdirSync(out)
      .filter((name) => name.startsWith(pythonPrefix))
      .toSorted()
      .join(' '),
  }
  const text = readFileSync(TEMPLATE, 'utf8').replaceAll(/@(\w+)@/g, (_, name) => values[name])
  return new Map([['publish.sh', text]])
}
