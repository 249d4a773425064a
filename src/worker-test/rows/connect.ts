/** @module worker-test/rows/connect  Checks how a worker connects, reports and reconnects. */
import { API_PREFIX, CLOSE, PROTOCOL_VERSION, RECONNECT_BASE_MS, STATE_EVERY_MS } from '../../protocol/index.ts'
import { compareText } from '../../runtime/index.ts'
import { TEST_TYPE } from '../manifest.ts'
import type { Row } from '../row.ts'
import { GRACE_MS, type Trial } from '../trial.ts'

const EXIT_MS = 15_000
const RETRY_AFTER_SECONDS = 3
/** How far the period of reports may be off. */
const PERIOD_TOLERANCE_MS = 3_000

async function identity(trial: Trial): Promise<void> {
  const { master } = trial
  trial.workerId = 'wörker 1#?'
  await trial.run()
  await trial.echo()
  const [register] = master.frames
  trial.check(register?.type === 'register', 'register as the first frame', register?.type ?? 'no frame')
  if (register?.type !== 'register') return
  trial.check(register.worker_id === trial.workerId, `worker_id "${trial.workerId}"`, register.worker_id)
  trial.check(register.automation_type === TEST_TYPE, `automation_type "${TEST_TYPE}"`, register.automation_type)
  trial.check(
    register.protocol_version === PROTOCOL_VERSION,
    `protocol_version ${PROTOCOL_VERSION}`,
    register.protocol_version,
  )
  const base = `${API_PREFIX}/automations/${TEST_TYPE}/workers/`
  const wrong = [...master.handshakeUrls, ...master.requests.map(({ url }) => url)].find((url) => {
    const [id, , ...rest] = url.slice(base.length).split('/')
    return !url.startsWith(base) || decodeURIComponent(id ?? '') !== trial.workerId || rest.length > 0
  })
  trial.check(wrong === undefined, `only paths below ${base}${encodeURIComponent(trial.workerId)}/`, wrong)
  const without = master.requests.find(({ headers }) => headers.authorization !== `Bearer ${trial.token}`)
  trial.check(without === undefined, 'the token in the Authorization header of each request', without?.url)
}

async function reports(trial: Trial): Promise<void> {
  const { master } = trial
  await trial.run()
  const first = (): number => master.arrivals.find(({ frame }) => frame.type === 'register')?.atMs ?? 0
  await trial.expect('a state frame', () => master.of('state').length > 0, 1_000)
  await trial.expect('a pong', () => master.pongsAtMs.length > 0, 7_000)
  await trial.pause(STATE_EVERY_MS + PERIOD_TOLERANCE_MS + 2 * GRACE_MS + first() - master.nowMs)
  for (const type of ['state', 'stats'] as const) {
    const times = master.arrivals.filter(({ frame }) => frame.type === type).map(({ atMs }) => atMs)
    const gaps = [first(), ...times].map((atMs, index, all) => (all[index + 1] ?? master.nowMs) - atMs)
    const longest = Math.max(...gaps)
    trial.check(times.length >= 1, `a ${type} frame within 18 s`, 'none')
    trial.check(
      longest <= STATE_EVERY_MS + PERIOD_TOLERANCE_MS + GRACE_MS,
      `a ${type} frame every 15 s, at most 18 s apart`,
      `${Math.round(longest)} ms without one`,
    )
    if (type === 'stats') trial.check(times.length <= 4, 'at most 4 stats frames in 20 s', `${times.length}`)
  }
}

async function rotatedToken(trial: Trial): Promise<void> {
  const { master } = trial
  trial.writeToken('an-old-token')
  await trial.start({ tokenFile: true })
  await trial.expect('a handshake', () => master.handshakes.length > 0, 10_000)
  await trial.pause(200)
  trial.writeToken(trial.token)
  await trial.expect(
    'a connection with the new token of the file',
    () => master.of('register').length > 0,
    14_000,
    () => `${master.handshakes.length} handshakes, all with the old token`,
  )
  await trial.echo()
}

async function otherVersion(trial: Trial): Promise<void> {
  const { master } = trial
  master.closeAfterRegister.push(CLOSE.PROTOCOL_VERSION)
  const worker = await trial.start()
  await trial.expect(
    'the end of the process',
    () => worker.exitCode !== undefined,
    EXIT_MS,
    () => `it still runs after ${master.handshakes.length} handshakes`,
  )
  trial.check(worker.exitCode !== 0, 'an exit code other than 0', `${worker.exitCode}`)
  trial.check(master.handshakes.length === 1, 'no further connection', `${master.handshakes.length} connections`)
}

async function backoff(trial: Trial): Promise<void> {
  const { master } = trial
  master.closeAfterRegister.push(CLOSE.INTERNAL_ERROR, CLOSE.TRY_AGAIN_LATER, CLOSE.POLICY)
  await trial.start()
  for (let retry = 1; retry <= 3; retry += 1) {
    const longestMs = RECONNECT_BASE_MS * 2 ** (retry - 1)
    await trial.expect(
      `connection ${retry + 1} at most ${longestMs / 1_000} s after the end of the one before`,
      () => master.handshakesAtMs.length > retry,
      longestMs + 500,
    )
    const gapMs = (master.handshakesAtMs[retry] ?? 0) - (master.handshakesAtMs[retry - 1] ?? 0)
    trial.check(
      gapMs >= longestMs / 2 - 50,
      `at least ${longestMs / 2_000} s between connections ${retry} and ${retry + 1}`,
      `${Math.round(gapMs)} ms`,
    )
  }
  await trial.expect('a register frame on each connection', () => master.of('register').length === 4, 2_000)
  await trial.echo()
}

async function retryAfter(trial: Trial): Promise<void> {
  const { master } = trial
  const leastMs = RETRY_AFTER_SECONDS * 1_000
  const mostMs = leastMs * 1.25 + 2_000
  master.handshakeStatus = 503
  master.handshakeHeaders = { 'Retry-After': `${RETRY_AFTER_SECONDS}` }
  master.rpcStatus = 503
  master.rpcHeaders = { 'retry-after': `${RETRY_AFTER_SECONDS}` }
  const spaced = async (what: string, times: () => readonly number[]): Promise<void> => {
    await trial.expect(`a second ${what}`, () => times().length > 1, mostMs)
    const [first = 0, second = 0] = times()
    trial.check(
      second - first >= leastMs - 50,
      `at least ${RETRY_AFTER_SECONDS} s between the rejected ${what} and the next one`,
      `${Math.round(second - first)} ms`,
    )
  }
  await trial.start()
  await trial.expect('a handshake', () => master.handshakes.length > 0, 10_000)
  master.handshakeStatus = null
  await spaced('handshake', () => master.handshakesAtMs)
  const calls = (): readonly number[] =>
    master.requests.filter(({ url }) => url.endsWith('/rpc')).map(({ atMs }) => atMs)
  await trial.expect('a reserve', () => calls().length > 0, 5_000)
  master.rpcStatus = null
  await spaced('reserve', calls)
  await trial.echo()
}

async function labels(trial: Trial): Promise<void> {
  const { master } = trial
  await trial.run({ environment: { SVC_WORKER_LABELS: 'zone=eu-1,tier=spot' } })
  if (master.handshakes[0]?.['muster-features']?.includes('labels') !== true) return // It does not know the field.
  const labelsOf = (): unknown => master.of('register').at(-1)?.labels
  trial.check(labelsOf() === undefined, 'no labels for a master that does not list the feature', labelsOf())
  master.features = 'labels'
  for (const socket of master.sockets) socket.terminate()
  const hasRegistered = (): boolean => master.of('register').length === 2
  await trial.expect('a register frame after the connection ended', hasRegistered, RECONNECT_BASE_MS + 1_000)
  const expected = '{"tier":"spot","zone":"eu-1"}'
  const pairs = Object.entries(labelsOf() ?? {}).toSorted(([a], [b]) => compareText(a, b))
  const sent = JSON.stringify(Object.fromEntries(pairs))
  trial.check(sent === expected, `the labels ${expected} in register`, sent)
}

/** The row that was added after the others. */
export const LATER_CONNECT: readonly Row[] = [
  {
    id: 'W38',
    area: 'connect',
    level: 'should',
    seconds: 4,
    holds:
      'A worker that names `labels` in `Muster-Features` sends the pairs of `SVC_WORKER_LABELS` as `labels` of ' +
      '`register` to a master that lists `labels`, and no `labels` to another one.',
    check: labels,
  },
]

export const CONNECT: readonly Row[] = [
  {
    id: 'W01',
    area: 'connect',
    level: 'must',
    seconds: 2,
    holds:
      'Each request carries the token in `Authorization` (the handshake may carry it as `?token=`). The ' +
      'first frame of ' +
      'a connection is `register`, with protocol version 1 and the type and worker id of the path, where the id is ' +
      'percent-encoded.',
    check: identity,
  },
  {
    id: 'W02',
    area: 'connect',
    level: 'must',
    seconds: 22,
    holds:
      'A `state` frame follows within 1 s of `register`, then `state` and `stats` every 15 s (± 3 s). ' +
      'WebSocket pings ' +
      'are responded to.',
    check: reports,
  },
  {
    id: 'W03',
    area: 'connect',
    level: 'must',
    seconds: 6,
    holds:
      'After close code 4401 the worker reconnects with backoff, and reads the file of `SVC_WORKER_TOKEN_FILE` again.',
    check: rotatedToken,
  },
  {
    id: 'W04',
    area: 'connect',
    level: 'must',
    seconds: 3,
    holds: 'After close code 4000 the worker does not connect again, and exits with a code other than 0.',
    check: otherVersion,
  },
  {
    id: 'W05',
    area: 'connect',
    level: 'must',
    seconds: 8,
    holds:
      'After every other close code the worker reconnects and registers again. The delay before reconnect ' +
      'n is between ' +
      'half of d and d, where d is 1, 2, 4 … 30 s.',
    check: backoff,
  },
  {
    id: 'W06',
    area: 'connect',
    level: 'must',
    seconds: 9,
    holds:
      'A handshake or a reserve that was rejected with `Retry-After` is not repeated before that time, which is ' +
      'honoured up to 30 s. A quarter of it may be added, so that a fleet does not return together.',
    check: retryAfter,
  },
]
