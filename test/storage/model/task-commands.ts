/** Commands on task queues. */
import { expect } from '@jest/globals'
import fc from 'fast-check'
import { retryDelayMs } from '../../../src/runtime/index.ts'
import { errorGroup } from '../../../src/storage/index.ts'
import type {
  GroupPolicy,
  LeaseRef,
  NewTask,
  RunResult,
  SweepResult,
  TaskPlace,
  Tier,
  UniqueKey,
} from '../../../src/storage/index.ts'
import { RETRY } from '../contract/fixture.ts'
import { command } from './command.ts'
import type { AnyCommand } from './command.ts'
import { IDS, KEYS, TYPES, pick, same } from './fixture.ts'
import type { Pick, ModelFixture } from './fixture.ts'
import type { TasksModel } from './tasks-model.ts'

const WINDOW_MS = 20_000
const type = fc.constantFrom(...TYPES)
const tier = fc.constantFrom<Tier>(0, 1, 2)
const visibilityMs = fc.constantFrom(1_000, 5_000, 60_000)
const picks = fc.array(pick, { minLength: 1, maxLength: 3 })

const newTask = fc.record({
  id: fc.oneof(fc.constantFrom(...IDS), fc.constantFrom('drawn', 'drawn', 'sent before')),
  key: fc.option(fc.constantFrom(...KEYS), { freq: 2 }),
  tier,
  ttlMs: fc.option(fc.constantFrom(1_000, 5_000, 60_000), { freq: 2 }),
  maxAttempts: fc.option(fc.integer({ min: 1, max: 3 })),
  retainMs: fc.option(fc.constantFrom(500, 5_000, 60_000), { nil: undefined }),
  unique: fc.option(
    fc.record<UniqueKey>({
      key: fc.constantFrom(...KEYS),
      until: fc.constantFrom('started', 'finished'),
      onConflict: fc.constantFrom('keep', 'replace'),
    }),
    { nil: undefined, freq: 1 },
  ),
  group: fc.option(fc.constantFrom('a', 'b', '__proto__', `'"\\`), { nil: undefined, freq: 3 }),
  age: fc.nat(5_000),
})

/**
 * A task as the master creates it: with an id of the client, a generated id, or rarely a generated id a second time.
 */
function taskOf(
  fixture: ModelFixture,
  { id: chosen, age, retainMs, unique, group, ...rest }: typeof newTask extends fc.Arbitrary<infer T> ? T : never,
): NewTask {
  const ownId = chosen !== 'drawn' && chosen !== 'sent before'
  const serial = fixture.serial()
  const id = ownId ? chosen : (chosen === 'sent before' && fixture.drawnIds.at(-1)) || `t${serial}`
  if (!ownId && fixture.drawnIds.at(-1) !== id) fixture.drawnIds.push(id)
  const key = unique === undefined ? '' : `"unique_key":${JSON.stringify(unique.key)},`
  const retain = retainMs === undefined ? '' : `"retain_seconds":${retainMs / 1_000},`
  const groupKey = group === undefined ? '' : `"group_key":${JSON.stringify(group)},`
  return {
    ...rest,
    ...(retainMs !== undefined && { retainMs }),
    ...(unique !== undefined && { unique }),
    ...(group !== undefined && { group }),
    id,
    ownId,
    submittedAtMs: fixture.time.now - age,
    body: `{${retain}${key}${groupKey}"payload":{"n":${serial}},"priority":${1 - rest.tier},"submitted_at":1}`,
  }
}

/**
 * Returns the first unused time from `at` on. Backends may order equal deadlines and due times as they like, so there
 * are none.
 */
function unused(taken: Set<number>, at: number): number {
  let free = at
  while (taken.has(free)) free += 1
  taken.add(free)
  return free
}

const deadlinesOf = (fixture: ModelFixture, of: string): Set<number> =>
  new Set(
    fixture.store
      .tasks(of)
      .in('in_flight')
      .map(({ at }) => at),
  )
const leasesOf = (fixture: ModelFixture, of: string, wanted: readonly Pick[]): LeaseRef[] =>
  wanted.map((each) => fixture.leaseOf(of, fixture.store.tasks(of).in('in_flight'), each))

const submitDelayed = command(
  'submit delayed',
  fc.record({
    type,
    items: fc.array(fc.tuple(newTask, fc.constantFrom(-1_000, 0, 500, 2_000, 5_000, 30_000)), {
      minLength: 1,
      maxLength: 4,
    }),
    bound: fc.option(fc.nat(12), { freq: 3, nil: undefined }),
  }),
  async ({ type: of, items, bound }, fixture, { backend }) => {
    const model = fixture.store.tasks(of)
    const taken = new Set(model.in('scheduled').map(({ at }) => at))
    const { now } = fixture.time
    const tasks = items.map(([item, delayMs]) => {
      const notBeforeMs = delayMs > 0 ? unused(taken, now + delayMs) : now + delayMs
      const plain = taskOf(fixture, item)
      const body = plain.body.replace(/"submitted_at":1}$/, `"not_before":${notBeforeMs / 1_000},"submitted_at":1}`)
      return { ...plain, notBeforeMs, body }
    })
    same(await backend.tasks.submit(of, WINDOW_MS, tasks, bound), model.submit(WINDOW_MS, tasks, bound))
  },
)

const submit = command(
  'submit',
  fc.record({
    type,
    items: fc.array(newTask, { minLength: 1, maxLength: 4 }),
    bound: fc.option(fc.nat(12), { freq: 3, nil: undefined }),
  }),
  async ({ type: of, items, bound }, fixture, { backend }) => {
    const tasks = items.map((item) => taskOf(fixture, item))
    same(
      await backend.tasks.submit(of, WINDOW_MS, tasks, bound),
      fixture.store.tasks(of).submit(WINDOW_MS, tasks, bound),
    )
  },
)

/** `off` is the difference between the request's generation and that of the worker's config. */
const request = fc.record({
  worker: fc.constantFrom('w1', 'w1', '__proto__'),
  limit: fc.integer({ min: 1, max: 4 }),
  off: fc.constantFrom(0, 0, 0, 0, 0, 0, 1),
  defaultMaxAttempts: fc.integer({ min: 1, max: 3 }),
})
const reserve = command(
  'reserve',
  fc.record({ type, visibilityMs, requests: fc.array(request, { minLength: 1, maxLength: 3 }) }),
  async ({ type: of, ...args }, fixture, { backend }) => {
    const { fleet, tasks } = fixture.store
    const requests = args.requests.map(({ off, ...wanted }) => ({
      ...wanted,
      gen: (fleet.find({ type: of, id: wanted.worker })?.config.gen ?? 0) + off,
    }))
    const refusals = requests.map(({ worker, gen }) => fleet.refusal({ type: of, id: worker }, gen))
    const ms = unused(deadlinesOf(fixture, of), fixture.time.now + args.visibilityMs) - fixture.time.now
    const groupsBefore = await backend.tasks.groups(of, 1_000)
    const answer = await backend.tasks.reserve(of, ms, requests)
    const leases = answer.results.flatMap((each) => (each.kind === 'refused' ? [] : each.leases))
    const { policy } = tasks(of)
    if (policy !== null) {
      const groups = { before: groupsBefore, after: await backend.tasks.groups(of, 1_000) }
      fixture.groupStarts(of).check(policy, leases, groups, fixture.time.now)
    }
    same(answer, tasks(of).reserve(ms, requests, refusals, fixture.handOut(of, leases)))
    for (const { body } of leases) expect(fixture.settled.has(body)).toBe(false)
  },
)

/** Replaces 'not_issued' by 'lease_lost', because the model has no token counter. Fails if the token was issued. */
function asLost<A>(
  fixture: ModelFixture,
  of: string,
  leases: readonly LeaseRef[],
  results: readonly A[],
): readonly (A | 'lease_lost')[] {
  return results.map((answer, i) => {
    if (answer !== 'not_issued') return answer
    expect(fixture.handed(of).map(({ token }) => token)).not.toContain(leases[i]?.token)
    return 'lease_lost'
  })
}

const runResult = fc.constantFrom<RunResult | undefined>(
  undefined,
  { kind: 'too_large' },
  { kind: 'json', text: '{"a":"ü|:"}' },
)

const acks = fc.record({ type, picks, result: runResult })
const ack = command('ack', acks, async ({ type: of, picks: wanted, result: returned }, fixture, { backend }) => {
  const leases = leasesOf(fixture, of, wanted)
  const done = leases.map((lease) => (returned === undefined ? lease : { ...lease, result: returned }))
  const bodies = new Map(
    fixture.store
      .tasks(of)
      .in('in_flight')
      .map(({ id, token, body }) => [JSON.stringify({ id, token }), body]),
  )
  const results = asLost(fixture, of, leases, await backend.tasks.ack(of, done))
  same(results, fixture.store.tasks(of).ack(done))
  for (const lease of leases) fixture.settled.add(bodies.get(JSON.stringify(lease)) ?? '')
})

const release = command(
  'release',
  fc.record({ type, picks }),
  async ({ type: of, picks: wanted }, fixture, { backend }) => {
    const leases = leasesOf(fixture, of, wanted)
    same(asLost(fixture, of, leases, await backend.tasks.release(of, leases)), fixture.store.tasks(of).release(leases))
  },
)

const failure = fc.record({
  pick,
  error: fc.constantFrom('boom', '__proto__', 'code 17', 'code 18'),
  retryInMs: fc.option(fc.constantFrom(0, 1_000, 30_000)),
  permanent: fc.constantFrom(false, false, false, true),
  jitter: fc.constantFrom(0, 0.25, 0.999),
})
const nack = command(
  'nack',
  fc.record({ type, failures: fc.array(failure, { minLength: 1, maxLength: 3 }) }),
  async ({ type: of, failures }, fixture, { backend }) => {
    const tasks = fixture.store.tasks(of)
    const taken = new Set(tasks.in('scheduled').map(({ at }) => at))
    const { now } = fixture.time
    const items = failures.map(({ pick: wanted, ...item }) => {
      const lease = fixture.leaseOf(of, tasks.in('in_flight'), wanted)
      const attempt = tasks.in('in_flight').find(({ id }) => id === lease.id)?.attempt ?? 0
      const due = now + (item.retryInMs ?? retryDelayMs(RETRY, attempt, item.jitter))
      const free = unused(taken, due)
      return { ...item, ...lease, retryInMs: free === due ? item.retryInMs : free - now }
    })
    same(asLost(fixture, of, items, await backend.tasks.nack(of, RETRY, items)), tasks.nack(RETRY, items))
  },
)

const extend = command(
  'extend',
  fc.record({ type, visibilityMs, picks, progress: fc.constantFrom(undefined, undefined, '7', '{"page":"ü|:"}') }),
  async ({ type: of, picks: wanted, progress, ...args }, fixture, { backend }) => {
    const taken = deadlinesOf(fixture, of)
    const items = leasesOf(fixture, of, wanted).map((lease) => ({
      ...lease,
      visibilityMs: unused(taken, fixture.time.now + args.visibilityMs) - fixture.time.now,
      ...(progress !== undefined && { progress }),
    }))
    const results = await backend.tasks.extend(of, items)
    const kinds = asLost(
      fixture,
      of,
      items,
      results.map(({ kind }) => kind),
    )
    same(
      results.map((result, i) => ({ ...result, kind: kinds[i] })),
      fixture.store.tasks(of).extend(items),
    )
  },
)

const limits = fc.record({ type, maxLost: fc.constantFrom(0, 1, 2, 2, 3), limit: fc.constantFrom(1, 2, 500) })
/**
 * If several expired windows or outcomes end at the same time, the backend may choose which ones a limited sweep
 * removes. The limit is then lifted.
 */
function limitOf(
  fixture: ModelFixture,
  { type: of, limit }: { readonly type: string; readonly limit: number },
): number {
  const tasks = fixture.store.tasks(of)
  const keys = tasks.endedKeys().map((window) => window.ends)
  const outcomes = tasks.expiredOutcomes().map(([, { retainedUntilMs }]) => retainedUntilMs)
  const hasEqualEnds = [keys, outcomes].some((ends) => new Set(ends).size < ends.length)
  return hasEqualEnds ? 500 : limit
}

const sweep = command('sweep', limits, async (args, fixture, { backend }) => {
  const { type: of, maxLost } = args
  const limit = limitOf(fixture, args)
  const [answer, expected] = [
    await backend.tasks.sweep(of, maxLost, limit),
    fixture.store.tasks(of).sweep(maxLost, limit),
  ]
  same(answer, { ...expected, more: expected.more ?? answer.more })
})

const twoSweeps = command('two concurrent sweeps', limits, async (args, fixture, { backend }) => {
  const { type: of, maxLost } = args
  const limit = limitOf(fixture, args)
  const results = await Promise.all([backend.tasks.sweep(of, maxLost, limit), backend.tasks.sweep(of, maxLost, limit)])
  const expected = [fixture.store.tasks(of).sweep(maxLost, limit), fixture.store.tasks(of).sweep(maxLost, limit)]
  same(sumOf(results), sumOf(expected))
})

/** Sums what both sweeps moved, because either of them may have moved each item. */
function sumOf(sweeps: readonly Omit<SweepResult, 'more'>[]): Omit<SweepResult, 'more'> {
  const sum = (count: keyof Omit<SweepResult, 'more'>): number => sweeps.reduce((all, swept) => all + swept[count], 0)
  return {
    requeued: sum('requeued'),
    promoted: sum('promoted'),
    dead: sum('dead'),
    forgottenKeys: sum('forgottenKeys'),
  }
}

const replay = command(
  'replay',
  fc.record({ type, n: fc.integer({ min: 1, max: 3 }) }),
  async ({ type: of, n }, fixture, { backend }) => {
    expect(await backend.tasks.replay(of, n)).toBe(fixture.store.tasks(of).replay(n))
  },
)

const applyToDead = command(
  'apply to dead',
  fc.record({
    type,
    action: fc.constantFrom('replay', 'remove'),
    picks: fc.array(fc.nat(50), { minLength: 1, maxLength: 3 }),
  }),
  async ({ type: of, action, picks: wanted }, fixture, { backend }) => {
    const tasks = fixture.store.tasks(of)
    const dead = tasks.in('dead').map(({ id }) => id)
    const ids = wanted.map((i) => (i % 4 === 0 ? IDS[i % IDS.length] : dead[i % (dead.length || 1)]) ?? 'a')
    same(await backend.tasks.applyToDead(of, action, ids), tasks.applyToDead(action, ids))
  },
)

const deadGroup = fc.constantFrom('boom', '__proto__', 'code 17', 'lease lost 1 times', 'none').map(errorGroup)
const applyToDeadGroup = command(
  'apply to dead group',
  fc.record({
    type,
    group: deadGroup,
    action: fc.constantFrom('replay', 'replay', 'remove'),
    age: fc.constantFrom(0, 0, 500, 5_000),
    n: fc.integer({ min: 1, max: 3 }),
    isPaced: fc.boolean(),
  }),
  async ({ type: of, group, action, age, n, isPaced }, fixture, { backend }) => {
    const tasks = fixture.store.tasks(of)
    const { now } = fixture.time
    // Due times differ from all others, see `unused`.
    const last = Math.max(now, ...tasks.in('scheduled').map(({ at }) => at))
    const pace = isPaced && action === 'replay' ? { delayMs: last - now + 1, intervalMs: 500 } : undefined
    const act = { group, action, diedBeforeMs: now - age + 1, n, pace }
    same(await backend.tasks.applyToDeadGroup(of, act), tasks.applyToDeadGroup(act))
  },
)

const replayEdited = command(
  'replay edited',
  fc.record({ type, at: fc.nat(20), off: fc.constantFrom(0, 0, 0, 1) }),
  async ({ type: of, at, off }, fixture, { backend }) => {
    const tasks = fixture.store.tasks(of)
    const dead = tasks.in('dead')
    const found = dead[at % (dead.length || 1)]
    if (found === undefined) return
    const { id } = found
    same(await backend.tasks.deadTask(of, id), tasks.newestDead(null).find((row) => row.id === id) ?? null)
    const body = found.body.replace(/"n":\d+/, `"n":${fixture.serial()}`)
    same(await backend.tasks.replayEdited(of, id, found.at + off, body), tasks.replayEdited(id, found.at + off, body))
  },
)

const clearDead = command('clearDead', fc.record({ type }), async ({ type: of }, fixture, { backend }) => {
  expect(await backend.tasks.clearDead(of)).toBe(fixture.store.tasks(of).clearDead())
})

/** Any place of a task, one that has finished, or an id that may not be stored. */
const target = fc.tuple(
  fc.constantFrom<TaskPlace | 'named' | 'finished'>(
    'pending',
    'pending',
    'in_flight',
    'scheduled',
    'dead',
    'finished',
    'named',
  ),
  fc.nat(50),
)

const idsIn = (tasks: TasksModel, place: TaskPlace | 'named'): readonly string[] =>
  place === 'named' ? [] : tasks.in(place).map(({ id }) => id)

const cancel = command(
  'cancel',
  fc.record({ type, targets: fc.array(target, { minLength: 1, maxLength: 2 }) }),
  async ({ type: of, targets }, fixture, { backend }) => {
    const tasks = fixture.store.tasks(of)
    const ids = targets.map(([place, i]) => {
      const there = place === 'finished' ? tasks.finishedIds() : idsIn(tasks, place)
      return there[i % (there.length || 1)] ?? IDS[i % IDS.length] ?? 'a'
    })
    for (const { id, body } of tasks.in('in_flight')) if (ids.includes(id)) fixture.settled.add(body)
    same(await backend.tasks.cancel(of, ids, 'admin'), tasks.cancel(ids, 'admin'))
  },
)

const inspect = command(
  'inspect',
  fc.record({ type, n: fc.integer({ min: 1, max: 3 }) }),
  async ({ type: of, n }, fixture, { backend }) => {
    const [queue, dead] = await Promise.all([backend.tasks.queue(of, n), backend.tasks.dead(of, n)])
    same({ queue, dead }, { queue: fixture.store.tasks(of).queue(n), dead: fixture.store.tasks(of).dead(n) })
  },
)

const pause = command(
  'pause',
  fc.record({
    type,
    note: fc.option(fc.constant('n')),
    endsInMs: fc.option(fc.constantFrom(0, 500, 2_000, 10_000), { freq: 5 }),
  }),
  async ({ type: of, note, endsInMs }, fixture, { backend }) => {
    const wanted = { note, actor: 'ada', untilMs: endsInMs === null ? null : fixture.time.now + endsInMs }
    same(await backend.tasks.pause(of, wanted), fixture.store.tasks(of).pause(wanted))
  },
)

const resume = command('resume', fc.record({ type }), async ({ type: of }, fixture, { backend }) => {
  expect(await backend.tasks.resume(of)).toBe(fixture.store.tasks(of).resume())
})

const rate = (intervalMs: number, burst: number): GroupPolicy['rate'] => ({ intervalMs, burst })
const setGroupPolicy = command(
  'set group policy',
  fc.record({
    type,
    policy: fc.constantFrom<GroupPolicy | null>(
      null,
      { maxInFlight: null, rate: null },
      { maxInFlight: 1, rate: null },
      { maxInFlight: 2, rate: null },
      { maxInFlight: null, rate: rate(1_000, 2) },
      { maxInFlight: null, rate: rate(4_000 / 3, 1) },
      { maxInFlight: 2, rate: rate(20_000, 3) },
    ),
  }),
  async ({ type: of, policy }, fixture, { backend }) => {
    await backend.tasks.setGroupPolicy(of, policy)
    fixture.store.tasks(of).setGroupPolicy(policy)
    fixture.groupStarts(of).restart()
  },
)

/** Commands that move a task through its lifecycle are the most frequent. */
export const taskCommands: AnyCommand[] = [
  submit,
  submit,
  submit,
  submit,
  submitDelayed,
  reserve,
  reserve,
  reserve,
  reserve,
  ack,
  ack,
  release,
  release,
  cancel,
  nack,
  nack,
  nack,
  extend,
  extend,
  sweep,
  sweep,
  twoSweeps,
  replay,
  replay,
  applyToDead,
  applyToDead,
  applyToDead,
  applyToDeadGroup,
  applyToDeadGroup,
  replayEdited,
  clearDead,
  inspect,
  pause,
  resume,
  resume,
  setGroupPolicy,
]
