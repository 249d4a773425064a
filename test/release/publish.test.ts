/** Publishes releases by their publish.sh, with the real programs, to real registries on loopback. */
import { execFile } from 'node:child_process'
import { appendFileSync, cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { temporaryFolder } from '../kit/temporary-folder.ts'
import type { Ran } from '../hack/tree.ts'
import { buildRelease, finish, names, writeSmallImage } from './releases-to-publish.ts'
import { startRegistries, withRegistries, type Registries } from './registries.ts'

const TEST_MS = 300_000
const packageFile = (name: string, version: string): string => `${name.slice(1).replace('/', '-')}-${version}.tgz`

withRegistries('publish.sh', () => {
  describe('publish.sh', () => {
    let registries: Registries
    const releases = new Map<string, string>()

    const run = (program: string, args: readonly string[], cwd: string, env = {}): Promise<Ran> =>
      new Promise((done) => {
        execFile(program, args, { cwd, env: { ...registries.env, ...env } }, (error, stdout, stderr) =>
          done({ status: error === null ? 0 : Number(error.code), stdout, stderr }),
        )
      })
    const release = async (version: string): Promise<string> => {
      const folder = releases.get(version) ?? (await buildRelease(version))
      releases.set(version, folder)
      return folder
    }
    const publish = async (version: string): Promise<Ran> => run('./publish.sh', [], await release(version))
    /** A copy of a release in which files are changed, with a publish.sh and checksums that fit them. */
    const changed = async (version: string, change: (folder: string) => string | Promise<string>): Promise<string> => {
      const folder = temporaryFolder()
      cpSync(await release(version), folder, { recursive: true })
      const digest = /^digest=(.*)$/m.exec(readFileSync(join(folder, 'publish.sh'), 'utf8'))?.[1] ?? ''
      await finish(folder, version, (await change(folder)) || digest)
      return folder
    }
    const output = async (program: string, ...args: readonly string[]): Promise<string> =>
      (await run(program, args, '/')).stdout.trim()
    const imageTags = async (): Promise<string[]> => (await output('crane', 'ls', names.image)).split('\n').toSorted()
    const imageDigest = (tag: string): Promise<string> => output('crane', 'digest', `${names.image}:${tag}`)
    const npmTags = async (): Promise<unknown> =>
      JSON.parse(await output('npm', 'view', names.npm, 'dist-tags', '--json'))

    beforeAll(async () => {
      registries = await startRegistries()
    }, TEST_MS)
    afterAll(() => registries.close())

    it(
      'pushes nothing if a file differs from SHA256SUMS, or if a registry cannot be read',
      async () => {
        const folder = temporaryFolder()
        cpSync(await release('0.2.0-rc.1'), folder, { recursive: true })
        appendFileSync(join(folder, 'muster-0.2.0-rc.1.tgz'), 'x')
        const differing = await run('./publish.sh', [], folder)
        expect(differing.status).toBe(1)
        expect(differing.stdout + differing.stderr).toContain('muster-0.2.0-rc.1.tgz: FAILED')
        const unread = await run('./publish.sh', [], await release('0.2.0-rc.1'), { HTTPS_PROXY: 'http://127.0.0.1:1' })
        expect(unread.status).toBe(1)
        expect(unread.stderr).toContain(
          'publish.sh: cannot read from the registry, so nothing was pushed: crane digest',
        )
        expect(registries.writes).toEqual([])
      },
      TEST_MS,
    )

    it(
      'publishes a prerelease under its version and the npm tag next alone',
      async () => {
        expect(await publish('0.2.0-rc.1')).toMatchObject({ status: 0 })
        expect(await imageTags()).toEqual(['0.2.0-rc.1'])
        // npm sets latest with the first version of a package.
        expect(await npmTags()).toEqual({ next: '0.2.0-rc.1', latest: '0.2.0-rc.1' })
        expect(registries.refused).toEqual([])
      },
      TEST_MS,
    )

    it(
      'publishes image, chart and packages as they are in the release, digests before tags',
      async () => {
        registries.writes.splice(0)
        const { status, stdout } = await publish('0.2.0')
        expect(status).toBe(0)
        expect(stdout.match(/^==> .*$/gm)).toEqual([
          '==> compare the files with SHA256SUMS',
          '==> compare the registries with this release',
          '==> push the image by its digest, and then the tag 0.2.0',
          '==> push the chart',
          `==> push ${names.client} with the tag latest`,
          `==> push ${names.npm} with the tag latest`,
          '==> push muster_worker-0.2.0-py3-none-any.whl',
          '==> push muster_worker-0.2.0.tar.gz',
          '==> set the tag 0.2 of the image',
          '==> set the tag latest of the image',
          '==> Muster 0.2.0 is published',
        ])
        const digest = await imageDigest('0.2.0')
        const manifests = registries.writes.filter((line) =>
          line.includes(`${names.image}/`.replace('/', '/v2/') + 'manifests/'),
        )
        expect(manifests.map((line) => line.slice(line.lastIndexOf('/') + 1)).slice(-4)).toEqual([
          digest,
          '0.2.0',
          '0.2',
          'latest',
        ])
        const index = JSON.parse(await output('crane', 'manifest', `${names.image}:latest`)) as {
          readonly manifests: readonly { readonly platform: { readonly architecture: string } }[]
        }
        expect(index.manifests.map(({ platform }) => platform.architecture)).toEqual(['amd64', 'arm64'])
        const fetched = temporaryFolder()
        await run('helm', ['pull', names.chart, '--version', '0.2.0'], fetched)
        for (const name of [names.npm, names.client]) await run('npm', ['pack', `${name}@0.2.0`], fetched)
        await run('pip', ['download', '--no-deps', '--no-cache-dir', `${names.python}==0.2.0`], fetched)
        for (const file of [
          'muster-0.2.0.tgz',
          packageFile(names.npm, '0.2.0'),
          packageFile(names.client, '0.2.0'),
          'muster_worker-0.2.0-py3-none-any.whl',
        ])
          expect([
            file,
            readFileSync(join(fetched, file)).equals(readFileSync(join(await release('0.2.0'), file))),
          ]).toEqual([file, true])
        expect(registries.refused).toEqual([])
      },
      TEST_MS,
    )

    it(
      'skips what is published with the same content, and completes an interrupted run',
      async () => {
        registries.writes.splice(0)
        const { status, stdout } = await publish('0.2.0')
        expect(status).toBe(0)
        expect(stdout.match(/^.*(?=: published with the same content, skipped$)/gm)).toEqual([
          `${names.image}:0.2.0`,
          `${names.chart}:0.2.0`,
          `${names.client}@0.2.0`,
          `${names.npm}@0.2.0`,
          'muster_worker-0.2.0-py3-none-any.whl',
          'muster_worker-0.2.0.tar.gz',
        ])
        expect(registries.writes.map((line) => line.slice(line.lastIndexOf('/') + 1))).toEqual(['0.2', 'latest'])
      },
      TEST_MS,
    )

    const others: [string, (folder: string) => string | Promise<string>, string][] = [
      ['image', (folder) => writeSmallImage(folder, '0.2.0', 'other'), `${names.image}:0.2.0`],
      [
        'chart',
        (folder) => {
          appendFileSync(join(folder, 'muster-0.2.0.tgz'), 'x')
          return ''
        },
        `${names.chart}:0.2.0`,
      ],
      [
        'package for npm',
        (folder) => {
          appendFileSync(join(folder, packageFile(names.client, '0.2.0')), 'x')
          return ''
        },
        `${names.client}@0.2.0`,
      ],
      [
        'package for Python',
        (folder) => {
          appendFileSync(join(folder, 'muster_worker-0.2.0.tar.gz'), 'x')
          return ''
        },
        'muster_worker-0.2.0.tar.gz',
      ],
    ]
    it.each(others)(
      'pushes nothing if the registry has another %s under this version',
      async (_, change, name) => {
        registries.writes.splice(0)
        const folder = await changed('0.2.0', change)
        const { status, stderr } = await run('./publish.sh', [], folder)
        expect(status).toBe(1)
        expect(stderr).toContain(`${name}: published with other content: the registry has `)
        expect(stderr).toContain('publish.sh: nothing was pushed: a published version is never replaced')
        expect(registries.writes).toEqual([])
      },
      TEST_MS,
    )

    it(
      'moves no tag back when it publishes a version of an older minor',
      async () => {
        expect(await publish('0.1.7')).toMatchObject({ status: 0 })
        expect(await imageTags()).toEqual(['0.1', '0.1.7', '0.2', '0.2.0', '0.2.0-rc.1', 'latest'])
        expect(await imageDigest('latest')).toBe(await imageDigest('0.2.0'))
        expect(await npmTags()).toEqual({ next: '0.2.0-rc.1', latest: '0.2.0', 'release-0.1': '0.1.7' })
      },
      TEST_MS,
    )
  })
})
