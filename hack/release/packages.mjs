// The packages of a release: two for npm, and the Python worker.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { inScratch } from '../image/rootfs.mjs'
import { tar } from '../tar.mjs'

const json = (path) => JSON.parse(readFileSync(path, 'utf8'))
const IMPORT = /(?:from|import\()\s*'(\.[^']+)'/g

/** @returns the file name that npm gives a package: `acme-client-0.2.0.tgz` of `@acme/client`. */
export const packageFile = (name, version) => `${name.replace('@', '').replace('/', '-')}-${version}.tgz`

/** @returns the bytes of an archive as npm packs it: everything lies in the folder `package`. */
const packed = (folder) => gzipSync(tar(folder, 'package'), { level: 9 })

const writeManifest = (folder, manifest) =>
  writeFileSync(join(folder, 'package/package.json'), `${JSON.stringify(manifest, null, 2)}\n`)

/** The package that users install as `muster`: dist/ under its public name, without source maps. */
export function npmPackage({ root, names, version }) {
  return inScratch((scratch) => {
    cpSync(join(root, 'dist'), join(scratch, 'package'), {
      recursive: true,
      filter: (path) => !path.endsWith('.map'),
    })
    writeManifest(scratch, { ...json(join(root, 'dist/package.json')), name: names.npm, version })
    return new Map([[packageFile(names.npm, version), packed(scratch)]])
  })
}

/** Every declaration file that `path` imports, itself included. */
function declarations(path, found = new Set()) {
  if (found.has(path)) return found
  found.add(path)
  for (const [, imported] of readFileSync(path, 'utf8').matchAll(IMPORT))
    declarations(join(dirname(path), imported.replace(/\.(?:ts|js)$/, '.d.ts')), found)
  return found
}

/** The client alone, whose code needs only `fetch`. Its types need those of typebox. */
export function clientPackage({ root, names, version }) {
  const dist = join(root, 'dist')
  const { license, type, engines, repository, dependencies } = json(join(dist, 'package.json'))
  const entry = { types: './client/public.d.ts', default: './client/public.js' }
  return inScratch((scratch) => {
    const copy = (from, to) => {
      mkdirSync(dirname(join(scratch, 'package', to)), { recursive: true })
      cpSync(from, join(scratch, 'package', to))
    }
    for (const path of declarations(join(dist, 'client/public.d.ts'))) copy(path, relative(dist, path))
    copy(join(dist, 'client/public.js'), 'client/public.js')
    copy(join(root, 'LICENSE'), 'LICENSE')
    copy(join(root, 'src/client/README.md'), 'README.md')
    writeManifest(scratch, {
      name: names.client,
      version,
      description: 'Submits tasks to Muster, reads outputs and follows events.',
      repository,
      license,
      type,
      engines,
      sideEffects: false,
      exports: { '.': entry, './package.json': './package.json' },
      dependencies: { typebox: dependencies.typebox },
    })
    return new Map([[packageFile(names.client, version), packed(scratch)]])
  })
}

/** Wheel and source archive of the Python worker, built by Hatchling. @param python The interpreter that has it. */
export function pythonPackages({ root, out, python }) {
  execFileSync(python, ['-m', 'hatchling', 'build', '--directory', out], {
    cwd: join(root, 'clients/python'),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  return new Map()
}
