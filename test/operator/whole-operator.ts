/** Runs the whole operator in this process, with a fake API server and a real master behind a proxy. */
import { afterEach } from '@jest/globals'
import { startOperator } from '../../src/operator/index.ts'
import { PooledTransport } from '../../src/operator/kube/index.ts'
import type { WorkerBody } from '../../src/protocol/index.ts'
import { systemRandom, systemTime } from '../../src/runtime/index.ts'
import { register } from '../client/fixture.ts'
import { FaultyProxy } from '../client/faulty-proxy.ts'
import { recordingLog } from '../kit/index.ts'
import { runMaster, TOKENS } from '../kit/running-master.ts'
import { EVENTS, FakeApiServer, LEASES } from './fake-apiserver.ts'
import { FLEET_WORKERS } from './fake-fleet.ts'

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** @param workerIds Workers of the type `mailer` that are registered. */
export async function wholeOperator(workerIds: readonly string[]) {
  const master = await runMaster()
  for (const id of workerIds) await register(master, id)
  const proxy = await FaultyProxy.start(master.url)
  const fake = await new FakeApiServer([FLEET_WORKERS, LEASES, EVENTS]).start()
  ends.push(
    () => proxy.stop(),
    () => fake.close(),
  )
  const declare = (workerId: string, name = workerId) =>
    fake.store.create(
      { kind: FLEET_WORKERS, namespace: 'ns' },
      { metadata: { name }, spec: { type: 'mailer', workerId, config: { slots: 7 } } },
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
  return { master, fake, proxy, declare, start, slotsOf, reasonOf }
}
