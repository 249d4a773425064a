/**
 * @module worker-test/rows/logs
 * Checks the log that a worker keeps for reads by the master, and that it names the tasks of outputs and slots. A
 * worker that does not announce a feature passes its rows: a master does not ask it.
 */
import {
  LOG_READ_WITHIN_MS,
  MAX_LOG_ENTRIES_PER_READ,
  MAX_LOG_READ_BYTES,
  RECONNECT_BASE_MS,
  STATE_EVERY_MS,
  WORKER_LOG_LEVELS,
  type Feature,
  type MasterFrame,
  type WorkerFrame,
} from '../../protocol/index.ts'
import type { Row } from '../row.ts'
import type { Trial } from '../trial.ts'

type Query = Omit<Extract<MasterFrame, { type: 'read_logs' }>, 'type' | 'id'>
type Logs = Extract<WorkerFrame, { type: 'logs' }>

/** Failed runs whose errors are together larger than one response may be. */
const FAILURES = 60
const ERROR_CHARS = 4_000
/** Bytes of a `logs` frame beside its entries. */
const HEAD_BYTES = 1_024
const PAGES = 3
const MAX_PAGES = 100
const SLEEP_SECONDS = STATE_EVERY_MS / 1_000 + 4
const ALL = { after: 0, limit: MAX_LOG_ENTRIES_PER_READ }

const announces = ({ master }: Trial, feature: Feature): boolean =>
  master.handshakes[0]?.['muster-features']?.toString().includes(feature) === true

/** Reads the log, as a master does. */
async function read(trial: Trial, query: Query): Promise<Logs> {
  const { master } = trial
  const id = `read-${master.of('logs').length}`
  const found = (): Logs | undefined => master.of('logs').find((frame) => frame.id === id)
  master.send({ type: 'read_logs', id, ...query })
  const asked = `a logs frame with the id of the read ${JSON.stringify(query)}`
  await trial.expect(asked, () => found() !== undefined, LOG_READ_WITHIN_MS)
  const page = found()
  if (page === undefined) throw new TypeError('the frame has just been there')
  const { length } = page.entries
  trial.check(length <= query.limit, `at most ${query.limit} entries, the limit of the read`, `${length} entries`)
  return page
}

const numbersOf = ({ entries }: Pick<Logs, 'entries'>): readonly number[] => entries.map(({ seq }) => seq)
const isAscending = (numbers: readonly number[]): boolean =>
  numbers.every((n, index) => index === 0 || n > (numbers[index - 1] ?? 0))

async function readsLog(trial: Trial): Promise<void> {
  const { master } = trial
  master.features = 'logs'
  await trial.run()
  if (!announces(trial, 'logs')) return
  const error = 'x'.repeat(ERROR_CHARS)
  const failed = trial.submitAll(Array.from({ length: FAILURES }, (_, n) => ({ do: 'fail', error: `${n} ${error}` })))
  const [task = ''] = failed
  for (const id of failed) await trial.settled(id, 'tasks.nack')
  const all = await read(trial, ALL)
  trial.check(all.entries.length > 1, `entries of the log after ${FAILURES} failed runs`, `${all.entries.length}`)
  trial.check(isAscending(numbersOf(all)), 'entries in the order of their seq', numbersOf(all))
  await pages(trial, all)
  await filters(trial, task)
  const other = await read(trial, { after: Number.MAX_SAFE_INTEGER, limit: 1 })
  trial.check(other.missed === null, 'missed null behind a number of another process', `${other.missed}`)
  const largest = Math.max(...master.arrivals.map(({ bytes, frame }) => (frame.type === 'logs' ? bytes : 0)))
  trial.check(largest <= MAX_LOG_READ_BYTES + HEAD_BYTES, 'at most 192 KiB of entries', `${largest} bytes`)
}

/** Continues behind `next`, one entry at a time. */
async function pages(trial: Trial, all: Logs): Promise<void> {
  const numbers: number[] = []
  let after = 0
  for (let page = 0; page < PAGES && page < all.entries.length; page += 1) {
    const { entries, next, has_more: hasMore } = await read(trial, { after, limit: 1 })
    numbers.push(...numbersOf({ entries }))
    const isLast = page === all.entries.length - 1
    trial.check(hasMore || isLast, 'has_more while entries behind next were left out', { next, hasMore })
    after = next
  }
  const expected = numbersOf(all).slice(0, numbers.length)
  trial.check(
    numbers.length > 0 && expected.every((n, index) => n === numbers[index]),
    'the oldest entries, each once',
    numbers,
  )
  const [newest] = (await read(trial, { limit: 1 })).entries
  trial.check((newest?.seq ?? 0) >= (numbersOf(all).at(-1) ?? 0), 'the newest entry of a read without after', newest)
}

async function filters(trial: Trial, task: string): Promise<void> {
  const severe = await read(trial, { ...ALL, level: 'warn' })
  const low = severe.entries.find(({ level }) => WORKER_LOG_LEVELS.indexOf(level) < WORKER_LOG_LEVELS.indexOf('warn'))
  trial.check(low === undefined, 'only entries of level warn or above', low)
  const ofTask = await read(trial, { ...ALL, task_id: task })
  const foreign = ofTask.entries.find((entry) => entry.task_id !== task)
  trial.check(foreign === undefined, `only entries of task ${task}`, foreign)
}

async function secretInLog(trial: Trial): Promise<void> {
  const { master, password } = trial
  master.features = 'logs'
  await trial.run()
  if (!announces(trial, 'logs')) return
  await trial.settled(trial.submit({ do: 'fail', error: `login with ${password} failed` }), 'tasks.nack')
  master.setConfig({ slots: 'three' })
  await trial.pause(500)
  let page = await read(trial, ALL)
  const entries = [...page.entries]
  for (let n = 0; n < MAX_PAGES && page.has_more; n += 1) {
    page = await read(trial, { ...ALL, after: page.next })
    entries.push(...page.entries)
  }
  const secrets = [password, trial.token]
  const shown = entries.find((entry) => secrets.some((secret) => JSON.stringify(entry).includes(secret)))
  trial.check(shown === undefined, 'no log entry with the token or the value of the writeOnly field', shown)
}

async function outputTask(trial: Trial): Promise<void> {
  const { master } = trial
  await trial.run()
  if (!announces(trial, 'output_task')) return
  const tasksOf = (): readonly unknown[] =>
    master.frames.flatMap((frame) => {
      if (frame.type === 'output') return [frame.task_id]
      return frame.type === 'output_batch' ? frame.outputs.map(({ task_id: id }) => id) : []
    })
  await trial.echo()
  trial.check(tasksOf().at(-1) === undefined, 'no task_id for a master that does not list output_task', tasksOf())
  master.features = 'output_task'
  for (const socket of master.sockets) socket.terminate()
  const hasRegistered = (): boolean => master.of('register').length === 2
  await trial.expect('a register frame after the connection ended', hasRegistered, RECONNECT_BASE_MS + 1_000)
  await trial.echo()
  const task = master.settled('tasks.ack').at(-1)
  trial.check(tasksOf().at(-1) === task, `the task_id ${task} in its output`, tasksOf())
}

async function slotTask(trial: Trial): Promise<void> {
  const { master } = trial
  master.features = 'slot_tasks'
  await trial.run()
  if (!announces(trial, 'slot_tasks')) return
  const task = await trial.sleeping(SLEEP_SECONDS)
  const startedAtMs = master.nowMs
  const slotOf = () =>
    master
      .of('stats')
      .at(-1)
      ?.per_slot?.find(({ task_id: id }) => id === task)
  await trial.expect(
    `per_slot of stats with the running task ${task}`,
    () => slotOf() !== undefined,
    STATE_EVERY_MS + 3_000,
    () => JSON.stringify(master.of('stats').at(-1)),
  )
  const ranSeconds = (master.nowMs - startedAtMs) / 1_000
  const seconds = slotOf()?.task_seconds ?? -1
  trial.check(seconds >= 0 && seconds <= ranSeconds + 2, `task_seconds of 0 to ${ranSeconds}`, `${seconds}`)
}

export const LOGS: readonly Row[] = [
  {
    id: 'W39',
    area: 'logs',
    level: 'should',
    seconds: 5,
    holds:
      'A worker that names `logs` in `Muster-Features` responds to `read_logs` within 5 s: with the `id`, at most ' +
      '`limit` entries and 192 KiB, in the order of `seq`, of the `task_id` and the `level` or above. `next` ' +
      'continues behind the last entry, and `missed` is null behind a number of another process.',
    check: readsLog,
  },
  {
    id: 'W40',
    area: 'secrets',
    level: 'must',
    seconds: 3,
    holds:
      'The value of a `writeOnly` field of the config, and the token, appear in no entry of the log that a worker ' +
      'which names `logs` returns.',
    check: secretInLog,
  },
  {
    id: 'W41',
    area: 'output',
    level: 'should',
    seconds: 4,
    holds:
      'A worker that names `output_task` in `Muster-Features` sends the `task_id` of the run with each output to a ' +
      'master that lists `output_task`, and no `task_id` to another one.',
    check: outputTask,
  },
  {
    id: 'W42',
    area: 'tasks',
    level: 'should',
    seconds: 17,
    holds:
      'A worker that names `slot_tasks` in `Muster-Features` sends `task_id` and `task_seconds` of the running task ' +
      'in `per_slot` of its `stats` to a master that lists `slot_tasks`.',
    check: slotTask,
  },
]
