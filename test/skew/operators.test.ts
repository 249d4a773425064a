/**
 * Tests an operator of one release with a master of the other, and its replacement while workers run tasks. The API
 * server is the fake one, whose rules test/operator/conformance.test.ts compares with a real one.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { ADMIN_TOKEN, Fleet, freePort, type Proc } from '../e2e/fleet.ts'
import { eventually } from '../kit/index.ts'
import { EVENTS, FakeApiServer, LEASES } from '../operator/fake-apiserver.ts'
import { FLEET_WORKERS, kubeconfigOf } from '../operator/fake-fleet.ts'
import { CURRENT, PREVIOUS, settingsOf } from './release.ts'

const NAMESPACE = 'muster'
const SLOW = '/automations/slow'
/** Several times longer than an operator waits before it writes a status. */
const QUIET_MS = 3_000

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

async function fleetOf(checkout: string): Promise<Fleet> {
  const fleet = new Fleet()
  open.push(() => fleet.stop())
  fleet.checkout = checkout
  await fleet.startMaster(settingsOf(checkout))
  fleet.startWorker('slow', 'w-1', { ...settingsOf(checkout), NOTES: join(fleet.directory, 'notes') })
  await eventually(
    'the worker is registered',
    async () => (await fleet.call('GET', `${SLOW}/workers/w-1`)).status === 200,
  )
  return fleet
}

async function apiServer(): Promise<FakeApiServer> {
  const api = await new FakeApiServer([FLEET_WORKERS, LEASES, EVENTS]).start()
  open.push(() => api.close())
  return api
}

/** Starts the operator of a release and waits until it leads. */
async function startOperator(fleet: Fleet, api: FakeApiServer, checkout: string): Promise<Proc> {
  const kubeconfig = join(fleet.directory, 'kubeconfig.json')
  writeFileSync(kubeconfig, kubeconfigOf(api.url, NAMESPACE))
  const port = await freePort()
  const before = fleet.checkout
  fleet.checkout = checkout
  const operator = fleet.spawn('operator', {
    KUBECONFIG: kubeconfig,
    SVC_MASTER_URL: fleet.url,
    SVC_API_TOKEN: ADMIN_TOKEN,
    SVC_TENANTS: '{"*": {"types": ["*"], "workers": ["*"]}}',
    SVC_METRICS_LISTEN: `127.0.0.1:${port}`,
  })
  fleet.checkout = before
  await eventually(
    'the operator leads',
    async () => {
      const response = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => null)
      return /^leader_election_master_status\{[^}]*\} 1$/m.test((await response?.text()) ?? '')
    },
    { context: () => operator.output() },
  )
  return operator
}

const quiet = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, QUIET_MS))
const place = { kind: FLEET_WORKERS, namespace: NAMESPACE, name: 'w-1' }
const conditionOf = (api: FakeApiServer, type: string): unknown => {
  const { conditions = [] } = (api.store.get(place)?.status ?? {}) as {
    conditions?: { type: string; status: string }[]
  }
  return conditions.find((each) => each.type === type)?.status
}

/** Sets the number of slots in the FleetWorker, and waits until the worker has applied it. */
async function edit(fleet: Fleet, api: FakeApiServer, slots: number): Promise<void> {
  const spec = { type: 'slow', workerId: 'w-1', config: { enabled: true, slots } }
  if (api.store.list(FLEET_WORKERS, NAMESPACE).length === 0) {
    const { group, version, kind } = FLEET_WORKERS
    const metadata = { name: 'w-1', namespace: NAMESPACE }
    api.store.create(place, { apiVersion: `${group}/${version}`, kind, metadata, spec }, 'kubectl')
  } else {
    api.store.patch(place, '', 'application/merge-patch+json', { spec }, 'kubectl', false)
  }
  await eventually('the worker has applied the edit', async () => {
    const { config, config_gen: gen, applied_config_gen: applied } = await worker(fleet)
    return config['slots'] === slots && applied === gen
  })
  await eventually('the status is of this edit, and Ready', () => {
    const { metadata, status = {} } = api.store.get(place)
    return status['observedGeneration'] === metadata.generation && conditionOf(api, 'Ready') === 'True'
  })
}

const worker = (fleet: Fleet) =>
  fleet.ok<{ config: Record<string, unknown>; config_gen: number; applied_config_gen: number | null }>(
    'GET',
    `${SLOW}/workers/w-1`,
  )

/** Changes with each write of the FleetWorker, or of the config at the master. */
const writes = async (fleet: Fleet, api: FakeApiServer) => ({
  status: api.store.get(place)?.metadata.resourceVersion,
  gen: (await worker(fleet)).config_gen,
})

describe.each([
  { title: 'a current operator with a previous master', master: PREVIOUS, operator: CURRENT, next: PREVIOUS },
  { title: 'a previous operator with a current master', master: CURRENT, operator: PREVIOUS, next: CURRENT },
])('$title', ({ master, operator, next }) => {
  it('brings edits to the worker, writes nothing at rest, and is replaced under load', async () => {
    const [fleet, api] = [await fleetOf(master), await apiServer()]
    const first = await startOperator(fleet, api, operator)
    await edit(fleet, api, 2)
    await edit(fleet, api, 3)
    await quiet() // Until the worker has reported what the status shows of it.
    const atRest = await writes(fleet, api)
    await quiet()
    expect(await writes(fleet, api)).toEqual(atRest)
    const queued: string[] = []
    const submits = async (count: number): Promise<void> => {
      const tasks = Array.from({ length: count }, () => ({ payload: { ms: 1 } }))
      const { results } = await fleet.ok<{ results: { task_id: string }[] }>('POST', `${SLOW}/tasks/batch`, { tasks })
      queued.push(...results.map(({ task_id: id }) => id))
    }
    await submits(50)
    first.child.kill('SIGTERM')
    expect(await first.exited).toBe(0)
    await startOperator(fleet, api, next)
    await submits(50)
    await quiet()
    expect(await writes(fleet, api)).toMatchObject({ gen: atRest.gen })
    await edit(fleet, api, 4)
    await eventually('no task is left', async () => {
      const places = await Promise.all(queued.map((id) => fleet.call('GET', `${SLOW}/tasks/${id}`)))
      return places.every(({ status }) => status === 404)
    })
  }, 120_000)
})
