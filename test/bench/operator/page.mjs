/** Creates RESULTS.md from the recorded result. */
import { format, markdown } from '../report.mjs'
import { pairedTableOf, pairedVerdictsOf } from './paired-rows.mjs'
import { loadTableOf, tableOf, verdictsOf } from './verdicts.mjs'

/** @param result As results.json has it. */
export function pageOf(result) {
  return `${[
    '# The operator, measured',
    'Written by `make bench-operator`, as a whole or in parts (`--only`): each phase shows its latest measurement.',
    ...Object.entries(result.paired).flatMap(([count, paired]) => pairedSection(Number(count), paired)),
    '## How the pairs are measured',
    listOf(PAIRED_CONDITIONS),
    ...(result.machine === undefined ? [] : aloneSections(result)),
  ].join('\n\n')}\n`
}

const listOf = (lines) => lines.map((each) => `- ${each}`).join('\n')

function pairedSection(count, { machine, figures, runs }) {
  const verdicts = pairedVerdictsOf({ count, figures })
  return [
    `## Next to controller-runtime, ${format(count)} FleetWorkers`,
    listOf(machine),
    markdown(pairedTableOf(verdicts)),
    markdown([
      ['part', 'rounds', 'measured', 'commit', 'load before'],
      ...Object.entries(runs).map(([part, { date, commit, load }]) => [
        part,
        `${Object.values(figures[part])[0].length}`,
        date,
        commit,
        load.toFixed(2),
      ]),
    ]),
  ]
}

function aloneSections(result) {
  return [
    '## Alone, 10,000 FleetWorkers',
    listOf(result.machine),
    markdown(tableOf(verdictsOf(result))),
    '### CPU usage',
    'As shares of one processor; `machine` includes all processes.',
    markdown(loadTableOf(result)),
    '### Conditions',
    listOf(CONDITIONS),
  ]
}

const PAIRED_CONDITIONS = [
  'The contender is [`baseline`](baseline/main.go): the operator as it is usually written in Go ' +
    'with controller-runtime 0.25, with 16 concurrent reconciles. It polls every 30 s for changes by other clients, ' +
    'and every second for an acknowledgement. It has far fewer features.',
  'Both use the same kube-apiserver and etcd, with rights and a token of their own, a Lease, ' +
    'and no limit of requests in the client. Each turn has new FleetWorkers, a new master and new workers. ' +
    'The turns alternate, the first of a round too. Both never run simultaneously.',
  'The master is the real one, with the memory backend: its share of a latency is the same for both.',
  'A figure is the median of the rounds, also for a percentile. ' +
    'The ratio, to which most gates apply, is the median of the ratios within each round.',
  'Edits are sent at a fixed rate, whether or not earlier ones are done, each to another FleetWorker. ' +
    'A latency ends when the probe, as the proxy in front of the master, forwards the PATCH, ' +
    'or when it reads the event of the API server.',
  'Ready: the condition is True for the generation of the edit. ' +
    'For both operators this includes the acknowledgement by the worker, which is immediate.',
  'CPU time per edit: without that of the idle seconds before.',
  'In the pass after a restart: edits for 4 s, or 16 s with 10,000, ' +
    'from the first object that the new process checks. Restart burst: 450 edits from the start of the process.',
  'At rest: 30 s without edits; memory is the largest resident size.',
]

const CONDITIONS = [
  'etcd (without fsync), kube-apiserver (TLS, RBAC, audit log), a master on memory, ' +
    'one process of simulated workers, the operator and the probe share the processors, unpinned.',
  'A FleetWorker is about 2.8 kB of JSON when it is created; ' +
    'there are five types, and a worker for each FleetWorker: a socket on the real control channel that registers, ' +
    'reports every five seconds, and acknowledges a config as soon as it is notified.',
  'Latencies are those of the probe: from the moment it sends an edit ' +
    'to the moment it reads the event of the other side.',
  'Judged: the operator has compared the FleetWorker with the record of its worker, and has decided what to do.',
  'The operator starts as the chart does it, with the flags for its heap and its memory limit of 256 MiB.',
  'While all are checked without a change: a new operator makes its first pass, ' +
    'and a FleetWorker is edited every 50 ms during that pass.',
  'While all configs are reverted: all were changed at the master simultaneously, ' +
    'and a FleetWorker is edited every 50 ms until the last is reverted.',
  'The master is unavailable: the proxy to it is closed for the operator, ' +
    'and each attempted connection is counted; workers stay connected.',
  'Failover: the edit is sent at the same time as the signal that stops the leader; ' +
    'three times per signal, alternating.',
]
