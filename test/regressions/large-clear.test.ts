/**
 * Regression: clearing a large dead-letter queue blocked all other calls. It must be one short step for any number of
 * tasks. SOAK=1 clears a million.
 */
import { expect, it } from '@jest/globals'
import type { Backend } from '../../src/storage/index.ts'
import { TYPE, dead, killed, nack, pending, reserve, submit, task } from '../storage/contract/fixture.ts'
import { onEachBackend } from './backends.ts'

const isSoak = process.env['SOAK'] === '1'
const DEAD = isSoak ? 1_000_000 : 100_000
const BATCH = 500
/** A busy machine stalls on its own, so the fastest clear counts. */
const CLEARS = isSoak ? 1 : 2
/**
 * A fixed allowance plus a multiple of the slowest of a few ordinary steps. Removing 100,000 rows one by one takes
 * longer.
 */
const STALL_MS = 20
const SLACK = 2

async function elapsedMs(step: () => Promise<unknown>): Promise<number> {
  const begin = performance.now()
  await step()
  return performance.now() - begin
}

async function ordinaryMs(backend: Backend): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 5; i += 1) times.push(await elapsedMs(() => backend.counters.add('n', [{ name: 'c', delta: 1 }])))
  return Math.max(...times)
}

async function kill(backend: Backend, count: number): Promise<void> {
  for (let from = 0; from < count; from += BATCH)
    await killed(backend, ...Array.from({ length: BATCH }, (_, i) => `d${from + i}`))
}

onEachBackend('large clear', (open) => {
  it('clears all dead tasks in one step, whose duration does not grow with their number', async () => {
    const { backend } = await open()
    const pauses: number[] = []
    for (let clear = 0; clear < CLEARS; clear += 1) {
      await kill(backend, DEAD)
      const allowed = STALL_MS + SLACK * (await ordinaryMs(backend))
      pauses.push((await elapsedMs(async () => expect(await backend.tasks.clearDead(TYPE)).toBe(DEAD))) / allowed)
    }
    expect(Math.min(...pauses)).toBeLessThan(1)
  }, 600_000)

  it('removes all dead tasks from counts and lookups, and changes no other task', async () => {
    const { backend } = await open()
    await kill(backend, 2_000)
    await submit(backend, 'live')
    expect(await backend.tasks.clearDead(TYPE)).toBe(2_000)
    expect(await backend.tasks.clearDead(TYPE)).toBe(0)
    expect(await backend.tasks.dead(TYPE, 10)).toEqual({ length: 0, items: [] })
    expect(await backend.tasks.locate(TYPE, ['d0', 'd1999', 'live'])).toEqual([null, null, 'pending'])
    expect(await backend.tasks.submit(TYPE, 1_000, [task('d0', { ownId: true })], 2)).toEqual([{ kind: 'queued' }])
    expect(await backend.tasks.replay(TYPE, 1)).toBe(0)
    expect(await pending(backend)).toEqual(['live', 'd0'])
    await nack(backend, await reserve(backend), { permanent: true })
    expect(await dead(backend)).toEqual(['live', 'd0'])
  })
})
