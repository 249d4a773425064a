/**
 * Fills a real ext4 under load: first to the space that the store keeps for settles, then to the last byte. The power
 * is cut while the disk is full and after space was freed.
 */
import { existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { FleetError } from '../../src/protocol/index.ts'
import { seededRandom, systemTime, VirtualTime } from '../../src/runtime/index.ts'
import type { Backend } from '../../src/storage/index.ts'
import { parseStoreUrl, RedisBackend } from '../../src/storage/redis/index.ts'
import { SqliteBackend } from '../../src/storage/sqlite/index.ts'
import { eventually } from '../kit/eventually.ts'
import { History } from '../kit/history.ts'
import { recordRun } from '../kit/record-run.ts'
import { withRedisServer } from '../kit/redis-server.ts'
import { THREAD_URL } from '../storage/sqlite/fixture.ts'
import { StoreClients } from './clients.ts'
import type { CrashStore } from './crash-points.ts'
import { SQLITE } from './judge.ts'
import { isServed, load, requireService, steps, tolerant } from './load-steps.ts'
import { LoopDisk, withLoopDisks } from './loop-disk.ts'
import { noCounts, redisAlways } from './redis-judge.ts'
import { prepareDataFolder, RedisProcess } from './redis-process.ts'

const DISK_MIB = 16
/**
 * The store keeps 64 MiB of a disk free for settles. In its test it keeps half of that, on a disk of 96 MiB. What is
 * left must hold the longest log, 16 MiB: calls are accepted until the store looks at the disk again.
 */
const RESERVE_DISK_MIB = 96
const RESERVE_SCALE = 2
const LEFT_BYTES = 24 * 1_048_576
const SERVICE_MS = 10_000
const TIMEOUT_MS = 120_000
const PARENT = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
const COMMAND = 'npm test -- test/durability/full-disk'

withLoopDisks('a store on a full disk', () => {
  let folder = ''
  let disk: LoopDisk
  let lines: string[] = []
  let images: string[] = []
  const stops: (() => Promise<unknown>)[] = []

  beforeEach(() => {
    folder = mkdtempSync(join(PARENT, 'muster-full-disk-'))
    disk = LoopDisk.create(join(folder, 'disk'), DISK_MIB)
    ;[lines, images] = [[], []]
  })
  afterEach(async () => {
    for (const stop of stops.splice(0).toReversed()) await stop()
    disk.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const ballast = (): string => join(disk.root, 'ballast')
  const freeBytes = (): number => {
    const { bavail, bsize } = statfsSync(disk.root)
    return bavail * bsize
  }

  /** Fills the disk with another file until only this much is free. */
  function fill(leftBytes: number): void {
    const bytes = freeBytes() - leftBytes
    try {
      writeFileSync(ballast(), Buffer.alloc(Math.max(0, bytes), 1), { flag: 'a', flush: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }

  /** Copies the disk, as a power cut would leave it. @returns a function that judges the copy by the history so far. */
  async function cut(): Promise<() => Promise<readonly string[]>> {
    const [image, before] = [join(folder, `image-${images.length}`), [...lines]]
    images.push(image)
    await disk.copyImage(image)
    return () => judged(image, before)
  }

  let store: CrashStore
  async function judged(image: string, before: readonly string[]): Promise<readonly string[]> {
    const recovered = LoopDisk.of(`${image}-recovered`, image)
    try {
      rmSync(join(recovered.root, 'ballast'), { force: true }) // A store that recovers needs some space.
      return await store.judge(recovered.root, before)
    } finally {
      recovered.close()
    }
  }

  const clientsOf = (backend: Backend, name = 'full'): StoreClients =>
    new StoreClients(
      backend,
      History.of(lines, (line) => void lines.push(line)),
      name,
      { isRetaining: false },
    )

  const codeOf = (call: () => Promise<unknown>): Promise<string> =>
    call().then(
      () => 'served',
      (error: unknown) => (error instanceof FleetError ? `${error.code}, ${error.outcome}` : String(error)),
    )
  /** Each call that makes a store grow, on new keys and tasks. None is in the history: it must have no effect. */
  const growing = ({ kv, streams, counters, pools }: Backend): readonly (() => Promise<unknown>)[] => [
    () => kv.set('refused', [{ key: 'k', value: `"${'x'.repeat(8_000)}"`, ttlMs: null }]),
    () => streams.push('refused', 'p', 1, [`"${'x'.repeat(8_000)}"`]),
    () => counters.add('refused', [{ name: 'c', delta: 1 }]),
    () => pools.put('refused', [{ id: 'i', tags: '{}', payload: `"${'x'.repeat(8_000)}"`, expiresAtMs: null }]),
  ]

  async function servedWithin(backend: Backend, clients: StoreClients): Promise<number> {
    const startedMs = performance.now()
    await eventually('the store is served', () => isServed(clients, () => clients.set()), { withinMs: SERVICE_MS })
    for (const call of growing(backend)) await call()
    await requireService(clients)
    return performance.now() - startedMs
  }

  async function losses(cuts: readonly (() => Promise<readonly string[]>)[]): Promise<readonly string[]> {
    const found: string[] = []
    for (const [i, each] of cuts.entries()) found.push(...(await each()).map((loss) => `cut ${i}: ${loss}`))
    return found
  }

  function record(name: string, cuts: number, found: number, figures: Readonly<Record<string, number>>): void {
    recordRun({
      layer: 'disk',
      command: COMMAND,
      count: cuts,
      counted: `power cuts of ${name} on a full ext4`,
      found,
      figures,
    })
  }

  describe('SQLite on a full disk', () => {
    async function opened(scale: number): Promise<SqliteBackend> {
      store = SQLITE
      const backend = new SqliteBackend({
        path: join(disk.root, 'state', 'master.db'),
        clock: systemTime,
        timers: systemTime,
        random: seededRandom(1),
        threadUrl: THREAD_URL,
        freeBytes: async () => freeBytes() * scale,
      })
      stops.push(() => backend.close())
      await backend.open(AbortSignal.timeout(SERVICE_MS))
      return backend
    }

    it(
      'rejects calls that grow, serves settles and pops, and serves all calls within 10 s of free space (G1, G18)',
      async () => {
        disk.close()
        disk = LoopDisk.create(join(folder, 'large-disk'), RESERVE_DISK_MIB)
        const backend = await opened(RESERVE_SCALE)
        const clients = clientsOf(backend)
        await clients.register()
        await load(clients, 20)
        fill(LEFT_BYTES)
        await eventually(
          'growing calls are rejected',
          async () => {
            const codes = await Promise.all(growing(backend).map(codeOf))
            return codes.every((code) => code === 'STORAGE_FULL, not_sent')
          },
          { withinMs: SERVICE_MS },
        )
        const before = clients.refusals
        for (let i = 0; i < 20; i += 1) {
          await clients.work()
          await clients.pop(3)
        }
        expect(clients.refusals).toBe(before)
        const cuts = [await cut()]
        rmSync(ballast())
        const servedMs = await servedWithin(backend, clients)
        cuts.push(await cut())
        const found = await losses(cuts)
        record('SQLite below its reserve', cuts.length, found.length, { 'ms until service': Math.round(servedMs) })
        expect(found).toEqual([])
      },
      TIMEOUT_MS,
    )

    it(
      'loses nothing on the last byte of the disk, and serves all calls within 10 s of free space (G1, G18)',
      async () => {
        const backend = await opened(Number.MAX_SAFE_INTEGER)
        const clients = clientsOf(backend)
        await clients.register()
        await load(clients, 20)
        fill(0)
        for (let i = 0; i < 100 && clients.refusals === 0; i += 1) await Promise.all(steps(clients).map(tolerant))
        expect(clients.refusals).toBeGreaterThan(0)
        const codes = await Promise.all(growing(backend).map(codeOf))
        expect(codes).toContain('STORAGE_FULL, not_sent')
        await clients.get()
        const cuts = [await cut()]
        rmSync(ballast())
        const servedMs = await servedWithin(backend, clients)
        cuts.push(await cut())
        const found = await losses(cuts)
        record('SQLite without a reserve', cuts.length, found.length, { 'ms until service': Math.round(servedMs) })
        expect(found).toEqual([])
      },
      TIMEOUT_MS,
    )
  })

  withRedisServer('Redis on a full disk', () =>
    describe('Redis on a full disk', () => {
      /** Starts a server and opens a store on it. A later start uses the same folder. */
      async function opened(appendfsync: 'always' | 'everysec') {
        const data = prepareDataFolder(disk.root)
        const start = (port?: number): Promise<RedisProcess> =>
          RedisProcess.start(data, appendfsync, ['--auto-aof-rewrite-percentage', '0'], port)
        const server = await start()
        const url = parseStoreUrl(server.url)
        const backend = new RedisBackend({ url, clock: new VirtualTime(), time: systemTime, random: seededRandom(1) })
        stops.push(() => server.end('SIGKILL'))
        stops.push(() => backend.close())
        await backend.open(AbortSignal.timeout(SERVICE_MS))
        const restart = async (): Promise<void> => {
          const next = await start(server.port)
          stops.push(() => next.end('SIGKILL'))
        }
        return { server, backend, restart }
      }

      it(
        'ends with always, loses nothing, and serves all calls within 10 s of its start (G1, G18)',
        async () => {
          store = redisAlways(noCounts())
          const { server, backend, restart } = await opened('always')
          const clients = clientsOf(backend)
          await clients.register()
          await load(clients, 20)
          fill(0)
          for (let i = 0; i < 200 && !server.hasEnded; i += 1) await Promise.all(steps(clients).map(tolerant))
          expect(server.hasEnded).toBe(true)
          expect(await codeOf(growing(backend)[0] as () => Promise<unknown>)).toBe('STORAGE_UNAVAILABLE, not_sent')
          const cuts = [await cut()]
          rmSync(ballast())
          await restart()
          const servedMs = await servedWithin(backend, clients)
          cuts.push(await cut())
          const found = await losses(cuts)
          record('Redis with always', cuts.length, found.length, { 'ms until service': Math.round(servedMs) })
          expect(found).toEqual([])
        },
        TIMEOUT_MS,
      )

      it(
        'lives with everysec, rejects changes, and serves all calls within 10 s of free space (G18)',
        async () => {
          const { server, backend } = await opened('everysec')
          const clients = clientsOf(backend)
          await clients.register()
          await load(clients, 20)
          fill(0)
          await eventually(
            'changes are rejected',
            async () => {
              await Promise.all(steps(clients).map(tolerant))
              return clients.refusals > 0
            },
            { withinMs: SERVICE_MS },
          )
          const changes = [
            ...growing(backend),
            () => backend.streams.pop('refused', 1),
            () => backend.tasks.ack('refused', [{ id: 't', token: 1 }]),
          ]
          expect(new Set(await Promise.all(changes.map(codeOf)))).toEqual(new Set(['STORAGE_FULL, not_sent']))
          await clients.get()
          rmSync(ballast())
          await servedWithin(backend, clients)
          expect(server.hasEnded).toBe(false)
        },
        TIMEOUT_MS,
      )
    }),
  )
})
