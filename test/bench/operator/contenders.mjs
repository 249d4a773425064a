/** The two operators of the paired rows: how each starts, and how many FleetWorkers it has checked since its start. */
import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'

const SOURCES = join(import.meta.dirname, 'baseline')
const PROGRAM = resolve('.tools/operator-baseline/operator')

export const CONTENDERS = {
  muster: {
    title: 'Muster',
    start: (environment) => environment.startOperator({ watchesLoop: false }),
    checked: (operator) => operator.metric('svc_operator_judged'),
  },
  baseline: {
    title: 'controller-runtime',
    start: (environment) => environment.startBaseline(PROGRAM),
    checked: (operator) => operator.metric('controller_runtime_reconcile_total', 'controller="fleetworker"'),
  },
}

/** Builds the baseline: minutes for the first time, a second where Go has built the same sources before. */
export function buildBaseline() {
  const { status, stderr, error } = spawnSync('go', ['build', '-mod=readonly', '-trimpath', '-o', PROGRAM, '.'], {
    cwd: SOURCES,
    env: { ...process.env, CGO_ENABLED: '0' },
    encoding: 'utf8',
  })
  if (error?.code === 'ENOENT') throw new Error('the paired rows need Go 1.26 or newer: https://go.dev/dl')
  if (status !== 0) throw new Error(`the baseline could not be built: ${error?.message ?? stderr}`)
}
