/**
 * @module dashboard/config/config-tab
 * Edits a worker's config in three views of one draft: Form, JSON and Changes. Saving happens in Changes, sends the
 * base generation as precondition, and is tracked until the worker applies the config.
 */
import './config.css'
import { useEffect, useId, useState, type ReactNode, type SyntheticEvent } from 'react'
import type { FieldError, JsonSchema, WorkerBody } from '../../protocol/index.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { plural } from '../components/numbers.ts'
import { Tabs } from '../components/tabs.tsx'
import { useOutageSince } from '../components/use-outage.ts'
import { formatRoute, type RouteTo } from '../route.ts'
import { goTo } from '../use-route.ts'
import { ChangesList } from './changes-list.tsx'
import { CopyChanges } from './copy-changes.tsx'
import { changesIn, faultsIn, patchOf, type Change } from './draft.ts'
import { FaultList } from './fault-list.tsx'
import { inPageWords, onePerField } from './fault-text.ts'
import { FieldGroups } from './field-groups.tsx'
import { faultsByPath, focusFault, useDraftChange } from './form-state.ts'
import { GitPatch } from './git-patch-view.tsx'
import { JsonEditor } from './json-editor.tsx'
import { ManagedNotice } from './managed-notice.tsx'
import { MergePanel } from './merge-panel.tsx'
import { SaveResult } from './save-result.tsx'
import { useConfigDraft, type DraftHandle } from './use-config-draft.ts'
import { useConfigValidation } from './use-config-validation.ts'
import { useSave, type Save } from './use-save.ts'

export interface ConfigTabProps {
  readonly route: RouteTo<'worker'>
  readonly worker: WorkerBody
  readonly epoch: string | null
  readonly schema: JsonSchema
  /** When the worker was read, in local milliseconds. */
  readonly readAtMs: number
  readonly refresh: () => void
  /** Diagnosis, shown until the worker applies the save. */
  readonly why: ReactNode
}

export function ConfigTab({ route, worker, epoch, schema, readAtMs, refresh, why }: ConfigTabProps) {
  const save = useSave({ worker, readAtMs, refresh, onSaved: () => handle.discard() })
  const handle: DraftHandle = useConfigDraft({ worker, epoch, schema }, save.saved?.base ?? null)
  const { form, draft } = handle
  const { changes, faults, validate } = useValidatedChanges(worker, handle, save)
  const isReviewing = route.view === 'changes'
  useEffect(() => {
    if (isReviewing) validate()
  })
  const id = useId()
  const [agreed, setAgreed] = useState(false)
  const toFault = (): void => {
    const path = faults[0]?.path ?? ''
    goTo({ ...route, view: path === '' && draft.mine.texts.get('')?.fault != null ? 'json' : 'form' })
    requestAnimationFrame(() => requestAnimationFrame(() => focusFault(id, path)))
  }
  const review: Review = { route, handle, changes, faults, save, agreed, toFault }
  return (
    <section className="config" aria-label="Config">
      {worker.managed_by !== null && (
        <ManagedNotice
          by={worker.managed_by}
          mode={draft.mode}
          isAgreed={agreed}
          onMode={handle.setMode}
          onAgree={setAgreed}
        />
      )}
      {handle.isStale && (
        <MergePanel
          form={form}
          draft={draft}
          newest={handle.newest}
          worker={worker}
          onContinue={handle.put}
          onDiscard={handle.discard}
        />
      )}
      <ViewTabs route={route} handle={handle} count={changes.length} />
      <SaveResult save={save} worker={worker} why={why} />
      {route.view === 'form' && (
        <FormView id={id} type={route.type} handle={handle} faults={faults} isBusy={save.busy} onLeave={validate} />
      )}
      {route.view === 'json' && (
        <JsonEditor
          draft={draft.mine}
          onDraft={handle.edit}
          label="The whole config. A secret is shown as ********; leave it unchanged to keep the stored value."
          readOnly={draft.mode === 'locked' || save.busy}
        />
      )}
      {isReviewing ? <ReviewView review={review} worker={worker} /> : <ReviewBar review={review} />}
    </section>
  )
}

interface ValidatedChanges {
  readonly changes: readonly Change[]
  /** Errors found here, by the validation on the master and by the latest save. */
  readonly faults: readonly FieldError[]
  /** Validates the changes on the master, which also finds what this page does not check, such as formats. */
  readonly validate: () => void
}

function useValidatedChanges(worker: WorkerBody, { form, draft }: DraftHandle, save: Save): ValidatedChanges {
  const validation = useConfigValidation(worker)
  const changes = changesIn(form, draft)
  const patch = patchOf(changes)
  const own = faultsIn(form, draft)
  return {
    changes,
    faults: onePerField([...own, ...[...validation.faultsOf(patch), ...save.faults].map(inPageWords)]),
    validate: () => validation.request(patch),
  }
}

function ViewTabs({
  route,
  handle: { draft },
  count,
}: {
  readonly route: RouteTo<'worker'>
  readonly handle: DraftHandle
  readonly count: number
}) {
  const tab = (view: RouteTo<'worker'>['view'], text: string) => ({
    text,
    to: { ...route, view },
    open: route.view === view,
  })
  return (
    <div className="config-views">
      <Tabs
        label="Config views"
        tabs={[tab('form', 'Form'), tab('json', 'JSON'), tab('changes', `Changes (${count})`)]}
      />
      <span className="soft">based on generation {draft.base.gen}</span>
    </div>
  )
}

interface FormViewProps {
  readonly id: string
  readonly type: string
  readonly handle: DraftHandle
  readonly faults: readonly FieldError[]
  readonly isBusy: boolean
  readonly onLeave: () => void
}

function FormView({ id, type, handle: { form, draft, edit }, faults, isBusy, onLeave }: FormViewProps) {
  const isBroken = draft.mine.texts.get('')?.fault != null
  const state = {
    id,
    draft: draft.mine,
    before: draft.base.config,
    faults: faultsByPath(faults),
    change: useDraftChange(draft.mine, edit),
  }
  return (
    <form onSubmit={(event: SyntheticEvent) => event.preventDefault()} noValidate>
      {isBroken && (
        <p className="notice">
          The JSON is invalid, so the form is locked. Correct it in the JSON tab or discard the draft.
        </p>
      )}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- only listens for blur */}
      <fieldset onBlur={onLeave} disabled={draft.mode === 'locked' || isBusy || isBroken}>
        <legend className="hidden">Fields</legend>
        <FieldGroups form={state} fields={form.fields} type={type} />
      </fieldset>
    </form>
  )
}

interface Review {
  readonly route: RouteTo<'worker'>
  readonly handle: DraftHandle
  readonly changes: readonly Change[]
  readonly faults: readonly FieldError[]
  readonly save: Save
  readonly agreed: boolean
  readonly toFault: () => void
}

/** For example "2 changes: 1 error". */
function countsText(changes: readonly Change[], faults: readonly FieldError[]): string {
  const changed = plural(changes.length, 'change')
  return faults.length === 0 ? changed : `${changed}: ${plural(faults.length, 'error')}`
}

/** The bar below Form and JSON: the number of changes and errors, and the button to review them. */
function ReviewBar({ review: { route, handle, changes, faults, save, toFault } }: { readonly review: Review }) {
  const counted = countsText(changes, faults)
  return (
    <div className={handle.isDirty ? 'config-bar' : 'config-bar idle'}>
      <output className="soft">{statusOf(handle)}</output>
      <button type="button" onClick={handle.discard} disabled={!handle.isDirty || save.busy}>
        Discard
      </button>
      {faults.length > 0 && (
        <button type="button" onClick={toFault}>
          Go to first error
        </button>
      )}
      <button
        type="button"
        className="primary"
        disabled={!handle.isDirty}
        onClick={() => goTo({ ...route, view: 'changes' })}
      >
        {handle.isDirty ? `Review ${counted}` : 'Review'}
      </button>
    </div>
  )
}

function statusOf(handle: DraftHandle): string {
  if (handle.draft.mode === 'locked') return 'Locked: see above.'
  return handle.isDirty ? '' : 'No changes.'
}

function ReviewView({ review, worker }: { readonly review: Review; readonly worker: WorkerBody }) {
  const {
    handle: { form, draft },
    changes,
    faults,
  } = review
  if (changes.length === 0 && faults.length === 0 && review.save.saved !== null)
    return (
      <p className="soft">
        All changes are saved. <a href={formatRoute({ ...review.route, tab: 'history' })}>Show the history</a>
      </p>
    )
  if (changes.length === 0 && faults.length === 0)
    return (
      <EmptyState kind="nothing" title="No changes">
        <p>Edit a field in the form or the JSON to review your changes here before you save.</p>
      </EmptyState>
    )
  return (
    <>
      {faults.length > 0 && <FaultSummary review={review} />}
      <ChangesList form={form} changes={changes} />
      {draft.mode === 'git' && worker.managed_by !== null ? (
        <GitPatch form={form} changes={changes} managedBy={worker.managed_by} />
      ) : (
        <SaveBar review={review} worker={worker} />
      )}
    </>
  )
}

function FaultSummary({ review: { faults, toFault } }: { readonly review: Review }) {
  return (
    <section className="problem" aria-label="Errors">
      <p>
        <strong>{plural(faults.length, 'error')}:</strong>{' '}
        <button type="button" className="link" onClick={toFault}>
          Go to the first error
        </button>
      </p>
      <FaultList faults={faults} />
    </section>
  )
}

function SaveBar({ review, worker }: { readonly review: Review; readonly worker: WorkerBody }) {
  const { handle, changes, faults, save, toFault } = review
  const isUnavailable = useOutageSince() !== undefined
  const reason = isUnavailable ? 'The master does not respond. Your changes are kept until it does.' : whyNot(review)
  const text = `Save ${countsText(changes, faults)}`
  const onSave = (): void => {
    if (faults.length > 0) toFault()
    else void save.run(handle.draft.base, patchOf(changes))
  }
  return (
    <div className="config-bar">
      <output className="soft">{reason}</output>
      <CopyChanges form={handle.form} changes={changes} worker={worker} base={handle.draft.base} />
      <button type="button" onClick={handle.discard} disabled={save.busy}>
        Discard
      </button>
      <button type="button" className="primary" disabled={reason !== ''} onClick={onSave}>
        {save.busy ? 'Saving…' : text}
      </button>
    </div>
  )
}

/** @returns why the draft cannot be saved now; '' if it can. */
function whyNot({ handle: { draft, isStale }, changes, faults, save, agreed }: Review): string {
  if (save.busy) return 'Saving…'
  if (draft.mode === 'locked') return 'Locked: see above.'
  if (isStale) return 'The config changed while you were editing: resolve the conflict above.'
  if (draft.mode === 'override' && !agreed) return 'Confirm above that this counts as drift.'
  return changes.length === 0 && faults.length === 0 ? 'No changes.' : ''
}
