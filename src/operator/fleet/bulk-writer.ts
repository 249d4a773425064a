/**
 * @module operator/fleet/bulk-writer
 * Sends calls about many workers of a type. The results are applied to the table first, so a worker that was written is
 * not read again for its label. A worker whose result is an error, or unknown, is read again.
 */
import type { BulkBody, BulkResult, RevisionBody, RevisionsBody } from '../../protocol/index.ts'
import type { BulkChange, BulkChangeItem, CallRefusal, CallResult, RevisionWriter } from './ports.ts'
import { forbidden, mayHaveTakenEffect, type WriterDeps } from './writer.ts'

export class BulkWriter implements RevisionWriter {
  readonly #deps: WriterDeps

  constructor(deps: WriterDeps) {
    this.#deps = deps
  }

  async put(
    type: string,
    revision: string,
    body: RevisionBody,
    actor: string,
    signal: AbortSignal,
  ): Promise<CallResult<void>> {
    const { call, client, covers } = this.#deps
    if (covers(type) === false) return forbidden(type)
    const result = await call(
      { method: 'PUT', type, send: (either) => client.revisions.put(type, revision, body, { actor, signal: either }) },
      signal,
    )
    return result.kind === 'ok' ? { kind: 'ok', value: undefined, epoch: result.reply.epoch } : result
  }

  async apply(type: string, change: BulkChange, signal: AbortSignal): Promise<CallResult<readonly BulkResult[]>> {
    const { call, client, covers, sequence, sourceOf } = this.#deps
    if (covers(type) === false) return forbidden(type)
    const begun = sequence.next()
    const result = await call(
      {
        method: 'POST',
        type,
        send: (either) => client.revisions.apply(type, bodyOf(change), { actor: change.managedBy, signal: either }),
      },
      signal,
    )
    if (result.kind !== 'ok') {
      this.#failed(type, change, result)
      return result
    }
    const { body, epoch } = result.reply
    sourceOf(result.reply, begun)
    if (!change.isDryRun)
      for (const [index, item] of change.items.entries()) this.#learn(type, change, item, body.results[index], epoch)
    return { kind: 'ok', value: body.results, epoch }
  }

  async list(type: string, signal: AbortSignal): Promise<CallResult<RevisionsBody['revisions']>> {
    const { call, client, covers } = this.#deps
    if (covers(type) === false) return forbidden(type)
    const result = await call(
      { method: 'GET', type, send: (either) => client.revisions.list(type, { signal: either }) },
      signal,
    )
    return result.kind === 'ok' ? { kind: 'ok', value: result.reply.body.revisions, epoch: result.reply.epoch } : result
  }

  #learn(
    type: string,
    { revision, managedBy }: BulkChange,
    { workerId, variant }: BulkChangeItem,
    result: BulkResult | undefined,
    epoch: string,
  ): void {
    const records = this.#deps.readerOf(type)?.records
    if (result !== undefined && 'config_gen' in result)
      records?.applied(workerId, { configGen: result.config_gen, label: `${revision}/${variant}`, managedBy }, epoch)
    else if (result?.error.status === 404) records?.onNotFound(workerId, this.#deps.sequence.next(), true)
    else if (result?.error.status !== 422) records?.markStale(workerId)
  }

  #failed(type: string, { isDryRun, items }: BulkChange, refusal: CallRefusal): void {
    if (isDryRun || !mayHaveTakenEffect(refusal)) return
    const records = this.#deps.readerOf(type)?.records
    for (const { workerId } of items) records?.markStale(workerId)
  }
}

const bodyOf = ({ revision, managedBy, keep, isDryRun, items }: BulkChange): BulkBody => ({
  revision,
  managed_by: managedBy,
  ...(keep.length > 0 && { keep: [...keep] }),
  ...(isDryRun && { dry_run: true }),
  workers: items.map(({ workerId, epoch, configGen, managedBy: holder, patch, variant }) => ({
    worker_id: workerId,
    if_match: `${epoch}.${configGen}`,
    if_managed_by: holder,
    ...(Object.keys(patch).length > 0 && { patch }),
    variant,
  })),
})
