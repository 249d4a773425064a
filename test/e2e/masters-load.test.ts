/**
 * Tests two and three masters of the built command on one Redis under load: killed, restarted one after the other, and
 * behind a load balancer.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { eventually, SLACK } from '../kit/index.ts'
import { withRedisServer } from '../kit/redis-server.ts'
import type { Fleet } from './fleet.ts'
import { Forwarder } from '../storage/redis/forwarder.ts'
import { expectNothingLost, Load } from './load.ts'
import {
  allGone,
  isGone,
  lengthOf,
  Masters,
  portOf,
  record,
  submitMany,
  type MastersOptions,
  type WorkerRecord,
} from './masters.ts'
import { rpc, SocketWorker, type Reserved } from './socket-worker.ts'

const SLOW = '/automations/slow'
const open: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

async function mastersOf(count: number, options?: MastersOptions): Promise<Masters> {
  const masters = await Masters.start(count, options)
  open.push(() => masters.stop())
  return masters
}

function loadOn(masters: Masters): Load {
  const load = new Load(masters)
  open.push(() => load.end())
  return load
}

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n)
const connectedTo = async (fleet: Fleet): Promise<readonly string[]> =>
  (await fleet.ok<WorkerRecord[]>('GET', `${SLOW}/workers?connected=true`)).map(({ worker_id: id }) => id)

withRedisServer('several masters under load', () => {
  describe.each([2, 3])('%i masters under load', (count) => {
    it('lose no task when one is restarted: its worker reconnects and continues (G1, G2)', async () => {
      const masters = await mastersOf(count)
      const ids = await masters.workers(1, 4)
      const load = loadOn(masters)
      await load.continues([...masters.all.keys()])
      await masters.end(0)
      await load.continues([...masters.all.keys()].slice(1))
      await masters.restart(0)
      const restartedAtMs = Date.now()
      await eventually(
        'every worker is connected',
        async () => (await connectedTo(masters.at(-1))).join(' ') === ids.join(' '),
      )
      await load.continues([...masters.all.keys()])
      const pids = new Set(masters.starts().map(({ pid }) => pid))
      expect(pids.size).toBe(count)
      await eventually(
        'every worker starts tasks again',
        async () =>
          new Set(masters.starts().flatMap(({ pid, atMs }) => (atMs > restartedAtMs ? [pid] : []))).size === count,
      )
      await load.end()
      await expectNothingLost(masters, load)
    }, 120_000)

    it('lose no task when every master is restarted, one after the other (G1, G2)', async () => {
      const masters = await mastersOf(count)
      const ids = await masters.workers(1, 4)
      const load = loadOn(masters)
      await load.continues([...masters.all.keys()])
      for (const place of masters.all.keys()) {
        await masters.end(place, 'SIGTERM')
        await masters.restart(place)
        await load.continues([...masters.all.keys()])
      }
      const restartedAtMs = Date.now()
      await eventually(
        'every worker is connected',
        async () => (await connectedTo(masters.at(-1))).join(' ') === ids.join(' '),
      )
      await eventually(
        'every worker starts tasks again',
        async () =>
          new Set(masters.starts().flatMap(({ pid, atMs }) => (atMs > restartedAtMs ? [pid] : []))).size === count,
      )
      await load.end()
      await expectNothingLost(masters, load)
    }, 120_000)

    it('report the workers of a dead master, and only those, as disconnected within 20 s (D8)', async () => {
      const masters = await mastersOf(count)
      const workers = await Promise.all(masters.all.map((fleet, at) => SocketWorker.join(fleet, 'slow', `w-${at}`)))
      open.push(() => {
        for (const worker of workers) worker.leave()
      })
      const others = masters.all.slice(1)
      for (const fleet of others) expect(await connectedTo(fleet)).toEqual(workers.map(({ id }) => id))
      await masters.end(0)
      for (const fleet of others)
        await eventually('it is reported as disconnected', async () => !(await record(fleet, 'w-0')).connected, {
          withinMs: 20_000,
        })
      for (const fleet of others) expect(await connectedTo(fleet)).toEqual(workers.slice(1).map(({ id }) => id))
    }, 60_000)

    it('requeue the tasks of killed workers once, and count each lost lease once (G2, G5, G8)', async () => {
      const masters = await mastersOf(count, { settings: { SVC_MAX_LOST_LEASES: '2' } })
      const doomed = masters.all.map((_, at) => masters.worker(at, `doomed-${at}`))
      await Promise.all(
        doomed.map((_, at) => masters.at(at).configure('slow', `doomed-${at}`, { enabled: true, slots: 8 })),
      )
      const ids = await submitMany(
        masters.at(0),
        range(8 * count).map(() => ({ ms: 60_000 })),
      )
      await eventually('all are running', async () => masters.starts().length === ids.length)
      for (const { child } of doomed) child.kill('SIGKILL')

      const heir = await SocketWorker.join(masters.at(-1), 'slow', 'heir')
      open.push(() => heir.leave())
      const inherited: Reserved[] = []
      await eventually('all are requeued', async () => {
        inherited.push(
          ...(await rpc<{ tasks: Reserved[] }>(masters.at(-1), heir, 'tasks.reserve', { limit: 100, wait_ms: 1_000 }))
            .tasks,
        )
        return inherited.length >= ids.length
      })
      expect(inherited.map(({ task_id: id }) => id).toSorted()).toEqual(ids.toSorted())
      expect(inherited.filter(({ attempt }) => attempt !== 0)).toEqual([])
      // These leases are not settled and so lost as well, for the second and last time.
      await eventually('all are dead', async () => (await lengthOf(masters.at(0), `${SLOW}/dead`)) === ids.length)
      const { items } = await masters
        .at(0)
        .ok<{ items: { id: string; attempt: number; last_error: string }[] }>('GET', `${SLOW}/dead?n=1000`)
      expect(items.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
      expect(new Set(items.map(({ attempt, last_error: why }) => `${attempt} ${why}`))).toEqual(
        new Set(['0 lease lost 2 times']),
      )
      expect(await masters.total('svc_leases_lost_total{automation_type="slow",outcome="requeued"}')).toBe(ids.length)
      expect(await masters.total('svc_leases_lost_total{automation_type="slow",outcome="dead"}')).toBe(ids.length)
    }, 60_000)

    it('behind a load balancer: a worker of a killed master reconnects to the next one (G1, G2)', async () => {
      const masters = await mastersOf(count)
      const balancer = await Forwarder.to(portOf(masters.at(0)))
      open.push(() => balancer.close())
      const worker = masters.worker(0, 'w', 'slow', `http://127.0.0.1:${balancer.port}`)
      let gen = await masters.at(-1).configure('slow', 'w', { enabled: true, slots: 4 })
      for (const place of range(count - 1)) {
        const next = masters.at(place + 1)
        const ids = await submitMany(
          masters.at(-1),
          range(4).map(() => ({ ms: 3_000 })),
        )
        await eventually('all of them run', async () => masters.starts().length === 4 * (place + 1), {
          context: worker.output,
        })
        balancer.point(portOf(next))
        await masters.end(place)
        const isBack = async (): Promise<boolean> =>
          /^svc_control_sockets 1$/m.test(await (await fetch(`${next.url}/metrics`)).text()) &&
          (await record(next, 'w')).applied_config_gen === gen
        await eventually('it is connected to the next master with its config', isBack, {
          context: worker.output,
          withinMs: 10_000,
        })
        expect(await record(next, 'w')).toMatchObject({
          connected: true,
          state: 'RUNNING',
          config_gen: gen,
          config: { enabled: true, slots: 4 },
        })
        gen = await next.configure('slow', 'w', { recycle_seconds: 600 + place })
        await eventually(
          'it receives configs from its new master',
          async () => (await record(next, 'w')).applied_config_gen === gen,
          { context: worker.output, withinMs: 1_000 * SLACK },
        )
        await allGone(next, ids)
        expect(await lengthOf(next, `${SLOW}/dead`)).toBe(0)
      }
      expect(masters.starts().map(({ pid }) => pid)).toEqual(Array(4 * (count - 1)).fill(worker.child.pid))
      await eventually(
        'every output is stored',
        async () => (await lengthOf(masters.at(-1), `${SLOW}/output/length`)) === 4 * (count - 1),
        { context: worker.output },
      )
      expect(worker.output()).not.toContain('lease lost')
    }, 60_000)

    it('deliver a drain requested while the master was dead when the worker reconnects (D6, G14)', async () => {
      const masters = await mastersOf(count)
      const balancer = await Forwarder.to(portOf(masters.at(0)))
      open.push(() => balancer.close())
      const worker = masters.worker(0, 'w', 'slow', `http://127.0.0.1:${balancer.port}`)
      await masters.at(-1).configure('slow', 'w', { enabled: true, slots: 1 })
      const [running = ''] = await submitMany(masters.at(-1), [{ ms: 3_000 }])
      await eventually('it runs', async () => masters.starts().length === 1, { context: worker.output })
      await masters.end(0)
      await masters.at(-1).ok('POST', `${SLOW}/workers/w/drain`)
      const [later] = await submitMany(masters.at(-1), [{ ms: 0 }])
      balancer.point(portOf(masters.at(1)))
      expect(await worker.exited).toBe(0)
      expect(await isGone(masters.at(-1), running)).toBe(true)
      expect(await masters.at(1).ok('GET', `${SLOW}/queue`)).toMatchObject({
        length: 1,
        items: [{ id: later, attempt: 0 }],
      })
    }, 60_000)
  })
})
