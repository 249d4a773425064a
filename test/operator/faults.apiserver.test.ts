/**
 * Tests `muster operator` behind an unreliable network: watches that are cut in the middle of a line or expire,
 * connections reset before and after a call took effect, 429, 5xx, delayed responses. An edit is in force within a
 * minute after the fault ends, and then nothing more is written.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Cluster } from './cluster.ts'
import { FaultProxy, type Asked, type Fault } from './fault-proxy.ts'
import { withApiServer } from './with-programs.ts'

const TEST_MS = 180_000
const isWrite = ({ method }: Asked): boolean => method !== 'GET'
const ofWorkers = ({ path }: Asked): boolean => path.includes('/fleetworkers')

/** Applies the fault to every `n`th of the requests that `holds` matches. */
function every(n: number, holds: (asked: Asked) => boolean, fault: Fault): (asked: Asked) => Fault | undefined {
  let count = 0
  return (asked) => {
    if (!holds(asked)) return undefined
    count += 1
    return count % n === 0 ? fault : undefined
  }
}

withApiServer('muster operator behind an unreliable network', () => {
  let cluster: Cluster
  let proxy: FaultProxy
  let interval = 10

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    proxy = new FaultProxy(cluster.server)
    await cluster.startOperator({ server: await proxy.start() })
    await cluster.startWorker('w')
    await cluster.apply('w', { config: { enabled: true, interval_seconds: interval } })
    await cluster.condition('w', 'Ready=True')
  }, TEST_MS)
  afterAll(async () => {
    await cluster.close()
    await proxy.close()
  }, 60_000)
  beforeEach(() => {
    proxy.fault = () => undefined
  })

  const edit = (): Promise<string> =>
    cluster.apply('w', { config: { enabled: true, interval_seconds: (interval += 1) } })
  const inForce = async (withinMs = 60_000): Promise<void> => {
    await cluster.condition('w', 'Ready=True', withinMs)
    expect((await cluster.worker('w'))?.config).toMatchObject({ interval_seconds: interval })
  }

  describe('muster operator behind an unreliable network', () => {
    it.each<[string, (asked: Asked) => Fault | undefined]>([
      ['every third write reset before it took effect', every(3, isWrite, { kind: 'reset', when: 'before' })],
      [
        'every second write to a FleetWorker reset after it took effect',
        every(2, (asked) => isWrite(asked) && ofWorkers(asked), { kind: 'reset', when: 'after' }),
      ],
      [
        'every second write of a status rejected with 429',
        every(2, (asked) => isWrite(asked) && ofWorkers(asked), { kind: 'status', status: 429, retryAfterSeconds: 1 }),
      ],
      ['every second call about FleetWorkers failing with 500', every(2, ofWorkers, { kind: 'status', status: 500 })],
      ['every second call about FleetWorkers failing with 503', every(2, ofWorkers, { kind: 'status', status: 503 })],
      ['every response a second late', () => ({ kind: 'late', ms: 1_000 })],
    ])(
      'applies edits with %s',
      async (_name, fault) => {
        const before = proxy.spoilt
        proxy.fault = fault
        for (const _ of [1, 2, 3]) {
          await edit()
          await inForce()
        }
        expect(proxy.spoilt).toBeGreaterThan(before)
      },
      TEST_MS,
    )

    it.each<[string, () => void]>([
      ['cut in the middle of a line', () => proxy.cutWatches()],
      ['ended as expired (410)', () => proxy.expireWatches()],
    ])(
      'misses no edit when watches are %s',
      async (_name, spoil) => {
        for (const _ of [1, 2, 3]) {
          await cluster.until('a watch is open', async () => proxy.watches > 0)
          const edited = edit()
          spoil()
          await edited
          await inForce()
        }
      },
      TEST_MS,
    )

    it(
      'catches up after an outage of the API server, and gives up its lease meanwhile',
      async () => {
        const leads = async (): Promise<boolean> =>
          /^leader_election_master_status\{[^}]*\} 1$/m.test(await cluster.metrics())
        proxy.fault = () => ({ kind: 'reset', when: 'before' })
        proxy.cutWatches()
        await edit()
        await cluster.until('it is no longer the leader', async () => !(await leads()))
        expect((await cluster.worker('w'))?.config).toMatchObject({ interval_seconds: interval - 1 })
        proxy.fault = () => undefined
        await inForce()
        expect(await leads()).toBe(true)
      },
      TEST_MS,
    )

    it(
      'writes nothing more once the faults have ended',
      async () => {
        await inForce()
        const writes = async (): Promise<unknown> => [
          (await cluster.worker('w'))?.config_gen,
          (await cluster.resource('w'))?.metadata.resourceVersion,
        ]
        const before = await writes()
        await new Promise((resolve) => setTimeout(resolve, 5_000)) // As long as any write of its own would take.
        expect(await writes()).toEqual(before)
      },
      TEST_MS,
    )
  })
})
