/**
 * @module master/registry/poll
 * Serves a worker's poll of its config. Workers poll every 30 s, in case a `config_changed` was lost.
 *
 * A worker with a config that the store does not have proves that the store lost changes (a restored image, a
 * failover): it reports a higher generation in the same epoch, or the same generation with another content, because a
 * PATCH after the loss used the number again. The worker ignores every config up to its generation. So the stored
 * generation is raised above it, with the same config (D46). The store limits the step, so a faulty worker cannot raise
 * it far.
 */
import { createHash } from 'node:crypto'
import type { Counter } from 'prom-client'
import type { ConfigRow, Ref } from '../../storage/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import type { MasterDeps } from '../deps.ts'
import type { HandlerResult } from '../http/index.ts'
import type { Announce } from './events.ts'
import { etagOf, marksInclude, parseMarks, type Marks } from './etag.ts'
import { polledBody } from './record.ts'
import { unknownWorker } from './unknown-worker.ts'

/** 132 bits. */
const DIGEST_CHARACTERS = 22

export interface Poll {
  readonly ref: Ref
  readonly entry: CatalogEntry
  readonly ifNoneMatch: string | undefined
  /** The digest that the worker got with the config it has. */
  readonly digest: string | undefined
}

export interface PollDeps extends Pick<MasterDeps, 'backend' | 'log' | 'epoch'> {
  readonly announce: Announce
  readonly regressions: Counter
}

export async function pollConfig({ ref, entry, ifNoneMatch, digest }: Poll, deps: PollDeps): Promise<HandlerResult> {
  const [epoch, [row]] = await Promise.all([deps.epoch.read(), deps.backend.configs.get([ref])])
  if (row === null || row === undefined) throw unknownWorker(ref)
  const marks = parseMarks(ifNoneMatch ?? '')
  const seen = newestSeen(marks, epoch)
  const isLost = seen > row.gen || (seen === row.gen && digest !== undefined && digest !== digestOf(row))
  const current = isLost ? await raised(ref, seen, row, deps) : row
  const headers = { etag: etagOf({ epoch, gen: current.gen }), 'muster-config-digest': digestOf(current) }
  if (marksInclude(marks, { epoch, gen: current.gen })) return { status: 304, headers }
  return { headers, body: polledBody(current, entry) }
}

/** The newest generation of this epoch that the worker has seen; -1 if it names none. */
const newestSeen = (marks: Marks, epoch: string): number =>
  marks === '*' ? -1 : Math.max(-1, ...marks.filter((mark) => mark.epoch === epoch).map(({ gen }) => gen))

const digestOf = ({ config }: ConfigRow): string =>
  createHash('sha256').update(config).digest('base64url').slice(0, DIGEST_CHARACTERS)

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
    'the store lost recent changes: a worker has a config that is not stored, so the stored generation was raised ' +
      'above that of the worker; check the durability of the store',
    fields,
  )
  const [now] = await backend.configs.get([ref])
  if (now === null || now === undefined) throw unknownWorker(ref)
  announce('worker.config_changed', ref, { config_gen: now.gen })
  return now
}
