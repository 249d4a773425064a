/**
 * Compares everything that can be read from the backend with the model. Also checks two invariants without the model:
 * each task id is in exactly one place, and the ids of a stream only grow.
 */
import { expect } from '@jest/globals'
import { HISTORY_RESOLUTIONS } from '../../../src/protocol/index.ts'
import type { DeadRow, NewestDead, Ref, StreamEntry, TaskList } from '../../../src/storage/index.ts'
import { IDS, KEYS, OPERATIONS, REVISIONS, TYPES, WORKERS, same } from './fixture.ts'
import type { Real, ModelFixture } from './fixture.ts'

/** Only the newest generated ids are compared; older tasks are usually gone. */
const DRAWN_SHOWN = 50
/** Only the newest steps of rollups are compared, because each command compares them. */
const ROLLUP_STEPS_SHOWN = 40

export async function compareReads(fixture: ModelFixture, real: Real): Promise<void> {
  await Promise.all([
    ...TYPES.flatMap((type) => [tasks(type, fixture, real), stream(type, fixture, real), things(type, fixture, real)]),
    fleet(fixture, real),
    operations(fixture, real),
    time(fixture, real),
  ])
}

async function time({ time: { now }, epoch }: ModelFixture, { backend }: Real): Promise<void> {
  const info = await backend.meta.info()
  same({ epoch: info.epoch, nowMs: info.nowMs }, { epoch, nowMs: now })
}

async function tasks(type: string, fixture: ModelFixture, { backend }: Real): Promise<void> {
  const model = fixture.store.tasks(type)
  const ids = [...IDS, ...fixture.drawnIds.slice(-DRAWN_SHOWN)]
  const [queue, dead, places, states, [counts]] = await Promise.all([
    backend.tasks.queue(type, 10_000),
    backend.tasks.dead(type, 10_000),
    backend.tasks.locate(type, ids),
    backend.tasks.describe(type, ids),
    backend.tasks.counts([type]),
  ])
  const { groups: groupTotals, ...plainCounts } = { ...counts }
  same(
    { queue, dead, places, states, counts: plainCounts },
    {
      queue: model.queue(10_000),
      dead: model.dead(10_000),
      places: ids.map((id) => model.locate(id)),
      states: ids.map((id) => model.describe(id)),
      counts: model.counts(),
    },
  )
  same(await backend.tasks.deadGroups(type), model.deadGroups())
  const anyGroup = model.deadGroups().at(-1)?.group ?? null
  for (const group of [null, anyGroup]) same(await newestDead(type, group, { backend }), model.newestDead(group))
  expect(await backend.tasks.groupDead(type, 500)).toBe(false)
  const groups = model.groups()
  same(await backend.tasks.groups(type, 1_000), groups)
  if (groupTotals !== undefined) expect(groupTotals.inFlight).toBe(groups.filter(({ inFlight }) => inFlight > 0).length)
  await lists(type, fixture, { backend })
  const shown = [...queue.items, ...dead.items]
  expect(new Set(shown.map(({ id }) => id)).size).toBe(shown.length)
  for (const { body } of shown) expect(fixture.settled.has(body)).toBe(false)
}

/** Reads the dead tasks of a group page by page. */
async function newestDead(
  type: string,
  group: string | null,
  { backend }: Pick<Real, 'backend'>,
): Promise<readonly DeadRow[]> {
  const found: DeadRow[] = []
  let before: string | null = null
  do {
    const page: NewestDead = await backend.tasks.newestDead(type, group, before, 3)
    found.push(...page.items)
    before = page.next
  } while (before !== null)
  return found
}

/** Compares the lists of all places, page by page. Equal deadlines do not occur, see `unused`. */
async function lists(type: string, { store }: ModelFixture, { backend }: Pick<Real, 'backend'>): Promise<void> {
  for (const place of ['pending', 'in_flight', 'scheduled', 'dead'] as const) {
    const listed: string[] = []
    let after: string | null = null
    do {
      const page: TaskList = await backend.tasks.list(type, place, after, 2)
      listed.push(...page.rows.map(({ id, attempt, body }) => `${id} ${attempt} ${body}`))
      after = page.next
    } while (after !== null)
    const expected = store.tasks(type).in(place)
    const texts = expected.map(({ id, attempt, body }) => `${id} ${attempt} ${body}`)
    if (place === 'in_flight') same(listed.toSorted(), texts.toSorted())
    else same(listed, texts)
  }
}

async function stream(type: string, fixture: ModelFixture, { backend }: Real): Promise<void> {
  const model = fixture.store.stream(type)
  const [peeked, tail, [length]] = await Promise.all([
    backend.streams.peek(type, 10_000),
    backend.streams.tail(type, null, 10_000),
    backend.streams.length([type]),
  ])
  for (const [i, item] of model.entries.entries()) item.id ??= newId(type, fixture, peeked[i])
  const entries = model.entries.map(({ id, entry }) => ({ id, entry }))
  same({ peeked, tail, length }, { peeked: entries, tail: { entries, gap: false }, length: entries.length })
}

function newId(type: string, fixture: ModelFixture, shown: StreamEntry | undefined): string {
  const id = shown?.id ?? ''
  const seen = fixture.seenIds(type)
  expect(id > (seen.at(-1) ?? '')).toBe(true)
  seen.push(id)
  return id
}

/** Pools, values and counters. Locks have no read operation. */
async function things(name: string, fixture: ModelFixture, { backend }: Real): Promise<void> {
  const {
    time: { now },
    store,
  } = fixture
  const names = [...KEYS]
  const [list, claims, [size], values, sums] = await Promise.all([
    backend.pools.list(name, 10_000),
    backend.pools.claims(name, 1_000, null),
    backend.pools.sizes([name]),
    backend.kv.get(name, names),
    backend.counters.get(name, names),
  ])
  const valueOf = (key: string): string | null => {
    const found = store.values.get(JSON.stringify([name, key]))
    return found !== undefined && found.ends > now ? found.value : null
  }
  const expected = store.pool(name).list()
  same(
    { list, claims, size, values, sums },
    {
      list: expected,
      claims: store.pool(name).claims(),
      size: expected.size,
      values: names.map(valueOf),
      sums: names.map((key) => store.sums.get(JSON.stringify([name, key])) ?? 0),
    },
  )
}

async function fleet({ time: { now }, store }: ModelFixture, { backend }: Real): Promise<void> {
  const refs = TYPES.flatMap((type) => WORKERS.map((id): Ref => ({ type, id })))
  const [pages, rows, configs] = await Promise.all([
    Promise.all(TYPES.map((type) => backend.workers.page(type, null, 1_000))),
    backend.workers.get(refs),
    backend.configs.get(refs),
  ])
  const steps = TYPES.flatMap((type) =>
    HISTORY_RESOLUTIONS.map(({ stepMs }) => [type, stepMs, now - ROLLUP_STEPS_SHOWN * stepMs] as const),
  )
  const [revisions, enrolments, reports, heads, rollups, contents, histories, stats] = await Promise.all([
    Promise.all(TYPES.map((type) => backend.revisions.list(type))),
    Promise.all(TYPES.map((type) => backend.enrolments.list(type))),
    Promise.all(TYPES.map((type) => backend.rollouts.list(type))),
    backend.rollouts.heads(TYPES),
    Promise.all(steps.map(([type, step, from]) => backend.rollups.read(type, step, from, now + step))),
    Promise.all(TYPES.map((type) => backend.revisions.get(type, REVISIONS))),
    Promise.all(refs.map((ref) => backend.configs.history(ref, 50))),
    Promise.all(refs.map((ref) => backend.stats.read(ref, 0, 10_000))),
  ])
  const workers = refs.map((ref) => store.fleet.find(ref))
  same(
    { pages, rows, configs, revisions, enrolments, reports, heads, rollups, contents, histories, stats },
    {
      pages: TYPES.map((type) => store.fleet.page(type)),
      rows: refs.map((ref) => store.fleet.row(ref)),
      configs: refs.map((ref) => store.fleet.managed(ref)),
      revisions: TYPES.map((type) => store.fleet.revisions.list(type)),
      enrolments: TYPES.map((type) => store.fleet.enrolments.list(type)),
      reports: TYPES.map((type) => store.fleet.rollouts.list(type)),
      heads: TYPES.map((type) => store.fleet.rollouts.heads(type)),
      rollups: steps.map(([type, step, from]) => store.fleet.rollups.read(type, step, from)),
      contents: TYPES.map((type) => REVISIONS.map((name) => store.fleet.revisions.find(type, name)?.config ?? null)),
      histories: workers.map((worker) => worker?.history ?? []),
      stats: workers.map((worker) =>
        worker === undefined ? { kind: 'not_found' } : { kind: 'frames', frames: worker.frames.slice(-240) },
      ),
    },
  )
}

/** Compares the parts of stored operations, and that there is none behind the last one. */
async function operations({ store: { operations: model } }: ModelFixture, { backend }: Real): Promise<void> {
  const parts = TYPES.flatMap((type) =>
    OPERATIONS.flatMap((id) => {
      const stored = model.find(type, id)?.parts ?? []
      return [...stored, null].map((text, n) => ({ at: [type, id, n] as const, text }))
    }),
  )
  const [heads, ...texts] = await Promise.all([
    backend.operations.heads(TYPES),
    ...parts.map(({ at }) => backend.operations.part(...at)),
  ])
  same({ heads, texts }, { heads: TYPES.map((type) => model.heads(type)), texts: parts.map(({ text }) => text) })
}
