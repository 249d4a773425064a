/** @module master/operations/shown  Renders operations for the REST API, with masked secrets, and their results. */
import type { Catalog } from '../../automation/index.ts'
import { maskSecrets, toSeconds, type OperationResultBody, type OperationShown } from '../../protocol/index.ts'
import { csvLine } from '../../runtime/index.ts'
import { hasEnded, type Operation } from './operation-store.ts'
import type { Item } from './stored.ts'

export function shownOperation({ type, id, head }: Operation, catalog: Catalog): OperationShown {
  const { counts, patch } = head
  const hasWritten = counts.done + counts.offline + counts.failed + counts.active > 0
  return {
    operation: id,
    type,
    kind: head.kind,
    state: head.state,
    reason: head.reason,
    note: head.note,
    created_at: toSeconds(head.createdMs),
    created_by: head.actor,
    ended_at: head.endedMs === null ? null : toSeconds(head.endedMs),
    total: head.total,
    counts,
    patch: patch === null ? null : maskSecrets(patch, catalog.get(type)?.secrets ?? []),
    fields: [...head.fields],
    group: head.group,
    before: head.beforeMs === null ? null : toSeconds(head.beforeMs),
    per_second: head.perSecond,
    parallel: head.parallel,
    wait_seconds: head.waitMs / 1_000,
    bake_seconds: head.bakeMs / 1_000,
    stop_after: head.stopAfter,
    stop_share: head.stopShare,
    failures: head.failures.map(({ id: worker, message }) => ({ worker_id: worker, message })),
    undo_of: head.undoOf,
    undone_by: head.undoneBy,
    can_undo: head.kind === 'patch' && hasEnded(head.state) && head.undoneBy === null && hasWritten,
  }
}

function resultOf({ id, s, g, n, e }: Item): OperationResultBody {
  return { worker_id: id, result: s, config_gen_before: g, config_gen: n ?? null, message: e ?? null }
}

const COLUMNS = ['worker_id', 'result', 'config_gen_before', 'config_gen', 'message'] as const

/** The forms of the results: what stands before, between and after them. */
export const RESULT_FORMATS = {
  json: {
    type: 'application/json',
    head: '{"results":[',
    separator: ',',
    tail: ']}',
    line: (item: Item): string => JSON.stringify(resultOf(item)),
  },
  ndjson: {
    type: 'application/x-ndjson',
    head: '',
    separator: '\n',
    tail: '\n',
    line: (item: Item): string => JSON.stringify(resultOf(item)),
  },
  csv: {
    type: 'text/csv; charset=utf-8',
    head: `${COLUMNS.join(',')}\r\n`,
    separator: '\r\n',
    tail: '\r\n',
    line: (item: Item): string => {
      const result = resultOf(item)
      return csvLine(COLUMNS.map((name) => result[name]))
    },
  },
} as const
