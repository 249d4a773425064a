/** Tests two and three masters of the built command on one Redis: every master sees the changes of the others (D33). */
import { afterEach, describe, expect, it } from '@jest/globals'
import { eventually, SLACK } from '../kit/index.ts'
import { withRedisServer, type RedisServer } from '../kit/redis-server.ts'
import { WORKER_TOKEN, type Fleet } from './fleet.ts'
import { Forwarder } from '../storage/redis/forwarder.ts'
import {
  allGone,
  isGone,
  lengthOf,
  Masters,
  portOf,
  record,
  submit,
  submitMany,
  type MastersOptions,
  type Submitted,
  type WorkerRecord,
} from './masters.ts'
import { rpc, SocketWorker, tryRpc, type Reserved } from './socket-worker.ts'

const SLOW = '/automations/slow'
const TALK = '/automations/talk'
/** First command of a bus connection, in the Redis protocol. */
const SUBSCRIBES = /\r\nsubscribe\r\n/i

const open: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

async function mastersOf(count: number, options?: MastersOptions): Promise<Masters> {
  const masters = await Masters.start(count, options)
  open.push(() => masters.stop())
  return masters
}

/** Starts masters. `deafen` cuts the bus connection of the first one, and only this connection. */
async function withDeafMaster(count: number): Promise<{ masters: Masters; deafen: () => void; heal: () => void }> {
  let forwarder: Forwarder | undefined
  const storeUrl = async (at: number, { port, url }: RedisServer): Promise<string> => {
    if (at > 0) return url
    forwarder = await Forwarder.to(port)
    open.push(() => forwarder?.close())
    return `kvstore://127.0.0.1:${forwarder.port}`
  }
  const masters = await mastersOf(count, { storeUrl })
  return { masters, deafen: () => forwarder?.refuse(SUBSCRIBES), heal: () => forwarder?.refuse(null) }
}

async function socketWorker(fleet: Fleet, id: string, type = 'slow'): Promise<SocketWorker> {
  const worker = await SocketWorker.join(fleet, type, id)
  open.push(() => worker.leave())
  return worker
}

const patch = (
  fleet: Fleet,
  id: string,
  config: object,
  headers: Readonly<Record<string, string>> = {},
  type = 'talk',
) =>
  fleet.call<{ config: object; config_gen: number }>(
    'PATCH',
    `/automations/${type}/workers/${id}/config`,
    config,
    headers,
  )
/** The tick of one second, on a busy machine. */
const SECOND_OR_SO = 1_500 * SLACK
const range = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n)
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN

withRedisServer('several masters on one Redis', () => {
  describe.each([2, 3])('%i masters on one Redis: config', (count) => {
    it('deliver a PATCH at any of them to the workers of all others in under a second (D15, D33)', async () => {
      const masters = await mastersOf(count)
      const ids = masters.all.map((_, at) => `w-${at}`)
      const workers = ids.map((id, at) => masters.worker(at, id))
      await Promise.all(ids.map((id, at) => masters.at(at - 1).configure('slow', id, { enabled: true, slots: 1 })))
      for (const [from, fleet] of masters.all.entries()) {
        for (const [to, id] of ids.entries()) {
          const gen = await fleet.configure('slow', id, { slots: 2 + from })
          await eventually(
            'the config is applied',
            async () => (await record(masters.at(to - 1), id)).applied_config_gen === gen,
            { context: workers[to]?.output, withinMs: 1_000 * SLACK },
          )
        }
      }
    }, 60_000)

    it('apply concurrent PATCHes in one order, each with its own generation (D16, D18, G15)', async () => {
      const masters = await mastersOf(count)
      const worker = await socketWorker(masters.at(0), 'w', 'talk')
      const each = Math.floor(50 / count)
      const responses = await Promise.all(
        masters.all.flatMap((fleet, at) => range(each).map((n) => patch(fleet, 'w', { [`k${at * each + n}`]: n }))),
      )

      const total = each * count
      expect(responses.map(({ status }) => status)).toEqual(Array(total).fill(200))
      expect(responses.map(({ body }) => body.config_gen).toSorted((a, b) => a - b)).toEqual(
        range(total).map((n) => n + 1),
      )
      const config = Object.fromEntries(range(total).map((n) => [`k${n}`, n % each]))
      for (const fleet of masters.all) {
        expect(await record(fleet, 'w', 'talk')).toMatchObject({ config_gen: total, config })
        const history = await fleet.ok<{ config_gen: number; changed: string[] }[]>(
          'GET',
          `${TALK}/workers/w/config/history?limit=50`,
        )
        expect(history.map((row) => row.config_gen)).toEqual(range(total).map((n) => total - n))
        expect(new Set(history.map(({ changed }) => changed.join(' '))).size).toBe(total)
      }
      await eventually('the worker received the last generation', async () => worker.reported.includes(total))
    }, 60_000)

    it('accept exactly one of several concurrent PATCHes with the same generation (D15, D18)', async () => {
      const masters = await mastersOf(count)
      await socketWorker(masters.at(0), 'w', 'talk')
      let etag = (await patch(masters.at(0), 'w', { k0: 0 })).headers.get('etag') ?? ''
      for (const round of range(10)) {
        const responses = await Promise.all(
          [...masters.all, ...masters.all].map((fleet, n) =>
            patch(fleet, 'w', { k0: 100 * round + n }, { 'if-match': etag }),
          ),
        )
        const [won, ...others] = responses.filter(({ status }) => status === 200)
        expect(others).toEqual([])
        expect(responses.filter(({ status }) => status === 412)).toHaveLength(2 * count - 1)
        expect(won?.body.config_gen).toBe(round + 2)
        etag = won?.headers.get('etag') ?? ''
      }
    }, 60_000)

    it('keep a masked secret in another PATCH, and count a PATCH without a change (D13, D16, D17)', async () => {
      const masters = await mastersOf(count)
      await socketWorker(masters.at(0), 'w', 'talk')
      await patch(masters.at(0), 'w', { secret: 'of the first', k1: 1 })
      const { body } = await patch(masters.at(1), 'w', { secret: '********', k1: null, k2: 2 })
      expect(body).toMatchObject({ config_gen: 2, config: { secret: '********', k2: 2 } })
      expect((await patch(masters.at(-1), 'w', { k2: 2 })).body.config_gen).toBe(3)
      for (const fleet of masters.all) {
        const polled = await fleet.call<{ config: object }>('GET', `${TALK}/workers/w/config`, undefined, {
          authorization: `Bearer ${WORKER_TOKEN}`,
        })
        expect(polled.body.config).toEqual({
          enabled: false,
          slots: 1,
          max_attempts: 3,
          recycle_seconds: 0,
          secret: 'of the first',
          k2: 2,
        })
        expect((await record(fleet, 'w', 'talk')).config).toMatchObject({ secret: '********' })
      }
    }, 60_000)
  })

  describe.each([2, 3])('%i masters on one Redis: the sockets of workers', (count) => {
    it('deliver a drain of another master: the worker finishes its task and exits with 0 (D6, G14)', async () => {
      const masters = await mastersOf(count)
      const [near, far] = [masters.at(0), masters.at(-1)]
      const worker = masters.worker(0, 'w')
      const gen = await far.configure('slow', 'w', { enabled: true, slots: 1 })
      const hasSaidAll = async (): Promise<boolean> =>
        (({ state, applied_config_gen: applied }) => state === 'RUNNING' && applied === gen)(await record(far, 'w'))
      await eventually('it has reported its state, so no further state frame triggers a config push', hasSaidAll, {
        context: worker.output,
        withinMs: 5_000,
      })
      const running = await submit(far, { ms: 1_500 })
      await eventually('it runs', async () => masters.starts().some(({ id }) => id === running))
      await masters.at(1).ok('POST', `${SLOW}/workers/w/drain`)
      await eventually('the worker received the drain', async () => worker.output().includes('drain'), {
        context: worker.output,
        withinMs: 1_000 * SLACK,
      })
      for (const fleet of masters.all)
        expect(await record(fleet, 'w')).toMatchObject({ state: 'DRAINING', draining: true })
      const later = await submit(far, { ms: 0 })
      expect(await worker.exited).toBe(0)
      expect(await isGone(near, running)).toBe(true)
      expect(await near.ok('GET', `${SLOW}/queue`)).toMatchObject({ length: 1, items: [{ id: later, attempt: 0 }] })
    }, 60_000)

    it('forget a worker of another master, which returns with a later generation (D46)', async () => {
      const masters = await mastersOf(count)
      const worker = await socketWorker(masters.at(0), 'w')
      await patch(masters.at(-1), 'w', { slots: 7 }, {}, 'slow')
      expect(await masters.at(-1).ok('DELETE', `${SLOW}/workers/w`)).toEqual({ worker_id: 'w', removed: true })
      for (const fleet of masters.all) expect((await fleet.call('GET', `${SLOW}/workers/w`)).status).toBe(404)
      worker.state(1)
      expect(await worker.closed).toEqual({
        code: 1008,
        reason: 'this worker was deleted from the master; register again',
      })
      await socketWorker(masters.at(1), 'w')
      for (const fleet of masters.all)
        expect(await record(fleet, 'w')).toMatchObject({ config_gen: 2, config: { slots: 1 }, connected: true })
    }, 60_000)

    it('keep the newest connection of a worker at any master, and close the older one immediately (D11)', async () => {
      const masters = await mastersOf(count)
      for (const round of range(2)) {
        let older = await socketWorker(masters.at(-1), 'w')
        for (const fleet of masters.all) {
          const newer = await socketWorker(fleet, 'w')
          const registered = performance.now()
          expect(await older.closed).toEqual({ code: 1008, reason: 'replaced by a newer connection' })
          expect(performance.now() - registered).toBeLessThan(1_000 * SLACK)
          older = newer
        }
        for (const fleet of masters.all) expect(await record(fleet, 'w')).toMatchObject({ connected: true })
        expect((await patch(masters.at(round), 'w', { slots: 2 }, {}, 'slow')).status).toBe(200)
        await eventually('the newest connection receives the config', async () => older.reported.includes(round + 1), {
          withinMs: 1_000 * SLACK,
        })
      }
    }, 60_000)

    it('deliver the content of a lost message with the next state frame (G6)', async () => {
      const { masters, deafen, heal } = await withDeafMaster(count)
      const [deaf, other] = [masters.at(0), masters.at(-1)]
      const [changed, drained, replaced] = await Promise.all(
        ['changed', 'drained', 'replaced'].map((id) => socketWorker(deaf, id)),
      )
      const waiting = rpc<{ tasks: Reserved[] }>(deaf, { type: 'slow', id: 'drained' }, 'tasks.reserve', {
        limit: 1,
        wait_ms: 20_000,
      })
      await drained?.received()
      deafen()
      await patch(other, 'changed', { slots: 5 }, {}, 'slow')
      await patch(other, 'changed', { slots: 6 }, {}, 'slow')
      await other.ok('POST', `${SLOW}/workers/drained/drain`)
      await socketWorker(other, 'replaced')
      await submit(other, { ms: 0 })
      expect(await waiting).toEqual({ tasks: [] }) // The worker is draining, so the task stays in the queue.
      for (const worker of [changed, drained, replaced]) await worker?.received()
      expect([changed?.reported, drained?.reported, replaced?.reported]).toEqual([[], [], []])

      for (const worker of [changed, drained, replaced]) worker?.state(0)
      expect(await replaced?.closed).toEqual({ code: 1008, reason: 'replaced by a newer connection' })
      await eventually(
        'both frames were received',
        async () => changed?.reported.length === 1 && drained?.reported.length === 1,
        { withinMs: 1_000 * SLACK },
      )
      expect([changed?.reported, drained?.reported]).toEqual([[2], ['drain']])
      for (const worker of [changed, drained]) worker?.state(2)
      await Promise.all([changed?.received(), drained?.received()])
      expect([changed?.reported, drained?.reported]).toEqual([[2], ['drain']])

      heal()
      await eventually('messages are delivered again', async () => {
        const { body } = await patch(other, 'changed', { slots: 7 }, {}, 'slow')
        return eventually(
          'it received the generation',
          async () => changed?.reported.includes(body.config_gen) === true,
          { withinMs: 200 },
        ).then(
          () => true,
          () => false,
        )
      })
    }, 60_000)

    it('deliver the last of many PATCHes while the connections of the bus are killed repeatedly (G6)', async () => {
      const masters = await mastersOf(count)
      const workers = await Promise.all(masters.all.map((fleet, at) => socketWorker(fleet, `w-${at}`)))
      const client = masters.redis.connect()
      for (const n of range(30)) {
        await client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
        await Promise.all(workers.map(({ id }, at) => patch(masters.at(at - 1), id, { slots: n }, {}, 'slow')))
      }
      for (const worker of workers) worker.state(0)
      await eventually(
        'each received the last generation',
        async () => workers.every(({ reported }) => reported.at(-1) === 30),
        { context: () => JSON.stringify(workers.map(({ reported }) => reported)), withinMs: 2_000 * SLACK },
      )
    }, 60_000)
  })

  describe.each([2, 3])('%i masters on one Redis: a waiting reserve', (count) => {
    const WORKER = { type: 'slow', id: 'w' }

    /** Reserves at the first master and runs `act` while the reserve waits. `ms` is the time from the end of `act`. */
    async function served(masters: Masters, act: () => Promise<unknown>): Promise<{ task: Reserved; ms: number }> {
      const answer = rpc<{ tasks: Reserved[] }>(masters.at(0), WORKER, 'tasks.reserve', {
        limit: 1,
        wait_ms: 20_000,
      }).then(({ tasks }) => ({ tasks, atMs: performance.now() }))
      await eventually(
        'the reserve waits',
        async () => (await masters.total('svc_reserve_waiters{automation_type="slow"}')) === 1,
      )
      await act()
      const actedMs = performance.now()
      const {
        tasks: [task],
        atMs,
      } = await answer
      if (task === undefined) throw new Error('no task was reserved')
      return { task, ms: atMs - actedMs }
    }

    it('is served by operations at another master: submit, release, retry, replay (G3)', async () => {
      const masters = await mastersOf(count)
      const far = masters.at(-1)
      await socketWorker(masters.at(0), 'w')
      const settle = (method: string, { task_id, token }: Reserved, more: object = {}) =>
        rpc<object>(far, WORKER, method, { tasks: [{ task_id, token, ...more }] })

      const submits: number[] = []
      for (const n of range(7)) {
        const { task, ms } = await served(masters, () => submit(masters.at(1 + (n % (count - 1))), { ms: 0 }))
        submits.push(ms)
        await settle('tasks.ack', task)
      }
      // Polling once per second would take 500 ms on average.
      expect(median(submits)).toBeLessThan(Math.min(150 * SLACK, 300))
      expect(Math.max(...submits)).toBeLessThan(SECOND_OR_SO)

      const { task: first } = await served(masters, () => submit(far, { ms: 0 }))
      const released = await served(masters, () => settle('tasks.release', first))
      const retried = await served(masters, () =>
        settle('tasks.nack', released.task, { error: 'not yet', retry_in_ms: 200 }),
      )
      await settle('tasks.nack', retried.task, { error: 'never', permanent: true })
      const replayed = await served(masters, () => far.ok('POST', `${SLOW}/dead/replay`, { n: 1 }))
      expect([released, retried, replayed].map(({ task }) => [task.task_id, task.attempt])).toEqual([
        [first.task_id, 0],
        [first.task_id, 1],
        [first.task_id, 0],
      ])
      const tokens = [first, released.task, retried.task, replayed.task].map(({ token }) => token)
      expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b))
      for (const { ms } of [released, retried, replayed]) expect(ms).toBeLessThan(200 + SECOND_OR_SO)
    }, 60_000)

    it('is served within about a second by a master without its bus connection (G3)', async () => {
      const { masters, deafen } = await withDeafMaster(count)
      await socketWorker(masters.at(0), 'w')
      const { ms } = await served(masters, async () => {
        deafen()
        await submit(masters.at(-1), { ms: 0 })
      })
      expect(ms).toBeLessThan(SECOND_OR_SO)
    }, 60_000)
  })

  describe.each([2, 3])('%i masters on one Redis: shared state', (count) => {
    const workersOf = (masters: Masters): Promise<SocketWorker[]> =>
      Promise.all(masters.all.map((fleet, at) => socketWorker(fleet, `w-${at}`, 'talk')))

    it('lease each task and each pool item once, with growing tokens, to callers at all masters (G4, G5)', async () => {
      const masters = await mastersOf(count)
      const workers = await workersOf(masters)
      const everywhere = async <T>(times: number, method: string, params: object): Promise<T[]> =>
        Promise.all(
          workers.flatMap((worker, at) => range(times).map(() => rpc<T>(masters.at(at), worker, method, params))),
        )

      const ids = await submitMany(
        masters.at(0),
        range(300).map(() => ({ count: 0 })),
        'talk',
      )
      const reserved = (await everywhere<{ tasks: Reserved[] }>(4, 'tasks.reserve', { limit: 40 })).flatMap(
        ({ tasks }) => tasks,
      )
      expect(reserved).toHaveLength(300)
      expect(reserved.map(({ task_id: id }) => id).toSorted()).toEqual(ids.toSorted())
      expect(new Set(reserved.map(({ token }) => token)).size).toBe(300)
      const acked = await rpc<{ results: unknown[] }>(masters.at(-1), { type: 'talk', id: 'w-0' }, 'tasks.ack', {
        tasks: reserved.map(({ task_id, token }) => ({ task_id, token })),
      })
      expect(acked.results).toEqual(range(300).map(() => ({ ok: true })))

      interface Claim {
        readonly id: string
        readonly token: number
      }
      await rpc(masters.at(0), { type: 'talk', id: 'w-0' }, 'pool.put', {
        pool: 'seats',
        items: range(30).map((n) => ({ id: `seat-${n}`, tags: {}, payload: {} })),
      })
      let before = 0
      for (let round = 0; round < 3; round += 1) {
        const claims = (
          await everywhere<{ claims: Claim[] }>(20, 'pool.claim', { pool: 'seats', hold_ms: 60_000, n: 2 })
        ).flatMap(({ claims: own }) => own)
        expect(new Set(claims.map(({ id }) => id)).size).toBe(30)
        expect(claims).toHaveLength(30)
        const tokens = claims.map(({ token }) => token)
        expect(new Set(tokens).size).toBe(30)
        expect(Math.min(...tokens)).toBeGreaterThan(before)
        before = Math.max(...tokens)
        await Promise.all(
          claims.map(({ id, token }, n) =>
            rpc(masters.at(n % count), { type: 'talk', id: 'w-0' }, 'pool.release', { pool: 'seats', id, token }),
          ),
        )
      }
      for (const fleet of masters.all) expect(await fleet.ok('GET', '/pools/seats')).toMatchObject({ size: 30 })
    }, 60_000)

    it('grant a lock to one owner at a time, count exactly, and return one value per key (G4)', async () => {
      const masters = await mastersOf(count)
      const workers = await workersOf(masters)
      const [first, last] = [masters.at(0), masters.at(-1)]
      const worker = { type: 'talk', id: 'w-0' }
      let before = 0
      for (const round of range(10)) {
        const responses = await Promise.all(
          [...workers, ...workers].map((each, n) =>
            rpc<{ acquired: boolean; token?: number }>(masters.at(n % count), each, 'lock.acquire', {
              name: 'l',
              hold_ms: 60_000,
            }),
          ),
        )
        const [held, ...others] = responses.filter(({ acquired }) => acquired)
        expect(others).toEqual([])
        expect(held?.token).toBeGreaterThan(before)
        before = held?.token ?? NaN
        const releaser = masters.at(round % count)
        expect(await tryRpc(releaser, worker, 'lock.release', { name: 'l', token: before - 1 })).toMatchObject({
          error: { code: -32_001 },
        })
        await rpc(releaser, worker, 'lock.release', { name: 'l', token: before })
      }

      const added = await Promise.all(
        masters.all.flatMap((fleet) =>
          range(50).map(() => rpc<{ value: number }>(fleet, worker, 'counter.add', { name: 'c', delta: 1 })),
        ),
      )
      expect(added.map(({ value }) => value).toSorted((a, b) => a - b)).toEqual(range(50 * count).map((n) => n + 1))
      await rpc(first, worker, 'kv.set', { key: 'k', value: { of: 'the first' } })
      expect(await rpc(last, worker, 'kv.get', { key: 'k' })).toEqual({ value: { of: 'the first' } })
      expect(await rpc(last, worker, 'kv.delete', { key: 'k' })).toEqual({ deleted: true })
      expect(await rpc(first, worker, 'kv.get', { key: 'k' })).toEqual({ value: null })
    }, 60_000)

    it('return the same workers, queues, dead letters, streams and epoch', async () => {
      const masters = await mastersOf(count)
      const workers = await workersOf(masters)
      await Promise.all(
        masters.all.map((fleet) =>
          submitMany(
            fleet,
            range(20).map(() => ({ count: 0 })),
            'talk',
          ),
        ),
      )
      for (const [at, worker] of workers.entries()) {
        const { tasks } = await rpc<{ tasks: Reserved[] }>(masters.at(at), worker, 'tasks.reserve', { limit: 5 })
        await rpc(masters.at(at - 1), worker, 'tasks.nack', {
          tasks: tasks.map(({ task_id, token }) => ({ task_id, token, error: 'no', permanent: true })),
        })
        worker.emit([{ slot: 0, payload: { task_id: 't', pid: 0, n: at } }])
        await worker.received()
      }
      await eventually(
        'the outputs are stored',
        async () => (await lengthOf(masters.at(0), `${TALK}/output/length`)) === count,
      )
      workers[0]?.leave()
      await eventually(
        'one is reported as disconnected',
        async () => !(await record(masters.at(-1), 'w-0', 'talk')).connected,
      )

      const { length } = masters.all
      type Known = { readonly masters: readonly { readonly version: string | null }[] }
      await eventually('each master knows the releases of the others', async () =>
        (await Promise.all(masters.all.map((fleet) => fleet.ok<Known>('GET', '/me')))).every(
          (me) => me.masters.length === length && me.masters.every(({ version }) => version !== null),
        ),
      )
      const views = await Promise.all(
        masters.all.map(async (fleet) => {
          const me = await fleet.call('GET', '/me')
          const list = await fleet.ok<WorkerRecord[]>('GET', `${TALK}/workers`)
          const rest = await Promise.all(
            ['queue?n=1000', 'dead?n=1000', 'output/length', 'output/peek', 'workers?connected=true'].map((path) =>
              fleet.ok('GET', `${TALK}/${path}`),
            ),
          )
          return { me: me.body, epoch: me.headers.get('muster-epoch'), list, rest }
        }),
      )
      expect(views.slice(1)).toEqual(views.slice(1).map(() => views[0]))
      expect(views[0]?.me).toMatchObject({ backend: { scheme: 'kvstore', durable: true, shared: true, pubsub: true } })
      expect(views[0]?.list.map(({ worker_id: id, connected }) => [id, connected])).toEqual(
        workers.map(({ id }, at) => [id, at > 0]),
      )
      expect(views[0]?.rest).toMatchObject([
        { length: 15 * count },
        { length: 5 * count },
        { length: count },
        range(count).map((n) => ({ payload: { n } })),
        { length: count - 1 },
      ])
    }, 60_000)

    it('serve workers whose socket and calls use different masters (G1, G2, G14)', async () => {
      const masters = await mastersOf(count)
      const balancer = await Forwarder.to(...masters.all.map(portOf))
      open.push(() => balancer.close())
      const workers = ['w-0', 'w-1', 'w-2'].map((id) => ({
        id,
        ...masters.worker(0, id, 'slow', `http://127.0.0.1:${balancer.port}`),
      }))
      for (const { id } of workers) await masters.at(0).configure('slow', id, { enabled: true, slots: 4 })
      const ids = await submitMany(
        masters.at(-1),
        range(120).map(() => ({ ms: 20 })),
      )
      for (const { id, output } of workers) {
        const gen = await masters.at(1).configure('slow', id, { slots: 6 })
        await eventually(
          'the config is applied',
          async () => (await record(masters.at(0), id)).applied_config_gen === gen,
          { context: output, withinMs: 1_000 * SLACK },
        )
      }
      await allGone(masters.at(0), ids)
      const [running = ''] = await submitMany(masters.at(0), [{ ms: 1_000 }])
      await eventually('the task runs', async () => masters.starts().some(({ id }) => id === running))
      for (const { id } of workers) await masters.at(-1).ok('POST', `${SLOW}/workers/${id}/drain`)
      const later = await submit(masters.at(1), { ms: 0 })
      expect(await Promise.all(workers.map(({ exited }) => exited))).toEqual([0, 0, 0])
      expect(
        masters
          .starts()
          .map(({ id }) => id)
          .toSorted(),
      ).toEqual([...ids, running].toSorted())
      expect(await masters.at(0).ok('GET', `${SLOW}/queue`)).toMatchObject({
        length: 1,
        items: [{ id: later, attempt: 0 }],
      })
    }, 60_000)

    it('run every task exactly once with workers at all masters, each with its output (G1, G2)', async () => {
      const masters = await mastersOf(count)
      await masters.workers(1, 8)
      const ids = (
        await Promise.all(
          range(12).map((n) =>
            submitMany(
              masters.at(n % count),
              range(50).map(() => ({ ms: 1 })),
            ),
          ),
        )
      ).flat()
      await allGone(masters.at(0), ids)
      await eventually(
        'every output is stored',
        async () => (await lengthOf(masters.at(1), `${SLOW}/output/length`)) >= ids.length,
      )
      expect(
        masters
          .starts()
          .map(({ id }) => id)
          .toSorted(),
      ).toEqual(ids.toSorted())
      expect(new Set(masters.starts().map(({ pid }) => pid)).size).toBe(count)
      const popped = await Promise.all(
        masters.all.map((fleet) => fleet.ok<{ payload: Submitted }[]>('POST', `${SLOW}/output/pop`, { n: 10_000 })),
      )
      expect(
        popped
          .flat()
          .map(({ payload }) => payload.task_id)
          .toSorted(),
      ).toEqual(ids.toSorted())
    }, 60_000)
  })
})
