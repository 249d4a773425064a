/**
 * @module cmd/admin/rollout/set-client
 * Reads and changes FleetWorkerSets at the API server of the kubeconfig. Every change names this command as the manager
 * of its fields, so that `kubectl get --show-managed-fields` shows who paused a rollout.
 */
import { FLEET_WORKER_SETS, historyOfSet, type SetRevision } from '../../../operator/index.ts'
import { apiVersionOf, objectPath, PooledTransport, type KubeTransport } from '../../../operator/kube/index.ts'
import type { Time } from '../../../runtime/index.ts'
import { DEFAULT_NAMESPACE, readIdentity } from '../../kube-identity.ts'
import { SettingsError } from '../../settings.ts'
import type { SetObject } from './set-object.ts'

export const FIELD_MANAGER = 'muster-rollout'

export class SetClient {
  readonly namespace: string
  readonly #transport: KubeTransport
  readonly #signal: AbortSignal

  constructor(transport: KubeTransport, namespace: string, signal: AbortSignal) {
    this.#transport = transport
    this.namespace = namespace
    this.#signal = signal
  }

  /** @throws {KubeError} */
  async get(name: string): Promise<SetObject> {
    return (await this.#transport.json<SetObject>({ method: 'GET', path: this.#path(name) }, this.#signal)).body
  }

  /** The revisions in the history, newest first. @throws {KubeError} */
  history({ metadata: { uid } }: SetObject): Promise<readonly SetRevision[]> {
    return historyOfSet(this.#transport, { namespace: this.namespace, uid }, this.#signal)
  }

  /** Takes over fields of the spec by server-side apply. @throws {KubeError} */
  apply(name: string, spec: object): Promise<SetObject> {
    const body = { apiVersion: apiVersionOf(FLEET_WORKER_SETS), kind: FLEET_WORKER_SETS.kind, metadata: { name }, spec }
    return this.#patch(name, 'application/apply-patch+yaml', body, { force: true })
  }

  /** @throws {KubeError} */
  annotate(name: string, annotation: string, value: string): Promise<SetObject> {
    const body = { metadata: { annotations: { [annotation]: value } } }
    return this.#patch(name, 'application/merge-patch+json', body)
  }

  /** Replaces whole fields, unless the object has changed since it was read. @throws {KubeError} 422 if it has. */
  replace({ metadata, spec }: SetObject, fields: Readonly<Record<string, unknown>>): Promise<SetObject> {
    const operations = Object.entries(fields).flatMap(([name, value]) => {
      if (value === undefined) return name in spec ? [{ op: 'remove', path: `/spec/${name}` }] : []
      return [{ op: 'add', path: `/spec/${name}`, value }]
    })
    const unchanged = { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion }
    return this.#patch(metadata.name, 'application/json-patch+json', [unchanged, ...operations])
  }

  async #patch(name: string, contentType: string, body: unknown, query: { force?: true } = {}): Promise<SetObject> {
    const request = {
      method: 'PATCH',
      path: this.#path(name),
      contentType,
      body,
      // Strict: a definition of an earlier release would drop a field that it does not know.
      query: { fieldManager: FIELD_MANAGER, fieldValidation: 'Strict', ...query },
    } as const
    return (await this.#transport.json<SetObject>(request, this.#signal)).body
  }

  #path(name: string): string {
    return objectPath(FLEET_WORKER_SETS, { namespace: this.namespace, name })
  }
}

/** @throws {SettingsError} if there is no usable kubeconfig. */
export async function withSets(
  namespace: string | undefined,
  time: Time,
  use: (sets: SetClient) => Promise<number>,
): Promise<number> {
  const reading = readIdentity()
  if (reading.kind === 'fault') throw new SettingsError([reading.fault])
  const { identity } = reading
  const transport = new PooledTransport({ identity, clock: time, timers: time })
  const { signal } = new AbortController()
  try {
    return await use(new SetClient(transport, namespace ?? identity.namespace ?? DEFAULT_NAMESPACE, signal))
  } finally {
    await transport.close()
  }
}
