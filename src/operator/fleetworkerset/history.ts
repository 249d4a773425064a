/**
 * @module operator/fleetworkerset/history
 * Keeps the history of a set: one ControllerRevision for each revision that was rolled out, as a StatefulSet has. It
 * contains `config` and `configFrom` as the spec had them, never the value of a source. `muster rollout undo` reads it,
 * and so does the operator, to store the current revision again after the master has lost its store.
 *
 *   crawlers-7f3ac1d09b2e   revision 4   data {config, configFrom}   owned by the set, so it is deleted with the set
 *   crawlers-91bc02f7a1c4   revision 5
 *
 * The revision that was rolled out last has the highest number. The data of a ControllerRevision cannot change, and the
 * operator may not update one, so a revision that is rolled out again is deleted and created with the next number.
 *
 * The history is never a condition of a rollout: without the right to it, as after an upgrade of the image alone, the
 * operator logs that once per namespace and continues without it. After any other error the next look tries again.
 * @see D146
 */
import {
  apiVersionOf,
  collectionPath,
  KubeError,
  objectPath,
  type KubeTransport,
  type ObjectMeta,
  type ObjectRef,
  type Resource,
} from '../kube/index.ts'
import { GROUP, VERSION } from '../config/index.ts'
import { isHandsOff } from '../fleetworker/index.ts'
import type { SetConfig } from './config.ts'
import type { SetContext, SetDeps } from './context.ts'
import { REVISION_HISTORY_LIMIT, SET_KIND, type FleetWorkerSet, type FleetWorkerSetSpec } from './schema.ts'

const CONTROLLER_REVISIONS: Resource = {
  group: 'apps',
  version: 'v1',
  plural: 'controllerrevisions',
  kind: 'ControllerRevision',
}
/** Labels of a ControllerRevision. A uid, because the value of a label is shorter than the name of a set may be. */
const SET_UID_LABEL = 'muster.dev/set-uid'
const REVISION_LABEL = 'muster.dev/revision'

const MAX_OBJECT_NAME_CHARS = 253

/** What a revision consists of, as the spec had it. */
type RevisionConfig = Required<Pick<FleetWorkerSetSpec, 'config' | 'configFrom'>>

interface HistoryContext extends Pick<SetContext, 'set' | 'signal'> {
  readonly deps: Pick<SetDeps, 'transport' | 'memory' | 'log'>
}

interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
}

/** A ControllerRevision of a set. */
export interface SetRevision {
  readonly metadata: ObjectMeta & { readonly ownerReferences?: readonly OwnerReference[] }
  /** Rises with each rollout. */
  readonly revision: number
  readonly data: Partial<RevisionConfig>
}

/** The name of the object. The revision depends on the uid of the set, so shortened names of two sets differ. */
export function revisionObjectName(set: string, revision: string): string {
  const room = MAX_OBJECT_NAME_CHARS - revision.length - 1
  // Each part of a name between dots has to end with a letter or digit.
  return `${set.slice(0, room).replace(/[^a-z0-9]+$/, '')}-${revision}`
}

/** Whether the object belongs to the set. A label alone could be on any object. */
const isRevisionOf = (uid: string, { metadata }: SetRevision): boolean =>
  metadata.ownerReferences?.some(
    (owner) => owner.kind === SET_KIND && owner.uid === uid && owner.controller === true,
  ) === true

/** @returns the revisions in the history of a set, newest first. @throws {KubeError} */
export async function historyOfSet(
  transport: KubeTransport,
  { namespace, uid }: Pick<ObjectRef, 'namespace' | 'uid'>,
  signal: AbortSignal,
): Promise<readonly SetRevision[]> {
  const path = collectionPath(CONTROLLER_REVISIONS, namespace)
  const query = { labelSelector: `${SET_UID_LABEL}=${uid}` }
  const list = await transport.json<{ readonly items: readonly SetRevision[] }>({ method: 'GET', path, query }, signal)
  return list.body.items.filter((each) => isRevisionOf(uid, each)).toSorted((a, b) => b.revision - a.revision)
}

/** The name of a revision, as a status has it. */
export const revisionNameOf = ({ metadata: { labels, name } }: SetRevision): string => labels?.[REVISION_LABEL] ?? name

/**
 * Stores the revision of the spec, unless this term has done so, and deletes the oldest ones above
 * `revisionHistoryLimit`. Call it when a rollout of the revision begins, before the status names it.
 */
export async function recordRevision(context: SetContext, { revision }: Pick<SetConfig, 'revision'>): Promise<void> {
  const { deps, set, state } = context
  const limit = set.spec.revisionHistoryLimit ?? REVISION_HISTORY_LIMIT.default
  const recorded = `${revision} ${limit}`
  if (state.recorded === recorded || isHandsOff(set.spec) || !deps.leadership.mayWrite()) return
  const isNew = state.recorded !== undefined || context.lastStatus.updateRevision !== revision
  const done = await attempt(context, async () => {
    if (!isNew && (await read(context, revision)) !== undefined) return
    await record(context, revision, limit)
  })
  if (done.kind !== 'failed') state.recorded = recorded
}

/**
 * Reads the config of a revision. @returns `undefined` if the history does not have it, or may not be read. @throws
 * {KubeError} when a repeat may succeed.
 */
export async function configOfRevision(context: HistoryContext, revision: string): Promise<RevisionConfig | undefined> {
  try {
    const found = await read(context, revision)
    return found === undefined
      ? undefined
      : { config: found.data.config ?? {}, configFrom: found.data.configFrom ?? [] }
  } catch (error) {
    if (error instanceof KubeError && !isTransient(error)) return undefined
    throw error
  }
}

const isTransient = ({ status }: KubeError): boolean => status === 0 || status === 429 || status >= 500

async function record(context: SetContext, revision: string, limit: number): Promise<void> {
  const { deps, set, signal } = context
  const { namespace, name, uid } = set.metadata
  const all = await historyOfSet(deps.transport, { namespace, uid }, signal)
  const objectName = revisionObjectName(name, revision)
  const known = all.find(({ metadata }) => metadata.name === objectName)
  if (known === undefined || known !== all[0]) {
    if (known !== undefined) await remove(context, known)
    const body = revisionObject(set, revision, (all[0]?.revision ?? 0) + 1)
    const path = collectionPath(CONTROLLER_REVISIONS, namespace)
    await deps.transport.json({ method: 'POST', path, body }, signal)
  }
  const { currentRevision, updateRevision } = context.lastStatus
  const inUse = new Set([revision, currentRevision, updateRevision].map((each) => revisionObjectName(name, each ?? '')))
  const old = all.filter(({ metadata }) => !inUse.has(metadata.name))
  for (const each of old.slice(limit)) await remove(context, each)
}

async function read({ deps, set, signal }: HistoryContext, revision: string): Promise<SetRevision | undefined> {
  const { namespace, name, uid } = set.metadata
  const path = objectPath(CONTROLLER_REVISIONS, { namespace, name: revisionObjectName(name, revision) })
  try {
    const { body } = await deps.transport.json<SetRevision>({ method: 'GET', path }, signal)
    return isRevisionOf(uid, body) ? body : undefined
  } catch (error) {
    if (error instanceof KubeError && error.status === 404) return undefined
    throw error
  }
}

async function remove({ deps, set, signal }: HistoryContext, { metadata: { name, uid } }: SetRevision): Promise<void> {
  const path = objectPath(CONTROLLER_REVISIONS, { namespace: set.metadata.namespace, name })
  try {
    await deps.transport.json({ method: 'DELETE', path, body: { preconditions: { uid } } }, signal)
  } catch (error) {
    if (!(error instanceof KubeError) || error.status !== 404) throw error
  }
}

function revisionObject({ metadata, spec }: FleetWorkerSet, revision: string, number: number): object {
  const { name, namespace, uid } = metadata
  const { config = {}, configFrom = [] } = spec
  return {
    apiVersion: apiVersionOf(CONTROLLER_REVISIONS),
    kind: CONTROLLER_REVISIONS.kind,
    metadata: {
      name: revisionObjectName(name, revision),
      namespace,
      labels: { [SET_UID_LABEL]: uid, [REVISION_LABEL]: revision },
      // Blocking the deletion of the set would need the right to change its finalizers as a subresource.
      ownerReferences: [
        { apiVersion: `${GROUP}/${VERSION}`, kind: SET_KIND, name, uid, controller: true, blockOwnerDeletion: false },
      ],
    },
    revision: number,
    data: { config, configFrom } satisfies RevisionConfig,
  }
}

type Attempt<T> =
  /** `refused`: it would be refused again. `failed`: it may succeed later. */
  { readonly kind: 'done'; readonly value: T } | { readonly kind: 'refused' } | { readonly kind: 'failed' }

/** Runs one step. An error of the API server is logged, and stops no rollout. */
async function attempt<T>({ deps, set }: HistoryContext, step: () => Promise<T>): Promise<Attempt<T>> {
  const { namespace, name } = set.metadata
  try {
    return { kind: 'done', value: await step() }
  } catch (error) {
    if (!(error instanceof KubeError)) throw error
    if (isTransient(error)) {
      deps.log.warn('the history of a FleetWorkerSet could not be read or written; retrying', {
        namespace,
        name,
        error,
      })
      return { kind: 'failed' }
    }
    if (deps.memory.refusesHistory(namespace))
      deps.log.warn(
        'FleetWorkerSets of this namespace have no history, so "muster rollout undo" cannot work: the operator needs ' +
          'the right to get, list, create and delete controllerrevisions.apps, which the current chart and manifests ' +
          'contain',
        { namespace, name, error },
      )
    return { kind: 'refused' }
  }
}
