/** A store full of outputs accepts tasks again, because the oldest outputs are dropped. Runs on every store. */
import { statSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { levelOf } from '../../../src/master/streams/keeper.ts'
import { seededRandom, systemTime, VirtualTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import type { Backend } from '../../../src/storage/index.ts'
import { backendAt } from '../../storage/redis/fixture.ts'
import { startRedis, withRedisServer } from '../../kit/redis-server.ts'
import { backendOn, folders } from '../../storage/sqlite/fixture.ts'
import { runMaster } from '../../kit/running-master.ts'

const MIB = 1_048_576
const OUTPUT = JSON.stringify({ slot_id: 0, ts: 1, payload: { text: 'x'.repeat(200_000) } })
const TO = 'y'.repeat(100_000)
const TASKS = 40
const STEP_MS = 6_000

interface Opened {
  readonly backend: Backend
  readonly time?: VirtualTime
}

describe('a store full of outputs (memory)', () => {
  takesTasks(async () => ({
    backend: new MemoryBackend({ clock: systemTime, random: seededRandom(1), limits: { textChars: 24 * MIB } }),
  }))
})

describe('a store full of outputs (sqlite)', () => {
  const folder = folders()
  takesTasks(async () => {
    const { file } = folder()
    const time = new VirtualTime()
    const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0
    // Outputs are refused above 7 MiB of the file, tasks above 9 MiB.
    const freeBytes = async (): Promise<number> => 352 * MIB - 32 * (sizeOf(file) + sizeOf(`${file}-wal`))
    return { backend: backendOn(file, systemTime, { time, freeBytes }), time }
  })
})

withRedisServer('a store full of outputs (redis)', () =>
  describe('a store full of outputs (redis)', () => {
    let server: Awaited<ReturnType<typeof startRedis>>
    beforeAll(async () => {
      server = await startRedis({ maxmemory: '24mb', maxmemoryPolicy: 'noeviction' })
    })
    afterAll(async () => {
      await server.close()
    })
    takesTasks(async () => ({ backend: backendAt(server.url, systemTime) }))
  }),
)

describe('the trim level of all streams', () => {
  it('trims the largest streams first', () => {
    expect(levelOf([10, 100, 200], 1_000)).toBe(Number.MAX_SAFE_INTEGER)
    expect(levelOf([10, 100, 200], 160)).toBe(75)
    expect(levelOf([10, 100, 200], 250)).toBe(140)
    expect(levelOf([], 0)).toBe(Number.MAX_SAFE_INTEGER)
  })
})

function takesTasks(open: () => Promise<Opened>): void {
  it('keeps space for tasks, and drops the oldest outputs before it rejects a task (D83)', async () => {
    const { backend, time } = await open()
    const master = await runMaster({ backend, ...(time !== undefined && { timers: time }) })
    const pause = async (): Promise<void> => (time === undefined ? systemTime.sleep(200) : time.advance(STEP_MS))
    const pushed = await fill(backend, pause)
    await expect(
      backend.kv.set('mailer', [{ key: 'k', value: JSON.stringify('v'.repeat(250_000)), ttlMs: null }]),
    ).rejects.toMatchObject({ code: 'STORAGE_FULL' })
    expect(await backend.streams.length(['mailer'])).toEqual([pushed])

    for (let i = 0, tried = 0; i < TASKS && tried < 3 * TASKS; tried += 1) {
      if (time !== undefined && tried % 4 === 0) await pause() // The store checks its disk every 5 s.
      const { status } = await master.call('POST', '/api/v1/automations/mailer/tasks', {
        body: { payload: { to: TO } },
      })
      expect([200, 503]).toContain(status)
      if (status === 200) i += 1
      else await pause()
    }
    expect((await backend.tasks.counts(['mailer']))[0]?.tiers).toEqual([0, TASKS, 0])
    const [left = 0] = await backend.streams.length(['mailer'])
    expect(left).toBeLessThan(pushed)
    expect(left).toBeGreaterThan(0)
    const { text } = await master.call('GET', '/metrics')
    expect(Number(/^svc_outputs_trimmed_total\{automation_type="mailer"\} (?<n>\d+)$/m.exec(text)?.groups?.['n'])).toBe(
      pushed - left,
    )
    expect(text).toMatch(/^svc_stream_bytes\{automation_type="mailer"\} \d{6,}$/m)
  }, 60_000)
}

/** Pushes outputs until the store is full. @returns how many it accepted. */
async function fill({ streams }: Backend, pause: () => Promise<void>): Promise<number> {
  for (let pushed = 0; ; pushed += 1) {
    if (pushed % 4 === 0) await pause()
    try {
      await streams.push('mailer', 'p', pushed, [OUTPUT])
    } catch {
      return pushed
    }
  }
}
