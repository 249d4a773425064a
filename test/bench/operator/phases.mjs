/**
 * The phases of the measurement, in this order. Each phase begins and ends in a converged state, and returns its
 * figures. `run.operator` is the leader.
 */
import { cpuMs, until } from '../processes.mjs'
import { nowMs } from '../recorder.mjs'
import { nameOf } from './resources.mjs'
import { distribution } from './verdicts.mjs'
import { holds } from './watchers.mjs'

const MS_PER_SECOND = 1_000
const MIB = 2 ** 20
const EDITS = 200
const BUSY_EDIT_EVERY_MS = 50
const DASHBOARD_EDITS = 100
const DASHBOARDS = 8
const QUIET_MS = 15_000
const STEADY_MS = 60_000
/** No heartbeat is written earlier or more often. */
const PERIOD_MS = { least: 60_000, perResource: 100 }
const FAILOVERS = 3
/** Within this time, a leader has renewed its lease, and a standby has read it. */
const SETTLED_MS = 4_000

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const secondsSince = (beganMs) => (nowMs() - beganMs) / MS_PER_SECOND
const patient = { withinMs: 900_000, everyMs: 250 }
const sum = (counts) => [...counts.values()].reduce((total, each) => total + each, 0)
const most = (counts) => Math.max(0, ...counts.values())

/** Names to edit: each call returns another one, spread over types and pages, until all have been used. */
export function picker(count) {
  let at = 0
  return () => nameOf((at++ * 7_919) % count)
}

const inForce = ({ watch, count }) => watch.count((each) => holds('Synced')(each) && holds('Applied')(each)) === count
export const rateOf = () => 1_000 + Math.random()

/** First start of the operator: no status, no claim, each config at its defaults. */
async function cold({ environment, run }) {
  const { count, watch, feed } = environment
  const beganMs = nowMs()
  run.operator = await environment.startOperator()
  run.startedMs = beganMs
  await until('it runs', () => run.operator.isAlive(), patient)
  await run.operator.loop() // Loading the program is not counted.
  const seconds = async (what, isSo) => until(what, isSo, patient).then(() => secondsSince(beganMs))
  const [classifiedSeconds, statusesSeconds, inForceSeconds] = await Promise.all([
    seconds('all are judged', async () => (await run.operator.metric('svc_operator_judged')) >= count),
    seconds('all have a status', () => watch.count(({ observed }) => observed >= 0) === count),
    seconds('all are in force', () => inForce(environment)),
  ])
  return {
    classifiedSeconds,
    statusesSeconds,
    inForceSeconds,
    patches: feed.patches,
    statusWrites: sum(watch.statusWrites),
  }
}

/** Edits one FleetWorker, and measures both sides. */
async function edited({ environment, run }) {
  const { feed, watch } = environment
  const name = run.pick()
  const generation = watch.seen.get(name).generation + 1
  const beganMs = nowMs()
  const seen = [
    feed.patched(name, 'rate'),
    watch.when(
      name,
      'shows the edit as applied',
      (each) => each.generation === generation && holds('Synced')(each) && holds('Applied')(each),
    ),
  ]
  await environment.edit(name, { config: { rate: rateOf() } })
  const [patchedMs, appliedMs] = await Promise.all(seen)
  return { patchMs: patchedMs - beganMs, appliedMs: appliedMs - beganMs }
}

const ofEdits = (done) => ({
  patchMs: distribution(done.map(({ patchMs }) => patchMs)),
  appliedMs: distribution(done.map(({ appliedMs }) => appliedMs)),
})

/** Edits one after the other. */
async function edits(each) {
  const done = []
  for (let n = 0; n < EDITS; n += 1) done.push(await edited(each))
  return ofEdits(done)
}

/**
 * Changes every config at the master simultaneously, so that all have to be reverted. FleetWorkers are edited
 * meanwhile.
 */
async function pass({ environment, run }) {
  const { count, feed } = environment
  const beganMs = nowMs()
  const drifted = new Set(Array.from({ length: count }, (_, index) => nameOf(index)))
  feed.onPatch = ({ worker_id: name, changed }) => void (changed.includes('notes') && drifted.delete(name))
  let next = 0
  const changing = Promise.all(
    Array.from({ length: DASHBOARDS }, async () => {
      while (next < count) await environment.editAtMaster(nameOf(next++), { notes: 'changed by hand' })
    }),
  )
  const busy = []
  while (drifted.size > 0 && secondsSince(beganMs) < 600) {
    busy.push(edited({ environment, run }).catch((error) => error)) // Reported at the end.
    await sleep(BUSY_EDIT_EVERY_MS)
  }
  const revertedSeconds = secondsSince(beganMs)
  await changing
  if (drifted.size > 0) throw new Error(`${drifted.size} configs were not put back`)
  const done = await Promise.all(busy)
  const failed = done.find((each) => each instanceof Error)
  if (failed !== undefined) throw failed
  await until('all are in force', () => inForce(environment), patient)
  return { ...ofEdits(done), revertedSeconds, inForceSeconds: secondsSince(beganMs) }
}

/** Changes configs at the master one after the other. */
async function drift({ environment, run }) {
  const reverted = []
  for (let n = 0; n < DASHBOARD_EDITS; n += 1) {
    const name = run.pick()
    const beganMs = nowMs()
    const back = environment.feed.patched(name, 'rate')
    await environment.editAtMaster(name, { rate: rateOf() })
    reverted.push((await back) - beganMs)
  }
  return { revertedMs: distribution(reverted) }
}

/** A new operator checks everything, and nothing has changed. FleetWorkers are edited during its first pass. */
async function look({ environment, run }) {
  await run.operator.stop()
  run.operator = await environment.startOperator()
  run.startedMs = nowMs()
  await until('it runs', () => run.operator.isAlive(), { ...patient, everyMs: 25 })
  await run.operator.loop() // Loading the program is not counted.
  const judged = (least) => async () => (await run.operator.metric('svc_operator_judged')) >= least
  await until('it looks', judged(1), { ...patient, everyMs: 25 })
  const round = { isOver: false }
  const ended = until('all are judged', judged(environment.count), patient).then(() => void (round.isOver = true))
  const busy = []
  while (!round.isOver) {
    busy.push(edited({ environment, run }))
    await sleep(BUSY_EDIT_EVERY_MS)
  }
  await ended
  return ofEdits(await Promise.all(busy))
}

/** Restarts the operator when nothing has changed. */
async function restart({ environment, run }) {
  const { count, feed, watch } = environment
  await sleep(QUIET_MS) // All writes of the previous phases are done.
  await run.operator.stop()
  watch.reset()
  const before = feed.patches
  const beganMs = nowMs()
  run.operator = await environment.startOperator()
  run.startedMs = beganMs
  await until('it runs', () => run.operator.isAlive(), patient)
  await run.operator.loop()
  await until('all are judged again', async () => (await run.operator.metric('svc_operator_judged')) >= count, patient)
  const judgedSeconds = secondsSince(beganMs)
  await sleep(QUIET_MS)
  return {
    judgedSeconds,
    patches: feed.patches - before,
    statusWrites: sum(watch.statusWrites),
    requests: await run.operator.metric('rest_client_requests_total'),
  }
}

async function steadyFigures({ environment, run }) {
  const { operator } = run
  const { pid } = operator
  const read = async () => ({
    atMs: nowMs(),
    cpuMs: cpuMs(pid),
    heartbeats: await operator.metric('svc_operator_status_writes_total', 'kind="heartbeat"'),
    transitions: await operator.metric('svc_operator_status_writes_total', 'kind="transition"'),
    reads: await operator.metric('svc_operator_master_request_seconds_count', 'method="GET"'),
    patches: environment.feed.patches,
  })
  const first = await read()
  let rss = 0
  while (nowMs() - first.atMs < STEADY_MS) {
    rss = Math.max(rss, operator.rssBytes)
    await sleep(500)
  }
  const last = await read()
  const per = (field) => (last[field] - first[field]) / ((last.atMs - first.atMs) / MS_PER_SECOND)
  return {
    cpuPercent: per('cpuMs') / 10,
    rssMib: rss / MIB,
    heartbeatsPerSecond: per('heartbeats'),
    readsPerSecond: per('reads'),
    transitions: last.transitions - first.transitions,
    patches: last.patches - first.patches,
  }
}

/** Workers report, and nothing is written yet. */
const quiet = steadyFigures

/** After the first period, the statuses follow the reports of the workers. */
async function steady({ environment, run }) {
  const periodMs = Math.max(PERIOD_MS.least, PERIOD_MS.perResource * environment.count)
  await sleep(Math.max(0, run.startedMs + periodMs * 1.1 - nowMs()))
  return steadyFigures({ environment, run })
}

/** Makes the master unreachable. A FleetWorker is edited during the outage. */
async function outage({ environment, run, options }) {
  const { count, passage, watch, feed } = environment
  const seconds = options['outage-seconds']
  watch.reset()
  passage.shut()
  await sleep((seconds * MS_PER_SECOND) / 2)
  const name = run.pick()
  const patched = feed.patched(name, 'rate', seconds * MS_PER_SECOND + 120_000)
  await environment.edit(name, { config: { rate: rateOf() } })
  await sleep((seconds * MS_PER_SECOND) / 2)
  const outageFigures = {
    callsPerSecond: passage.refused / seconds,
    flipped: watch.readyFlips.size,
    flips: most(watch.readyFlips),
  }
  watch.reset()
  const backMs = nowMs()
  passage.open()
  const editSeconds = ((await patched) - backMs) / MS_PER_SECOND
  await until('all are ready again', () => watch.count(holds('Ready')) === count, patient)
  return {
    seconds,
    ...outageFigures,
    flipsBack: most(watch.readyFlips),
    editSeconds,
    readySeconds: secondsSince(backMs),
  }
}

/** Stops the leader with each signal while a warm standby runs. A FleetWorker is edited at that moment. */
async function failover({ environment, run }) {
  const seconds = { kill: [], stop: [] }
  for (const way of Array.from({ length: FAILOVERS }, () => ['kill', 'stop']).flat()) {
    const standby = await environment.startOperator()
    await until('the standby is ready', () => standby.isReady(), patient)
    await standby.loop() // Loading the program is not counted.
    await sleep(SETTLED_MS)
    const [name, beganMs] = [run.pick(), nowMs()]
    const ended = run.operator[way]()
    const patched = environment.feed.patched(name, 'rate')
    await environment.edit(name, { config: { rate: rateOf() } })
    seconds[way].push(((await patched) - beganMs) / MS_PER_SECOND)
    await ended
    run.operator = standby
  }
  return { killSeconds: distribution(seconds.kill), stopSeconds: distribution(seconds.stop) }
}

export const PHASES = { cold, edits, pass, look, drift, restart, quiet, steady, outage, failover }
