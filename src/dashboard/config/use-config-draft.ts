/**
 * @module dashboard/config/use-config-draft
 * Manages the draft of one worker's config.
 *
 *   no draft: shows the worker's config ──first edit──▶ draft based on that generation ──saved──▶ no draft
 *                                                           ▲  │ saved by another client: the user resolves conflicts
 *                                                           └──┘
 */
import { useCallback, useEffect, useMemo } from 'react'
import type { JsonObject, JsonSchema, WorkerBody } from '../../protocol/index.ts'
import { draftOn, formOf, isDirty, revertTo, type ConfigDraft, type Form, type Mode } from './draft.ts'
import { useDraft } from './draft-store.ts'
import { rebase } from './merge.ts'
import { newestOf, sameBase, type Base } from './saving.ts'
import type { ValueDraft } from './value-draft.ts'

export interface DraftHandle {
  readonly form: Form
  readonly draft: ConfigDraft
  readonly newest: Base
  readonly isDirty: boolean
  readonly isStale: boolean
  readonly edit: (mine: ValueDraft) => void
  readonly put: (draft: ConfigDraft) => void
  readonly setMode: (mode: Mode) => void
  readonly revert: (old: JsonObject) => void
  readonly discard: () => void
}

export interface DraftOf {
  readonly worker: WorkerBody
  readonly epoch: string | null
  readonly schema: JsonSchema
}

export function useConfigDraft({ worker, epoch, schema }: DraftOf, saved: Base | null): DraftHandle {
  const form = useMemo(() => formOf(schema), [schema])
  const [kept, keep] = useDraft(`${worker.automation_type}/${worker.worker_id}`, form)
  const newest = newestOf({ config: worker.config as JsonObject, gen: worker.config_gen, epoch }, saved)
  const restMode: Mode = worker.managed_by === null ? 'open' : 'locked'
  const draft = kept ?? draftOn(newest, restMode)
  const dirty = kept !== null && isDirty(form, kept)
  const isStale = !sameBase(draft.base, newest)
  const put = useCallback(
    (next: ConfigDraft) => keep(isDirty(form, next) || next.mode !== restMode ? next : null),
    [form, keep, restMode],
  )
  useEffect(() => {
    // Without edits there is nothing to merge.
    if (kept !== null && !dirty && isStale) put(rebase(form, kept, newest, new Map()))
  })
  return {
    form,
    draft,
    newest,
    isDirty: dirty,
    isStale: isStale && dirty,
    put,
    edit: (mine) => put({ ...draft, mine }),
    setMode: (mode) => put({ ...draft, mode }),
    revert: (old) => put(revertTo(form, newest, old, draft.mode)),
    discard: () => keep(null),
  }
}
