// Lists what a unit of load costs the store and the master, and how much of it one core carries. The figures are those
// of test/bench/results.json, so they change with the next measurement.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { table } from './shape.mjs'

const RESULTS = join(import.meta.dirname, '../../test/bench/results.json')
const REDIS = 'Muster, Redis'
/** Share of a core that is planned for. The rest is for bursts, restarts and what the table leaves out. */
const USED = 0.6

/** Each load with the row and the subject that measured it. */
const LOADS = [
  ['a task, added by the client, with many under way', 'system-single', `${REDIS}, through the client`],
  ['a task, added by one REST request, with many under way', 'system-single', REDIS],
  ['a task at 500 a second, when almost nothing can be done together', 'pickup-500', REDIS],
  ['an output, in frames of 100', 'outputs-100', REDIS],
  ['a report of a worker: its state and statistics, every 15 s', 'reports', REDIS],
]

const microseconds = (us) => (us === undefined ? '' : us.toLocaleString('en-US', { maximumSignificantDigits: 2 }))
const perSecond = (us) =>
  us === undefined ? '' : ((USED * 1e6) / us).toLocaleString('en-US', { maximumSignificantDigits: 2 })

const HEAD = ['load', 'Redis, µs each', 'master, µs each', 'a second on one Redis', 'a second on one master']

export function sizingTable() {
  const { rows } = JSON.parse(readFileSync(RESULTS, 'utf8'))
  const cells = LOADS.map(([load, id, subject]) => {
    const line = rows[id]?.lines.find((each) => each.subject === subject)
    if (line === undefined) throw new Error(`test/bench/results.json has no row ${id} with the subject ${subject}`)
    const { redisCpuUs, serviceCpuUs, nodeCpuUs } = line.costs
    const ofMaster = serviceCpuUs ?? nodeCpuUs
    return [load, microseconds(redisCpuUs), microseconds(ofMaster), perSecond(redisCpuUs), perSecond(ofMaster)]
  })
  return table(HEAD, cells)
}
