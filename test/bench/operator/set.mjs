/**
 * Measures one FleetWorkerSet for many workers, with a real kube-apiserver, a real master and simulated workers. Writes
 * SET.md for 10,000 workers.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FakeWorker } from '../service/fake-worker.mjs'
import { call, cpuMs, until } from '../processes.mjs'
import { nowMs } from '../recorder.mjs'
import { alignedText, format, markdown } from '../report.mjs'
import { Environment } from './environment.mjs'
import { memberOf, SET, TYPES, workerPath } from './resources.mjs'
import { stampOf } from '../stamp.mjs'
import { distribution, tableOf, verdictOf } from './verdicts.mjs'
import { holds } from './watchers.mjs'

const FULL = 10_000
const PAGE = join(import.meta.dirname, 'SET.md')
const QUIET_MS = 15_000
const STEADY_MS = 30_000
const SINGLE_EDITS = 100
const NEW_WORKERS = 50
/** Workers of a rollout that is aborted. */
const ROLLED_BACK = 1_000
const MIB = 2 ** 20
const patient = { withinMs: 600_000, everyMs: 50 }
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const secondsSince = (beganMs) => (nowMs() - beganMs) / 1_000

/** `below`: less than; `atMost`: not more than. */
const ROWS = [
  { title: 'first apply: all are acknowledged, and the status says so', unit: 's', field: 'firstSeconds', below: 30 },
  { title: 'first apply: bulk calls', unit: '', field: 'firstCalls', atMost: 25 },
  { title: 'edit of all: all are acknowledged, and the status says so', unit: 's', field: 'editSeconds', below: 30 },
  { title: 'edit of all: bulk calls', unit: '', field: 'editCalls', atMost: 25 },
  { title: 'edit of all: status writes', unit: '', field: 'editStatusWrites', atMost: 60 },
  { title: 'edit of all: CPU time of the operator', unit: 's', field: 'editCpuSeconds' },
  {
    title: 'rollout in four stages that bake 0 s: all are acknowledged, and the status says so',
    unit: 's',
    field: 'stagedSeconds',
    below: 30,
  },
  { title: 'rollout in four stages: bulk calls', unit: '', field: 'stagedCalls', atMost: 25 },
  { title: 'rollout in four stages: status writes', unit: '', field: 'stagedStatusWrites', atMost: 60 },
  {
    title: 'rollback of 1,000 workers: abort → all are back, and the status says so',
    unit: 's',
    field: 'rollbackSeconds',
    below: 5,
  },
  { title: 'foreign edit of one worker → reverted, p50', unit: 'ms', field: 'revertP50' },
  { title: 'foreign edit of one worker → reverted, p99', unit: 'ms', field: 'revertP99', below: 300 },
  {
    title: 'warm restart: start of the process → the set was looked at',
    unit: 's',
    field: 'classifiedSeconds',
    below: 5,
  },
  { title: 'warm restart: bulk calls', unit: '', field: 'restartCalls', atMost: 0 },
  { title: 'warm restart: status writes', unit: '', field: 'restartStatusWrites', atMost: 0 },
  { title: 'at rest: CPU of the operator', unit: '% of one', field: 'cpuPercent', below: 5 },
  { title: 'at rest: resident memory', unit: 'MiB', field: 'rssMib', below: 140 },
  { title: 'longest block of the event loop, its own processor time', unit: 'ms', field: 'loopMs', below: 50 },
  { title: 'new worker → configured, p99', unit: 'ms', field: 'newP99', below: 1_000 },
  { title: 'new worker → configured, p99, no operator runs', unit: 'ms', field: 'newAloneP99', below: 1_000 },
]

const isReady = ({ watch, count }) => {
  const set = watch.seen.get(SET)
  return set !== undefined && holds('Ready')(set) && set.workers?.acknowledged === count
}
const writesOf = ({ watch }) => watch.statusWrites.get(SET) ?? 0
const callsOf = (operator) => operator.metric('svc_operator_master_request_seconds_count', 'method="POST"')

async function first({ environment, run }) {
  const beganMs = nowMs()
  run.operator = await environment.startOperator()
  await until('it runs', () => run.operator.isAlive(), patient)
  await run.operator.loop() // Loading the program is not counted.
  await until('all are acknowledged', () => isReady(environment), patient)
  return { firstSeconds: secondsSince(beganMs), firstCalls: await callsOf(run.operator) }
}

async function edit({ environment, run }) {
  const [calls, cpu] = [await callsOf(run.operator), cpuMs(run.operator.pid)]
  environment.watch.reset()
  const beganMs = nowMs()
  await applied(environment, { config: { rate: 4_711 } })
  return {
    editSeconds: secondsSince(beganMs),
    editCpuSeconds: (cpuMs(run.operator.pid) - cpu) / 1_000,
    editCalls: (await callsOf(run.operator)) - calls,
    editStatusWrites: writesOf(environment),
  }
}

/** Waits until this spec is seen and all workers run it. */
async function applied(environment, spec) {
  const { generation } = environment.watch.seen.get(SET)
  await environment.edit(SET, spec)
  const isSeen = () => environment.watch.seen.get(SET).generation > generation
  await until('all are acknowledged', () => isSeen() && isReady(environment), patient)
}

const stagesOf = (...workers) => ({ stages: workers.map((each) => ({ workers: each, bakeSeconds: 0 })) })

async function staged({ environment, run }) {
  await applied(environment, { rollout: stagesOf(1, '10%', '50%') })
  const calls = await callsOf(run.operator)
  environment.watch.reset()
  const beganMs = nowMs()
  await applied(environment, { config: { rate: 4_712 } })
  return {
    stagedSeconds: secondsSince(beganMs),
    stagedCalls: (await callsOf(run.operator)) - calls,
    stagedStatusWrites: writesOf(environment),
  }
}

async function rollback({ environment }) {
  const { watch } = environment
  const rolloutOf = () => JSON.parse(watch.seen.get(SET).status).rollout
  await environment.edit(SET, { rollout: { stages: [{ workers: ROLLED_BACK, bakeSeconds: 600 }] } })
  await environment.edit(SET, { config: { rate: 4_713 } })
  await until('the first stage bakes', () => rolloutOf()?.phase === 'Baking', patient)
  const { revision, attempt } = rolloutOf()
  const beganMs = nowMs()
  await environment.annotate(SET, { 'muster.dev/abort': `${revision}/${attempt}` })
  await until('all are back', () => rolloutOf()?.phase === 'RolledBack', { ...patient, everyMs: 10 })
  const rollbackSeconds = secondsSince(beganMs)
  await applied(environment, { config: { rate: 4_712 }, rollout: stagesOf() })
  return { rollbackSeconds }
}

async function revert({ environment }) {
  const reverted = []
  for (let n = 0; n < SINGLE_EDITS; n += 1) {
    const name = memberOf((n * 7_919) % environment.count)
    const beganMs = nowMs()
    const back = environment.feed.patched(name, 'rate')
    await environment.editAtMaster(name, { rate: n })
    reverted.push((await back) - beganMs)
  }
  const { p50, p99 } = distribution(reverted)
  return { revertP50: p50, revertP99: p99 }
}

async function rest({ run }) {
  await sleep(QUIET_MS)
  const { operator } = run
  const [beganMs, cpu] = [nowMs(), cpuMs(operator.pid)]
  let rss = 0
  while (nowMs() - beganMs < STEADY_MS) {
    rss = Math.max(rss, operator.rssBytes)
    await sleep(500)
  }
  return { cpuPercent: (cpuMs(operator.pid) - cpu) / ((nowMs() - beganMs) / 100), rssMib: rss / MIB }
}

/** The look is complete when the operator has read the enrolment rules that it ends with. */
async function restart({ environment, run }) {
  const loop = await run.operator.loop() // Since the first apply.
  await run.operator.stop()
  environment.watch.reset()
  const beganMs = nowMs()
  run.operator = await environment.startOperator()
  const puts = () => run.operator.metric('svc_operator_master_request_seconds_count', 'method="PUT"')
  await until('it has looked', async () => (await puts()) > 0, patient)
  const classifiedSeconds = secondsSince(beganMs)
  await sleep(QUIET_MS)
  const restartCalls = await callsOf(run.operator)
  return { loopMs: loop.cpuMs, classifiedSeconds, restartCalls, restartStatusWrites: writesOf(environment) }
}

/** Registers new workers one after the other, and waits for the label of the set. */
async function newWorkers(environment, from) {
  const took = []
  for (let n = 0; n < NEW_WORKERS; n += 1) {
    const id = memberOf(from + n)
    const worker = new FakeWorker(environment.master.port, TYPES[0], id)
    const beganMs = nowMs()
    await worker.open()
    const isConfigured = async () =>
      (await call(environment.master.url, 'GET', workerPath(id))).config_revision !== null
    await until(`${id} is configured`, isConfigured, { withinMs: 60_000, everyMs: 5 })
    took.push(nowMs() - beganMs)
  }
  return distribution(took).p99
}

async function enrol({ environment, run }) {
  const newP99 = await newWorkers(environment, environment.count)
  await run.operator.stop()
  return { newP99, newAloneP99: await newWorkers(environment, environment.count + NEW_WORKERS) }
}

/** Measures everything once. @returns the verdicts. */
export async function measureSet({ count, profiles, say }) {
  const environment = new Environment({ count, profiles, hasSet: true })
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => void environment.end().finally(() => process.exit(1)))
  const [figures, run, stamp] = [{}, {}, stampOf()]
  try {
    await environment.start()
    say(`${format(count)} workers are there`)
    for (const phase of [first, edit, staged, rollback, revert, rest, restart, enrol]) {
      const found = await phase({ environment, run })
      Object.assign(figures, found)
      say(`${phase.name}: ${JSON.stringify(found)}`)
    }
  } finally {
    await environment.end()
  }
  const verdicts = ROWS.map((row) => verdictOf(row, figures[row.field]))
  say(`\n${alignedText(tableOf(verdicts))}`)
  if (count === FULL) writePage(verdicts, stamp)
  return verdicts
}

function writePage(verdicts, { date, commit, load }) {
  const page = readFileSync(PAGE, 'utf8')
  const conditions = page.slice(page.indexOf('## Conditions'))
  writeFileSync(
    PAGE,
    [
      '# One FleetWorkerSet, 10,000 workers',
      'Written by `make bench-operator ARGS="--set --crs 10000"`.',
      markdown(tableOf(verdicts)),
      `Measured ${date}, commit ${commit}, load before ${load.toFixed(2)}.`,
      conditions,
    ].join('\n\n'),
  )
}
