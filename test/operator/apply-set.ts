/** Declares a FleetWorkerSet for the workers whose ids begin with its name, as a user does with kubectl. */
import type { Cluster } from './cluster.ts'

/** @param options Further options of `kubectl apply`. */
export function applySet(cluster: Cluster, name: string, spec: object, ...options: readonly string[]): Promise<string> {
  const set = {
    apiVersion: 'muster.dev/v1alpha1',
    kind: 'FleetWorkerSet',
    metadata: { name, namespace: 'team-a' },
    spec: { type: 'http-probe', selector: { idPatterns: [`${name}-*`] }, ...spec },
  }
  return cluster.kubectl('apply', '-f', cluster.file(`${name}.json`, set), ...options)
}
