/**
 * Backends with one safeguard removed each: the memory backend with a fault switch, or behind a wrapper that changes
 * calls or results.
 */
import { seededRandom } from '../../../src/runtime/index.ts'
import type {
  Backend,
  CancelResult,
  Lease,
  LeaseRef,
  ReserveResult,
  ReserveRequest,
  RunResult,
  Tasks,
  TaskState,
} from '../../../src/storage/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import type { MemoryBackendOptions } from '../../../src/storage/memory/memory-backend.ts'
import type { Create } from '../contract/fixture.ts'

const random = seededRandom(1)
const YEAR_MS = 31_536_000_000

export const memory =
  (controls: NonNullable<MemoryBackendOptions['controls']> = {}): Create =>
  async (clock) =>
    new MemoryBackend({ clock, random, controls })

/** Returns the overridden methods by group. */
type Spoiled = { readonly [G in keyof Backend]?: Partial<Backend[G]> }

function wrapped(spoil: (inner: Backend) => Spoiled): Create {
  return async (clock) => {
    const inner = await memory()(clock)
    const spoiled = new Map<PropertyKey, unknown>(Object.entries(spoil(inner)))
    return new Proxy(inner, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value === 'function') return value.bind(target) as unknown
        return spoiled.has(name) ? { ...(value as object), ...(spoiled.get(name) as object) } : value
      },
    })
  }
}

const onTasks = (spoil: (inner: Tasks) => Partial<Tasks>): Create => wrapped(({ tasks }) => ({ tasks: spoil(tasks) }))
/** Returns the result with `change` applied to each lease. */
const changed = (answer: ReserveResult, change: (lease: Lease) => Lease): ReserveResult => ({
  ...answer,
  results: answer.results.map((mine) =>
    mine.kind === 'refused' ? mine : { ...mine, leases: mine.leases.map(change) },
  ),
})
const leasesIn = ({ results }: ReserveResult): readonly Lease[] =>
  results.flatMap((mine) => (mine.kind === 'refused' ? [] : mine.leases))
const onLeases = (change: (lease: Lease) => Lease): Create =>
  onTasks((inner) => ({
    async reserve(...args) {
      const answer = await inner.reserve(...args)
      return changed(answer, change)
    },
  }))

/** Restarts token numbers at 1 whenever the store opens. */
const forgetfulTokens: Create = async (clock) => {
  const inner = await memory()(clock)
  const first = new Map<string, number>()
  const back = (type: string, leases: readonly LeaseRef[]): LeaseRef[] =>
    leases.map(({ id, token }) => ({ id, token: token + (first.get(type) ?? 0) }))
  const tasks: Tasks = {
    ...inner.tasks,
    async reserve(type, ...args) {
      const answer = await inner.tasks.reserve(type, ...args)
      const lowest = leasesIn(answer)[0]?.token
      if (lowest !== undefined && !first.has(type)) first.set(type, lowest - 1)
      return changed(answer, (lease) => ({ ...lease, token: lease.token - (first.get(type) ?? 0) }))
    },
    ack: (type, leases) => inner.tasks.ack(type, back(type, leases)),
  }
  return new Proxy(inner, {
    get(target, name) {
      const value: unknown = name === 'tasks' ? tasks : Reflect.get(target, name, target)
      if (name === 'close') first.clear()
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

/** By the safeguard that is missing. */
export const BROKEN: Readonly<Record<string, Create>> = {
  'the comparison of tokens': memory({ tokenCompare: false }),
  'the check for an existing id': memory({ presenceCheck: false }),
  'the front of the tier for released tasks': memory({ frontOfTier: false }),
  'the drain check of a reserve': memory({ drainCheck: false }),
  'the outcomes of retained tasks': memory({ outcomes: false }),
  'the outcome in the step that ends the task': onTasks((inner) => {
    const late = new Map<string, TaskState>() // The outcome of an ack is seen only by the second read after it.
    return {
      async describe(type, ids, bytes) {
        const states = await inner.describe(type, ids, bytes)
        return states.map((state, i) => {
          const key = `${type} ${ids[i]}`
          if (state?.kind !== 'done' || late.has(key)) return state
          late.set(key, state)
          return null
        })
      },
    }
  }),
  'the first outcome of a repeated ack': onTasks((inner) => {
    const results = new Map<string, RunResult | null>()
    return {
      async ack(type, leases, max) {
        const settled = await inner.ack(type, leases, max)
        for (const [i, { id, result }] of leases.entries())
          if (settled[i] === 'ok') results.set(`${type} ${id}`, result ?? null)
        return settled
      },
      async describe(type, ids, bytes) {
        const states = await inner.describe(type, ids, bytes)
        return states.map((state, i) => {
          if (state?.kind !== 'done') return state
          return { ...state, result: results.get(`${type} ${ids[i]}`) ?? null }
        })
      },
    }
  }),
  'the generation check of a reserve': wrapped(({ tasks, configs }) => ({
    tasks: {
      async reserve(type, ms, requests) {
        const rows = await configs.get(requests.map(({ worker }) => ({ type, id: worker })))
        return tasks.reserve(
          type,
          ms,
          requests.map((request, i): ReserveRequest => ({ ...request, gen: rows[i]?.gen ?? request.gen })),
        )
      },
    },
  })),
  'the order of released tasks': onTasks((inner) => ({
    release: async (type, leases) => (await inner.release(type, leases.toReversed())).toReversed(),
  })),
  'the exact count of attempts': onLeases((lease) => ({ ...lease, attempt: lease.attempt * 2 })),
  'the max attempts of the task itself': onTasks((inner) => ({
    submit: (type, ttl, tasks, max) =>
      inner.submit(
        type,
        ttl,
        tasks.map((task) => ({ ...task, maxAttempts: null })),
        max,
      ),
  })),
  'the end of the idempotency window': onTasks((inner) => ({
    submit: (type, _ttl, tasks, max) => inner.submit(type, YEAR_MS, tasks, max),
  })),
  'the limit of the queue': onTasks((inner) => ({ submit: (type, ttl, tasks) => inner.submit(type, ttl, tasks) })),
  'the TTL of a task': onTasks((inner) => ({
    submit: (type, ttl, tasks, max) =>
      inner.submit(
        type,
        ttl,
        tasks.map((task) => ({ ...task, ttlMs: null })),
        max,
      ),
  })),
  'the delay of a task': onTasks((inner) => ({
    submit: (type, ttl, tasks, max) =>
      inner.submit(
        type,
        ttl,
        tasks.map((task) => ({ ...task, notBeforeMs: 0 })),
        max,
      ),
  })),
  'the delay in the TTL of a task': onTasks((inner) => ({
    submit: (type, ttl, tasks, max) =>
      inner.submit(
        type,
        ttl,
        tasks.map((task) => ({ ...task, ttlMs: task.notBeforeMs === undefined ? task.ttlMs : task.ttlMs && 1 })),
        max,
      ),
  })),
  'the end of the lease of a cancelled task': onTasks((inner) => {
    const ended = new Map<string, CancelResult>()
    return {
      async reserve(type, ms, requests, ...args) {
        const answer = await inner.reserve(type, ms, requests, ...args)
        for (const [i, { worker }] of requests.entries()) {
          const mine = answer.results[i]
          for (const { id, token } of mine?.kind === 'leased' ? mine.leases : [])
            ended.set(id, { kind: 'cancelled', was: 'in_flight', worker, token })
        }
        return answer
      },
      async cancel(type, ids, actor) {
        const places = await inner.locate(type, ids)
        const results = await inner.cancel(
          type,
          ids.map((id, i) => (places[i] === 'in_flight' ? `${id} is not cancelled` : id)),
          actor,
        )
        return results.map((result, i) => {
          const isFirst = ids.indexOf(ids[i] ?? '') === i
          return (places[i] === 'in_flight' && isFirst && ended.get(ids[i] ?? '')) || result
        })
      },
    }
  }),
  'the pause of a queue': onTasks((inner) => ({
    pause: async (type, pause) => ({ ...(await inner.pause(type, { ...pause, untilMs: 0 })), untilMs: pause.untilMs }),
  })),
  'the end of a pause': onTasks((inner) => ({
    pause: (type, pause) => inner.pause(type, { ...pause, untilMs: null }),
  })),
  'the turns of groups': memory({ groupTurns: false }),
  'the end of a lost lease in the count of its group': memory({ groupLeaseLost: false }),
  'the rate of a group': onTasks((inner) => ({
    setGroupPolicy: (type, policy) => inner.setGroupPolicy(type, policy && { ...policy, rate: null }),
  })),
  'the burst of a group': onTasks((inner) => ({
    setGroupPolicy: (type, policy) =>
      inner.setGroupPolicy(type, policy && { ...policy, rate: policy.rate && { ...policy.rate, burst: 1 } }),
  })),
  'the bound of the leases of a group': onTasks((inner) => ({
    setGroupPolicy: (type, policy) => inner.setGroupPolicy(type, policy && { ...policy, maxInFlight: null }),
  })),
  'the refill after a dropped task': onTasks((inner) => ({
    async reserve(type, ...args) {
      const answer = await inner.reserve(type, ...args)
      const leases = leasesIn(answer)
      if (answer.dropped === 0 || leases.length === 0) return answer
      await inner.release(type, leases)
      return {
        ...answer,
        results: answer.results.map((mine) => (mine.kind === 'refused' ? mine : { ...mine, leases: [] })),
      }
    },
  })),
  'the record of acked tokens': onTasks((inner) => {
    const seen = new Set<number>()
    return {
      async ack(type, leases) {
        const results = await inner.ack(type, leases)
        return results.map((answer, i) => {
          const token = leases[i]?.token ?? 0
          if (answer === 'lease_lost' || seen.has(token)) return 'lease_lost'
          seen.add(token)
          return 'ok'
        })
      },
    }
  }),
  'the growth of tokens across restarts': forgetfulTokens,
  'the limit of lost leases': onTasks((inner) => ({ sweep: (type, _maxLost, limit) => inner.sweep(type, 0, limit) })),
  'the order of deaths': onTasks((inner) => ({
    async dead(type, n) {
      const { length, items } = await inner.dead(type, 10_000)
      return { length, items: items.toReversed().slice(0, n) }
    },
  })),
  'the comparison of connections': wrapped(({ workers }) => ({
    workers: {
      async beat(items) {
        const rows = await workers.get(items)
        return workers.beat(items.map((item, i) => ({ ...item, conn: rows[i]?.conn ?? item.conn })))
      },
    },
  })),
  'the comparison of generations': wrapped(({ configs }) => ({
    configs: {
      async put(item) {
        const [row] = await configs.get([item])
        return configs.put({ ...item, expectGen: row?.gen ?? item.expectGen })
      },
    },
  })),
  'the comparison of a bulk change': memory({ bulkCompare: false }),
  'the manager in the comparison of a bulk change': wrapped(({ configs }) => ({
    configs: {
      async putMany(type, bulk, puts) {
        const rows = await configs.get(puts.map(({ id }) => ({ type, id })))
        const own = puts.map((put, i) => ({ ...put, expectManagedBy: rows[i]?.managedBy ?? null }))
        return configs.putMany(type, bulk, own)
      },
    },
  })),
  'the label of a bulk change': wrapped(({ configs }) => ({
    configs: {
      putMany: (type, bulk, puts) =>
        configs.putMany(
          type,
          bulk,
          puts.map((put) => ({ ...put, variant: '-' })),
        ),
    },
  })),
  'the change of a label by a PATCH': wrapped(({ configs, workers }) => {
    const ends = <T extends { readonly configRevision: string | null }>(row: T | null): T | null =>
      row && { ...row, configRevision: row.configRevision?.replace(/\*$/, '-') ?? null }
    return {
      configs: { get: async (refs) => (await configs.get(refs)).map(ends) },
      workers: { get: async (refs) => (await workers.get(refs)).map(ends) },
    }
  }),
  'the revisions in use': wrapped(({ revisions }) => {
    const dropped = new Set<string>()
    return {
      revisions: {
        async put(type, revision) {
          const result = await revisions.put(type, revision)
          if (result === 'stored') {
            const rows = await revisions.list(type)
            for (const { name } of rows.slice(32)) dropped.add(JSON.stringify([type, name]))
          }
          return result
        },
        list: async (type) =>
          (await revisions.list(type)).filter(({ name }) => !dropped.has(JSON.stringify([type, name]))),
      },
    }
  }),
  'the enrolment of a new worker': wrapped(({ workers }) => ({
    workers: {
      register: (items) => workers.register(items.map((item) => ({ ...item, enrolment: undefined }))),
    },
  })),
  'the version of the enrolment rules': wrapped(({ workers, enrolments }) => ({
    workers: {
      register: async (items) => {
        const lists = await Promise.all(items.map(({ type }) => enrolments.list(type)))
        return workers.register(items.map((item, at) => ({ ...item, rules: lists[at]?.version })))
      },
    },
  })),
  'the comparison of the heads of rollout reports': wrapped(({ rollouts }) => ({
    rollouts: {
      put: async (type, report) => {
        const result = await rollouts.put(type, report)
        return result === 'updated' ? 'changed' : result
      },
    },
  })),
  'the comparison of the version of an operation': wrapped(({ operations }) => ({
    operations: {
      async update(type, id, version, head, parts) {
        const [stored] = await operations.heads([type])
        const current = stored?.find((each) => each.id === id)?.version ?? version
        return operations.update(type, id, current, head, parts)
      },
    },
  })),
  'the parts of a change of an operation': wrapped(({ operations }) => ({
    operations: { update: (type, id, version, head) => operations.update(type, id, version, head, []) },
  })),
  'the sums of rollups': wrapped(({ rollups }) => ({
    rollups: {
      add: (increments) => rollups.add(increments.map((each) => ({ ...each, sums: {} }))),
    },
  })),
  'the generation of a forgotten worker': wrapped(({ workers }) => ({
    workers: {
      register: async (items) =>
        (await workers.register(items)).map((answer) =>
          answer.kind === 'registered' && answer.previous === null ? { ...answer, gen: 0 } : answer,
        ),
    },
  })),
  'the sequence numbers of producers': wrapped(({ streams }) => {
    let seq = 0
    return { streams: { push: (type, producer, _seq, entries) => streams.push(type, producer, (seq += 1), entries) } }
  }),
  'the removal of popped entries': wrapped(({ streams }) => ({ streams: { pop: (type, n) => streams.peek(type, n) } })),
  'the tag match of a claim': wrapped(({ pools }) => ({
    pools: {
      claim: (pool, requests) =>
        pools.claim(
          pool,
          requests.map((request) => ({ ...request, match: {} })),
        ),
    },
  })),
  'the claim of a replaced item': wrapped(({ pools }) => ({
    pools: {
      async put(pool, items) {
        await pools.remove(
          pool,
          items.map(({ id }) => ({ id, token: null })),
        )
        return pools.put(pool, items)
      },
    },
  })),
  'the expiry of values': wrapped(({ kv }) => ({
    kv: {
      set: (namespace, items) =>
        kv.set(
          namespace,
          items.map((item) => ({ ...item, ttlMs: null })),
        ),
    },
  })),
  'the exclusion of locks': wrapped(({ locks }) => ({
    locks: {
      acquire: (namespace, items) =>
        locks.acquire(
          namespace,
          items.map((item) => ({ ...item, holdMs: 1_000 })),
        ),
    },
  })),
  'the durability that it declares': wrapped(() => ({ capabilities: { durable: true } })),
}

/** A correct backend that records its results as "<method> <word>". */
export function counted(seen: Set<string>): Create {
  return wrapped((inner) => {
    const groups = [
      'tasks',
      'workers',
      'configs',
      'revisions',
      'enrolments',
      'rollouts',
      'rollups',
      'operations',
      'streams',
      'pools',
      'locks',
      'counters',
    ] as const
    return Object.fromEntries(groups.map((group) => [group, notingOf(inner[group], seen)]))
  })
}

/** Fields whose value names the result. */
const WORDS = new Set(['status', 'kind', 'reason'])

function notingOf(group: object, seen: Set<string>): object {
  const note = (method: string, answer: unknown): void => {
    if (typeof answer === 'string' || typeof answer === 'boolean') seen.add(`${method} ${answer}`)
    if (Array.isArray(answer)) for (const each of answer) note(method, each)
    else if (typeof answer === 'object' && answer !== null) {
      for (const [word, value] of Object.entries(answer)) {
        if (WORDS.has(word) || Array.isArray(value)) note(method, value)
        else if (value !== 0 && value !== null && value !== false) seen.add(`${method} ${word}`)
      }
    }
  }
  return Object.fromEntries(
    Object.entries(group).map(([method, call]) => [
      method,
      async (...args: readonly unknown[]): Promise<unknown> => {
        const answer = await (call as (...all: readonly unknown[]) => Promise<unknown>)(...args)
        note(method, answer)
        return answer
      },
    ]),
  )
}
