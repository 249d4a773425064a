/**
 * @module operator/fleetworker/consent
 * Checks that the owner of a Secret or ConfigMap permits its use in `configFrom`, by an annotation on it. Without it,
 * every author of a FleetWorker could read any Secret of the namespace: the operator reads it, and a worker sends it to
 * the author's target.
 *
 *   muster.dev/config-for: http-probe            FleetWorkers of this automation type
 *   muster.dev/config-for: http-probe/probe-1    this FleetWorker alone
 *   muster.dev/config-for: http-probe,crawler    any of several
 *   muster.dev/config-for: "*"                   every FleetWorker of the namespace
 * @see D62
 */
import { TYPE_PATTERN } from '../../protocol/index.ts'
import type { FleetWorker } from './schema.ts'

export const CONSENT_ANNOTATION = 'muster.dev/config-for'

const ENTRY = new RegExp(`^${TYPE_PATTERN.replace(/^\^|\$$/g, '')}(/[a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$`)

/** Whether the annotation exists and names this FleetWorker. */
export function consents(annotation: string | undefined, { metadata, spec }: FleetWorker): boolean {
  const entries = entriesOf(annotation)
  return entries.includes('*') || entries.includes(spec.type) || entries.includes(`${spec.type}/${metadata.name}`)
}

/** The command that adds this FleetWorker's type to the annotation. Malformed entries are left out. */
export function annotateCommand(
  kind: 'secret' | 'configmap',
  name: string,
  { metadata, spec }: FleetWorker,
  annotation: string | undefined,
): string {
  const entries = [...entriesOf(annotation).filter((entry) => ENTRY.test(entry)), spec.type]
  return `kubectl annotate ${kind} ${name} -n ${metadata.namespace} ${CONSENT_ANNOTATION}=${entries.join(',')} --overwrite`
}

const entriesOf = (annotation = ''): readonly string[] => annotation.split(',').map((entry) => entry.trim())
