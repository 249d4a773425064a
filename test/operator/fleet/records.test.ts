import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { Records, Sequence } from '../../../src/operator/fleet/records.ts'
import type { WorkerBody, WorkerEventName, WorkerSummary } from '../../../src/protocol/index.ts'

const body = (fields: Partial<WorkerBody> = {}): WorkerBody => ({
  worker_id: 'w',
  automation_type: 'mailer',
  hardware: { cores: 1, ram_gb: 1, hostname: 'h', kernel: 'k' },
  config: { slots: 1 },
  config_gen: 1,
  state: 'IDLE',
  last_seen: 100,
  last_error: null,
  current_stats: null,
  connected: true,
  registered_at: 1,
  applied_config_gen: 1,
  draining: false,
  managed_by: null,
  state_since: 1,
  config_changed_at: null,
  config_changed_by: null,
  config_revision: null,
  ...fields,
})

function fixture() {
  const sequence = new Sequence()
  const calls = { changes: 0, stale: 0, falls: 0 }
  const records = new Records({
    sequence,
    onChange: () => (calls.changes += 1),
    onStale: () => (calls.stale += 1),
    onRegression: () => (calls.falls += 1),
  })
  const source = (begun: number, epoch = 'e1') => ({ begun, epoch, atMs: 0 })
  const read = (fields: Partial<WorkerBody>, begun = sequence.next(), epoch?: string): void =>
    records.read(body(fields), source(begun, epoch))
  const event = (name: WorkerEventName, fields: object = {}): void => records.event(name, 'w', { ts: 200, ...fields })
  return { records, sequence, calls, source, read, event, record: () => records.get('w')?.record }
}

describe('the order of updates', () => {
  it('does not let a page undo an event that arrived after the page was requested', () => {
    const { sequence, read, event, record, calls } = fixture()
    read({ state: 'RUNNING' })
    const begun = sequence.next()
    event('worker.state', { state: 'ERROR', last_error: 'disk full' })
    read({ state: 'RUNNING' }, begun)
    expect(record()).toMatchObject({ state: 'ERROR', last_error: 'disk full', last_seen: 200 })
    read({ state: 'RUNNING' })
    expect([record()?.state, calls.changes]).toEqual(['RUNNING', 3])
  })

  it('does not let a page undo an own PATCH or claim whose response arrived after the page was requested', () => {
    const { records, sequence, read, record, source, calls } = fixture()
    read({})
    const begun = sequence.next()
    records.patched('w', { slots: 2 }, 2, 'e1')
    read({}, begun)
    expect([record()?.config_gen, record()?.config]).toEqual([2, { slots: 2 }])
    const [claimed, page] = [sequence.next(), sequence.next()]
    records.claimed(body({ config_gen: 2, config: { slots: 2 }, managed_by: 'us' }), source(claimed))
    read({ config_gen: 2, config: { slots: 2 } }, page)
    expect([record()?.managed_by, calls.changes]).toEqual(['us', 1]) // The writer itself needs no notification.
  })

  it('does not let an older read overwrite a newer one', () => {
    const { sequence, read, record } = fixture()
    const [older, newer] = [sequence.next(), sequence.next()]
    read({ config_gen: 5 }, newer)
    read({ config_gen: 4 }, older)
    expect(record()?.config_gen).toBe(5)
  })

  it('publishes other changes in the record of an own claim, and reads again if events arrived meanwhile', () => {
    const { records, sequence, read, event, source, calls, record } = fixture()
    read({})
    records.claimed(body({ managed_by: 'us', state: 'ERROR' }), source(sequence.next()))
    expect([calls.changes, calls.stale]).toEqual([2, 0])
    const begun = sequence.next()
    event('worker.state', { state: 'RUNNING', last_error: null })
    records.claimed(body({ managed_by: null, state: 'ERROR' }), source(begun))
    expect([record()?.state, calls.stale]).toEqual(['RUNNING', 1])
  })

  it('ends in the state of the master, for any interleaving of reads and events', () => {
    // Each state of the master causes one event. A read returns the state at some moment between its request and its
    // response.
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.constant('change' as const) },
      fc.constant('tell' as const),
      fc.constant('ask' as const),
      fc.constant('serve' as const),
      fc.constant('answer' as const),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { sequence, read, event, record } = fixture()
        let truth = 0
        const untold: number[] = []
        const underWay: { readonly begun: number; served: number | undefined }[] = []
        read({ applied_config_gen: 0 })
        const tell = (generation: number | undefined): void => {
          if (generation !== undefined) event('worker.config_applied', { applied_config_gen: generation })
        }
        const deeds = {
          change: () => untold.push((truth += 1)),
          tell: () => tell(untold.shift()),
          ask: () => underWay.push({ begun: sequence.next(), served: undefined }),
          serve: () => underWay.filter(({ served }) => served === undefined).forEach((each) => (each.served = truth)),
          answer: () => {
            const at = underWay.findIndex(({ served }) => served !== undefined)
            const [answered] = at === -1 ? [] : underWay.splice(at, 1)
            if (answered?.served !== undefined) read({ applied_config_gen: answered.served }, answered.begun)
          },
        }
        for (const each of steps) deeds[each]()
        untold.forEach(tell)
        expect(record()?.applied_config_gen).toBe(truth)
      }),
    )
  })
})

describe('an event', () => {
  it('of a newer config makes the entry stale until it is read, unless the operator wrote that config', () => {
    const { records, read, event } = fixture()
    read({ config_gen: 5 })
    event('worker.config_changed', { config_gen: 5, config_changed_by: 'admin ana' })
    event('worker.config_changed', { config_gen: 4 })
    expect([records.stale(), records.get('w')?.record?.config_changed_by]).toEqual([[], 'admin ana'])
    event('worker.config_changed', { config_gen: 6 })
    expect(records.stale()).toEqual(['w'])
    records.patched('w', {}, 6, 'e1')
    expect(records.stale()).toEqual([])
    event('worker.config_changed', { config_gen: 8 })
    records.patched('w', {}, 7, 'e1')
    expect(records.stale()).toEqual(['w'])
    read({ config_gen: 8 })
    expect(records.stale()).toEqual([])
  })

  it('notifies only about a difference that matters', () => {
    const { read, event, calls } = fixture()
    read({})
    event('worker.state', { state: 'IDLE', last_error: null })
    event('worker.config_applied', { applied_config_gen: 1 })
    event('worker.claimed', { managed_by: null })
    read({ last_seen: 150, current_stats: { slots: 1, cpu_pct: 1, rss_mb: 1, ts: 1, metrics: {}, per_slot: [] } })
    expect(calls.changes).toBe(1)
    event('worker.disconnected', { connected: false })
    event('worker.draining', { state: 'DRAINING', draining: true })
    event('worker.claimed', { managed_by: 'x' })
    // The same generation: a default changed.
    read({ connected: false, state: 'DRAINING', draining: true, managed_by: 'x', config: { slots: 3 } })
    expect(calls.changes).toBe(5)
  })

  it('of an unknown worker, or of a new registration, causes a read', () => {
    const { records, event, read, calls } = fixture()
    event('worker.registered', { state: 'IDLE', config_gen: 0 })
    expect([records.get('w'), records.stale()]).toMatchObject([{ record: null, isAbsent: false }, ['w']])
    read({})
    event('worker.registered', { state: 'IDLE', config_gen: 1 })
    records.patched('w', {}, 2, 'e1') // Says nothing about the other fields.
    expect([records.stale(), calls.changes]).toEqual([['w'], 1])
  })

  it('is applied field by field, and an invalid field is ignored', () => {
    const { read, event, record } = fixture()
    read({})
    event('worker.state', { state: 7, last_error: { a: 1 }, ts: 'soon' })
    event('worker.connected', { connected: 'yes', draining: null, applied_config_gen: 9 })
    const { hardware: _, ...rest } = body()
    expect(record()).toEqual({ ...rest, last_seen: 200 })
  })

  it('shows that a worker has ended, until it connects again', () => {
    const { read, event, record } = fixture()
    read({})
    event('worker.disconnected', { connected: false, ended: true })
    expect(record()).toMatchObject({ connected: false, ended: true })
    event('worker.connected', { connected: true, state: 'IDLE', draining: false })
    expect(record()).toMatchObject({ connected: true, ended: false })
  })
})

describe('a worker', () => {
  it('is not registered once a complete list that began after its last event does not contain it', () => {
    const { records, sequence, read, event, calls } = fixture()
    const before = sequence.next()
    read({})
    records.listCompleted(new Set(), before)
    event('worker.state', { state: 'IDLE', last_error: null })
    records.listCompleted(new Set(['w']), sequence.next())
    expect(records.get('w')?.record).not.toBeNull()
    records.listCompleted(new Set(), sequence.next())
    expect([records.get('w'), calls.changes]).toEqual([undefined, 2])
  })

  it('that was forgotten does not reappear by a page that was requested before, but by a later one', () => {
    const { records, sequence, read, event, calls } = fixture()
    read({})
    const begun = sequence.next()
    event('worker.forgotten')
    event('worker.forgotten')
    read({}, begun)
    expect([records.get('w')?.isAbsent, [...records.all()], calls.changes]).toEqual([true, [], 2])
    read({ config_gen: 2 })
    expect([[...records.all()].length, calls.changes, calls.falls]).toEqual([1, 3, 0])
  })

  it('that a read does not find is removed, unless an event arrived meanwhile', () => {
    const { records, sequence, read, event, calls } = fixture()
    read({})
    const begun = sequence.next()
    event('worker.registered', {})
    records.onNotFound('w', begun, false)
    expect(records.get('w')?.isAbsent).toBe(false)
    records.onNotFound('w', sequence.next(), false)
    expect([records.get('w')?.isAbsent, calls.changes]).toEqual([true, 2])
  })

  it('that a list without configs contains keeps its config and the generation of its statistics', () => {
    const { records, sequence, read, source, record, calls } = fixture()
    const frame = { slots: 0, cpu_pct: 1, rss_mb: 1, ts: 1, per_slot: [], metrics: { 'gauge.muster.config_gen': 1 } }
    const { metrics: _, ...summary } = frame
    const list = (fields: Partial<WorkerSummary>, begun = sequence.next()): void =>
      records.readSummary({ ...body({ config: {} }), current_stats: null, ...fields }, source(begun))
    list({ config_gen: 1 })
    expect([records.get('w')?.isConfigUnread, calls.changes]).toEqual([true, 1])
    read({ config_gen: 1, config: { slots: 0 }, current_stats: frame })
    const begun = sequence.next()
    list({ config_gen: 1, current_stats: summary })
    expect([records.get('w')?.isConfigUnread, record()?.config, record()?.current_stats?.config_gen]).toEqual([
      false,
      { slots: 0 },
      1,
    ])
    list({ state: 'ERROR' }, begun)
    expect(record()?.state).toBe('IDLE')
    list({ config_gen: 2 })
    expect([records.get('w')?.isConfigUnread, calls.falls]).toEqual([true, 0])
    list({ config_gen: 1 })
    expect(calls.falls).toBe(1)
  })

  it('whose generation decreases within an epoch shows that the store was restored', () => {
    const { records, read, calls } = fixture()
    read({ config_gen: 7 })
    records.clear()
    read({ config_gen: 3 }, undefined, 'e2')
    expect(calls.falls).toBe(0)
    read({ config_gen: 2 }, undefined, 'e2')
    expect(calls.falls).toBe(1)
  })
})
