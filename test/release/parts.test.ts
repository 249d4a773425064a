/** Tests the parts of a release that need neither network nor pinned inputs: packages, chart, CRDs, SBOMs. */
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { differences } from '../../hack/release/compare.mjs'
import { hackPath, started, type Ran } from '../hack/tree.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const PARTS = 'npm,client,chart,crds,sbom-npm,sbom-client,checksums'
const COPIED = [
  'dist',
  'charts',
  'crds',
  'src/client/README.md',
  'LICENSE',
  'package.json',
  'package-lock.json',
  'release.json',
]
const COMMIT = '0123456789abcdef0123456789abcdef01234567'
const BUILD_MS = 60_000

interface Locked {
  readonly version: string
  readonly integrity: string
}
interface Bom {
  readonly metadata: { readonly component: { readonly group?: string; readonly name: string } }
  readonly components: readonly {
    readonly name: string
    readonly group?: string
    readonly version: string
    readonly purl: string
    readonly hashes: readonly { readonly content: string }[]
    readonly licenses: readonly object[]
  }[]
}

const json = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'))
const names = json('release.json') as { readonly npm: string; readonly client: string }
const { version } = json('package.json') as { readonly version: string }
const lock = json('package-lock.json') as { readonly packages: Record<string, Locked> }

/** A copy of what the parts are made from, in a folder of its own, with other times of its files. */
function copyOf(): string {
  const tree = temporaryFolder()
  for (const path of COPIED) cpSync(path, join(tree, path), { recursive: true })
  symlinkSync(resolve('node_modules'), join(tree, 'node_modules'))
  for (const path of readdirSync(tree, { recursive: true, encoding: 'utf8' }).filter(
    (each) => !/node_modules/.test(each),
  ))
    utimesSync(join(tree, path), 1, 1)
  return tree
}

function written(tree: string, out: string, only = PARTS, env: NodeJS.ProcessEnv = {}): Ran {
  const args = ['--out', out, '--commit', COMMIT, '--time', '1700000000', '--only', only]
  const program = [process.execPath, hackPath('release/files.mjs'), ...args]
  return started(
    'sh',
    ['-c', 'umask "$UMASK"; exec "$@"', 'sh', ...program],
    { ...process.env, UMASK: '022', ...env },
    tree,
  )
}

function unpacked(archive: string): string {
  const folder = temporaryFolder()
  execFileSync('tar', ['-xzf', archive, '-C', folder])
  return folder
}

describe('the files of a release', () => {
  let out: string
  let npm: string
  let client: string
  beforeAll(() => {
    out = temporaryFolder()
    expect(written(process.cwd(), out)).toMatchObject({ status: 0, stderr: '' })
    const file = (name: string): string => join(out, `${name.slice(1).replace('/', '-')}-${version}.tgz`)
    npm = join(unpacked(file(names.npm)), 'package')
    client = join(unpacked(file(names.client)), 'package')
  }, BUILD_MS)

  it(
    'are equal in every byte in another folder, time zone, language and umask',
    () => {
      const other = temporaryFolder()
      const env = { TZ: 'Asia/Kolkata', LANG: 'de_DE.UTF-8', LC_ALL: 'de_DE.UTF-8', UMASK: '077' }
      expect(written(copyOf(), other, PARTS, env)).toMatchObject({ status: 0, stderr: '' })
      expect(differences(out, other)).toEqual([])
      const [name = ''] = readdirSync(other)
      writeFileSync(
        join(other, name),
        `${readFileSync(join(other, name), 'latin1')}${new Date().toISOString()}`,
        'latin1',
      )
      expect(differences(out, other)).toEqual([expect.stringContaining(`${name}: differs`)])
    },
    BUILD_MS,
  )

  it('are listed in SHA256SUMS', () => {
    expect(started('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], process.env, out)).toMatchObject({ status: 0 })
    const listed = readFileSync(join(out, 'SHA256SUMS'), 'utf8').trim().split('\n')
    expect(listed.length).toBe(readdirSync(out).length - 1)
  })

  it('contain the npm package under its public name, which starts, without source maps', () => {
    expect(json(join(npm, 'package.json'))).toMatchObject({ name: names.npm, version })
    const files = readdirSync(npm, { recursive: true, encoding: 'utf8' })
    expect(files.filter((name) => name.endsWith('.map'))).toEqual([])
    symlinkSync(resolve('node_modules'), join(npm, '../node_modules'))
    expect(started(join(npm, 'cmd/muster.js'), ['--version']).stdout).toContain(version)
    expect(readFileSync(join(npm, 'THIRD-PARTY-LICENSES'), 'utf8')).toMatch(/^uplot .* \(MIT\)$/m)
  })

  it('contain the client alone, which TypeScript and Node import by its public name', async () => {
    expect(json(join(client, 'package.json'))).toMatchObject({ name: names.client, version })
    const user = temporaryFolder()
    mkdirSync(join(user, 'node_modules', names.client, '..'), { recursive: true })
    cpSync(client, join(user, 'node_modules', names.client), { recursive: true })
    symlinkSync(resolve('node_modules/typebox'), join(user, 'node_modules/typebox'))
    writeFileSync(
      join(user, 'main.mts'),
      `import { MusterClient } from '${names.client}'\n` +
        "const tasks = new MusterClient({ url: 'http://127.0.0.1:1', token: 't' }).automation('greeter')\n" +
        'export const submit: (payload: { name: string }) => Promise<unknown> = (payload) => tasks.submit(payload)\n' +
        '// @ts-expect-error a number is no type of automation\n' +
        "new MusterClient({ url: 'http://127.0.0.1:1', token: 't' }).automation(1)\n",
    )
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023']
    expect(started(resolve('node_modules/.bin/tsc'), [...options, 'main.mts'], process.env, user)).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    })
    const loaded = (await import(pathToFileURL(join(client, 'client/public.js')).href)) as Record<string, unknown>
    expect(Object.keys(loaded)).toContain('MusterClient')
  })

  it('contain the chart and both CRDs', () => {
    const entries = execFileSync('tar', ['-tf', '-'], {
      input: gunzipSync(readFileSync(join(out, `muster-${version}.tgz`))),
      encoding: 'utf8',
    })
    expect(entries).toContain('muster/Chart.yaml')
    const crds = readFileSync(join(out, 'crds.yaml'), 'utf8')
    expect([...crds.matchAll(/^ {4}kind: (\w+)$/gm)].map(([, kind]) => kind)).toEqual(['FleetWorker', 'FleetWorkerSet'])
  })

  it('list every shipped package with the version and the hash of the lock file', () => {
    const { components, metadata } = json(join(out, 'sbom-npm.cdx.json')) as Bom
    expect([metadata.component.group, metadata.component.name].filter(Boolean).join('/')).toBe(names.npm)
    const locked = new Map(
      Object.entries(lock.packages).map(([path, { version: of, integrity }]) => [
        `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${of}`,
        integrity,
      ]),
    )
    expect(components.length).toBeGreaterThan(150)
    for (const { name, version: of, hashes, licenses } of components) {
      const [, hash = ''] = (locked.get(`${name}@${of}`) ?? '').split('-')
      expect([name, hashes[0]?.content]).toEqual([name, Buffer.from(hash, 'base64').toString('hex')])
      expect(licenses).toHaveLength(1)
    }
    const shipped = components.map(({ name }) => name)
    // Bundled into the server, bundled into the dashboard, installed beside them, and needed by one of those.
    expect(shipped).toEqual(expect.arrayContaining(['express', 'react-dom', 'better-sqlite3', 'protobufjs']))
    expect(shipped).not.toContain('jest')
  })

  it(
    'refuse a package of another version than in the lock file, and a licence that is not allowed',
    () => {
      const tree = copyOf()
      const change = (edit: (packages: Record<string, { version: string; license: string }>) => void): string => {
        const changed = structuredClone(lock) as never as {
          packages: Record<string, { version: string; license: string }>
        }
        edit(changed.packages)
        writeFileSync(join(tree, 'package-lock.json'), JSON.stringify(changed))
        return written(tree, join(tree, 'out'), 'sbom-npm').stderr
      }
      const at = (packages: Record<string, { version: string; license: string }>, path: string) => {
        const found = packages[path]
        if (found === undefined) throw new Error(`${path} is not in the lock file`)
        return found
      }
      expect(change((packages) => (at(packages, 'node_modules/uplot').version = '0.0.1'))).toContain(
        'is in the build, but package-lock.json has 0.0.1',
      )
      expect(change((packages) => (at(packages, 'node_modules/uplot').license = 'AGPL-3.0-only'))).toContain(
        'the licence "AGPL-3.0-only" is not in hack/release/licences.mjs',
      )
      expect(existsSync(join(tree, 'out/sbom-npm.cdx.json'))).toBe(false)
    },
    BUILD_MS,
  )
})
