/**
 * Tests the whole operator in this process, with the fake API server and an unreachable master: start, health,
 * shutdown.
 */
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { startOperator, type OperatorOptions, type RunningOperator } from '../../src/operator/index.ts'
import { PooledTransport, type KubeIdentity } from '../../src/operator/kube/index.ts'
import { systemRandom, systemTime } from '../../src/runtime/index.ts'
import { EVENTS, FakeApiServer, LEASES } from './fake-apiserver.ts'
import { FLEET_WORKERS } from './fake-fleet.ts'
import { eventually, recordingLog } from '../kit/index.ts'

const running: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of running.splice(0).toReversed()) await each.stop()
})

async function fakeServer(): Promise<FakeApiServer> {
  const fake = await new FakeApiServer([FLEET_WORKERS, LEASES, EVENTS]).start()
  running.push({ stop: () => fake.close() })
  return fake
}

const identityOf = (fake: FakeApiServer): KubeIdentity => ({
  server: new URL(fake.url),
  namespace: 'muster',
  credentials: async () => ({ authorization: 'Bearer x', tls: {} }),
})

function optionsFor(fake: FakeApiServer, more: Partial<OperatorOptions> = {}): OperatorOptions {
  return {
    masterUrl: 'http://127.0.0.1:1',
    token: () => 'token-that-must-stay-hidden',
    namespace: 'muster',
    watchNamespaces: [],
    tenants: undefined,
    reservedSecrets: [],
    metricsListen: { host: '127.0.0.1', port: 0 },
    leaderElect: true,
    createTransport: (deps) => new PooledTransport({ identity: identityOf(fake), ...deps }),
    lease: { namespace: 'muster', name: 'muster-operator' },
    replica: 'one',
    time: systemTime,
    random: systemRandom,
    log: recordingLog(),
    ...more,
  }
}

async function started(options: OperatorOptions): Promise<RunningOperator> {
  const operator = await startOperator(options)
  running.push(operator)
  return operator
}

const status = async ({ port }: RunningOperator, path: string): Promise<number> =>
  (await fetch(`http://127.0.0.1:${port}${path}`)).status
const holder = (fake: FakeApiServer): unknown => fake.store.list(LEASES, 'muster')[0]?.spec?.['holderIdentity']

describe('the operator', () => {
  it('takes the lease, is alive and ready without its master, and releases the lease at shutdown', async () => {
    const fake = await fakeServer()
    const options = optionsFor(fake)
    const operator = await started(options)
    await eventually('it is ready', async () => (await status(operator, '/readyz')) === 200)
    await eventually('it holds the lease', async () => holder(fake) === 'one')
    expect(await status(operator, '/healthz')).toBe(200)
    await operator.stop()
    expect(holder(fake)).toBe('')
    expect(JSON.stringify((options.log as ReturnType<typeof recordingLog>).lines)).not.toContain(
      'token-that-must-stay-hidden',
    )
  })

  it('is not ready before FleetWorkers were listed, but alive', async () => {
    const fake = await fakeServer()
    fake.script({ path: /fleetworkers/ }, { kind: 'refuse', status: 503 }, 1_000)
    const operator = await started(optionsFor(fake))
    expect([await status(operator, '/healthz'), await status(operator, '/readyz')]).toEqual([200, 503])
  })

  it('is on standby while another replica is the leader: synced, ready, and without a write', async () => {
    const fake = await fakeServer()
    const first = await started(optionsFor(fake))
    await eventually('the first replica holds the lease', async () => holder(fake) === 'one')
    const second = await started(optionsFor(fake, { replica: 'two' }))
    await eventually('it is ready', async () => (await status(second, '/readyz')) === 200)
    expect(await (await fetch(`http://127.0.0.1:${second.port}/metrics`)).text()).toMatch(
      /^leader_election_master_status\{[^}]*\} 0$/m,
    )
    await first.stop()
    await eventually('the second replica holds it', async () => holder(fake) === 'two')
  })

  it('watches exactly the namespaces that it is given', async () => {
    const fake = await fakeServer()
    await started(optionsFor(fake, { watchNamespaces: ['a', 'b'] }))
    const watched = (): readonly string[] =>
      fake.requests
        .filter(({ query, path }) => query.get('watch') === 'true' && path.includes('fleetworkers'))
        .map(({ path }) => path)
    await eventually('it watches both', async () => watched().length === 2)
    expect(watched().toSorted()).toEqual(
      ['a', 'b'].map((namespace) => `/apis/muster.dev/v1alpha1/namespaces/${namespace}/fleetworkers`),
    )
  })

  it('does not start if its address is in use, and reports which setting to change', async () => {
    const fake = await fakeServer()
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    await expect(startOperator(optionsFor(fake, { metricsListen: { host: '127.0.0.1', port } }))).rejects.toThrow(
      /choose another SVC_METRICS_LISTEN/,
    )
    taken.close()
  })
})
