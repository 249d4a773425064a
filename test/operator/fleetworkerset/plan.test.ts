/** Tests which workers belong to a set, how they count, and which are written next. */
import { describe, expect, it } from '@jest/globals'
import {
  assignGoals,
  labelOf,
  membersOf,
  planOf,
  resetRevisionOf,
  revisionOf,
  variantsOf,
  type FleetWorkerSet,
  type FleetWorkerSetSpec,
  type Member,
  type MemberFacts,
  type Members,
  type Plan,
  type PlanFacts,
} from '../../../src/operator/fleetworkerset/index.ts'
import type { WorkerRow } from '../../../src/operator/fleet/index.ts'

const NOW_MS = 1_000_000
const CLAIM = 'kubernetes:ns/fleetworkersets/crawler#12345678'
const LABEL = 'rev/-'

type Fields = Partial<WorkerRow['record']>
const row = (id: string, more: Fields = {}, of: Partial<WorkerRow> = {}): WorkerRow => ({
  record: {
    worker_id: id,
    automation_type: 'job',
    config_gen: 3,
    applied_config_gen: 3,
    state: 'RUNNING',
    last_seen: NOW_MS / 1_000,
    last_error: null,
    current_stats: null,
    connected: true,
    registered_at: 1,
    draining: false,
    managed_by: CLAIM,
    state_since: 1,
    config_changed_at: 1,
    config_changed_by: CLAIM,
    config_revision: LABEL,
    labels: {},
    ...more,
  },
  epoch: 'e',
  isStale: false,
  ...of,
})

const found = (rows: readonly WorkerRow[], more: Partial<MemberFacts> = {}): Members =>
  membersOf({
    rows,
    selector: { idPatterns: ['c-*'] },
    variantFor: () => ({ patch: {}, variant: '-' }),
    claim: CLAIM,
    isPermitted: () => true,
    isPinned: () => false,
    olderOwner: () => undefined,
    isForeign: () => false,
    previous: [],
    ...more,
  })
const GOALS = { rest: 'rev', idle: undefined, update: undefined, limit: 0 }
const ORDER = { rank: (id: string) => id, spreadLabel: undefined }
const member = (id: string, more: Fields = {}, of: Partial<WorkerRow> = {}): Member =>
  assignGoals(found([row(id, more, of)]).members, GOALS, ORDER, () => false, []).members[0] as Member
const many = (count: number, more: Fields = {}): readonly Member[] =>
  Array.from({ length: count }, (_, n) => member(`c-${n}`, more))

const plan = (members: readonly Member[], more: Partial<PlanFacts> = {}): Plan =>
  planOf({
    members,
    update: { revision: 'rev', isPending: true },
    nowMs: NOW_MS,
    ackTimeoutMs: 60_000,
    maxUnavailable: '10%',
    mayWrite: () => true,
    refusalOf: () => undefined,
    owesForMs: () => 0,
    ...more,
  })

describe('the members of a set', () => {
  it.each([
    ['has label and claim', {}, 'same'],
    ['has the label without the claim', { managed_by: null }, 'unclaimed'],
    ['has another revision', { config_revision: 'other/-' }, 'behind'],
    ['has another variant', { config_revision: 'rev/5d0c77e1' }, 'behind'],
    ['was changed since', { config_revision: 'rev/*' }, 'changed'],
    ['was changed under another revision', { config_revision: 'other/*' }, 'behind'],
    ['was never configured', { config_revision: null }, 'behind'],
    ['is of a master without labels', { config_revision: undefined as never }, 'behind'],
  ] as const)('a worker that %s', (_, fields, standing) => {
    expect(member('c-1', fields).standing).toBe(standing)
  })

  it('leaves pinned workers, those of an older set and those of other operators alone', () => {
    const rows = ['c-pinned', 'c-older', 'c-foreign', 'c-own', 'd-1'].map((id) => row(id))
    const result = found(rows, {
      isPinned: (id) => id === 'c-pinned',
      olderOwner: ({ record }) => (record.worker_id === 'c-older' ? 'the older FleetWorkerSet a' : undefined),
      isForeign: ({ record }) => record.worker_id === 'c-foreign',
    })
    expect(result.members.map(({ id }) => id)).toEqual(['c-own'])
    expect(result).toMatchObject({ matched: 4, pinned: 1 })
    expect(result.conflicted).toEqual([
      { id: 'c-older', holder: 'the older FleetWorkerSet a' },
      { id: 'c-foreign', holder: CLAIM },
    ])
  })

  it('a pinned worker is no conflict with an older set', () => {
    const result = found([row('c-1')], { isPinned: () => true, olderOwner: () => 'an older set' })
    expect([result.pinned, result.conflicted]).toEqual([1, []])
  })

  it('uses members of the pass before again only if row, goal, variant and claim are the same', () => {
    const rows = [row('c-1'), row('c-2'), row('c-3')]
    const assign = (
      all: readonly WorkerRow[],
      previous: readonly Member[],
      goals = GOALS,
      more = {},
    ): readonly Member[] =>
      assignGoals(found(all, { previous, ...more }).members, goals, ORDER, () => false, previous).members
    const first = assign(rows, [])
    const again = assign(rows, first)
    expect(again.map((each, index) => each === first[index])).toEqual([true, true, true])
    const edited = row('c-2', { config_gen: 4, config_revision: 'rev/*' })
    const changed = assign(rows.with(1, edited), first)
    expect(changed.map(({ standing }) => standing)).toEqual(['same', 'changed', 'same'])
    expect(assign(rows.slice(1), first).map(({ id }) => id)).toEqual(['c-2', 'c-3'])
    const other = assign(rows, first, { ...GOALS, rest: 'next' })
    expect(other.map(({ goal, standing }) => [goal, standing])).toEqual(rows.map(() => ['next', 'behind']))
    const cordoned = assign(rows, first, GOALS, { variantFor: () => ({ patch: { slots: 0 }, variant: 'cordoned' }) })
    expect(cordoned.map(({ standing }) => standing)).toEqual(rows.map(() => 'behind'))
    const taken = assign(rows, first, GOALS, { claim: 'kubernetes:ns/fleetworkersets/other#00000000' })
    expect(taken.map(({ standing }) => standing)).toEqual(rows.map(() => 'unclaimed'))
  })

  it('releases workers that it claims and no longer selects, or may no longer manage', () => {
    const rows = [row('d-1'), row('d-2', { managed_by: null }), row('c-1')]
    const result = found(rows, { isPermitted: (id) => id !== 'c-1' })
    expect(result.released.map(({ record }) => record.worker_id)).toEqual(['d-1', 'c-1'])
    expect(result.matched).toBe(0)
  })
})

describe('the plan of a set', () => {
  it('writes what differs, not what is due to be read again, was refused, or must not be written', () => {
    const members = [
      member('c-same'),
      member('c-behind', { config_revision: null }),
      member('c-stale', { config_revision: null }, { isStale: true }),
      member('c-refused', { config_revision: null }),
      member('c-changed', { config_revision: 'rev/*' }),
    ]
    const { writes, counts } = plan(members, {
      refusalOf: ({ id }) => (id === 'c-refused' ? '/ratio: must be number' : undefined),
      mayWrite: ({ standing }) => standing !== 'changed',
    })
    expect(writes.map(({ id }) => id)).toEqual(['c-behind'])
    expect(counts).toMatchObject({ pending: 3, updated: 2, failed: 1 })
  })

  it.each([
    ['runs its config', {}, { online: 1, acknowledged: 1, ready: 1, unavailable: 0, absent: 0 }],
    ['owes the acknowledgement', { applied_config_gen: 2 }, { online: 1, acknowledged: 0, ready: 0, unavailable: 0 }],
    ['is in ERROR', { state: 'ERROR' }, { online: 1, acknowledged: 1, ready: 0, unavailable: 1 }],
    ['refuses its config', { applied_config_gen: 2, refused_config_gen: 3 }, { acknowledged: 0, unavailable: 1 }],
    ['went offline just now', { connected: false }, { online: 1, unavailable: 0 }],
    ['is offline for 45 s', { connected: false, last_seen: 955 }, { online: 0, unavailable: 1, absent: 0 }],
    ['is behind and in ERROR', { config_revision: null, state: 'ERROR' }, { pending: 1, unavailable: 1, ready: 0 }],
  ] as const)('counts a worker that %s', (_, fields, counts) => {
    expect(plan([member('c-1', fields as Fields)]).counts).toMatchObject(counts)
  })

  it('a late worker is unavailable, and the plan says when the next one is late', () => {
    const owing = member('c-1', { applied_config_gen: 2 })
    expect(plan([owing], { owesForMs: () => 59_000 })).toMatchObject({ waiting: 1, nextMs: 1_000 })
    expect(plan([owing], { owesForMs: () => 60_000 })).toMatchObject({
      waiting: 0,
      counts: { unavailable: 1 },
      worst: [{ worker: 'c-1', reason: 'AckTimeout' }],
    })
  })

  it('at most 1,000 online workers owe an acknowledgement', () => {
    expect(plan(many(1_200, { config_revision: null })).writes).toHaveLength(1_000)
    const owing = many(900, { applied_config_gen: 2 })
    expect(plan([...owing, ...many(300, { config_revision: null })]).writes).toHaveLength(100)
  })

  it('waits while more updated workers are unavailable than it may be', () => {
    const [healthy, behind] = [many(17), many(2, { config_revision: null })]
    const broken = (count: number, more: Fields = {}): readonly Member[] => many(count, { state: 'ERROR', ...more })
    expect(plan([...healthy, ...behind, ...broken(1)])).toMatchObject({ maxUnavailable: 2, isHeld: false })
    expect(plan([...healthy, ...behind, ...broken(3)])).toMatchObject({ maxUnavailable: 2, isHeld: true, writes: [] })
    // Workers that were broken before may be repaired by this config.
    expect(plan([...healthy, ...broken(3, { config_revision: null })]).writes).toHaveLength(3)
    expect(plan([...behind, ...broken(3)], { maxUnavailable: 3 }).isHeld).toBe(false)
  })

  it('changes slots, overrides and cordons also while too many updated workers are unavailable', () => {
    const broken = many(3, { state: 'ERROR' })
    const [cordoned, behind] = [
      member('c-8', { config_revision: 'rev/c0c0c0c0' }),
      member('c-9', { config_revision: null }),
    ]
    expect(plan([...many(7), ...broken, cordoned, behind])).toMatchObject({ isHeld: true, writes: [{ id: 'c-8' }] })
    expect(plan([...many(7), ...broken, cordoned])).toMatchObject({ isHeld: false, writes: [{ id: 'c-8' }] })
  })
})

describe('the name of a revision', () => {
  const set = (spec: Partial<FleetWorkerSetSpec> = {}, uid = 'u'): FleetWorkerSet => ({
    metadata: { name: 'crawler', namespace: 'ns', uid, generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { type: 'job', selector: { idPatterns: ['c-*'] }, config: { a: 1, b: { c: 2, d: 3 } }, ...spec },
  })
  const name = (of: FleetWorkerSet, versions: Readonly<Record<string, string>> = {}): string =>
    revisionOf(of, new Map(Object.entries(versions)))

  it('depends on config, sources, their versions and the set; not on slots, overrides or the order of keys', () => {
    const base = name(set())
    expect(base).toMatch(/^[0-9a-f]{12}$/)
    const same = [
      set({ config: { b: { d: 3, c: 2 }, a: 1 } }),
      set({ slots: 4 }),
      set({ overrides: [{ worker: 'c-1', slots: 2 }] }),
      set({ selector: { idPatterns: ['d-*'] } }),
    ]
    expect(new Set(same.map((each) => name(each)))).toEqual(new Set([base]))
    const others = [
      name(set({ config: { a: 2 } })),
      name(set({}, 'v')),
      name(set({ type: 'other' })),
      name(set(), { key: 'x:1' }),
      name(set(), { key: 'x:2' }),
      name(set({ configFrom: [{ field: 'key', secretKeyRef: { name: 's', key: 'k' } }] })),
      resetRevisionOf(set()),
    ]
    expect(new Set([base, ...others]).size).toBe(others.length + 1)
  })

  it('is the same for a format under its old name, so a rename starts no rollout', () => {
    const source = { field: 'key', configMapKeyRef: { name: 'm', key: 'k' } }
    const named = (...entries: readonly object[]) =>
      new Set(entries.map((each) => name(set({ configFrom: [{ ...source, ...each }] }))))
    const json = named({ as: 'JSON' }, { format: 'JSON' }, { format: 'JSON', as: 'String' })
    const text = named({ as: 'String' }, { format: 'String' }, { format: 'String', as: 'String' })
    expect([json.size, text.size, new Set([...json, ...text]).size]).toEqual([1, 1, 2])
    // The name that the release before `format` gave it.
    expect([...json]).toEqual(['222836c72ea9'])
  })

  it('variants say what a worker gets in addition', () => {
    const variants = variantsOf(set({ slots: 4, overrides: [{ worker: 'c-1', slots: 1, config: { log: 'debug' } }] }))
    expect(variants('c-0').patch).toEqual({ slots: 4 })
    expect(variants('c-1').patch).toEqual({ slots: 1, log: 'debug' })
    expect(variants('c-0').variant).not.toBe(variants('c-1').variant)
    expect(variantsOf(set())('c-0')).toEqual({ patch: {}, variant: '-' })
  })

  it('a cordoned worker has 0 slots, whatever else it gets', () => {
    const overridden = set({ slots: 4, overrides: [{ worker: 'c-1', slots: 1, config: { log: 'debug' } }] })
    const variants = variantsOf(overridden, (id) => id !== 'c-2')
    expect(variants('c-0').patch).toEqual({ slots: 0 })
    expect(variants('c-1').patch).toEqual({ slots: 0, log: 'debug' })
    expect(variants('c-2')).toEqual(variantsOf(overridden)('c-2'))
    expect(new Set(['c-0', 'c-1', 'c-2'].map((id) => variants(id).variant)).size).toBe(3)
  })

  it.each([
    [null, undefined],
    ['rev', undefined],
    ['rev/-', { revision: 'rev', variant: '-', isChanged: false }],
    ['a.b_c-d/*', { revision: 'a.b_c-d', variant: '*', isChanged: true }],
  ])('reads the label %j', (text, label) => {
    expect(labelOf(text)).toEqual(label)
  })
})
