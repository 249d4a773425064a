/**
 * Tests events around a running or stopped operator, on a real API server with a real master: a deletion while no
 * operator runs, a restart after a rejected config, a manual edit of a status, a gateway with invalid responses.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { SocketWorker } from '../e2e/socket-worker.ts'
import { Cluster } from './cluster.ts'
import { Gateway, type Nonsense } from './gateway.ts'
import { withApiServer } from './with-programs.ts'

const TEST_MS = 240_000
/** Long enough for everything that a restarted operator does in an unchanged cluster, its retries included. */
const QUIET_MS = 30_000
const NONSENSE_MS = 3_000
const EDITED_TIME = '2020-01-01T00:00:00Z'
/** Merge patches of a status. */
const STATUS_EDITS: readonly (object | null)[] = [
  { conditions: [] },
  { conditions: null },
  { lastSeenTime: EDITED_TIME },
  { state: 'ERROR' },
  { config: { generation: 900 } },
  null,
]

const JSON_TYPE = { 'content-type': 'application/json' }
const EPOCH = { 'muster-epoch': 'of-another-master' }
const NONSENSE: readonly Nonsense[] = [
  { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>welcome</html>' },
  { status: 200, headers: JSON_TYPE, body: '{"hello":"world"}' },
  { status: 200, headers: { ...JSON_TYPE, ...EPOCH }, body: '{"hello":"world"}' },
  { status: 200, headers: { ...JSON_TYPE, ...EPOCH }, body: '[1,null,{"worker_id":7}]' },
  { status: 200, headers: { ...JSON_TYPE, ...EPOCH }, body: 'null' },
  { status: 302, headers: { location: 'https://login.example/?next=/' }, body: '' },
  { status: 404, headers: { 'content-type': 'text/html' }, body: '<html>not found</html>' },
  { status: 404, headers: { ...JSON_TYPE, ...EPOCH }, body: '{"detail":"no route"}' },
  { status: 403, headers: { 'content-type': 'text/html' }, body: '<html>blocked</html>' },
  { status: 200, headers: { 'content-type': 'text/event-stream' }, body: 'data: what\n\n' },
]

withApiServer('muster operator and external changes', () => {
  let cluster: Cluster
  let gateway: Gateway
  let masterUrl: string

  const start = async (): Promise<unknown> => cluster.startOperator({ SVC_MASTER_URL: masterUrl })

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    gateway = new Gateway(cluster.fleet.url)
    masterUrl = await gateway.start()
  }, TEST_MS)
  afterAll(async () => {
    await cluster.close()
    await gateway.close()
  }, 60_000)
  beforeEach(start, 60_000)
  afterEach(() => cluster.stopOperator(), 60_000)

  const join = (name: string): Promise<unknown> => SocketWorker.join(cluster.fleet, 'http-probe', name)

  describe('muster operator and external changes', () => {
    it(
      'releases the claim of a FleetWorker with Retain that was deleted while no operator ran',
      async () => {
        await join('kept')
        await cluster.apply('kept', { deletionPolicy: 'Retain', config: { interval_seconds: 40 } })
        await cluster.condition('kept', 'Synced=InSync')
        expect((await cluster.worker('kept'))?.managed_by).toMatch(/^kubernetes:team-a\/kept#/)
        await cluster.stopOperator()
        await cluster.kubectl('delete', 'fwk', 'kept', '-n', 'team-a')
        await start()
        const isFree = async (): Promise<boolean> => (await cluster.worker('kept'))?.managed_by === null
        await cluster.until('the claim is released', isFree, 180_000)
        expect((await cluster.worker('kept'))?.config).toMatchObject({ interval_seconds: 40 })
      },
      TEST_MS,
    )

    it(
      'does not repeat a PATCH that the master rejected after a restart, and writes nothing',
      async () => {
        await join('refused')
        await cluster.apply('refused', { config: { interval_seconds: 'often' } })
        await cluster.condition('refused', 'Synced=Rejected')
        expect(gateway.passed).toContain('PATCH /api/v1/automations/http-probe/workers/refused/config')
        await pause(5_000) // The statuses of the heartbeat and of the rejection may be two writes.
        await cluster.stopOperator()
        const sinceMs = Date.now()
        gateway.passed.length = 0
        await start()
        await pause(QUIET_MS)
        await cluster.condition('refused', 'Synced=Rejected')
        expect(gateway.passed.filter((call) => !call.startsWith('GET '))).toEqual([])
        const writes = cluster
          .audit(sinceMs)
          .filter(({ verb, objectRef }) => /update|patch|create|delete/.test(verb) && objectRef?.resource !== 'leases')
        expect(writes.map(({ verb, requestURI }) => `${verb} ${requestURI}`)).toEqual([])
      },
      TEST_MS,
    )

    it(
      'corrects a status that was edited manually: one field, several or all of it',
      async () => {
        await join('edited')
        await cluster.apply('edited', { config: { interval_seconds: 40 } })
        await cluster.condition('edited', 'Synced=InSync')
        await pause(5_000)
        const shown = async (): Promise<object> => {
          const { lastSeenTime, conditions = [], ...rest } = (await cluster.resource('edited'))?.status ?? {}
          return {
            ...rest,
            isSeen: lastSeenTime !== undefined && lastSeenTime !== EDITED_TIME,
            conditions: conditions
              .map(({ type, status: is, reason, message }) => ({ type, status: is, reason, message }))
              .toSorted((a, b) => (a.type < b.type ? -1 : 1)),
          }
        }
        const good = JSON.stringify(await shown())
        for (const status of STATUS_EDITS) {
          const patch = JSON.stringify({ status })
          await cluster.kubectl(
            'patch',
            'fwk',
            'edited',
            '-n',
            'team-a',
            '--subresource=status',
            '--type=merge',
            '-p',
            patch,
          )
          const isRight = async (): Promise<boolean> => JSON.stringify(await shown()) === good
          await cluster.until(`the status is as before ${patch}`, isRight, 100_000, async () =>
            JSON.stringify(await shown()),
          )
        }
      },
      TEST_MS,
    )

    it(
      'applies an edit within 60 s after ten kinds of invalid responses of a gateway',
      async () => {
        await join('behind')
        await cluster.apply('behind', { config: { interval_seconds: 40 } })
        await cluster.condition('behind', 'Synced=InSync')
        for (const nonsense of NONSENSE) {
          gateway.nonsense = nonsense
          gateway.cut()
          await pause(NONSENSE_MS)
        }
        gateway.nonsense = undefined
        await cluster.apply('behind', { config: { interval_seconds: 41 } })
        const isApplied = async (): Promise<boolean> =>
          (await cluster.worker('behind'))?.config['interval_seconds'] === 41
        await cluster.until('the edit is at the master', isApplied, 60_000)
        await cluster.condition('behind', 'Synced=InSync', 60_000)
      },
      TEST_MS,
    )
  })
})
