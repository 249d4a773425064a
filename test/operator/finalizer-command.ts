/**
 * The kubectl arguments that the chart's page gives for removing the finalizer after the operator was deleted before
 * its FleetWorkers.
 */
import { readFileSync } from 'node:fs'

const PAGE = 'charts/muster/README.md'

export function finalizerCommand(name: string): readonly string[] {
  const [, patch = ''] =
    /`kubectl patch fleetworker NAME --type=json -p '([^']+)'`/.exec(readFileSync(PAGE, 'utf8')) ?? []
  return ['patch', 'fleetworker', name, '--type=json', '-p', patch]
}
