/** What is asked of the figures, and what a run says in the end. A gate is a bound that the run fails by; an aim fails nothing. */
import { format, markdown } from '../report.mjs'

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
  s('master away: for', ({ outage }) => outage?.seconds),
  { title: 'master away: calls to it', unit: '/s', of: ({ outage }) => outage?.callsPerSecond, below: 1 },
  {
    title: 'master away: status transitions of one FleetWorker',
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

/** `met`: null without a gate; undefined without a figure. */
export function verdictsOf({ figures, loops }) {
  return ROWS.map(({ title, unit, of, below, atMost }) => {
    const value = of(figures, loops)
    const gate = below !== undefined ? `< ${format(below)}` : atMost !== undefined ? `≤ ${format(atMost)}` : undefined
    const isMet = below !== undefined ? value < below : value <= atMost
    return { title, unit, value, gate, met: value === undefined ? undefined : gate === undefined ? null : isMet }
  })
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

/** Processor time by process in each phase, as a share of one processor; who had most of what there is was the bound. */
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

export function pageOf(result) {
  return `${[
    '# The operator, measured',
    'Written by `make bench-operator ARGS="--crs 10000"`, whole or in parts (`--only`): each phase stands as it was measured last.',
    result.machine.map((each) => `- ${each}`).join('\n'),
    markdown(tableOf(result.verdicts)),
    '## Where the processors were',
    'As shares of one processor; `machine` is everything on it.',
    markdown(loadTableOf(result)),
    '## Conditions',
    CONDITIONS.map((each) => `- ${each}`).join('\n'),
  ].join('\n\n')}\n`
}

const CONDITIONS = [
  'etcd (without fsync), kube-apiserver (TLS, RBAC, audit log), a master on memory, one process of simulated workers, the operator and the probe share the processors, unpinned.',
  'A FleetWorker is about 2.8 kB of JSON when it is created; there are five types, and a worker for each FleetWorker: a socket on the real control channel that registers, reports every five seconds, and acknowledges a config the moment it is told of it.',
  'Latencies are those of the probe: from the moment it sends an edit to the moment it reads the event of the other side.',
  'Judged: the operator has held the FleetWorker against the record of its worker, and knows what there is to do.',
  'The operator starts as the chart does it, with the flags for its heap and its memory limit of 256 MiB.',
  'While all, unchanged, are looked at: a new operator makes its first round, and a FleetWorker is edited every 50 ms from its first look to its last.',
  'While all configs are put back: each was changed at the master at once, and a FleetWorker is edited every 50 ms until the last is back.',
  'The master is away: the passage to it is shut for the operator, and each connection that is tried is counted; workers keep theirs.',
  'Failover: the edit is sent in the moment the leader is told to end; three times each way, in turns.',
]
