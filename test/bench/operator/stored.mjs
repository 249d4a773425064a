/**
 * Keeps the recorded result next to this file. A full run takes an hour, so the result is combined: each phase has the
 * figures of its last run with 10,000 FleetWorkers, and each paired part those of its last run with 1,000 and 10,000,
 * with date and commit. Figures of another machine are dropped.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format } from '../report.mjs'
import { pageOf } from './page.mjs'
import { pairedVerdictsOf } from './paired-rows.mjs'
import { verdictsOf } from './verdicts.mjs'

const RESULT = join(import.meta.dirname, 'results.json')
const PAGE = join(import.meta.dirname, 'RESULTS.md')
const WORSE = 1.5

const stored = () => (existsSync(RESULT) ? JSON.parse(readFileSync(RESULT, 'utf8')) : undefined)
const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other)

function write(result) {
  writeFileSync(RESULT, `${JSON.stringify(result, null, 1)}\n`)
  writeFileSync(PAGE, pageOf(result))
}

/** Replaces the phases of this run in both files. @returns each figure with a gate that got worse by half. */
export function store({ machine, ...run }) {
  const before = stored()
  const kept = isSame(before?.machine, machine) ? before : undefined
  const merged = Object.fromEntries(
    ['figures', 'loads', 'loops', 'runs'].map((field) => [field, { ...kept?.[field], ...run[field] }]),
  )
  write({ machine, ...merged, paired: before?.paired ?? {} })
  return kept === undefined ? [] : worse(verdictsOf(kept), verdictsOf(run))
}

/** Replaces the paired parts of this run in both files. @returns as `store`. */
export function storePaired({ options: { crs: count }, machine, stamp, paired }) {
  const before = stored()
  const found = before?.paired?.[count]
  const kept = isSame(found?.machine, machine) ? found : undefined
  const runs = Object.fromEntries(Object.keys(paired).map((part) => [part, stamp]))
  const merged = { machine, figures: { ...kept?.figures, ...paired }, runs: { ...kept?.runs, ...runs } }
  write({ ...before, paired: { ...before?.paired, [count]: merged } })
  const verdicts = (figures) => pairedVerdictsOf({ count, figures })
  return kept === undefined ? [] : worse(verdicts(kept.figures), verdicts(paired))
}

/** Only figures with a gate: all gates are upper bounds, while more of another figure may be better. */
function worse(before, now) {
  return now.flatMap(({ title, unit, value, gate }, at) => {
    const old = before[at].value
    return gate && value > old * WORSE ? [`${title}: ${format(old)} → ${format(value)} ${unit}`.trim()] : []
  })
}
