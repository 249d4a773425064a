/**
 * Measures two operators alternately, in rounds. In its turn, each gets new FleetWorkers at the same API server, and a
 * new master and new workers: both do the same work from the same state, and minutes apart. They never run
 * simultaneously. The order of the two changes with each round.
 */
import { until } from '../processes.mjs'
import { nowMs } from '../recorder.mjs'
import { CONTENDERS } from './contenders.mjs'
import { picker, rateOf } from './phases.mjs'
import { distribution } from './verdicts.mjs'
import { holds } from './watchers.mjs'

const MS_PER_SECOND = 1_000
const MIB = 2 ** 20
/** After the objects were created, and before a measurement that other writes would disturb. */
const SETTLE_MS = 3_000
const EDITS = { perSecond: 20, count: 200 }
/** Of the time after a restart, both operators get the same window; with more objects, the pass takes longer. */
const PASS_EDITS = { perSecond: 25, least: 100, most: 400, objectsPerEdit: 25 }
const BURST_EDITS = { perSecond: 150, count: 450 }
const FOREIGN_EDITS = { perSecond: 10, count: 50 }
const REST_MS = 30_000
const IDLE_MS = 5_000
const QUIET_AFTER_PASS_MS = 5_000
/** The parts that wait for the poll of the baseline are measured only in the first rounds. */
const LONG_ROUNDS = 2

const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms))
const secondsSince = (beganMs) => (nowMs() - beganMs) / MS_PER_SECOND
const patient = (everyMs) => ({ withinMs: 900_000, everyMs })
const sum = (counts) => [...counts.values()].reduce((total, each) => total + each, 0)
const allReady = ({ watch, count }) => watch.count(holds('Ready')) === count

/** CPU time so far of the operator and the API server, in milliseconds. */
const cpuOf = ({ environment, operator }) => ({
  operator: operator.cpuMs,
  apiServer: environment.cpu()['kube-apiserver'],
})

/** Small runs have fewer objects than edits. Each object is edited at most once per turn. */
const atMost = (count, { count: objects }, share) => Math.min(count, Math.floor(objects * share))

/** First start of the operator: no status, each config at its defaults. Waits until all are Ready. */
async function start(turn) {
  const { environment, contender } = turn
  const apiServerMs = environment.cpu()['kube-apiserver']
  const beganMs = nowMs()
  turn.operator = await contender.start(environment)
  await until('all are ready', () => allReady(environment), patient(100))
  const seconds = secondsSince(beganMs)
  const cpu = cpuOf(turn)
  const statusWrites = sum(environment.watch.statusWrites)
  return {
    readySeconds: seconds,
    statusWrites,
    statusWritesPerSecond: statusWrites / seconds,
    operatorCpuSeconds: cpu.operator / MS_PER_SECOND,
    apiServerCpuSeconds: (cpu.apiServer - apiServerMs) / MS_PER_SECOND,
  }
}

/** Edits one FleetWorker, and measures until the PATCH is on its way to the master, and until the status reports it. */
async function edited({ environment, pick }) {
  const { passage, watch } = environment
  const name = pick()
  const generation = watch.seen.get(name).generation + 1
  const reports = (type) =>
    watch.when(name, `reports ${type}`, (each) => each.generation === generation && holds(type)(each))
  const beganMs = nowMs()
  const seen = [passage.patched(name), reports('Synced'), reports('Ready')]
  await environment.edit(name, { config: { rate: rateOf() } })
  const [patchMs, syncedMs, readyMs] = (await Promise.all(seen)).map((atMs) => atMs - beganMs)
  return { patchMs, syncedMs, readyMs }
}

/** Calls `run` at a fixed rate, whether or not earlier calls have ended. @returns all results. */
async function atRate({ perSecond, count }, run) {
  const beganMs = nowMs()
  const running = []
  for (let n = 0; n < count; n += 1) {
    await sleep(Math.max(0, beganMs + (n * MS_PER_SECOND) / perSecond - nowMs()))
    running.push(run())
  }
  return Promise.all(running)
}

const latenciesOf = (done) =>
  Object.fromEntries(
    ['patchMs', 'syncedMs', 'readyMs'].map((field) => [field, distribution(done.map((each) => each[field]))]),
  )

/** Edits at a steady rate. The CPU time of an edit is what is used in addition to the idle seconds before. */
async function edits(turn) {
  const { environment } = turn
  await sleep(SETTLE_MS)
  const idle = { atMs: nowMs(), cpu: cpuOf(turn) }
  await sleep(IDLE_MS)
  const began = { atMs: nowMs(), cpu: cpuOf(turn) }
  const done = await atRate({ ...EDITS, count: atMost(EDITS.count, environment, 0.2) }, () => edited(turn))
  const ended = { atMs: nowMs(), cpu: cpuOf(turn) }
  const perEdit = (field) => {
    const idleShare = (began.cpu[field] - idle.cpu[field]) / (began.atMs - idle.atMs)
    return (ended.cpu[field] - began.cpu[field] - idleShare * (ended.atMs - began.atMs)) / done.length
  }
  return { ...latenciesOf(done), operatorCpuMs: perEdit('operator'), apiServerCpuMs: perEdit('apiServer') }
}

/** No edits. */
async function rest(turn) {
  const { environment, operator } = turn
  await sleep(SETTLE_MS)
  environment.passage.reset()
  const [beganMs, before] = [nowMs(), cpuOf(turn)]
  let rss = 0
  while (nowMs() - beganMs < REST_MS) {
    rss = Math.max(rss, operator.rssBytes)
    await sleep(500)
  }
  const ms = nowMs() - beganMs
  return {
    requestsPerSecond: sum(environment.passage.requests) / (ms / MS_PER_SECOND),
    rssMib: rss / MIB,
    cpuPercent: ((cpuOf(turn).operator - before.operator) / ms) * 100,
  }
}

/** Changes configs at the master, as a dashboard user does. */
async function foreign({ environment, pick }) {
  const revert = async () => {
    const name = pick()
    const beganMs = nowMs()
    const reverted = environment.passage.patched(name)
    await environment.editAtMaster(name, { rate: rateOf() })
    return (await reverted) - beganMs
  }
  const count = atMost(FOREIGN_EDITS.count, environment, 0.05)
  return { revertedMs: distribution(await atRate({ ...FOREIGN_EDITS, count }, revert)) }
}

/** Ends the operator in order and starts it again. Resolves when the process is started. */
async function restarted(turn) {
  await until('all are ready', () => allReady(turn.environment), patient(100))
  await sleep(SETTLE_MS)
  await turn.operator.stop()
  turn.environment.watch.reset()
  turn.environment.passage.reset()
  const beganMs = nowMs()
  turn.operator = await turn.contender.start(turn.environment)
  return beganMs
}

const hasChecked = ({ contender, operator }, least) =>
  until(`${least} are checked`, async () => (await contender.checked(operator)) >= least, patient(20))

/** Restarts the operator when nothing has changed. */
async function restart(turn) {
  const { environment } = turn
  const { requests } = environment.passage
  const beganMs = await restarted(turn)
  await hasChecked(turn, 1)
  const firstSeconds = secondsSince(beganMs)
  await hasChecked(turn, environment.count)
  const seconds = secondsSince(beganMs)
  await sleep(QUIET_AFTER_PASS_MS)
  return {
    firstSeconds,
    seconds,
    reads: requests.get('GET') ?? 0,
    patches: requests.get('PATCH') ?? 0,
    statusWrites: sum(environment.watch.statusWrites),
  }
}

/** Edits at a steady rate, from the moment at which the pass after a restart begins. */
async function pass(turn) {
  const { perSecond, least, most, objectsPerEdit } = PASS_EDITS
  await restarted(turn)
  await hasChecked(turn, 1)
  const wanted = Math.min(most, Math.max(least, turn.environment.count / objectsPerEdit))
  const count = atMost(wanted, turn.environment, 0.1)
  return latenciesOf(await atRate({ perSecond, count }, () => edited(turn)))
}

/** Edits at a high rate, from the moment at which the process starts. */
async function burst(turn) {
  await restarted(turn)
  const count = atMost(BURST_EDITS.count, turn.environment, 0.45)
  return latenciesOf(await atRate({ ...BURST_EDITS, count }, () => edited(turn)))
}

/** In this order. */
const PARTS = { start, edits, rest, foreign, restart, pass, burst }
const LONG = new Set(['rest', 'foreign'])
const nameOfPart = (part) => `paired-${part}`
export const PAIRED = Object.keys(PARTS).map(nameOfPart)

async function takeTurn({ environment, contender, parts }, onFigures) {
  await environment.reset()
  await sleep(SETTLE_MS)
  const turn = { environment, contender, pick: picker(environment.count) }
  try {
    for (const part of parts) onFigures(part, await PARTS[part](turn))
  } finally {
    await turn.operator?.stop()
  }
}

/**
 * Measures in `rounds` rounds. @param wanted Names of PAIRED; the start is always measured.
 * @returns by part and contender, the figures of each round.
 */
export async function measurePaired({ environment, wanted, rounds, say }) {
  const figures = {}
  for (let round = 0; round < rounds; round += 1) {
    const parts = Object.keys(PARTS).filter(
      (part) => part === 'start' || (wanted.includes(nameOfPart(part)) && (round < LONG_ROUNDS || !LONG.has(part))),
    )
    const order = Object.keys(CONTENDERS)
    for (const name of round % 2 === 0 ? order : order.toReversed())
      await takeTurn({ environment, contender: CONTENDERS[name], parts }, (part, measured) => {
        ;((figures[part] ??= {})[name] ??= []).push(measured)
        say(`round ${round + 1}, ${part}, ${CONTENDERS[name].title}: ${JSON.stringify(measured, rounded)}`)
      })
  }
  return figures
}

const rounded = (_, value) => (typeof value === 'number' ? Number(value.toPrecision(4)) : value)
