// Creates the package as a user gets it: packed from dist/ by npm, installed without a network.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Packed {
  readonly tarball: string
  readonly version: string
  readonly dependencies: readonly string[]
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Packs `dist` into `folder`. */
export function pack(dist: string, folder: string): Packed {
  const args = ['pack', dist, '--pack-destination', folder, '--json', '--ignore-scripts', '--loglevel', 'error']
  execFileSync('npm', args, { stdio: 'pipe', cwd: folder })
  const { name, version, dependencies = {} } = JSON.parse(readFileSync(join(dist, 'package.json'), 'utf8'))
  return { tarball: join(folder, `${name}-${version}.tgz`), version, dependencies: Object.keys(dependencies) }
}

/**
 * Does what `npm install muster` does on a page: unpacks the tarball, and links only the dependencies of its manifest
 * from this repository's node_modules, so that a missing dependency is found.
 */
function installScript({ tarball, version, dependencies }: Packed, modules: string): string {
  const links = dependencies.flatMap((name) => {
    const place = `node_modules/muster/node_modules/${name}`
    return [`mkdir -p "$(dirname ${place})"`, `ln -sfn ${quoted(join(modules, name))} ${place}`]
  })
  return [
    'mkdir -p node_modules/.bin node_modules/muster',
    `tar -xzf ${quoted(tarball)} -C node_modules/muster --strip-components=1`,
    ...links,
    'for name in muster kubectl-muster; do ln -sfn ../muster/cmd/muster.js node_modules/.bin/$name; done',
    `[ -e package.json ] || echo '{ "dependencies": { "muster": "${version}" } }' >package.json`,
  ].join('\n')
}

/**
 * Does what `npx muster` does on a page: starts the installed command. The real npx hides the exit code after Ctrl-C:
 * its shell dies of the signal, or forwards it a second time.
 */
const START_SCRIPT = `folder=$PWD
until [ -x "$folder/node_modules/.bin/$1" ] || [ "$folder" = / ]; do folder=$(dirname "$folder"); done
if [ "$folder" = / ]; then echo "npx: $1 is not installed here" >&2; exit 127; fi
exec "$folder/node_modules/.bin/$1" "\${@:2}"`

function writeTool(path: string, script: string): void {
  writeFileSync(path, `#!/usr/bin/env bash\nset -euo pipefail\n${script}\n`)
  chmodSync(path, 0o755)
}

/**
 * Writes an `npx` into `bin`, and an `npm` that installs the package itself and forwards everything else to the real
 * npm.
 */
export function writeTools(bin: string, packed: Packed, modules: string): void {
  mkdirSync(bin, { recursive: true })
  const real = execFileSync('bash', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim()
  const leave = `if [ "$*" != 'install muster' ] && [ "$*" != 'i muster' ]; then exec ${quoted(real)} "$@"; fi`
  writeTool(join(bin, 'npm'), `${leave}\n${installScript(packed, modules)}`)
  writeTool(join(bin, 'npx'), START_SCRIPT)
}
