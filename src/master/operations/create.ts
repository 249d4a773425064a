/**
 * @module master/operations/create
 * Previews and creates operations, and undoes them. What a preview shows is what the operation does: both make the same
 * plan, and the operation leaves workers alone that changed since.
 * @see D189, D191
 */
import type { Catalog, CatalogEntry } from '../../automation/index.ts'
import {
  FleetError,
  invalid,
  OPERATION_DEFAULTS,
  toMs,
  type OperationBody,
  type OperationKind,
  type OperationPreview,
  type OperationPreviewBody,
} from '../../protocol/index.ts'
import { workerFilter, workersOf } from '../auth/index.ts'
import type { MasterDeps } from '../deps.ts'
import { planDrains } from './drain-plan.ts'
import { hasEnded, type Operation, type OperationStore } from './operation-store.ts'
import { planPatches, type Plan } from './patch-plan.ts'
import { fieldsOf, patchOf, targetsOf, type Requester } from './request.ts'
import { EMPTY_HEAD, noCounts, paceOf, partsOf, recounted, type Pace, type StoredHead } from './stored.ts'
import { undoTargets } from './undo.ts'

const ID_CHARS = 8

export interface CreatorDeps extends Pick<MasterDeps, 'backend' | 'clock' | 'epoch' | 'random'> {
  readonly catalog: Catalog
  readonly store: OperationStore
  /** Counts the dead tasks of a group, or of all groups, up to a moment, and returns a moment after all deaths. */
  readonly countDead: (
    type: string,
    of: { readonly group: string | null; readonly beforeMs: number | null },
  ) => Promise<{ readonly count: number; readonly asOfMs: number }>
}

export class OperationCreator {
  readonly #deps: CreatorDeps

  constructor(deps: CreatorDeps) {
    this.#deps = deps
  }

  async preview(entry: CatalogEntry, body: OperationPreviewBody, requester: Requester): Promise<OperationPreview> {
    return (await this.#plan(entry, body, requester)).preview
  }

  /** @throws {FleetError} INVALID if nothing would change; STALE_GENERATION if it is not what `expected` says. */
  async create(entry: CatalogEntry, body: OperationBody, actor: string, requester: Requester): Promise<Operation> {
    const epoch = await this.#deps.epoch.read()
    const { items, preview, beforeMs } = await this.#plan(entry, body, requester)
    checkExpected(preview, body.expected ?? null)
    const patch = body.kind === 'patch' ? patchOf(body) : null
    const { drainSeconds, waitSeconds } = OPERATION_DEFAULTS
    const defaults = { ...OPERATION_DEFAULTS, waitSeconds: body.kind === 'drain' ? drainSeconds : waitSeconds }
    return this.#store(entry, this.#newId(), items, {
      ...this.#head({ kind: body.kind, actor, epoch, note: body.note ?? null, pace: paceOf(body, defaults) }),
      patch,
      fields: fieldsOf({ patch }),
      group: body.group ?? null,
      beforeMs,
      total: preview.total,
      ...workersOfHead(requester, entry),
    })
  }

  /**
   * Creates the operation that undoes another one.
   *
   * @throws {FleetError} INVALID if the operation runs, wrote no config, or was undone.
   */
  async undo(entry: CatalogEntry, operation: Operation, actor: string): Promise<Operation> {
    const { head, id: of, type } = operation
    if (head.kind !== 'patch') throw cannotUndo(`an operation of kind ${head.kind} cannot be undone`)
    const { store, backend, epoch: storeEpoch } = this.#deps
    const epoch = await storeEpoch.read()
    if (epoch !== head.epoch) throw cannotUndo('the store has lost changes since; its generations mean other configs')
    const { targets, lost } = await undoTargets(operation, entry, store, backend)
    const { items, preview } = await planPatches(entry, targets, backend)
    if (preview.change === 0) throw cannotUndo('no worker has the config any more that this operation wrote')
    const id = this.#newId()
    await this.#claimUndo(operation, id)
    const unkept = lost.map((worker) => ({ item: { id: worker, s: 'conflict', g: 0, e: UNKEPT } as const }))
    const { perSecond, parallel, waitMs, bakeMs, stopAfter, stopShare } = head
    const pace: Pace = { perSecond, parallel, waitMs, bakeMs, stopAfter, stopShare }
    try {
      return await this.#store(entry, id, [...items, ...unkept], {
        ...this.#head({ kind: 'patch', actor, epoch, note: `Undo of operation ${of}`, pace }),
        fields: head.fields,
        total: items.length + unkept.length,
        undoOf: of,
        ...(head.workers !== undefined && { workers: head.workers }),
      })
    } catch (error) {
      const [stored] = (await store.list([type])).filter((each) => each.id === of)
      if (stored !== undefined)
        await store.update(stored, (latest) => (latest.undoneBy === id ? { ...latest, undoneBy: null } : null))
      throw error
    }
  }

  /** Two clients may undo at the same time: one of them is first. */
  async #claimUndo(operation: Operation, id: string): Promise<void> {
    const claimed = await this.#deps.store.update(operation, (head) => {
      if (!hasEnded(head.state)) throw cannotUndo('it runs; cancel it first')
      if (head.undoneBy !== null) throw cannotUndo(`operation ${head.undoneBy} undoes it already`)
      return { ...head, undoneBy: id }
    })
    if (claimed === null) throw cannotUndo('it was removed')
  }

  async #plan(
    entry: CatalogEntry,
    body: OperationPreviewBody,
    requester: Requester,
  ): Promise<Plan & { readonly beforeMs: number | null }> {
    const { backend } = this.#deps
    if (body.kind === 'replay') return this.#planReplay(entry, body)
    const ids = await targetsOf(body, entry, backend, requester)
    if (body.kind === 'drain') return { ...(await planDrains(entry, ids, backend)), beforeMs: null }
    const patch = patchOf(body)
    const plan = await planPatches(
      entry,
      ids.map((id) => ({ id, patch })),
      backend,
    )
    return { ...plan, beforeMs: null }
  }

  async #planReplay(
    { type }: CatalogEntry,
    { group, before }: OperationPreviewBody,
  ): Promise<Plan & { readonly beforeMs: number }> {
    const untilMs = typeof before === 'number' ? toMs(before) : null
    const { count, asOfMs } = await this.#deps.countDead(type, { group: group ?? null, beforeMs: untilMs })
    const none = { unchanged: 0, refused: 0, unknown: 0, offline: 0 }
    const lists = { generations: [], values: [], managed: [], refused_because: [] }
    return {
      items: [],
      preview: { kind: 'replay', total: count, change: count, ...none, ...lists },
      beforeMs: untilMs ?? asOfMs,
    }
  }

  #head(of: {
    readonly kind: OperationKind
    readonly actor: string
    readonly epoch: string
    readonly note: string | null
    readonly pace: Pace
  }): StoredHead {
    const { kind, actor, epoch, note, pace } = of
    return { ...EMPTY_HEAD, ...pace, kind, actor, epoch, note, createdMs: this.#deps.clock.wallMs() }
  }

  async #store(entry: CatalogEntry, id: string, items: Plan['items'], head: StoredHead): Promise<Operation> {
    const { store } = this.#deps
    const initial = items.map(({ item }) => ({ from: null, to: item.s }))
    const counts = items.length > 0 ? recounted(noCounts(), initial) : { ...noCounts(), pending: head.total }
    const whole = { ...head, counts }
    if (await store.create(entry.type, id, whole, partsOf(items)))
      return { type: entry.type, id, version: 1, head: whole }
    throw new FleetError('OVERLOADED', 'the id that was drawn for the operation is taken; try again', {
      retryAfterSeconds: 1,
    })
  }

  #newId(): string {
    return this.#deps.random.uuid().replaceAll('-', '').slice(0, ID_CHARS)
  }
}

/** The worker patterns of the requester, to be stored with the operation. Empty if it covers all workers. */
function workersOfHead({ principal, permissions }: Requester, { type }: CatalogEntry): Pick<StoredHead, 'workers'> {
  return workerFilter(principal, permissions, type) === null ? {} : { workers: workersOf(principal, permissions, type) }
}

const UNKEPT = 'its previous values are not kept'

function checkExpected({ kind, change }: OperationPreview, expected: number | null): void {
  const what = kind === 'replay' ? 'dead task' : 'worker'
  if (change === 0) throw invalid('', `no ${what} would change`, 'operation')
  if (expected === null || expected === change) return
  throw new FleetError(
    'STALE_GENERATION',
    `${change} ${what}${change === 1 ? '' : 's'} would change, not ${expected}; preview the operation again`,
  )
}

const cannotUndo = (why: string): FleetError => invalid('/operation', `cannot be undone: ${why}`, 'operation')
