/**
 * Defines the paired rows: what both operators are compared in, and the gates. A figure is the median of the rounds. A
 * ratio is the median of the ratios within each round, so that a slow minute affects both sides.
 */
import { format, median, ratioOf } from '../report.mjs'
import { CONTENDERS } from './contenders.mjs'

const [OURS, THEIRS] = Object.keys(CONTENDERS)
/** The count from which memory is compared; with fewer, it has a fixed bound. */
const LARGE = 10_000

const row = (title, part, unit, of, gate = {}) => ({ title, part, unit, of, ...gate })
const percentiles = (title, part, field, ratio) =>
  ['p50', 'p99'].map((share) => row(`${title}, ${share}`, part, 'ms', (figures) => figures[field][share], { ratio }))

/** `ratio`: at most this multiple of the other's. `atMost`: a fixed bound. `least`, `below`: only for these counts. */
const ROWS = [
  row('cold start: all are Ready', 'start', 's', (each) => each.readySeconds, { ratio: 1 }),
  row('cold start: status writes', 'start', '', (each) => each.statusWrites),
  row('cold start: status writes', 'start', '/s', (each) => each.statusWritesPerSecond),
  row('cold start: CPU time of the operator', 'start', 's', (each) => each.operatorCpuSeconds, { ratio: 1.5 }),
  row('cold start: CPU time of the API server', 'start', 's', (each) => each.apiServerCpuSeconds, { ratio: 1 }),
  ...percentiles('edit → PATCH at the master, 20 edits/s', 'edits', 'patchMs', 1),
  ...percentiles('edit → status says Synced, 20 edits/s', 'edits', 'syncedMs', 1),
  ...percentiles('edit → Ready, 20 edits/s', 'edits', 'readyMs', 0.25),
  row('CPU time of the operator per edit', 'edits', 'ms', (each) => each.operatorCpuMs, { ratio: 1.5 }),
  row('CPU time of the API server per edit', 'edits', 'ms', (each) => each.apiServerCpuMs),
  ...percentiles('edit → PATCH in the pass after a restart, 25 edits/s', 'pass', 'patchMs', 1),
  ...percentiles('edit → PATCH in a restart burst, 150 edits/s', 'burst', 'patchMs', 1),
  row('warm restart: start of the process → first is checked', 'restart', 's', (each) => each.firstSeconds),
  row('warm restart: start of the process → all are checked', 'restart', 's', (each) => each.seconds, { ratio: 1 }),
  row('warm restart: GETs at the master', 'restart', '', (each) => each.reads, { atMost: 50 }),
  row('warm restart: PATCHes at the master', 'restart', '', (each) => each.patches, { atMost: 0 }),
  row('warm restart: status writes', 'restart', '', (each) => each.statusWrites, { atMost: 0 }),
  ...percentiles('foreign edit at the master → reverted', 'foreign', 'revertedMs', 0.2),
  row('at rest: requests to the master', 'rest', '/s', (each) => each.requestsPerSecond, { ratio: 0.1 }),
  row('at rest: CPU of the operator', 'rest', '% of one', (each) => each.cpuPercent),
  row('at rest: resident memory', 'rest', 'MiB', (each) => each.rssMib, { atMost: 90, below: LARGE }),
  row('at rest: resident memory', 'rest', 'MiB', (each) => each.rssMib, { ratio: 1.2, least: LARGE }),
]

/** @param figures By part and contender, the figures of each round. @returns `met`: null without a gate. */
export function pairedVerdictsOf({ count, figures }) {
  return ROWS.filter(({ least = 0, below = Infinity }) => count >= least && count < below).map((each) => {
    const rounds = figures[each.part]
    if (rounds === undefined) return { ...each, met: undefined }
    const [ours, theirs] = [OURS, THEIRS].map((name) => rounds[name].map((round) => ({ value: each.of(round) })))
    const value = median(ours.map((round) => round.value))
    const ratio = ratioOf(ours, theirs)
    return {
      ...each,
      value,
      other: median(theirs.map((round) => round.value)),
      found: ratio,
      ...gateOf(each, value, ratio),
    }
  })
}

function gateOf({ ratio, atMost }, value, found) {
  if (ratio !== undefined) return { gate: `≤ ${format(ratio)} ×`, met: found <= ratio }
  if (atMost !== undefined) return { gate: `≤ ${format(atMost)}`, met: value <= atMost }
  return { gate: '', met: null }
}

const WORDS = new Map([
  [true, 'met'],
  [false, 'MISSED'],
  [null, ''],
  [undefined, 'not measured'],
])
const withUnit = (value, unit) =>
  value === undefined ? '' : `${format(value)}${unit.startsWith('/') ? unit : ` ${unit}`}`.trim()

export const pairedTableOf = (verdicts) => [
  ['what', ...Object.values(CONTENDERS).map(({ title }) => title), 'ratio', 'gate', ''],
  ...verdicts.map(({ title, unit, value, other, found, gate, met }) => [
    title,
    withUnit(value, unit),
    withUnit(other, unit),
    found === undefined ? '' : format(found),
    gate ?? '',
    WORDS.get(met),
  ]),
]
