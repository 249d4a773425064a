/** How the masters of a store share jobs, by their heartbeats alone (D193). */
import { describe, expect, it } from '@jest/globals'
import { StoreEpoch } from '../../src/master/epoch.ts'
import { createMasterMembership, type MasterMembership } from '../../src/master/master-membership.ts'
import { FleetError } from '../../src/protocol/index.ts'
import { systemRandom, VirtualTime } from '../../src/runtime/index.ts'
import { MemoryBackend } from '../../src/storage/memory/index.ts'
import type { Backend } from '../../src/storage/index.ts'
import { recordingLog } from '../kit/recording-log.ts'

const JOBS = Array.from({ length: 600 }, (_, at) => `sweep/type-${at}`)

async function openStore() {
  const time = new VirtualTime()
  const backend = new MemoryBackend({ clock: time, random: systemRandom })
  await backend.open(AbortSignal.timeout(5_000))
  let isUnavailable = false
  /** A store that `setUnavailable` makes unavailable for the heartbeats of `m-1`. */
  const storeOf = (masterId: string): Pick<Backend, 'meta'> => {
    const beat = async (id: string): Promise<readonly string[]> => {
      if (isUnavailable && masterId === 'm-1')
        throw new FleetError('STORAGE_UNAVAILABLE', 'the store does not respond', { outcome: 'not_sent' })
      return backend.meta.beat(id)
    }
    return { meta: Object.assign(Object.create(backend.meta) as Backend['meta'], { beat }) }
  }
  const masters = new Map<string, MasterMembership>()
  const start = async (...ids: string[]): Promise<void> => {
    for (const masterId of ids) {
      const master = createMasterMembership({
        backend: storeOf(masterId),
        clock: time,
        timers: time,
        log: recordingLog(),
        masterId,
        epoch: new StoreEpoch(backend),
      })
      masters.set(masterId, master)
      await master.start?.()
    }
    await time.advance(5_000)
  }
  const kill = (id: string): void => {
    void masters.get(id)?.stop?.()
    masters.delete(id)
  }
  const doing = (job: string): string[] => [...masters].filter(([, master]) => master.isMine(job)).map(([id]) => id)
  return { time, masters, start, kill, doing, setUnavailable: (unavailable: boolean) => (isUnavailable = unavailable) }
}

describe('the membership of masters', () => {
  it('gives every job to a master that is alone, and to both of two', async () => {
    const { start, doing } = await openStore()
    await start('m-1')
    expect(doing('sweep/mailer')).toEqual(['m-1'])
    await start('m-2')
    expect(doing('sweep/mailer')).toEqual(['m-1', 'm-2'])
  })

  it('shares each job between two masters, and the jobs evenly', async () => {
    const { start, doing } = await openStore()
    await start('m-1', 'm-2', 'm-3', 'm-4', 'm-5', 'm-6')
    const counts = new Map<string, number>()
    for (const job of JOBS) {
      const ids = doing(job)
      expect(ids).toHaveLength(2)
      for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
    }
    for (const count of counts.values()) {
      expect(count).toBeGreaterThan(150)
      expect(count).toBeLessThan(250)
    }
  })

  it('moves the jobs of a dead master once its heartbeat has expired, and no others', async () => {
    const { time, start, kill, doing } = await openStore()
    await start('m-1', 'm-2', 'm-3', 'm-4')
    const before = new Map(JOBS.map((job) => [job, doing(job)]))
    kill('m-2')
    for (const job of JOBS) expect(doing(job).length).toBeGreaterThanOrEqual(1)
    await time.advance(20_000)
    for (const job of JOBS) {
      const kept = (before.get(job) ?? []).filter((id) => id !== 'm-2')
      expect(doing(job)).toEqual(expect.arrayContaining(kept))
      expect(doing(job)).toHaveLength(2)
    }
  })

  it('does every job while it does not know the others, and its own again afterwards', async () => {
    const { time, masters, start, doing, setUnavailable } = await openStore()
    await start('m-1', 'm-2', 'm-3', 'm-4')
    const isMine = (job: string): boolean => masters.get('m-1')?.isMine(job) === true
    const own = JOBS.filter((job) => isMine(job))
    setUnavailable(true)
    await time.advance(20_000)
    expect(JOBS.every((job) => isMine(job))).toBe(true)
    for (const job of JOBS) expect(doing(job).filter((id) => id !== 'm-1')).toHaveLength(2)
    setUnavailable(false)
    await time.advance(10_000)
    expect(JOBS.filter((job) => isMine(job))).toEqual(own)
  })
})
