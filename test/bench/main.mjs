#!/usr/bin/env node
// Measures Muster, its peers and the limits of the machine in one run.
// Usage: make bench ARGS="…", or node test/bench/main.mjs
//   [--only ROW,…|storage|service] [--rounds 5] [--scale 1] [--before DIR] [--list]
// Exit: 0 every gate held; 1 a gate was missed, a delivery was not exact, or something failed; 2 wrong arguments.
//
// A gate is a ratio within this run, or a count; an aim is an absolute figure and does not fail the run. A run with
// three rounds or more and scale 1 replaces its rows in RESULTS.md.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, cpus, release, tmpdir, totalmem, type } from 'node:os'
import { execFileSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { alignedText, COSTS, costTableOf, format, isSound, summaryOf, tableOf } from './report.mjs'
import { calm, createBench, runRow } from './run.mjs'
import { rows as serviceRows } from './service/index.mjs'
import { rows as storageRows } from './storage/index.mjs'
import { diskRates } from './storage/limits.mjs'
import { stampOf } from './stamp.mjs'
import { store } from './stored.mjs'
import { endStores, postgresVersion } from './stores.mjs'

const HELP = `Measures Muster beside its peers and beside what the machine can do. Takes minutes, on an idle machine.

  --only ID,…     these rows, or a level: storage, service
  --rounds N      each subject so often, interleaved (5)
  --scale X       shrinks all counts, for a quick look (1)
  --before DIR    the earlier version for the rows before-…: a checkout with its packages (the previous release)
  --list          the rows, without running them
`
const ROUNDS = 5
const ROUNDS_TO_STORE = 3
const PEERS = ['bullmq', 'bee-queue', 'graphile-worker', 'pg-boss']
const ALL = [...storageRows, ...serviceRows]

const say = (text) => void process.stdout.write(`${text}\n`)

function settings() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      rounds: { type: 'string', default: `${ROUNDS}` },
      scale: { type: 'string', default: '1' },
      before: { type: 'string' },
      list: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  const [rounds, scale, only] = [Number(values.rounds), Number(values.scale), values.only?.split(',')]
  if (!Number.isInteger(rounds) || rounds < 1) throw new TypeError(`--rounds ${values.rounds}: a whole number from 1`)
  if (!(scale > 0)) throw new TypeError(`--scale ${values.scale}: a number above 0`)
  const unknown = only?.filter((name) => !ALL.some(({ id, level }) => name === id || name === level)) ?? []
  if (unknown.length > 0)
    throw new TypeError(
      `--only ${unknown.join(',')}: no such row; known: storage, service, ${ALL.map(({ id }) => id).join(', ')}`,
    )
  const rows = only === undefined ? ALL : ALL.filter(({ id, level }) => only.includes(id) || only.includes(level))
  return { ...values, rounds, scale, rows, isStored: rounds >= ROUNDS_TO_STORE && scale === 1 }
}

const versionOf = (name) =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'node_modules', name, 'package.json'), 'utf8')).version

/** Describes the machine without host or user names. */
function machineOf(directory) {
  const redis = /v=([\d.]+)/.exec(execFileSync('redis-server', ['--version'], { encoding: 'utf8' }))?.[1]
  const { bytesPerSecond, flushesPerSecond } = diskRates(directory)
  return [
    `${availableParallelism()} processors, ${cpus()[0].model.trim()}, ` +
      `${Math.round(totalmem() / 2 ** 30)} GiB, ${type()} ${release().split('.', 2).join('.')}; ` +
      'stores, measuring program and what it starts share them, unpinned',
    `disk: ${format(bytesPerSecond / 2 ** 20)} MiB/s written in sequence, ` +
      `${format(flushesPerSecond)} flushes of 4 KiB a second`,
    `Node ${process.version}, Redis ${redis}, PostgreSQL ${postgresVersion() ?? 'none'}, ` +
      PEERS.map((name) => `${name} ${versionOf(name)}`).join(', '),
    'rounds are interleaved; medians with their range, ratios within a round',
  ]
}

/** Prints one line during the run. */
function progress(round, name, figures) {
  if (figures.value === undefined)
    return say(`  round ${round}  ${name.padEnd(60)} ${Object.entries(figures)[0].join(': ')}`)
  const costs = Object.entries(COSTS)
    .filter(([field]) => Number.isFinite(figures[field]))
    .map(([field, label]) => `${label} ${format(figures[field])}`)
  say(`  round ${round}  ${name.padEnd(60)} ${format(figures.value).padStart(10)}   ${costs.join(', ')}`)
}

async function measureAll(rows, options) {
  const benchOf = createBench(options)
  const summaries = []
  for (const row of rows) {
    say(`\n${row.id}: ${row.title} (${row.unit})\n  ${row.note}`)
    summaries.push(summaryOf(await runRow(row, { benchOf, rounds: options.rounds, onFigures: progress })))
  }
  return summaries
}

const calmness = () =>
  `${calm.restless} of ${calm.measured} measurements began while the machine was more than 10 % slower than at its best`

async function main() {
  const { rounds, scale, rows, isStored, before, help, list } = settings()
  if (help) return say(HELP)
  if (list) return say(rows.map(({ id, level, title }) => `${id.padEnd(24)} ${level.padEnd(8)} ${title}`).join('\n'))
  const directory = mkdtempSync(join(tmpdir(), 'muster-bench-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  const [began, stamp] = [performance.now(), stampOf()]
  try {
    const machine = machineOf(directory)
    say(machine.join('\n'))
    const summaries = await measureAll(rows, { scale, directory, rounds, before: before && resolve(before) })
    say(`\n${alignedText(tableOf(summaries))}\n\nCosts per item\n${alignedText(costTableOf(summaries))}`)
    say(`\n${calmness()}; ${Math.round((performance.now() - began) / 1_000)} s in all`)
    if (isStored) {
      store({
        machine,
        measured: { ...stamp, rounds, calmness: calmness() },
        summaries,
        known: ALL.map(({ id }) => id),
      })
      say('RESULTS.md has the new figures of these rows')
    } else say(`RESULTS.md stays as it is: it takes runs of ${ROUNDS_TO_STORE} rounds or more with --scale 1`)
    const broken = summaries.filter((summary) => !isSound(summary))
    if (broken.length > 0) say(`missed: ${broken.map(({ row }) => row.id).join(', ')}`)
    process.exitCode = broken.length === 0 ? 0 : 1
  } finally {
    await endStores()
  }
}

process.once('SIGINT', () => void endStores().finally(() => process.exit(130)))
try {
  await main()
} catch (error) {
  process.stderr.write(`error: ${error.message}\n`)
  process.exitCode = error instanceof TypeError || error.code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1
}
process.exit() // A subject that was abandoned may still have open sockets.
