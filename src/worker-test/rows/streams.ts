/** @module worker-test/rows/streams  Checks how a worker reserves with streams, if it does (D125). */
import type { StreamDamage } from '../line-response.ts'
import { isStreamed } from '../rpc-calls.ts'
import type { Row } from '../row.ts'
import type { Payload, Trial } from '../trial.ts'
import { checkLeases } from './tasks.ts'

/** Within which a worker uses long polls instead of a stream of which nothing arrives. */
const SILENT_MS = 15_000

const streams = ({ master }: Trial): number =>
  master.rpcCalls.filter(({ method, params }) => isStreamed({ method, params })).length

/** Starts the worker with a master that offers streams. @returns whether the worker uses them. */
async function runStreaming(trial: Trial): Promise<boolean> {
  const { master } = trial
  master.features = 'stream'
  master.heartbeatMs = 50
  await trial.run()
  await trial.expect('a reserve', () => trial.reserves.length > 0, 10_000)
  return streams(trial) > 0
}

/** Checks that each task was run and acked once. */
function checkOnce(trial: Trial, ids: readonly string[]): void {
  const { master } = trial
  const acked = master.settled('tasks.ack').toSorted()
  trial.check(acked.join() === ids.toSorted().join(), `one ack of each of ${ids.join(', ')}`, acked.join(', '))
  checkRuns(trial)
}

/** Checks that no echo was run twice. */
function checkRuns(trial: Trial): void {
  const values = trial.master.outputs.filter((each) => 'label' in each).map(({ value }) => value)
  trial.check(new Set(values).size === values.length, 'one run of each task', values)
}

async function credit(trial: Trial): Promise<void> {
  const { master } = trial
  master.config = { ...master.config, slots: 2 }
  if (!(await runStreaming(trial))) return
  const numbered = (from: number): Payload[] => Array.from({ length: 20 }, (_, n) => ({ do: 'echo', value: from + n }))
  const first = trial.submitAll(numbered(0))
  for (const id of first) await trial.settled(id)
  checkOnce(trial, first)
  await checkLeases(trial, [...numbered(20), ...numbered(40)])
  checkRuns(trial)
}

const echoes = (trial: Trial, ...values: readonly number[]): readonly string[] =>
  trial.submitAll(values.map((value) => ({ do: 'echo', value })))

/** Damages the first `count` streams. @returns how many were damaged. */
function damageStreams({ master }: Trial, damage: StreamDamage, count: number): () => number {
  let damaged = 0
  master.streamDamage = () => (damaged < count && (damaged += 1) > 0 ? damage : undefined)
  return () => damaged
}

async function cut(trial: Trial): Promise<void> {
  const damaged = damageStreams(trial, 'cut', 2)
  if (!(await runStreaming(trial))) return
  const ids = echoes(trial, 1, 2, 3)
  for (const id of ids) await trial.settled(id, 'tasks.ack', 15_000)
  trial.check(damaged() > 0, 'a stream that was cut', 'none')
  checkOnce(trial, ids)
}

/** Runs three tasks, each within `withinMs`, and then three more, one after the other. */
async function runsAll(trial: Trial, withinMs: number): Promise<void> {
  const ids = [...echoes(trial, 1, 2, 3)]
  for (const id of ids) await trial.settled(id, 'tasks.ack', withinMs)
  for (const value of [4, 5, 6]) {
    const [id = ''] = echoes(trial, value)
    await trial.settled(id, 'tasks.ack', 2_000)
    ids.push(id)
  }
  checkOnce(trial, ids)
}

async function refused(trial: Trial): Promise<void> {
  damageStreams(trial, 'refused', Infinity)
  if (!(await runStreaming(trial))) return
  await runsAll(trial, 5_000)
  trial.check(streams(trial) === 1, 'one stream, then long polls alone', `${streams(trial)} streams`)
}

async function buffered(trial: Trial): Promise<void> {
  trial.master.config = { ...trial.master.config, slots: 4 }
  damageStreams(trial, 'buffered', Infinity)
  if (await runStreaming(trial)) await runsAll(trial, SILENT_MS)
}

export const STREAMS: readonly Row[] = [
  {
    id: 'W34',
    area: 'tasks',
    level: 'should',
    seconds: 6,
    holds:
      'A worker that streams its reserves runs tasks of several lines once each, whether empty lines come between or ' +
      'a chunk ends inside a line. It asks for no more tasks than it may hold.',
    check: credit,
  },
  {
    id: 'W35',
    area: 'tasks',
    level: 'should',
    seconds: 5,
    holds: 'After a stream that ended inside a line the worker reserves again, and runs every task once.',
    check: cut,
  },
  {
    id: 'W36',
    area: 'tasks',
    level: 'should',
    seconds: 3,
    holds: 'After a master rejected `stream` with `invalid_params`, the worker uses long polls for a while.',
    check: refused,
  },
  {
    id: 'W37',
    area: 'tasks',
    level: 'should',
    seconds: 9,
    holds:
      'If nothing of a stream arrives within 10 s, because a proxy buffers it, the worker closes it and uses long ' +
      'polls for a while. Every task is run.',
    check: buffered,
  },
]
