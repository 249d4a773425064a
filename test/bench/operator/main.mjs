#!/usr/bin/env node
// Measures the operator with a real kube-apiserver, a real master and simulated workers, first alone, then alternately
// with an operator that is written with controller-runtime, and checks the gates.
// Usage: make bench-operator ARGS="…", or node test/bench/operator/main.mjs
//   [--crs 1000] [--rounds 5] [--outage-seconds 600] [--only PHASE,…] [--profile DIR] [--set] [--out FILE]
// Exit: 0 measured and every gate held; 1 a gate was missed or something failed; 2 wrong arguments.
import { existsSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem, type } from 'node:os'
import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { programPath } from '../../operator/programs.ts'
import { nowMs } from '../recorder.mjs'
import { alignedText, format } from '../report.mjs'
import { buildBaseline } from './contenders.mjs'
import { measurePaired, PAIRED } from './paired.mjs'
import { pairedTableOf, pairedVerdictsOf } from './paired-rows.mjs'
import { PHASES, picker } from './phases.mjs'
import { measureSet } from './set.mjs'
import { stampOf } from '../stamp.mjs'
import { store, storePaired } from './stored.mjs'
import { loadTableOf, tableOf, verdictsOf } from './verdicts.mjs'
import { Environment } from './environment.mjs'

const HELP = `Measures the operator with a real kube-apiserver, a real master and simulated workers, first alone, then
alternately with an operator that is written with controller-runtime.

  --crs N              FleetWorkers, and as many workers (1000); RESULTS.md and results.json get the paired rows of 1000
                       and 10000, and the other phases of 10000; they keep what was not run, and what got worse by half
                       is printed
  --rounds N           turns of each operator for the paired rows (5)
  --outage-seconds N   how long the master is unavailable (600)
  --only PHASE,…       phases of the operator alone, after its cold start: ${Object.keys(PHASES).slice(1).join(', ')}
                       steady waits for the first heartbeats, a tenth of a second for each FleetWorker; quiet does not,
                       and measures the same but for them, whose rate 1000 show as well as 10000
                       paired rows, after the cold start of each: paired, which is all of them, or some of
                       ${PAIRED.slice(1).join(', ')}
  --profile DIR        a CPU profile of each operator that ends in order
  --set                in place of all this: one FleetWorkerSet for --crs workers; SET.md gets the result of 10000
  --out FILE           the result as JSON
`
const PROGRAMS = ['etcd', 'kube-apiserver', 'kubectl']
const FULL = 10_000
/** The numbers of FleetWorkers whose results are recorded. */
const RECORDED_COUNTS = [1_000, FULL]
/** File descriptors in addition to one per worker. */
const FILES_BESIDE = 200
const say = (text) => void process.stdout.write(`${text}\n`)

function settings() {
  const { values } = parseArgs({
    options: {
      crs: { type: 'string', default: '1000' },
      rounds: { type: 'string', default: '5' },
      'outage-seconds': { type: 'string', default: '600' },
      only: { type: 'string' },
      profile: { type: 'string' },
      set: { type: 'boolean', default: false },
      out: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  const known = [...Object.keys(PHASES), ...PAIRED]
  const wanted = values.only?.split(',').flatMap((name) => (name === 'paired' ? PAIRED : [name])) ?? known
  const unknown = wanted.filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw new TypeError(`--only ${unknown.join(',')}: no such phase; known: ${[...known, 'paired'].join(', ')}`)
  return {
    ...values,
    crs: whole(values, 'crs', 100, FULL),
    rounds: whole(values, 'rounds', 1, 20),
    'outage-seconds': whole(values, 'outage-seconds', 1, 86_400),
    phases: withFirst(Object.keys(PHASES), wanted),
    paired: withFirst(PAIRED, wanted),
  }
}

/** The wanted ones of `names`, and the first, on which they depend; nothing if none is wanted. */
function withFirst(names, wanted) {
  const found = names.filter((name) => wanted.includes(name))
  return found.length === 0 || found[0] === names[0] ? found : [names[0], ...found]
}

function whole(values, name, min, max) {
  const value = Number(values[name])
  if (!Number.isInteger(value) || value < min || value > max)
    throw new TypeError(`--${name} ${values[name]}: a whole number from ${min} to ${max}`)
  return value
}

/** @throws {Error} with advice. */
function checkMachine(count) {
  const absent = PROGRAMS.filter((name) => programPath(name) === undefined)
  if (absent.length > 0) throw new Error(`${absent.join(', ')}: not here; run make tools (15 minutes, once)`)
  if (!existsSync('dist/cmd/muster.js'))
    throw new Error('dist/ is not built: run make bench-operator, or npm run build first')
  const files = Number(execFileSync('bash', ['-c', 'ulimit -n'], { encoding: 'utf8' }).replace('unlimited', 'Infinity'))
  if (files < count + FILES_BESIDE)
    throw new Error(
      `a process may open ${files} files here, ${count + FILES_BESIDE} are needed: ulimit -n ${count + FILES_BESIDE}`,
    )
}

/** Describes the machine without host or user names. */
function machineOf() {
  const versionOf = (name) =>
    /v?\d+\.\d+\.\d+/.exec(execFileSync(programPath(name), ['--version'], { encoding: 'utf8' }))[0]
  return [
    `${availableParallelism()} processors, ${cpus()[0].model.trim()}, ` +
      `${Math.round(totalmem() / 2 ** 30)} GiB, ${type()} ${release().split('.', 2).join('.')}`,
    `Node ${process.version}, etcd ${versionOf('etcd')}, kube-apiserver ${versionOf('kube-apiserver')}`,
  ]
}

/** Runs a phase, and records its CPU time by process. */
async function measure(name, environment, run, result) {
  await run.operator?.loop()
  const [beganMs, before] = [nowMs(), environment.cpu()]
  result.figures[name] = await PHASES[name]({ environment, run, options: result.options })
  const after = environment.cpu()
  const ms = nowMs() - beganMs
  result.loads[name] = {
    seconds: ms / 1_000,
    share: Object.fromEntries(Object.keys(after).map((each) => [each, (after[each] - before[each]) / ms])),
  }
  result.loops[name] = await run.operator.loop()
  result.runs[name] = result.stamp
  const rounded = (_, value) => (typeof value === 'number' ? Number(value.toPrecision(4)) : value)
  say(`${name}: ${JSON.stringify(result.figures[name], rounded)}`)
}

async function measureAll(options) {
  const result = {
    options,
    machine: machineOf(),
    stamp: stampOf(),
    figures: {},
    loads: {},
    loops: {},
    runs: {},
    paired: {},
  }
  say(result.machine.join('\n'))
  const environment = new Environment({ count: options.crs, profiles: options.profile })
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => void environment.end().finally(() => process.exit(1)))
  try {
    const beganMs = nowMs()
    await environment.start()
    say(`${format(options.crs)} FleetWorkers and workers are there after ${Math.round((nowMs() - beganMs) / 1_000)} s`)
    const run = { pick: picker(options.crs) }
    for (const name of options.phases) await measure(name, environment, run, result)
    await run.operator?.stop()
    if (options.paired.length > 0)
      result.paired = await measurePaired({ environment, wanted: options.paired, rounds: options.rounds, say })
  } finally {
    await environment.end()
  }
  return {
    ...result,
    verdicts: options.phases.length === 0 ? [] : verdictsOf(result),
    pairedVerdicts: options.paired.length === 0 ? [] : pairedVerdictsOf({ count: options.crs, figures: result.paired }),
  }
}

async function main() {
  const options = settings()
  if (options.help) return say(HELP)
  checkMachine(options.crs)
  if (options.set) return ofSet(options)
  if (options.paired.length > 0) buildBaseline()
  const beganMs = nowMs()
  const result = await measureAll(options)
  report(result)
  say(`\n${Math.round((nowMs() - beganMs) / 1_000)} s in all`)
  write(result)
  const missed = [...result.verdicts, ...result.pairedVerdicts].filter(({ met }) => met === false)
  if (missed.length > 0) say(`missed: ${missed.map(({ title }) => title).join('; ')}`)
  process.exitCode = missed.length === 0 ? 0 : 1
}

async function ofSet({ crs: count, profile: profiles }) {
  const missed = (await measureSet({ count, profiles, say })).filter(({ met }) => met === false)
  if (missed.length > 0) say(`missed: ${missed.map(({ title }) => title).join('; ')}`)
  process.exitCode = missed.length === 0 ? 0 : 1
}

function report(result) {
  const { verdicts, pairedVerdicts, options } = result
  if (verdicts.length > 0)
    say(
      `\n${alignedText(tableOf(verdicts))}\n\n` +
        `Shares of one processor, by phase\n${alignedText(loadTableOf(result))}`,
    )
  if (pairedVerdicts.length > 0)
    say(`\nAlternately; rounds: ${options.rounds}\n${alignedText(pairedTableOf(pairedVerdicts))}`)
}

function write(result) {
  const { options } = result
  if (options.out !== undefined) writeFileSync(options.out, `${JSON.stringify(result, null, 1)}\n`)
  if (!RECORDED_COUNTS.includes(options.crs)) return
  const worse = [
    ...(options.crs === FULL && options.phases.length > 0 ? store(result) : []),
    ...(options.paired.length > 0 ? storePaired(result) : []),
  ]
  for (const each of worse) say(`worse than the stored result: ${each}`)
  say('RESULTS.md and results.json are written')
}

// For promises that are still pending when another one fails first; that failure is reported.
process.on('unhandledRejection', () => {})
try {
  await main()
} catch (error) {
  process.stderr.write(`error: ${error.message}\n`)
  process.exitCode = error instanceof TypeError || error.code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1
}
process.exit() // Resources that a failure left open.
