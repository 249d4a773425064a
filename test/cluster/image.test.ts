import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { hackPath } from '../hack/tree.ts'
import { SLACK } from '../kit/index.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const BUILD = hackPath('image/build.mjs')
const BUILD_MS = 300_000
/** Programs that an attacker inside the container could use, and that Muster does not need. */
const STRANGERS = /\/(?:sh|bash|dash|busybox|apt|apt-get|dpkg|npm|npx|corepack|gcc|cc|make|python3?|perl|curl|wget)$/
const HELP_WITHIN_MS = 500
/** Environment for the chroot command; no other variables of this machine are passed on. */
const env = { PATH: process.env['PATH'], NODE_ENV: 'production' }

interface Manifest {
  readonly config: { readonly digest: string }
  readonly layers: readonly { readonly digest: string; readonly size: number }[]
}
interface Config {
  readonly config: {
    readonly User: string
    readonly Entrypoint: readonly string[]
    readonly Env: readonly string[]
    readonly WorkingDir: string
  }
  readonly created: string
}

/** Lists all entries recursively, folders included. */
const filesOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `/${name}`)

describe('the image', () => {
  let scratch: string
  let said: string
  let root: string
  let manifest: Manifest
  let config: Config
  const archive = (): string => join(scratch, 'image.tar')
  const entry = (digest: string): string => `blobs/sha256/${digest.replace('sha256:', '')}`
  const read = (name: string): string => execFileSync('tar', ['-xOf', archive(), name], { encoding: 'utf8' })
  const build = (out: string): string => execFileSync(process.execPath, [BUILD, '--out', out], { encoding: 'utf8' })
  const digestOf = (output: string): string => /sha256:[0-9a-f]{64}/.exec(output)?.[0] ?? 'none'

  beforeAll(() => {
    scratch = temporaryFolder()
    chmodSync(scratch, 0o755) // The user of the image needs access.
    said = build(archive())
    const [{ digest } = { digest: '' }] = (JSON.parse(read('index.json')) as { manifests: { digest: string }[] })
      .manifests
    manifest = JSON.parse(read(entry(digest))) as Manifest
    config = JSON.parse(read(entry(manifest.config.digest))) as Config
    root = join(scratch, 'root')
    mkdirSync(root)
    for (const layer of manifest.layers)
      execFileSync('sh', ['-c', `tar -xOf '${archive()}' '${entry(layer.digest)}' | tar -xzf - -C '${root}'`])
  }, BUILD_MS)
  it(
    'has the same digest every time it is built',
    () => {
      expect(digestOf(build(join(scratch, 'again.tar')))).toBe(digestOf(said))
    },
    BUILD_MS,
  )

  it('runs as an unprivileged user, in production mode, with the pinned Node', () => {
    expect(config.config).toMatchObject({
      User: '65532:65532',
      WorkingDir: '/opt/muster',
      Env: ['NODE_ENV=production'],
    })
    expect(config.created).toBe('1970-01-01T00:00:00.000Z')
    const pins = JSON.parse(readFileSync(hackPath('image/pins.json'), 'utf8')) as { node: { version: string } }
    expect(readFileSync(hackPath('install-node.sh'), 'utf8')).toContain(`version=${pins.node.version}`)
  })

  it('contains no shell, no package manager, no compiler, no setuid file, no source map', () => {
    const files = filesOf(root)
    expect(files.length).toBeGreaterThan(1_000)
    expect(files.filter((name) => STRANGERS.test(name) || name.endsWith('.map'))).toEqual([])
    expect(files.filter((name) => lstatSync(join(root, name)).mode & 0o6000)).toEqual([])
  })

  it('is assembled in one folder, which is a required argument', () => {
    for (const words of [[], ['--help'], ['a', 'b']])
      expect(spawnSync(process.execPath, [hackPath('image/rootfs.mjs'), ...words], { encoding: 'utf8' })).toMatchObject(
        { status: 1, stdout: '', stderr: 'name one folder: node hack/image/rootfs.mjs FOLDER\n' },
      )
  })

  it('contains the licences of the bundled software', () => {
    const names = filesOf(root)
    for (const name of ['better-sqlite3/LICENSE', '@opentelemetry/sdk-node/LICENSE', 'muster/THIRD-PARTY-LICENSES'])
      expect(names).toContain(`/opt/muster/node_modules/${name}`)
    expect(names).toContain('/usr/share/doc/libc6/copyright')
  })

  it('contains in its last layer only what a code change affects, at most 5 MB', () => {
    expect(manifest.layers).toHaveLength(4)
    expect(manifest.layers.at(-1)?.size).toBeLessThan(5e6)
  })

  if (process.getuid?.() === 0) {
    it(
      'starts every subcommand as its user with a read-only file system, and prints its help within half a second',
      () => {
        const [node = '', ...args] = config.config.Entrypoint
        const muster = (...words: readonly string[]): ReturnType<typeof spawnSync> =>
          spawnSync('chroot', ['--userspec=65532:65532', root, node, ...args, ...words], { encoding: 'utf8', env })
        for (const subcommand of ['master', 'worker', 'operator', 'bootstrap', 'dev'])
          expect(muster(subcommand, '--help')).toMatchObject({
            status: 0,
            stderr: '',
            stdout: expect.stringContaining(`muster ${subcommand}`),
          })
        const fastest = Math.min(
          ...[1, 2, 3].map(() => {
            const beganMs = performance.now()
            expect(muster('--help').status).toBe(0)
            return performance.now() - beganMs
          }),
        )
        expect(fastest).toBeLessThan(HELP_WITHIN_MS * SLACK)
      },
      BUILD_MS,
    )

    it(
      'contains the modules that cannot be bundled: SQLite and OpenTelemetry load',
      () => {
        const [node = ''] = config.config.Entrypoint
        const script =
          "const need = (await import('node:module')).createRequire('/opt/muster/package.json'); " +
          "new (need('better-sqlite3'))(':memory:').exec('select 1'); need('@opentelemetry/sdk-node'); " +
          "await import(need.resolve('muster/automations')); console.log('loaded')"
        const ran = spawnSync('chroot', ['--userspec=65532:65532', root, node, '--input-type=module', '-e', script], {
          encoding: 'utf8',
          env,
        })
        expect(ran).toMatchObject({ status: 0, stdout: 'loaded\n' })
      },
      BUILD_MS,
    )
  } else it.skip('starts every subcommand: chroot needs root', () => undefined)
})
