/** When reports of workers are stored: changes immediately, everything else once per second and type (D219). */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { WorkerReport } from '../../../src/storage/index.ts'
import { RegistryFixture, stateFrame, statsFrame, type WorkerClient } from '../registry/fixture.ts'

const RUNNING = stateFrame({ state: 'RUNNING', config_gen: 0 })

let fixture: RegistryFixture
let calls: (readonly WorkerReport[])[]
let workers: WorkerClient[]

/** Workers that have reported before, a second after the last report was stored. */
beforeEach(async () => {
  calls = []
  fixture = await RegistryFixture.open({
    backend: (real) => {
      const beat = real.workers.beat.bind(real.workers)
      real.workers.beat = (reports) => {
        calls.push(reports)
        return beat(reports)
      }
      return real
    },
  })
  workers = []
  for (let n = 0; n < 20; n += 1) workers.push(await fixture.worker(`w${n}`))
  for (const worker of workers) await send(worker, RUNNING, statsFrame())
  await fixture.time.advance(2_000)
  calls = []
})
afterEach(() => fixture.close())

async function send(worker: WorkerClient | undefined, ...frames: object[]): Promise<void> {
  for (const frame of frames) worker?.send(frame)
  await worker?.settled()
}

const idsOf = (reports: readonly WorkerReport[] = []): string[] => reports.map(({ id }) => id)

describe('reports of workers', () => {
  it('that change no state are stored by one call per second', async () => {
    await send(workers[0], statsFrame())
    for (const worker of workers.slice(1)) await send(worker, RUNNING, statsFrame())
    expect(calls.map(idsOf)).toEqual([['w0']])
    await fixture.time.advance(999)
    expect(calls).toHaveLength(1)
    await fixture.time.advance(1)
    expect(calls).toHaveLength(2)
    expect(new Set(idsOf(calls[1]))).toEqual(new Set(workers.slice(1).map((_, n) => `w${n + 1}`)))
    for (let second = 0; second < 5; second += 1) {
      for (const worker of workers) await send(worker, statsFrame())
      await fixture.time.advance(1_000)
    }
    expect(calls.length).toBeLessThanOrEqual(8)
    const frames = calls.flat().reduce((sum, { stats = [] }) => sum + stats.length, 0)
    expect(frames).toBe(20 * 6)
  })

  it('that follow a second without any are stored immediately', async () => {
    await send(workers[3], statsFrame())
    expect(calls.map(idsOf)).toEqual([['w3']])
    await fixture.time.advance(1_000)
    await send(workers[4], RUNNING)
    expect(calls.map(idsOf)).toEqual([['w3'], ['w4']])
  })

  it.each([
    ['another state', stateFrame({ state: 'IDLE', config_gen: 0 })],
    ['another error', stateFrame({ state: 'RUNNING', config_gen: 0, last_error: 'no route' })],
    ['another generation', stateFrame({ state: 'RUNNING', config_gen: 1 })],
  ])('with %s are stored immediately, with all that wait', async (_, changed) => {
    for (const worker of workers.slice(0, 5)) await send(worker, statsFrame())
    await send(workers[9], changed)
    expect(calls.map(idsOf)).toEqual([['w0'], ['w1', 'w2', 'w3', 'w4', 'w9']])
    await fixture.time.advance(1_000)
    expect(calls).toHaveLength(2)
  })

  it('with the first statistics of a connection are stored immediately', async () => {
    await send(workers[0], statsFrame())
    await send(await fixture.worker('new'), statsFrame())
    expect(calls.map(idsOf)).toEqual([['w0'], ['new']])
  })

  it('are stored when their connection ends, and when the master stops', async () => {
    await send(workers[0], statsFrame())
    await send(workers[1], statsFrame())
    await workers[1]?.close()
    expect(calls.map(idsOf)).toEqual([['w0'], ['w1']])
    await send(workers[2], statsFrame())
    await fixture.close()
    expect(calls.flatMap(idsOf)).toContain('w2')
  })
})
