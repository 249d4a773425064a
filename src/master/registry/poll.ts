/**
 * @module master/registry/poll
 * Serves a worker's poll of its config. Workers poll every 30 s, in case a `config_changed` was lost.
 *
 * A worker that reports a higher generation than the store, in the same epoch, proves that the store lost changes (a
 * restored image, a failover). The worker would ignore every config up to its generation. So the stored generation is
 * raised above it, with the same config (D46). The store limits the step, so a faulty worker cannot raise it far.
 */
import type { Counter } from 'prom-client'
import type { ConfigRow, Ref } from '../../storage/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import type { MasterDeps } from '../deps.ts'
import type { HandlerResult } from '../http/index.ts'
import type { Announce } from './events.ts'
import { etagOf, marksInclude, parseMarks } from './etag.ts'
import { polledBody } from './record.ts'
import { unknownWorker } from './unknown-worker.ts'

export interface PollDeps extends Pick<MasterDeps, 'backend' | 'log' | 'epoch'> {
  readonly announce: Announce
  readonly regressions: Counter
}

export async function pollConfig(
  ref: Ref,
  entry: CatalogEntry,
  ifNoneMatch: string | undefined,
  deps: PollDeps,
): Promise<HandlerResult> {
  const [epoch, [row]] = await Promise.all([deps.epoch.read(), deps.backend.configs.get([ref])])
  if (row === null || row === undefined) throw unknownWorker(ref)
  const marks = parseMarks(ifNoneMatch ?? '')
  const etag = etagOf({ epoch, gen: row.gen })
  if (marksInclude(marks, { epoch, gen: row.gen })) return { status: 304, headers: { etag } }
  const seen = marks === '*' ? -1 : Math.max(-1, ...marks.filter((mark) => mark.epoch === epoch).map(({ gen }) => gen))
  const current = seen > row.gen ? await raised(ref, seen, row, deps) : row
  return { headers: { etag: etagOf({ epoch, gen: current.gen }) }, body: polledBody(current, entry) }
}

async function raised(
  ref: Ref,
  seen: number,
  stored: ConfigRow,
  { backend, log, announce, regressions }: PollDeps,
): Promise<ConfigRow> {
  const fields = { automation_type: ref.type, worker_id: ref.id, seen, stored: stored.gen }
  regressions.inc()
  const [outcome] = await backend.configs.raise([{ ...ref, above: seen }])
  if (outcome?.kind === 'too_far') {
    log.error('a worker reported a config generation far above the stored one; ignored it', fields)
    return stored
  }
  log.error(
    'the store lost recent changes: a worker reported a config generation above the stored one, which was raised; ' +
      'check the durability of the store',
    fields,
  )
  const [now] = await backend.configs.get([ref])
  if (now === null || now === undefined) throw unknownWorker(ref)
  announce('worker.config_changed', ref, { config_gen: now.gen })
  return now
}
