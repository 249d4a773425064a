/**
 * Runs a fleet for hours under load and faults, and measures whether anything grows:
 *
 *   node test/soak/main.ts --minutes 120 --tasks 50 --outputs 100 --workers 40
 *   node test/soak/main.ts --judge FOLDER     judges the samples of a run again
 *   node test/soak/main.ts --control FILE.json --until listeners     ends when this bound is exceeded
 *
 * RECORD=1 adds the run to test/reliability. Exit: 0 every bound held, 1 one did not. README.md beside this file lists
 * the bounds.
 */
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { recordRun } from '../kit/record-run.ts'
import { judgeSamples, type Row, type SoakSample } from './judge.ts'
import { SoakRun, type SoakOptions } from './run.ts'

const MINUTE_MS = 60_000

const { values: args } = parseArgs({
  options: {
    minutes: { type: 'string', default: '480' },
    store: { type: 'string', default: 'redis' },
    workers: { type: 'string', default: '200' },
    tasks: { type: 'string', default: '500' },
    outputs: { type: 'string', default: '2000' },
    'kill-every': { type: 'string', default: '20' },
    'failover-every': { type: 'string', default: '60' },
    'warm-up': { type: 'string', default: '30' },
    'sample-seconds': { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    control: { type: 'string' },
    until: { type: 'string' },
    folder: { type: 'string' },
    judge: { type: 'string' },
  },
})

const number = (name: string, text: string): number => {
  const value = Number(text)
  if (text === '' || !(value >= 0)) throw new Error(`--${name} is ${JSON.stringify(text)}; it must be a number`)
  return value
}
const minutes = number('minutes', args.minutes)
const warmUpMs = number('warm-up', args['warm-up']) * MINUTE_MS
/** A life is judged when it has lasted as long again after its warm-up, or a third of a short run. */
const bounds = { warmUpMs, leastMs: Math.min(warmUpMs, (minutes / 3) * MINUTE_MS) }
const print = (line: string): void => void process.stdout.write(`${line}\n`)

const optionsOf = (folder: string): SoakOptions => ({
  folder,
  store: args.store === 'sqlite' ? 'sqlite' : 'redis',
  workers: number('workers', args.workers),
  tasksPerSecond: number('tasks', args.tasks),
  outputsPerSecond: number('outputs', args.outputs),
  runMs: minutes * MINUTE_MS,
  sampleMs: number('sample-seconds', args['sample-seconds']) * 1_000,
  warmUpMs,
  killMs: number('kill-every', args['kill-every']) * MINUTE_MS,
  failoverMs: number('failover-every', args['failover-every']) * MINUTE_MS,
  seed: number('seed', args.seed),
  control: args.control === undefined ? undefined : resolve(args.control),
})

function printRows(rows: readonly Row[]): void {
  const width = Math.max(...rows.map(({ what }) => what.length))
  for (const { what, measured, bound, verdict } of rows) {
    const mark = verdict === 'broken' ? 'BROKEN' : verdict
    print(`${mark.padEnd(10)}  ${what.padEnd(width)}  ${measured} (bound ${bound})`)
  }
}

const zero = (what: string, found: readonly string[]): Row => ({
  what,
  measured: found.length === 0 ? '0' : `${found.length}, first: ${found[0]}`,
  bound: '0',
  verdict: found.length === 0 ? 'held' : 'broken',
})

/** The broken bounds that end a run with --until. */
const brokenUntil = (samples: readonly SoakSample[]): readonly Row[] =>
  judgeSamples(samples, bounds).filter(
    ({ what, verdict }) => verdict === 'broken' && (args.until ?? '') !== '' && what.endsWith(`: ${args.until}`),
  )

async function soak(): Promise<boolean> {
  const folder = args.folder ?? mkdtempSync(join(tmpdir(), 'muster-soak-'))
  mkdirSync(folder, { recursive: true })
  const rates = `${args.workers} workers, ${args.tasks} tasks/s, ${args.outputs} outputs/s`
  print(`soak: ${minutes} min, ${args.store}, ${rates}`)
  print(`soak: seed ${args.seed}, samples and logs in ${folder}`)
  const run = await SoakRun.start(optionsOf(folder))
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void run.stop().finally(() => process.exit(1)))
  try {
    await run.loop((samples) => brokenUntil(samples).length > 0)
    if (brokenUntil(run.samples).length === 0) await run.end()
  } finally {
    await run.stop()
  }
  const { counts, windows, violations, errors } = run.load
  const rows = [
    ...judgeSamples(run.samples, bounds),
    zero(`violations in ${windows.checkedTasks} tasks and ${windows.callCount} calls`, violations),
    zero('responses with an error other than 503', errors),
    zero('processes that ended by themselves', run.crashes),
  ]
  printRows(rows)
  const { errorLines } = run
  print(`log lines of level error: ${[errorLines.length, ...errorLines.slice(0, 5)].join('\n  ')}`)
  const broken = rows.filter(({ verdict }) => verdict === 'broken')
  recordRun({
    layer: 'soak',
    command: `node test/soak/main.ts ${process.argv.slice(2).join(' ')}`,
    count: minutes,
    counted: `minutes of soak on ${args.store}`,
    seedBase: number('seed', args.seed),
    mustHappen: run.faults,
    found: broken.length + Math.max(0, violations.length - 1),
    figures: figuresOf(rows, { rates, 'tasks checked': windows.checkedTasks, 'machine stalled': counts.stalls }),
  })
  return broken.length === 0
}

type Figures = Readonly<Record<string, number | string>>

const figuresOf = (rows: readonly Row[], figures: Figures): Figures => ({
  ...figures,
  ...Object.fromEntries(
    rows
      .filter(({ what, verdict }) => verdict === 'broken' || /: resident memory$|event loop/.test(what))
      .map(({ what, measured }) => [what, measured]),
  ),
  'not judged': rows.filter(({ verdict }) => verdict === 'not judged').length,
})

function judgeAgain(folder: string): boolean {
  const lines = readFileSync(join(folder, 'samples.jsonl'), 'utf8').trim().split('\n')
  const rows = judgeSamples(
    lines.map((line) => JSON.parse(line) as SoakSample),
    bounds,
  )
  printRows(rows)
  return rows.every(({ verdict }) => verdict !== 'broken')
}

const isHeld = args.judge === undefined ? await soak() : judgeAgain(args.judge)
process.exit(isHeld ? 0 : 1)
