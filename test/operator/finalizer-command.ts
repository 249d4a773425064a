/** The command that the chart's page gives to who has deleted the operator before its FleetWorkers, as arguments of kubectl. */
import { readFileSync } from 'node:fs'

const PAGE = 'charts/muster/README.md'

export function finalizerCommand(name: string): readonly string[] {
  const [, patch = ''] =
    /`kubectl patch fleetworker NAME --type=json -p '([^']+)'`/.exec(readFileSync(PAGE, 'utf8')) ?? []
  return ['patch', 'fleetworker', name, '--type=json', '-p', patch]
}
