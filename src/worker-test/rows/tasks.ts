/** @module worker-test/rows/tasks  Checks how a worker reserves, extends and settles tasks. */
import { MAX_ERROR_CHARS } from '../../protocol/index.ts'
import type { Damage } from '../damage.ts'
import { VISIBILITY_SECONDS } from '../manifest.ts'
import type { Settle } from '../records.ts'
import type { Row } from '../row.ts'
import type { Payload, Trial } from '../trial.ts'

const LEASES_PER_SLOT = 5
const LATE_MS = 20_000
/** Within the limits of a body (1 MiB) and of a frame, with their other members. */
const LARGE_CHARS = 1_000_000
/** Characters of the planes 0 to 3, 14, 15 and 16, and some that JSON or a terminal treats in a special way. */
const EVERY_PLANE = '\u0000\t\n"\\\u007f\u0085\u2028é漢\u{1f389}\u{20000}\u{30000}\u{e0001}\u{f0000}\u{10ffff}'

const echoes = (count: number): Payload[] => Array.from({ length: count }, (_, n) => ({ do: 'echo', value: n }))

/** Checks that a worker with 2 slots holds no more leases than it may while both slots sleep, and then runs `more`. */
export async function checkLeases(trial: Trial, more: readonly Payload[]): Promise<void> {
  const { master } = trial
  const sleep: Payload = { do: 'sleep', seconds: 2 }
  const ids = trial.submitAll([sleep, sleep, ...more])
  await trial.expect('2 runs of a sleep', () => trial.started === 2, 5_000)
  const most = LEASES_PER_SLOT * 2
  await trial.never(
    `at most ${most} leases while both slots are busy`,
    () => master.leased.size > most,
    1_000,
    () => `${master.leased.size} leases`,
  )
  const hasOutcome = (id: string): boolean => master.settles.some((each) => each.task_id === id)
  await trial.expect('an outcome of each task', () => ids.every(hasOutcome), 10_000)
}

async function limit(trial: Trial): Promise<void> {
  trial.master.config = { ...trial.master.config, slots: 2 }
  await trial.run()
  for (const id of trial.submitAll(echoes(20))) await trial.settled(id)
  await checkLeases(trial, echoes(40))
}

async function outcomes(trial: Trial): Promise<void> {
  const { master } = trial
  await trial.run()
  await trial.echo()
  await trial.settled(trial.submit({ do: 'fail', error: 'no such file' }), 'tasks.nack')
  const [nack] = master.settles.filter(({ method }) => method === 'tasks.nack')
  trial.check(nack?.error?.includes('no such file') === true, 'a nack with the text of the error', nack ?? 'none')
  await trial.settled(trial.submit({ do: 'fail', error: 'é🎉'.repeat(4_000) }), 'tasks.nack')
  const longest = master.settles.at(-1)?.error?.length ?? 0
  trial.check(longest <= MAX_ERROR_CHARS, `an error text of at most ${MAX_ERROR_CHARS} characters`, `${longest}`)
  await trial.echo()
  const tokens = master.settles.map(({ token }) => token)
  trial.check(new Set(tokens).size === tokens.length, 'one outcome for each lease', `the tokens ${tokens.join(', ')}`)
}

async function extend(trial: Trial): Promise<void> {
  const { master } = trial
  await trial.run()
  const id = await trial.sleeping(2 * VISIBILITY_SECONDS)
  await trial.settled(id)
  const lease = master.leases.find(({ task_id: each }) => each === id)
  const ack = master.settles.find(({ task_id: each }) => each === id)
  const extensions = master.extensions.filter(({ token }) => token === lease?.token).map(({ atMs }) => atMs)
  const times = [lease?.atMs ?? 0, ...extensions, ack?.atMs ?? 0]
  const longest = Math.max(...times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0)))
  const mostMs = VISIBILITY_SECONDS * 500
  trial.check(
    longest <= mostMs + 500,
    `an extension every ${mostMs / 1_000} s, half of the visibility timeout, until the ack`,
    `${extensions.length} extensions, and ${Math.round(longest)} ms without one`,
  )
}

async function leaseLost(trial: Trial): Promise<void> {
  const { master } = trial
  await trial.run()
  const id = await trial.sleeping(VISIBILITY_SECONDS + 1)
  const { token = 0 } = master.leases.find(({ task_id: each }) => each === id) ?? {}
  master.lostTokens.add(token)
  const lost = (): number | undefined => master.extensions.find((each) => each.isLost)?.atMs
  await trial.expect(
    'an extension or an outcome',
    () => lost() !== undefined || master.settlesOfLost.length > 0,
    VISIBILITY_SECONDS * 1_000 + 3_000,
  )
  const lostAtMs = lost() ?? Infinity // A worker that extends nothing learns of the loss by its outcome.
  const late = (): Settle | undefined => master.settlesOfLost.find(({ atMs }) => atMs >= lostAtMs)
  await trial.never(
    'no ack, nack or release after the response lease_lost',
    () => late() !== undefined,
    VISIBILITY_SECONDS * 1_000 + 1_500,
    () => JSON.stringify(late()),
  )
  await trial.echo()
}

async function lostAcks(trial: Trial): Promise<void> {
  const { master } = trial
  await trial.run()
  for (const damage of [{ kind: 'lost' }, { kind: 'cut in half' }, { kind: 'doubled' }] satisfies Damage[]) {
    let damaged = 0
    master.damage = (methods) => (methods.includes('tasks.ack') && (damaged += 1) === 1 ? damage : undefined)
    const id = trial.submit({ do: 'echo', value: damage.kind })
    const acks = (): readonly number[] =>
      master.settles.filter((each) => each.task_id === id && each.method === 'tasks.ack').map(({ token }) => token)
    await trial.expect(`the ack again, after its response was ${damage.kind}`, () => acks().length > 1, 10_000)
    trial.check(new Set(acks()).size === 1, 'the same token in both acks', acks().join(', '))
    const other = master.settles.find((each) => each.task_id === id && each.method !== 'tasks.ack')
    trial.check(other === undefined, `only acks of task ${id}`, other)
  }
}

async function brokenReserves(trial: Trial): Promise<void> {
  const { master } = trial
  await trial.run()
  for (const damage of [{ kind: 'lost' }, { kind: 'cut in half' }, { kind: 'doubled' }] satisfies Damage[]) {
    let damaged = 0
    master.damage = (methods) => (methods.includes('tasks.reserve') && (damaged += 1) === 1 ? damage : undefined)
    trial.submit({ do: 'echo', value: 'its response never arrives whole' })
    await trial.expect('a damaged response', () => damaged > 0, 10_000)
    await trial.echo(`after a response that was ${damage.kind}`)
  }
  master.damage = (methods) => (methods.includes('tasks.ack') ? { kind: 'late', ms: LATE_MS } : undefined)
  const late = trial.submit({ do: 'echo', value: 'its ack gets a late response' })
  await trial.settled(late)
  master.damage = () => undefined
  await trial.settled(trial.submit({ do: 'echo' }), 'tasks.ack', LATE_MS + 15_000)
  await trial.pause(1_000)
  const other = master.settles.find((each) => each.task_id === late && each.method !== 'tasks.ack')
  trial.check(other === undefined, `only acks of task ${late}`, other)
}

async function twoTokens(trial: Trial): Promise<void> {
  const { master } = trial
  master.config = { ...master.config, slots: 2 }
  await trial.run()
  master.queue({ task_id: 'twice', token: 1_001, payload: { do: 'sleep', seconds: 1.5 } })
  await trial.expect('the first run', () => trial.started === 1, 10_000)
  master.queue({ task_id: 'twice', token: 1_002, payload: { do: 'sleep', seconds: 2.5 } })
  const acks = (): readonly number[] => master.settles.map(({ token }) => token)
  await trial.expect('two acks', () => acks().length >= 2, 10_000)
  trial.check(acks().join(' ') === '1001 1002', 'an ack with token 1001, then one with 1002', acks().join(', '))
}

async function payloads(trial: Trial): Promise<void> {
  await trial.run()
  const large = `${EVERY_PLANE}${'漢'.repeat(LARGE_CHARS / 3 - 100)}`
  for (const value of [EVERY_PLANE, large, { ['__proto__ ']: [[[]]], '': null, n: [1e21, -0.5, 2 ** 53 - 1] }]) {
    const output = await trial.echo(value)
    const [sent, received] = [JSON.stringify(value), JSON.stringify(output['value'])]
    trial.check(
      sent === received,
      `the output of an echo of ${Buffer.byteLength(sent)} bytes to have the same value`,
      `${Buffer.byteLength(received ?? '')} bytes: ${(received ?? '').slice(0, 120)}`,
    )
  }
}

async function ownRetry(trial: Trial): Promise<void> {
  const { master } = trial
  await trial.run()
  const retry = { base_seconds: 3, factor: 2, cap_seconds: 5 }
  master.queue({ task_id: 'own-retry', payload: { do: 'fail', error: 'no such file' }, retry })
  await trial.settled('own-retry', 'tasks.nack')
  const { retry_in_ms: delayMs } = master.settles[0] ?? {}
  trial.check(
    typeof delayMs === 'number' && delayMs >= 0 && delayMs <= 3_000,
    'retry_in_ms from 0 to 3,000, the delay of the first failure',
    `retry_in_ms ${delayMs ?? 'missing'}`,
  )
}

async function stopsLostRuns(trial: Trial): Promise<void> {
  const { master } = trial
  await trial.run()
  const id = await trial.sleeping(60)
  const { token = 0 } = master.leases.find(({ task_id: each }) => each === id) ?? {}
  master.lostTokens.add(token)
  const isNoticed = (): boolean => master.extensions.some((each) => each.isLost)
  if (!(await trial.until(isNoticed, VISIBILITY_SECONDS * 1_000))) return // It extends nothing, which is W14.
  await trial.settled(trial.submit({ do: 'echo' }), 'tasks.ack', 1_000)
}

async function cancelled(trial: Trial): Promise<void> {
  const { master } = trial
  master.features = 'cancel'
  await trial.run()
  if (master.handshakes[0]?.['muster-features']?.includes('cancel') !== true) return // It does not know the frame.
  const id = await trial.sleeping(60)
  const { token = 0 } = master.leases.find(({ task_id: each }) => each === id) ?? {}
  master.send({ type: 'task_cancelled', task_id: id, token: token - 1 })
  master.send({ type: 'task_cancelled', task_id: 'another', token })
  const next = trial.submit({ do: 'echo' })
  const isRun = (): boolean => master.settled('tasks.ack').includes(next)
  await trial.never('a run that continues after frames about other leases', isRun, 500)
  master.send({ type: 'task_cancelled', task_id: id, token })
  await trial.settled(next, 'tasks.ack', 1_000)
  const late = master.settles.find((each) => each.token === token)
  trial.check(late === undefined, 'no outcome of the cancelled task', late)
}

export const TASKS: readonly Row[] = [
  {
    id: 'W12',
    area: 'tasks',
    level: 'must',
    seconds: 5,
    holds: 'A worker holds at most five leases per slot, including those of running tasks.',
    check: limit,
  },
  {
    id: 'W13',
    area: 'tasks',
    level: 'must',
    seconds: 3,
    holds:
      'A run that succeeds is acked, and one that fails is nacked with the text of its error, cut to 4,096 UTF-16 ' +
      'units. Each lease gets one outcome, with its token.',
    check: outcomes,
  },
  {
    id: 'W14',
    area: 'tasks',
    level: 'must',
    seconds: 8,
    holds: 'While a task runs, its lease is extended at least once in each half of the visibility timeout.',
    check: extend,
  },
  {
    id: 'W15',
    area: 'tasks',
    level: 'must',
    seconds: 7,
    holds: 'After the response `lease_lost` the worker sends no ack, nack or release with that token.',
    check: leaseLost,
  },
  {
    id: 'W16',
    area: 'tasks',
    level: 'must',
    seconds: 4,
    holds:
      'An ack without a complete response (the connection ended, the body was cut or is not JSON) is sent ' +
      'again, with ' +
      'the same token, until the master responds.',
    check: lostAcks,
  },
  {
    id: 'W17',
    area: 'tasks',
    level: 'must',
    seconds: 27,
    holds:
      'After a reserve without a complete response the worker reserves again. A response that takes 20 s delays ' +
      'outcomes, and loses or changes none.',
    check: brokenReserves,
  },
  {
    id: 'W18',
    area: 'tasks',
    level: 'must',
    seconds: 5,
    holds: 'Two leases of one task id are two runs: each outcome carries the token of its own lease.',
    check: twoTokens,
  },
  {
    id: 'W19',
    area: 'tasks',
    level: 'must',
    seconds: 3,
    holds: 'Payloads and outputs keep every character of Unicode, U+0000 included, up to 1 MiB.',
    check: payloads,
  },
]

/** Rows of later additions to the protocol, without which a worker works. */
export const LATER_TASKS: readonly Row[] = [
  {
    id: 'W31',
    area: 'tasks',
    level: 'should',
    seconds: 2,
    holds:
      'A nack of a task that has its own `retry` carries `retry_in_ms`, drawn from 0 to ' +
      'base_seconds · factor^attempt, at most cap_seconds. Without it the policy of the automation applies.',
    check: ownRetry,
  },
  {
    id: 'W32',
    area: 'tasks',
    level: 'should',
    seconds: 4,
    holds:
      'A run whose lease was lost, for example because its task was cancelled, is stopped within 1 s of the ' +
      'response, and its slot takes the next task.',
    check: stopsLostRuns,
  },
  {
    id: 'W33',
    area: 'tasks',
    level: 'should',
    seconds: 2,
    holds:
      'A worker that names `cancel` in `Muster-Features` stops the run of a task within 1 s of a frame ' +
      '`task_cancelled` with its id and token, reports no outcome, and its slot takes the next task.',
    check: cancelled,
  },
]
