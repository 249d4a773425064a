/**
 * Defines the rows of the operator alone, and their gates. A missed gate fails the run.
 */
import { format } from '../report.mjs'

/** Percentiles by nearest rank. */
export function distribution(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b)
  const at = (share) => sorted[Math.ceil(sorted.length * share) - 1]
  return { n: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: sorted.at(-1) }
}

const ms = (title, phase, field, share, below) => ({
  title: `${title}, ${share}`,
  unit: 'ms',
  of: (figures) => figures[phase]?.[field][share],
  below,
})
const s = (title, of, rest) => ({ title, unit: 's', of, ...rest })

/** `below`: less than; `atMost`: not more than. */
export const ROWS = [
  s('cold start: all are judged', ({ cold }) => cold?.classifiedSeconds, { below: 15 }),
  s('cold start: all first statuses are written', ({ cold }) => cold?.statusesSeconds, { below: 120 }),
  s('cold start: all are in force, and their statuses say so', ({ cold }) => cold?.inForceSeconds),
  ms('edit → PATCH at the master', 'edits', 'patchMs', 'p50', 150),
  ms('edit → PATCH at the master', 'edits', 'patchMs', 'p99', 1_000),
  ms('edit → PATCH while all, unchanged, are looked at', 'look', 'patchMs', 'p50', 150),
  ms('edit → PATCH while all, unchanged, are looked at', 'look', 'patchMs', 'p99', 1_000),
  ms('edit → PATCH while all configs are put back', 'pass', 'patchMs', 'p50', 150),
  ms('edit → PATCH while all configs are put back', 'pass', 'patchMs', 'p99', 1_000),
  ms('edit → status Applied', 'edits', 'appliedMs', 'p99', 2_000),
  ms('edit → status Applied while all configs are put back', 'pass', 'appliedMs', 'p99'),
  s('all configs changed at the master → all put back', ({ pass }) => pass?.revertedSeconds),
  ms('edit on the dashboard → reverted', 'drift', 'revertedMs', 'p50'),
  ms('edit on the dashboard → reverted', 'drift', 'revertedMs', 'p99', 2_000),
  s('warm restart: all are judged', ({ restart }) => restart?.judgedSeconds),
  { title: 'warm restart, nothing changed: PATCHes', unit: '', of: ({ restart }) => restart?.patches, atMost: 0 },
  {
    title: 'warm restart, nothing changed: status writes',
    unit: '',
    of: ({ restart }) => restart?.statusWrites,
    atMost: 0,
  },
  {
    title: 'steady: processor, before heartbeats are written',
    unit: '% of one',
    of: ({ quiet }) => quiet?.cpuPercent,
    below: 15,
  },
  { title: 'steady: processor', unit: '% of one', of: ({ steady }) => steady?.cpuPercent, below: 15 },
  { title: 'steady: resident memory', unit: 'MiB', of: ({ steady, quiet }) => (steady ?? quiet)?.rssMib, below: 200 },
  { title: 'steady: heartbeat writes', unit: '/s', of: ({ steady }) => steady?.heartbeatsPerSecond, atMost: 10 },
  { title: 'steady: reads of the master', unit: '/s', of: ({ steady, quiet }) => (steady ?? quiet)?.readsPerSecond },
  s('master unavailable: for', ({ outage }) => outage?.seconds),
  { title: 'master unavailable: calls to it', unit: '/s', of: ({ outage }) => outage?.callsPerSecond, below: 1 },
  {
    title: 'master unavailable: status transitions of one FleetWorker',
    unit: '',
    of: ({ outage }) => outage?.flips,
    atMost: 1,
  },
  {
    title: 'master back: status transitions of one FleetWorker',
    unit: '',
    of: ({ outage }) => outage?.flipsBack,
    atMost: 1,
  },
  s('master back: an edit made meanwhile is at the master', ({ outage }) => outage?.editSeconds, { below: 30 }),
  s('master back: all statuses say so', ({ outage }) => outage?.readySeconds),
  s('leader killed → edit at the master, longest of 3', ({ failover }) => failover?.killSeconds.max, { below: 20 }),
  s('leader stopped → edit at the master, longest of 3', ({ failover }) => failover?.stopSeconds.max, { below: 3 }),
  {
    title: 'longest block of the event loop, its own processor time',
    unit: 'ms',
    of: (_, loops) => worst(loops, 'cpuMs'),
    below: 50,
  },
  { title: 'longest block of the event loop, by the clock', unit: 'ms', of: (_, loops) => worst(loops, 'wallMs') },
]

function worst(loops, field) {
  const known = Object.values(loops).map((loop) => loop[field])
  return known.length === 0 ? undefined : Math.max(...known)
}

/** @returns `met`: null without a gate; undefined without a figure. */
export function verdictsOf({ figures, loops }) {
  return ROWS.map((row) => verdictOf(row, row.of(figures, loops)))
}

export function verdictOf({ title, unit, below, atMost }, value) {
  return { title, unit, value, gate: gateText({ below, atMost }), met: isMet(value, { below, atMost }) }
}

function gateText({ below, atMost }) {
  if (below !== undefined) return `< ${format(below)}`
  return atMost === undefined ? undefined : `≤ ${format(atMost)}`
}

function isMet(value, { below, atMost }) {
  if (value === undefined) return undefined
  if (below !== undefined) return value < below
  return atMost === undefined ? null : value <= atMost
}

const WORDS = new Map([
  [true, 'met'],
  [false, 'MISSED'],
  [null, ''],
  [undefined, 'not measured'],
])
export const tableOf = (verdicts) => [
  ['what', 'measured', 'gate', ''],
  ...verdicts.map(({ title, unit, value, gate, met }) => [
    title,
    value === undefined ? '' : `${format(value)}${unit.startsWith('/') ? unit : ` ${unit}`}`.trim(),
    gate ?? '',
    WORDS.get(met),
  ]),
]

/**
 * CPU time by process in each phase, as a share of one processor. The process with the highest share was the
 * bottleneck.
 */
export function loadTableOf({ loads, loops, runs }) {
  const names = Object.keys(Object.values(loads)[0].share)
  return [
    ['phase', 'seconds', ...names, 'loop, own ms', 'loop, clock ms', 'measured', 'commit', 'load before'],
    ...Object.entries(loads).map(([phase, { seconds, share }]) => [
      phase,
      format(seconds),
      ...names.map((name) => `${Math.round(share[name] * 100)} %`),
      format(loops[phase]?.cpuMs ?? NaN),
      format(loops[phase]?.wallMs ?? NaN),
      runs[phase].date,
      runs[phase].commit,
      runs[phase].load.toFixed(2),
    ]),
  ]
}
