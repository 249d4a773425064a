/**
 * Tests the start of the whole operator with a fake API server and a real master whose list of workers is slow: edits
 * do not wait for it, and no worker counts as missing before it is complete.
 */
import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from '@jest/globals'
import { startOperator } from '../../src/operator/index.ts'
import { PooledTransport } from '../../src/operator/kube/index.ts'
import type { WorkerBody } from '../../src/protocol/index.ts'
import { systemRandom, systemTime } from '../../src/runtime/index.ts'
import { register } from '../client/fixture.ts'
import { FaultyProxy } from '../client/faulty-proxy.ts'
import { eventually, recordingLog } from '../kit/index.ts'
import { runMaster, TOKENS } from '../kit/running-master.ts'
import { EVENTS, FakeApiServer, LEASES } from './fake-apiserver.ts'
import { FLEET_WORKERS } from './fake-fleet.ts'

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** The master has 150 workers, so its list has two pages. */
async function fixture() {
  const master = await runMaster()
  for (let n = 0; n < 150; n += 1) await register(master, idOf(n))
  const proxy = await FaultyProxy.start(master.url)
  const fake = await new FakeApiServer([FLEET_WORKERS, LEASES, EVENTS]).start()
  ends.push(
    () => proxy.stop(),
    () => fake.close(),
  )
  const declare = (workerId: string) =>
    fake.store.create(
      { kind: FLEET_WORKERS, namespace: 'ns' },
      { metadata: { name: workerId }, spec: { type: 'mailer', workerId, config: { slots: 7 } } },
      'kubectl',
    )
  const start = async (): Promise<void> => {
    const operator = await startOperator({
      masterUrl: proxy.url,
      token: () => TOKENS.admin,
      namespace: 'muster',
      watchNamespaces: [],
      tenants: undefined,
      reservedSecrets: [],
      metricsListen: null,
      leaderElect: false,
      createTransport: (deps) =>
        new PooledTransport({
          identity: {
            server: new URL(fake.url),
            namespace: 'muster',
            credentials: async () => ({ authorization: 'Bearer x', tls: {} }),
          },
          ...deps,
        }),
      lease: { namespace: 'muster', name: 'muster-operator' },
      replica: 'one',
      time: systemTime,
      random: systemRandom,
      log: recordingLog(),
    })
    ends.push(() => operator.stop())
  }
  const slotsOf = async (workerId: string): Promise<unknown> =>
    ((await master.call('GET', `/api/v1/automations/mailer/workers/${workerId}`)).json as WorkerBody).config['slots']
  const reasonOf = (name: string): unknown => {
    const { status } = fake.store.get({ kind: FLEET_WORKERS, namespace: 'ns', name })
    const conditions = (status?.['conditions'] ?? []) as readonly { readonly type: string; readonly reason: string }[]
    return conditions.find(({ type }) => type === 'Synced')?.reason
  }
  return { proxy, declare, start, slotsOf, reasonOf }
}

const idOf = (n: number): string => `w${String(n).padStart(3, '0')}`

describe('while the workers of a type are listed', () => {
  it('an edit is sent as soon as its worker is listed; the others wait', async () => {
    const { proxy, declare, start, slotsOf, reasonOf } = await fixture()
    const held: ServerResponse[] = []
    proxy.rule = ({ url = '' }) => (url.includes('after=') ? (response) => void held.push(response) : 'pass')
    for (const workerId of [idOf(0), idOf(149), 'missing']) declare(workerId)
    await start()
    await eventually('the edit of a worker on the first page is in force', async () => (await slotsOf(idOf(0))) === 7)
    await eventually('its status says so', async () => reasonOf(idOf(0)) === 'InSync')
    expect([await slotsOf(idOf(149)), reasonOf(idOf(149)), reasonOf('missing')]).toEqual([1, undefined, undefined])
    proxy.rule = () => 'pass'
    for (const response of held) response.writeHead(503, { 'retry-after': '1' }).end('{"detail":"later"}')
    await eventually('the other edit is in force', async () => (await slotsOf(idOf(149))) === 7)
    await eventually('the missing worker is reported', async () => reasonOf('missing') === 'WorkerNotRegistered')
  })
})
