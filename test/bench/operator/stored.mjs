/**
 * Keeps the recorded result next to this file. A full run takes an hour, so the result is combined: each phase has the
 * figures of its last run with 10,000 FleetWorkers, with date and commit. Figures of another machine are dropped.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { format } from '../report.mjs'
import { pageOf, verdictsOf } from './verdicts.mjs'

const RESULT = join(import.meta.dirname, 'results.json')
const PAGE = join(import.meta.dirname, 'RESULTS.md')
const WORSE = 1.5

/** When and of which commit a run began, and how busy the machine was. */
export function stampOf() {
  const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).trim()
  const isChanged = git('status', '--porcelain', '--', 'src') !== ''
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: `${git('rev-parse', '--short', 'HEAD')}${isChanged ? ' and changes' : ''}`,
    load: loadavg()[0],
  }
}

const stored = () => (existsSync(RESULT) ? JSON.parse(readFileSync(RESULT, 'utf8')) : undefined)

/**
 * Writes both files, with the phases of this run replaced. @returns a description of each figure that got worse by
 * half.
 */
export function store({ machine, ...run }, phases) {
  const before = stored()
  const kept = JSON.stringify(before?.machine) === JSON.stringify(machine) ? before : undefined
  const of = (field) =>
    Object.fromEntries(
      phases.flatMap((name) => {
        const value = run[field][name] ?? kept?.[field][name]
        return value === undefined ? [] : [[name, value]]
      }),
    )
  const result = { machine, figures: of('figures'), loads: of('loads'), loops: of('loops'), runs: of('runs') }
  writeFileSync(RESULT, `${JSON.stringify(result, null, 1)}\n`)
  writeFileSync(PAGE, pageOf({ ...result, verdicts: verdictsOf(result) }))
  return kept === undefined ? [] : worse(verdictsOf(kept), verdictsOf(run))
}

function worse(before, now) {
  return now.flatMap(({ title, unit, value }, at) => {
    const old = before[at].value
    return value > old * WORSE ? [`${title}: ${format(old)} → ${format(value)} ${unit}`.trim()] : []
  })
}
