/**
 * Runs `muster worker-test` against good workers, which pass every row, and against wrong ones, which fail exactly the
 * row meant for their defect. The wrong workers are test/worker-test/minimal-worker.mjs with one text replaced.
 *
 * At commit, rows of more than 30 s are left out, two of the good workers also skip those of more than 10 s, and a
 * wrong worker runs its own row and a short one. With CI=true the good workers run all rows; with SOAK=1, all do.
 */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { existsSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Limits, ROWS, runRows, type Row, type RowResult } from '../../src/worker-test/index.ts'
import { BUILT_COMMAND } from '../kit/built-command.ts'
import { PYTHON, PYTHON_ENVIRONMENT } from '../kit/python-client.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const HERE = join(process.cwd(), 'test/worker-test')
const MINIMAL = join(HERE, 'minimal-worker.mjs')
const IS_SOAK = process.env['SOAK'] === '1'
const GOOD_RUN_ALL = IS_SOAK || process.env['CI'] === 'true'
const LONG_SECONDS = 10
/** Rows that run at commit at all. */
const LONGEST_SECONDS = 30
const QUICK = ['W13']
const KIT_MS = IS_SOAK ? 900_000 : 180_000

interface Wrong {
  readonly name: string
  readonly row: string
  readonly from: string
  readonly to: string
}
const WRONG: readonly Wrong[] = [
  {
    name: 'does not encode its id in paths',
    row: 'W01',
    from: 'encodeURIComponent(env.SVC_WORKER_ID)',
    to: 'env.SVC_WORKER_ID',
  },
  {
    name: 'reports its state on changes alone',
    row: 'W02',
    from: '  reportState()\n  reportStats()\n}, 15_000)',
    to: '}, 15_000)',
  },
  {
    name: 'reads its token once',
    row: 'W03',
    from: "const token = () => env.SVC_WORKER_TOKEN ?? readFileSync(env.SVC_WORKER_TOKEN_FILE, 'utf8').trim()",
    to:
      "const only = env.SVC_WORKER_TOKEN ?? readFileSync(env.SVC_WORKER_TOKEN_FILE, 'utf8').trim()\n" +
      'const token = () => only',
  },
  { name: 'retries after close code 4000', row: 'W04', from: 'if (code === 4000) process.exit(1)', to: '' },
  {
    name: 'reconnects without backoff',
    row: 'W05',
    from: 'setTimeout(connect, Math.max(waitMs, backoffMs(failures, 30_000)))',
    to: 'setTimeout(connect, Math.max(waitMs, 600))',
  },
  { name: 'ignores Retry-After', row: 'W06', from: '1_000 * Math.min(30, Number(value ?? 0) || 0)', to: '0 * value' },
  {
    name: 'polls its config 3 s after register',
    row: 'W07',
    from: '  flush()\n  poll()\n',
    to: '  flush()\n  setTimeout(poll, 3_000)\n',
  },
  { name: 'polls its config on notifications alone', row: 'W08', from: 'nextPoll = setTimeout(poll, 30_000)', to: '' },
  {
    name: 'applies each config that it reads',
    row: 'W09',
    from: 'applied.epoch === epoch && gen <= applied.gen',
    to: 'gen < 0',
  },
  {
    name: 'does not report an invalid config',
    row: 'W10',
    from: 'configError = `config',
    to: 'configError = null && `config',
  },
  {
    name: 'runs while it is disabled',
    row: 'W11',
    from: 'const isActive = () => config.enabled && config.slots > 0',
    to: 'const isActive = () => applied !== undefined',
  },
  {
    name: 'reserves 100 tasks for each free slot, and keeps them until a slot is free',
    row: 'W12',
    from: "const { tasks } = await call('tasks.reserve', { limit: freeSlots(), wait_ms: 20_000 }, 30_000)",
    to:
      "const { tasks } = await call('tasks.reserve', { limit: 100 * freeSlots(), wait_ms: 20_000 }, 30_000)\n" +
      '      const keep = async (task) => {\n' +
      '        while (freeSlots() <= 0) await sleep(5)\n' +
      '        await runTask(task)\n' +
      '      }\n' +
      '      for (const task of tasks.splice(0)) void keep(task)',
  },
  {
    name: 'sends error texts whole',
    row: 'W13',
    from: 'mask(String(error.message)).slice(0, 4_096)',
    to: 'mask(String(error.message))',
  },
  {
    name: 'never extends a lease',
    row: 'W14',
    from: 'setInterval(() => void extend(lease),',
    to: 'setInterval(() => undefined,',
  },
  {
    name: 'settles after lease_lost',
    row: 'W15',
    from: 'if (isLost) lease.isLost = true',
    to: '',
  },
  {
    name: 'takes a response to an ack that is not JSON for success',
    row: 'W16',
    from: '      log(`${method} failed:`, error.message)\n',
    to: '      if (error instanceof SyntaxError) return undefined\n',
  },
  {
    name: 'ends after a broken response to a reserve',
    row: 'W17',
    from: "      log('reserve failed:', error.message)\n",
    to: '      if (error instanceof SyntaxError) return\n',
  },
  {
    name: 'settles with the newest token of a task id',
    row: 'W18',
    from: '      return await call(method, { tasks: [{ task_id, token: fence, ...more }] })',
    to:
      '      const same = [...runs.values()].filter(({ task }) => task.task_id === task_id)\n' +
      '      const newest = Math.max(fence, ...same.map(({ task }) => task.token))\n' +
      '      return await call(method, { tasks: [{ task_id, token: newest, ...more }] })',
  },
  {
    name: 'changes a character of its outputs',
    row: 'W19',
    from: 'emit({ value: payload.value, label })',
    to: "emit({ value: payload.value?.replaceAll?.('\\u0000', '') ?? payload.value, label })",
  },
  {
    name: 'ends with running tasks after a drain frame',
    row: 'W20',
    from: "if (frame.type === 'drain') void drain()",
    to: "if (frame.type === 'drain') void drain(0)",
  },
  {
    name: 'nacks the rest after SIGTERM',
    row: 'W21',
    from: "rest.map(({ task }) => settle('tasks.release', task, {}))",
    to: "rest.map(({ task }) => settle('tasks.nack', task, { error: 'stopped' }))",
  },
  {
    name: 'ends when its master cannot be reached',
    row: 'W22',
    from: "channel.on('error', (error) => log('control channel:', error.message))",
    to: "channel.on('error', (error) => error.code === 'ECONNREFUSED' && process.exit(1))",
  },
  {
    name: 'has one instance_id for all processes',
    row: 'W23',
    from: 'const instanceId = randomUUID()',
    to: "const instanceId = 'one' || randomUUID()",
  },
  {
    name: 'sends short outputs in any order',
    row: 'W24',
    from: 'for (const { text } of buffer) socket.send(text)',
    to:
      'for (const { text } of buffer)\n' +
      '    setTimeout(() => socket.send(text), text.length < 1_000 ? 20 * Math.random() : 0)',
  },
  {
    name: 'buffers without a bound',
    row: 'W25',
    from: 'while (buffer.length > 1_024 || buffered > 16 * MiB)',
    to: 'while (false)',
  },
  { name: 'sends frames above 1 MiB', row: 'W26', from: 'if (bytes > MiB) throw', to: 'if (bytes < 0) throw' },
  {
    name: 'shows a secret in the error of a task',
    row: 'W27',
    from: '{ error: text, ...retryOf(task) }',
    to: '{ error: String(error.message).slice(0, 4_096), ...retryOf(task) }',
  },
  {
    name: 'logs the value of a writeOnly field',
    row: 'W28',
    from: "logAs('warn', task, ['run failed:', error.message])",
    to: "console.log('run failed:', error.message)",
  },
  {
    name: 'ends at a frame of an unknown type',
    row: 'W29',
    from: "if (frame.type === 'drain') void drain()",
    to:
      "if (frame.type === 'drain') void drain()\n" +
      "    else if (!['ping', 'config_changed'].includes(frame.type)) throw new Error('unknown frame')",
  },
  {
    name: 'rejects a task with an unknown field',
    row: 'W30',
    from: 'for (const task of tasks) void',
    to:
      "const isKnown = (each) => Object.keys(each).filter((key) => key !== 'retry').length === 8\n" +
      '      for (const task of tasks.filter(isKnown)) void',
  },
  { name: 'ignores the retry policy of a task', row: 'W31', from: ', ...retryOf(task) }', to: ' }' },
  { name: 'finishes runs whose lease was lost', row: 'W32', from: 'if (isLost) lease.lost.abort()', to: '' },
  {
    name: 'finishes runs of cancelled tasks',
    row: 'W33',
    from: 'if (lease?.task.task_id !== taskId) return',
    to: 'if (fence > 0) return',
  },
  {
    name: 'streams 100 tasks for each free slot, and keeps them until a slot is free',
    row: 'W34',
    from: 'await stream(hasStreamed ? freeSlots() : 1)',
    to:
      'start = async (task) => {\n' +
      '          while (freeSlots() <= 0) await sleep(5)\n' +
      '          await runTask(task)\n' +
      '        }\n' +
      '        await stream(100 * freeSlots())',
  },
  {
    name: 'ends when a stream is cut',
    row: 'W35',
    from: 'if (hasArrived || !silence.signal.aborted) throw error',
    to: 'if (hasArrived) process.exit(1)',
  },
  {
    name: 'streams again immediately after a master rejected it',
    row: 'W36',
    from: 'streamsFromMs = Date.now() + 60_000',
    to: 'return sleep(200)',
  },
  {
    name: 'waits for the lines of a stream without a limit',
    row: 'W37',
    from: 'let timer = within(5_000)',
    to: 'let timer = within(50_000)',
  },
  {
    name: 'sends its labels to a master that does not know them',
    row: 'W38',
    from: "if (!channel.offers.includes('labels')) return {}",
    to: '',
  },
  {
    name: 'ignores the limit of a read of its log',
    row: 'W39',
    from: 'const limit = Math.min(most, 200)',
    to: 'const limit = 200 || most',
  },
  {
    name: 'keeps its log lines without masking secrets',
    row: 'W40',
    from: 'message: message.slice(0, 100)',
    to: 'message: line.slice(0, 100)',
  },
  {
    name: 'names the task of an output for every master',
    row: 'W41',
    from: "socket?.offers?.includes('output_task') ?",
    to: 'true ?',
  },
  {
    name: 'does not name the task of a slot',
    row: 'W42',
    from: "socket?.offers?.includes('slot_tasks') ?",
    to: 'false ?',
  },
]

/** Shared by all workers. Wrong ones use little computing time, so more rows can run than in a kit of its own. */
const limits = new Limits(24)

function check(command: string, rows: readonly Row[]): Promise<readonly RowResult[]> {
  return runRows({ command, environment: { ...process.env, ...PYTHON_ENVIRONMENT }, rows, limits })
}

/**
 * Runs rows again, by themselves, that failed although they should pass: while 48 of them run at the same time, a good
 * worker may miss a time limit. `own` is the row that a wrong worker has to fail.
 */
async function repeatFailures(
  command: string,
  results: readonly RowResult[],
  own?: string,
): Promise<readonly RowResult[]> {
  const failed = results.filter(({ fault, row }) => fault !== null && row.id !== own)
  if (failed.length === 0) return results
  writeSync(1, `run again: ${failed.map(shown).join('\n')}\n`)
  const again = await check(
    command,
    failed.map(({ row }) => row),
  )
  return results.map((each) => again.find(({ row }) => row === each.row) ?? each)
}

const ENABLED = ROWS.filter(({ seconds }) => GOOD_RUN_ALL || seconds <= LONGEST_SECONDS)
const isLong = ({ seconds }: Row): boolean => seconds > LONG_SECONDS
const quoted = (path: string): string => `'${path.replaceAll("'", String.raw`'\''`)}'`

const ENABLED_WRONG = WRONG.filter(({ row }) => ENABLED.some(({ id }) => id === row))

/** Describes what a row has found, for a failed assertion. */
const shown = ({ row, fault }: RowResult): string =>
  fault === null
    ? `${row.id} passed`
    : `${row.id}: expected ${fault.expected}; seen ${fault.seen}\n${[...fault.events, ...fault.output].join('\n')}`

/** Writes the automation on the page of the kit. @returns its path. */
function writeAutomation(): string {
  const page = readFileSync(join(process.cwd(), 'src/worker-test/README.md'), 'utf8')
  const [, text = ''] = /^```js worker-test\.mjs\n([^]*?)^```$/m.exec(page) ?? []
  const file = join(temporaryFolder(), 'worker-test.mjs')
  const api = pathToFileURL(join(process.cwd(), 'dist/automation/public.js')).href
  writeFileSync(file, text.replace("'muster/automation'", JSON.stringify(api)))
  return file
}

const NODE = quoted(process.execPath)
const GOOD = [
  {
    name: 'the Node worker',
    command: () => `${NODE} ${quoted(BUILT_COMMAND)} worker --automations ${quoted(writeAutomation())}`,
    isInstalled: existsSync(BUILT_COMMAND),
    missing: 'dist/ is missing: run npm run build',
    rows: ENABLED,
  },
  {
    name: 'the Python worker',
    command: () => `${quoted(PYTHON)} ${quoted(join(HERE, 'worker.py'))}`,
    isInstalled: existsSync(PYTHON),
    missing: 'the packages of clients/python are not installed',
    rows: ROWS.filter((row) => GOOD_RUN_ALL || !isLong(row)),
  },
  {
    name: 'a worker in one file, written from the protocol page',
    command: () => `${NODE} ${quoted(MINIMAL)}`,
    isInstalled: true,
    missing: '',
    rows: ROWS.filter((row) => GOOD_RUN_ALL || !isLong(row)),
  },
]

/** @returns the command that starts the minimal worker with one text replaced. */
function wrongCommand(folder: string, { from, row, to }: Wrong): string {
  const text = readFileSync(MINIMAL, 'utf8')
  if (text.split(from).length !== 2) throw new Error(`${row}: the minimal worker must contain this once: ${from}`)
  const ws = pathToFileURL(join(process.cwd(), 'node_modules/ws/wrapper.mjs')).href
  const file = join(folder, `${row}.mjs`)
  writeFileSync(file, text.replace(from, () => to).replace("from 'ws'", `from '${ws}'`))
  return `${NODE} ${quoted(file)}`
}

describe('muster worker-test', () => {
  const results = new Map<string, readonly RowResult[]>()
  const resultsOf = (name: string): readonly RowResult[] => results.get(name) ?? []

  beforeAll(async () => {
    const folder = temporaryFolder()
    const secondsOf = ({ row }: Wrong): number => ROWS.find(({ id }) => id === row)?.seconds ?? 0
    const wrong = ENABLED_WRONG.toSorted((one, other) => secondsOf(other) - secondsOf(one)).map(async (each) => {
      const rows = ROWS.filter(({ id }) => IS_SOAK || id === each.row || QUICK.includes(id))
      const command = wrongCommand(folder, each)
      const first = await check(command, rows)
      return async () => void results.set(each.name, await repeatFailures(command, first, each.row))
    })
    const good = GOOD.filter(({ isInstalled }) => isInstalled).map(async ({ command: commandOf, name, rows }) => {
      const command = commandOf()
      const first = await check(command, rows)
      return async () => void results.set(name, await repeatFailures(command, first))
    })
    for (const finish of await Promise.all([...wrong, ...good])) await finish()
  }, KIT_MS)

  for (const { isInstalled, missing, name, rows } of GOOD)
    describe(name, () => {
      if (isInstalled)
        it.each(rows)('passes $id: $holds', (row) => {
          const found = resultsOf(name).find((each) => each.row === row)
          expect(found && shown(found)).toBe(`${row.id} passed`)
        })
      else it.skip(missing, () => undefined)
    })

  it.each(ENABLED_WRONG)('fails a worker that $name, in $row alone', ({ name, row }) => {
    const failed = resultsOf(name).filter(({ fault }) => fault !== null)
    expect(failed.map((each) => each.row.id)).toEqual([row])
    expect(failed[0]?.fault?.events.length).toBeGreaterThan(0)
  })

  it('has a wrong worker for each row', () => {
    expect(WRONG.map(({ row }) => row)).toEqual(ROWS.map(({ id }) => id))
  })
})
