/** Each checker accepts good histories, and finds what is wrong in bad ones. */
import { describe, expect, it } from '@jest/globals'
import {
  checkCancels,
  checkConfig,
  checkCounter,
  checkHistory,
  checkKeys,
  checkLeases,
  checkPool,
  checkStream,
  checkTasks,
  checkValue,
  type Checker,
} from './history-checkers.ts'
import { History, type ArgsOf, type Call, type HistoryTask, type Operation, type ResultOf } from './history.ts'
import { checkGroups, checkLabels, checkOutcomes, checkUniqueKeys } from './task-checkers.ts'

let position = 0

/** A call with this result, after all calls before it. */
function call<O extends Operation>(operation: O, args: ArgsOf<O>, result: ResultOf<O>): Call<O> {
  return { operation, client: 'c', args, start: ++position, end: ++position, result }
}

/** A call without a result. */
function unknown<O extends Operation>(operation: O, args: ArgsOf<O>): Call<O> {
  return { operation, client: 'c', args, start: ++position, end: Infinity, result: undefined }
}

const [a1, a2, b3] = [
  { id: 'a', token: 1 },
  { id: 'a', token: 2 },
  { id: 'b', token: 3 },
]
const submit = (id: string, key: string | null = null, result = id): Call =>
  call('submit', { tasks: [{ id, key }] }, [result])
const reserve = (...leases: readonly (typeof a1 & { readonly labels?: string })[]): Call =>
  call('reserve', { limit: 1 }, leases)
const ack = (lease: typeof a1, result = 'ok'): Call => call('ack', { leases: [lease] }, [result])
const locate = (id: string, place: string | null): Call => call('locate', { ids: [id] }, [place])
const make = (...tasks: readonly Partial<HistoryTask>[]): Call =>
  call(
    'submit',
    { tasks: tasks.map((task) => ({ id: '', key: null, ...task })) },
    tasks.map(({ id }) => id ?? ''),
  )
const cancel = (id: string, result = 'cancelled'): Call => call('cancel', { ids: [id] }, [result])
const describeTask = (id: string, result: string | null): Call => call('describe', { ids: [id] }, [result])
const release = (lease: typeof a1, result = 'ok'): Call => call('release', { leases: [lease] }, [result])
const inGroup = (...ids: readonly string[]): Call => make(...ids.map((id) => ({ id, group: 'g' })))
const c4 = { id: 'c', token: 4 }
const put = (gen: number | null, config: string): Call => call('put_config', { config }, gen)
const push = (...entries: readonly number[]): Call => call('push', { entries }, null)
const pop = (limit: number, ...entries: readonly number[]): Call => call('pop', { limit }, entries)

const CASES: readonly (readonly [
  name: string,
  check: Checker,
  good: readonly (() => readonly Call[])[],
  bad: readonly (readonly [violation: string, history: () => readonly Call[]])[],
])[] = [
  [
    'tasks',
    checkTasks,
    [
      () => [submit('a'), locate('a', 'pending'), reserve(a1), ack(a1), locate('a', null), ack(a1)],
      () => [submit('a'), reserve(a1), unknown('ack', { leases: [a1] }), locate('a', null)],
      () => [submit('a'), reserve(a1), unknown('ack', { leases: [a1] }), locate('a', 'in_flight'), reserve(a2)],
      () => [unknown('submit', { tasks: [{ id: 'a', key: null }] }), locate('a', null)],
      () => [submit('a'), reserve(a1), ack(a1, 'lease_lost'), locate('a', 'in_flight'), ack(a2)],
    ],
    [
      ['a was submitted and is lost', () => [submit('a'), locate('a', null)]],
      ['a was submitted and is lost', () => [submit('a'), reserve(a1), ack(a1, 'lease_lost'), locate('a', null)]],
      ['a was acked and is still pending', () => [submit('a'), reserve(a1), ack(a1), locate('a', 'pending')]],
      ['a was delivered after its ack', () => [submit('a'), reserve(a1), ack(a1), reserve(a2)]],
      ['the ack of a is not remembered', () => [submit('a'), reserve(a1), ack(a1), ack(a1, 'lease_lost')]],
    ],
  ],
  [
    'cancels',
    checkCancels,
    [
      () => [submit('a'), reserve(a1), cancel('a'), release(a1, 'lease_lost'), locate('a', null)],
      () => [submit('a'), cancel('a', 'dead'), locate('a', 'dead')],
      () => [submit('a'), unknown('cancel', { ids: ['a'] }), reserve(a1), release(a1)],
      () => [submit('a'), reserve(a1), ack(a1), cancel('a', 'not_found'), ack(a1)],
    ],
    [
      ['a was delivered after its cancel', () => [submit('a'), cancel('a'), reserve(a1)]],
      ['a was cancelled and is pending', () => [submit('a'), cancel('a'), locate('a', 'pending')]],
      ['the release of a succeeded after its cancel', () => [submit('a'), reserve(a1), cancel('a'), release(a1)]],
      ['the ack of a succeeded after its cancel', () => [submit('a'), reserve(a1), cancel('a'), ack(a1)]],
    ],
  ],
  [
    'groups',
    checkGroups,
    [
      () => [inGroup('a', 'b', 'c'), reserve(a1, b3), release(a1), reserve(c4)],
      () => [inGroup('a', 'b', 'c'), reserve(a1, b3), unknown('ack', { leases: [a1] }), reserve(c4)],
      () => [inGroup('a', 'b', 'c'), reserve(a1, b3), cancel('a'), reserve(c4)],
      () => [inGroup('a', 'b'), make({ id: 'c' }), reserve(a1, b3, c4)],
    ],
    [
      ['group g had 3 leases', () => [inGroup('a', 'b', 'c'), reserve(a1, b3, c4)]],
      ['group g had 3 leases', () => [inGroup('a', 'b', 'c'), reserve(a1), reserve(b3), reserve(c4)]],
    ],
  ],
  [
    'unique keys',
    checkUniqueKeys,
    [
      () => [make({ id: 'a', unique: 'u' }, { id: 'b', unique: 'v' }), locate('a', 'pending'), locate('b', 'pending')],
      () => [
        make({ id: 'a', unique: 'u' }, { id: 'b', unique: 'u' }),
        call('locate', { ids: ['a', 'b'] }, ['dead', 'in_flight']),
      ],
    ],
    [
      [
        'a,b share the key u',
        () => [
          make({ id: 'a', unique: 'u' }, { id: 'b', unique: 'u' }),
          call('locate', { ids: ['a', 'b'] }, ['pending', 'in_flight']),
        ],
      ],
    ],
  ],
  [
    'labels',
    checkLabels,
    [() => [make({ id: 'a', labels: '{"x":"y"}' }), reserve({ ...a1, labels: '{"x":"y"}' }), submit('b'), reserve(b3)]],
    [
      [
        'a was leased with the labels undefined, not {"x":"y"}',
        () => [make({ id: 'a', labels: '{"x":"y"}' }), reserve(a1)],
      ],
      ['a was leased with the labels {}, not undefined', () => [submit('a'), reserve({ ...a1, labels: '{}' })]],
    ],
  ],
  [
    'outcomes',
    checkOutcomes,
    [
      () => [make({ id: 'a', isRetained: true }), reserve(a1), ack(a1), describeTask('a', 'done')],
      () => [make({ id: 'a', isRetained: true }), cancel('a'), describeTask('a', 'cancelled')],
      () => [
        make({ id: 'a', isRetained: true }),
        reserve(a1),
        unknown('ack', { leases: [a1] }),
        describeTask('a', 'done'),
      ],
      () => [submit('a'), reserve(a1), ack(a1), describeTask('a', null)],
    ],
    [
      [
        'a is done, and its outcome is lost: null',
        () => [make({ id: 'a', isRetained: true }), reserve(a1), ack(a1), describeTask('a', null)],
      ],
      [
        'a is cancelled, and its outcome is lost: done',
        () => [make({ id: 'a', isRetained: true }), cancel('a'), describeTask('a', 'done')],
      ],
      [
        'a has the outcome done, and has not ended',
        () => [make({ id: 'a', isRetained: true }), reserve(a1), describeTask('a', 'done')],
      ],
    ],
  ],
  [
    'idempotency keys',
    checkKeys,
    [
      () => [submit('a', 'k'), submit('b', 'k', 'a')],
      () => [unknown('submit', { tasks: [{ id: 'a', key: 'k' }] }), submit('b', 'k')],
      () => [submit('a'), submit('b')],
    ],
    [['key k made tasks a,b', () => [submit('a', 'k'), submit('b', 'k')]]],
  ],
  [
    'leases',
    checkLeases,
    [
      () => [reserve(a1), call('release', { leases: [a1] }, ['ok']), reserve(a2), reserve(b3)],
      () => [reserve(a1), unknown('nack', { leases: [a1] }), reserve(a2)],
      () => [call('claim', { limit: 1 }, [a1]), reserve(a1)],
    ],
    [
      ['token 1 was issued twice', () => [reserve(a1), reserve({ id: 'c', token: 1 })]],
      ['token 1 was issued after 3', () => [reserve(b3), reserve(a1)]],
      ['a was leased again during its lease', () => [reserve(a1), reserve(a2)]],
      [
        'a was leased again during its lease',
        () => [call('claim', { limit: 1 }, [a1]), call('claim', { limit: 1 }, [a2])],
      ],
    ],
  ],
  [
    'configs',
    checkConfig,
    [
      () => [put(1, 'x'), put(2, 'y'), call('get_config', null, { gen: 2, config: 'y' })],
      () => [put(1, 'x'), put(null, 'z'), call('get_config', null, { gen: 1, config: 'x' })],
      () => [put(1, 'x'), unknown('put_config', { config: 'y' }), call('get_config', null, { gen: 2, config: 'y' })],
      () => [call('get_config', null, null)],
    ],
    [
      ['generation 1 was issued twice', () => [put(1, 'x'), put(1, 'y')]],
      ['generation 1 is older than 2', () => [put(2, 'x'), put(1, 'y')]],
      ['generation 1 is lost, 0 is stored', () => [put(1, 'x'), call('get_config', null, null)]],
      ['generation 1 has another config', () => [put(1, 'x'), call('get_config', null, { gen: 1, config: 'y' })]],
    ],
  ],
  [
    'values',
    checkValue,
    [
      () => [call('get', null, 0), call('set', { value: 1 }, null), call('get', null, 1)],
      () => [unknown('set', { value: 1 }), call('get', null, 0), call('get', null, 1)],
    ],
    [
      ['the value 1 is lost, 0 is stored', () => [call('set', { value: 1 }, null), call('get', null, 0)]],
      ['the value 2 was never set', () => [call('set', { value: 1 }, null), call('get', null, 2)]],
    ],
  ],
  [
    'counters',
    checkCounter,
    [
      () => [call('add', { delta: 2 }, 2), call('add', { delta: 2 }, 4), call('count', null, 4)],
      () => [
        call('add', { delta: 2 }, 2),
        unknown('add', { delta: 2 }),
        call('count', null, 2),
        call('count', null, 4),
      ],
    ],
    [
      ['the counter is 0, expected 2 to 2', () => [call('add', { delta: 2 }, 2), call('count', null, 0)]],
      ['the counter is 4, expected 2 to 2', () => [call('add', { delta: 2 }, 2), call('count', null, 4)]],
      ['the counter is 2, expected 4 to 4', () => [call('add', { delta: 2 }, 2), call('add', { delta: 2 }, 2)]],
    ],
  ],
  [
    'streams',
    checkStream,
    [
      () => [push(1, 2), pop(1, 1), push(3), pop(3, 2, 3)],
      () => [push(1, 2, 3), unknown('pop', { limit: 2 }), pop(3, 3)],
      () => [unknown('push', { entries: [1, 2] }), pop(3, 2)],
      () => [push(1, 2, 3), pop(1, 1)],
    ],
    [
      ['entry 1 was popped twice', () => [push(1, 2), pop(1, 1), pop(2, 1)]],
      ['entry 1 was popped after 2', () => [push(1, 2), pop(1, 2), pop(1, 1)]],
      ['entry 5 was never pushed', () => [push(1), pop(2, 1, 5)]],
      ['entries 1 are lost', () => [push(1, 2), pop(1, 2)]],
      ['entries 2 are lost', () => [push(1, 2), pop(3, 1)]],
      ['entries 1,2 are lost', () => [push(1, 2, 3), unknown('pop', { limit: 1 }), pop(3, 3)]],
    ],
  ],
  [
    'pools',
    checkPool,
    [
      () => [
        call('put_items', { ids: ['a', 'b'] }, null),
        call('remove_items', { ids: ['a'] }, [true]),
        call('list_items', null, ['b']),
      ],
      () => [
        call('put_items', { ids: ['a'] }, null),
        unknown('remove_items', { ids: ['a'] }),
        call('list_items', null, ['a']),
        call('list_items', null, []),
      ],
    ],
    [
      ['item a is lost', () => [call('put_items', { ids: ['a'] }, null), call('list_items', null, [])]],
      [
        'item a was removed and is back',
        () => [
          call('put_items', { ids: ['a'] }, null),
          call('remove_items', { ids: ['a'] }, [true]),
          call('list_items', null, ['a']),
        ],
      ],
    ],
  ],
]

describe.each(CASES)('the checker of %s', (_, check, good, bad) => {
  it('accepts good histories', () => {
    for (const history of good) expect(check(history())).toEqual([])
  })

  it.each(bad)('finds: %s', (violation, history) => {
    const calls = history()
    expect(check(calls)).toContain(violation)
    expect(checkHistory(calls)).toContain(violation)
  })
})

it('of two queues is checked queue by queue', () => {
  const of = (client: string, calls: readonly Call[]): readonly Call[] => calls.map((each) => ({ ...each, client }))
  const [plain, grouped] = [of('c/plain', [submit('a'), reserve(a1)]), of('c/grouped', [submit('a'), reserve(a1)])]
  expect(checkHistory([...plain, ...grouped])).toEqual([])
  expect(checkHistory([...plain, ...of('d/plain', [reserve(a1)])])).toContain('token 1 was issued twice')
})

describe('a history', () => {
  it('is the same after its lines were read again, and without refused calls', async () => {
    const lines: string[] = []
    const history = new History((line) => lines.push(line))
    const full = new Error('full')
    await history.call('c', 'set', { value: 1 }, async () => null)
    await history.call(
      'c',
      'add',
      { delta: 1 },
      () => Promise.reject(full),
      (error) => error === full,
    )
    await expect(history.call('c', 'count', null, () => Promise.reject(full))).rejects.toBe(full)
    expect(History.of(lines).calls).toEqual(history.calls)
    expect(history.calls).toEqual([
      { operation: 'set', client: 'c', args: { value: 1 }, start: 1, end: 2, result: null },
      { operation: 'count', client: 'c', args: null, start: 5, end: Infinity, result: undefined },
    ])
  })
})
