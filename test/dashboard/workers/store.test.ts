import { describe, expect, it } from '@jest/globals'
import { parseFilter } from '../../../src/dashboard/workers/filter.ts'
import { WorkerStore } from '../../../src/dashboard/workers/store.ts'
import { NOW, row } from './rows.ts'

const keys = (store: WorkerStore): string[] => [...store.snapshot().rows.keys()]
const event = (name: string, id: string, more: object = {}) => ({
  name: `worker.${name}`,
  data: { type: 'mailer', worker_id: id, ts: NOW, ...more },
})

function filled(...ids: string[]): WorkerStore {
  const store = new WorkerStore()
  store.takePage(
    'mailer',
    store.beginRound('mailer'),
    ids.map((id) => row(id)),
    true,
  )
  return store
}

describe('the store of workers', () => {
  it('stores the rows of all pages and is complete after the last page', () => {
    const store = new WorkerStore()
    const round = store.beginRound('mailer')
    store.takePage('mailer', round, [row('a')], false)
    expect([keys(store), store.snapshot().whole.has('mailer')]).toEqual([['mailer/a'], false])
    store.takePage('mailer', round, [row('b')], true)
    expect([keys(store), store.snapshot().whole.has('mailer')]).toEqual([['mailer/a', 'mailer/b'], true])
  })

  it('is filtered by the current values of a worker', () => {
    const store = filled('w-1', 'w-2')
    const finds = (text: string): string[] =>
      [...store.snapshot().rows.values()]
        .filter((each) => parseFilter(text).matches(each, NOW))
        .map(({ worker_id: id }) => id)
    expect([finds('w-1'), finds('econn'), finds('edge')]).toEqual([['w-1'], [], []])
    store.apply([event('state', 'w-1', { last_error: 'ECONNRESET' })])
    expect([finds('w-1'), finds('econn')]).toEqual([['w-1'], ['w-1']])
    store.apply([event('state', 'w-1', { last_error: null })])
    store.takePage(
      'mailer',
      store.beginRound('mailer'),
      [row('w-1'), row('w-2', { hardware: { hostname: 'edge-1' } })],
      true,
    )
    expect([finds('w-1'), finds('econn'), finds('edge')]).toEqual([['w-1'], [], ['w-2']])
  })

  it('keeps the values of an event that arrived during an older read', () => {
    const store = filled('a', 'b', 'c')
    const since = store.turn
    store.apply([
      event('state', 'a', { state: 'ERROR', last_error: 'ECONNRESET' }),
      event('forgotten', 'c'),
      event('state', 'd', { state: 'ERROR' }),
    ])
    store.takePage(
      'mailer',
      store.beginRound('mailer'),
      [row('a', { last_seen: NOW + 9 }), row('b', { state: 'IDLE' }), row('c'), row('d')],
      true,
      since,
    )
    expect(store.snapshot().rows.get('mailer/a')).toMatchObject({
      state: 'ERROR',
      last_error: 'ECONNRESET',
      state_since: NOW,
      last_seen: NOW + 9,
    })
    expect([store.snapshot().rows.get('mailer/b')?.state, keys(store)]).toEqual([
      'IDLE',
      ['mailer/a', 'mailer/b', 'mailer/d'],
    ])
    store.takeOne(row('a'), since)
    expect(store.snapshot().rows.get('mailer/a')?.state).toBe('ERROR')
    store.takePage('mailer', store.beginRound('mailer'), [row('a'), row('c')], true, store.turn)
    expect([store.snapshot().rows.get('mailer/a')?.state, keys(store)]).toEqual(['RUNNING', ['mailer/a', 'mailer/c']])
  })

  it('removes workers that a complete round did not find, for that type only', () => {
    const store = filled('a', 'b')
    store.takePage('probe', store.beginRound('probe'), [row('p', { automation_type: 'probe' })], true)
    const round = store.beginRound('mailer')
    store.takePage('mailer', round, [row('a')], false)
    expect(keys(store)).toContain('mailer/b')
    store.takePage('mailer', round, [], true)
    expect(keys(store)).toEqual(['mailer/a', 'probe/p'])
  })

  it('keeps workers that an event or a read added during the round', () => {
    const store = filled('a', 'b')
    const round = store.beginRound('mailer')
    store.apply([event('state', 'b', { state: 'ERROR', last_error: 'x' })])
    store.takeOne(row('new'))
    store.takePage('mailer', round, [row('a')], true)
    expect(keys(store)).toEqual(['mailer/a', 'mailer/b', 'mailer/new'])
  })

  it('applies the fields of an event, and its time as the start of a new state', () => {
    const store = filled('a')
    const before = store.snapshot()
    expect(
      store.apply([
        event('state', 'a', { state: 'ERROR', last_error: 'ECONNRESET' }),
        event('config_applied', 'a', { applied_config_gen: 4 }),
      ]),
    ).toEqual([])
    expect(store.snapshot().rows.get('mailer/a')).toMatchObject({
      state: 'ERROR',
      last_error: 'ECONNRESET',
      applied_config_gen: 4,
      state_since: NOW,
    })
    expect(store.snapshot().version).toBeGreaterThan(before.version)
    store.apply([{ name: 'worker.claimed', data: { type: 'mailer', worker_id: 'a', ts: NOW + 9, managed_by: 'me' } }])
    expect(store.snapshot().rows.get('mailer/a')).toMatchObject({ managed_by: 'me', state_since: NOW })
  })

  it('requests unknown and newly registered workers, once each', () => {
    const store = filled('a')
    const unknown = store.apply([
      event('registered', 'a', { state: 'IDLE', config_gen: 0 }),
      event('state', 'x', { state: 'IDLE', last_error: null }),
      event('connected', 'x', { connected: true }),
    ])
    expect(unknown).toEqual([
      { type: 'mailer', id: 'a' },
      { type: 'mailer', id: 'x' },
    ])
    expect(store.apply([event('registered', 'y'), event('forgotten', 'y')])).toEqual([])
  })

  it('removes forgotten workers', () => {
    const store = filled('a', 'b')
    store.apply([event('forgotten', 'a')])
    expect(keys(store)).toEqual(['mailer/b'])
    store.remove(['mailer/b'])
    expect(keys(store)).toEqual([])
  })

  it('notifies listeners, and keeps unchanged rows as the same objects', () => {
    const store = filled('a', 'b')
    const b = store.snapshot().rows.get('mailer/b')
    let notified = 0
    const unwatch = store.watch(() => notified++)
    store.apply([event('disconnected', 'a', { connected: false })])
    store.apply([])
    expect([notified, store.snapshot().rows.get('mailer/b') === b]).toEqual([1, true])
    unwatch()
    store.remove(['mailer/a'])
    expect(notified).toBe(1)
  })
})
