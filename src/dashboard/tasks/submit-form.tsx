/**
 * @module dashboard/tasks/submit-form
 * Submits one task: payload by schema, priority and options. The master validates the task when a field loses focus
 * (D49). After the submission, the form shows the state of the task.
 */
/* oxlint-disable jsx-a11y/no-noninteractive-element-interactions -- the form handles the blur event of every field */
import { useId, useRef, useState, type SyntheticEvent } from 'react'
import type { FieldError, SubmitResult, TaskBody, ValidatedBody } from '../../protocol/index.ts'
import type { Automation } from '../api/automations.ts'
import type { Problem } from '../api/problem.ts'
import { useRefresh } from '../api/queries.ts'
import { apiBase, useSession } from '../api/session.ts'
import { useAction, type Action } from '../api/use-action.ts'
import { curlCommand, musterCommand, type Command } from '../components/commands.ts'
import { CopyAs } from '../components/copy-as.tsx'
import { ErrorPanel } from '../components/error-panel.tsx'
import { plural } from '../components/numbers.ts'
import { PayloadInput } from './payload-input.tsx'
import { faultOf, payloadFaults, PRIORITIES, readSubmission, resultText, type Submission } from './submission.ts'
import { putDraft, settleDraft, useDraft } from './submit-drafts.ts'
import { TaskState } from './task-state.tsx'

const NO_FAULTS: readonly FieldError[] = []

export function SubmitForm({ automation }: { readonly automation: Automation }) {
  const { type } = automation
  const form = useDraft(automation)
  const { act, faults, validate, submitted, clearSubmitted } = useSubmit(type)
  const put = (part: Partial<Submission>): void => putDraft(type, (now) => ({ ...now, ...part }))
  const onSubmit = (event: SyntheticEvent): void => {
    event.preventDefault()
    void act.run(form)
  }
  return (
    <section className="card">
      <div className="title">
        <h2>
          Submit a task to <bdi>{type}</bdi>
        </h2>
        <div className="buttons">
          <CopyAs commands={commandsOf(type, form)} />
        </div>
      </div>
      <form className="submit" onSubmit={onSubmit} onBlur={() => validate(form)} noValidate>
        <PayloadInput
          automation={automation}
          draft={form.payload}
          faults={payloadFaults(faults)}
          onDraft={(payload) => put({ payload })}
        />
        <TaskOptions form={form} hasGroups={automation.groups !== null} faults={faults} put={put} />
        {act.problem !== null && <SubmitProblem problem={act.problem} />}
        <div className="buttons">
          <output className="fault">
            {faults.length > 0 && `${plural(new Set(faults.map(({ path }) => path)).size, 'field')} to fix`}
          </output>
          <button type="submit" className="primary" disabled={act.busy}>
            {act.busy ? 'Submitting…' : 'Submit'}
          </button>
        </div>
      </form>
      <div aria-live="polite">
        {submitted !== null && (
          <>
            <p className="done">
              <bdi>{resultText(submitted)}</bdi>
            </p>
            <TaskState key={submitted.task_id} type={type} id={submitted.task_id} onClose={clearSubmitted} />
          </>
        )}
      </div>
    </section>
  )
}

interface SubmitHandle {
  readonly act: Action<readonly [submission: Submission]>
  /** Errors of the latest validation and of a rejected submit. */
  readonly faults: readonly FieldError[]
  readonly validate: (submission: Submission) => void
  /** The result of the last successful submit; null if there is none. */
  readonly submitted: SubmitResult | null
  readonly clearSubmitted: () => void
}

function useSubmit(type: string): SubmitHandle {
  const refresh = useRefresh()
  const [faults, setFaults] = useState(NO_FAULTS)
  const [submitted, setSubmitted] = useState<SubmitResult | null>(null)
  const act = useAction(async (api, submission: Submission) => {
    const read = readSubmission(submission)
    setSubmitted(null)
    if (read.kind === 'invalid') return setFaults(read.faults)
    const { body: result } = await api.send<SubmitResult>('POST', ['automations', type, 'tasks'], { body: read.body })
    settleDraft(type)
    setFaults(NO_FAULTS)
    setSubmitted(result)
    refresh(['queue', type], ['overview'])
  })
  const validate = useTaskValidation(type, (found) => {
    setFaults(found)
    if (act.problem?.status === 422) act.clear() // It refers to the previous input.
  })
  return {
    act,
    faults: withOnce(faults, act.problem?.status === 422 ? act.problem.faults : NO_FAULTS),
    validate,
    submitted,
    clearSubmitted: () => setSubmitted(null),
  }
}

/** Adds the faults of a rejected submit to those of the validation, without duplicate paths. */
const withOnce = (faults: readonly FieldError[], more: readonly FieldError[]): readonly FieldError[] => [
  ...faults,
  ...more.filter(({ path }) => !faults.some((each) => each.path === path)),
]

/** Validates on the master: one call at a time, then one for the newest input. Unparsable input is not sent. */
function useTaskValidation(
  type: string,
  onFaults: (faults: readonly FieldError[]) => void,
): (submission: Submission) => void {
  const { api } = useSession()
  const wanted = useRef<TaskBody | null>(null)
  const isBusy = useRef(false)
  const run = async (): Promise<void> => {
    isBusy.current = true
    while (wanted.current !== null) {
      const body = wanted.current
      wanted.current = null
      // A failed validation is not shown: the submit is validated again and shows its failure.
      const response = await api
        .send<ValidatedBody>('POST', ['automations', type, 'tasks', 'validate'], { body })
        .catch(() => null)
      if (response !== null) onFaults(response.body.errors)
    }
    isBusy.current = false
  }
  return (submission) => {
    const read = readSubmission(submission)
    if (read.kind === 'invalid') return onFaults(read.faults)
    wanted.current = read.body
    if (!isBusy.current) void run()
  }
}

/** Shows why a submit failed. After a lost response, the same key is sent again, so the task is queued at most once. */
function SubmitProblem({ problem }: { readonly problem: Problem }) {
  if (problem.status === 422) return null
  return (
    <ErrorPanel problem={problem} title={problem.status === null ? 'May have been queued:' : 'Not queued:'}>
      {problem.status === null && (
        <p>Submit again: the idempotency key is the same, so the task is queued at most once.</p>
      )}
    </ErrorPanel>
  )
}

/** Each with its name in the form and in the body of the request. */
const TEXT_FIELDS = [
  { label: 'Max attempts', hint: 'from worker config', name: 'maxAttempts', field: 'max_attempts' },
  { label: 'Delay (seconds)', hint: 'none', name: 'delaySeconds', field: 'delay_seconds' },
  { label: 'Labels', hint: 'tenant=acme, env=test', name: 'labels', field: 'labels' },
  { label: 'Group', hint: 'none', name: 'group', field: 'group_key' },
  { label: 'Time to live (seconds)', hint: 'unlimited', name: 'ttlSeconds', field: 'ttl_seconds' },
  { label: 'Task ID', hint: 'generated', name: 'taskId', field: 'task_id' },
  { label: 'Idempotency key', hint: 'none', name: 'idempotencyKey', field: 'idempotency_key' },
] as const

interface TaskOptionsProps {
  readonly form: Submission
  /** Whether tasks may have a group. */
  readonly hasGroups: boolean
  readonly faults: readonly FieldError[]
  readonly put: (part: Partial<Submission>) => void
}

function TaskOptions({ form, hasGroups, faults, put }: TaskOptionsProps) {
  const id = useId()
  const fields = TEXT_FIELDS.filter(({ name }) => name !== 'group' || hasGroups)
  const isOwn = !PRIORITIES.some(({ value }) => value === form.priority)
  return (
    <div className="columns">
      <span>
        <label htmlFor={`${id}-priority`}>Priority</label>
        <select
          id={`${id}-priority`}
          value={isOwn ? 'own' : form.priority}
          onChange={(event) => put({ priority: event.target.value === 'own' ? '2' : event.target.value })}
        >
          {PRIORITIES.map(({ value, text }) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
          <option value="own">Custom</option>
        </select>
      </span>
      {isOwn && (
        <TextInput
          label="Custom priority"
          hint="above 0: high, below: low"
          field="priority"
          value={form.priority}
          fault={faultOf(faults, 'priority')}
          onChange={(priority) => put({ priority })}
        />
      )}
      {fields.map(({ label, hint, name, field }) => (
        <TextInput
          key={field}
          label={label}
          hint={hint}
          field={field}
          value={form[name]}
          fault={faultOf(faults, field)}
          onChange={(value) => put({ [name]: value })}
        />
      ))}
    </div>
  )
}

interface TextInputProps {
  readonly label: string
  readonly hint: string
  readonly field: string
  readonly value: string
  readonly fault: string | null
  readonly onChange: (value: string) => void
}

function TextInput({ label, hint, field, value, fault, onChange }: TextInputProps) {
  const id = useId()
  return (
    <span className={field === 'idempotency_key' ? 'wide' : ''}>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="text"
        spellCheck={false}
        autoComplete="off"
        placeholder={hint}
        value={value}
        aria-invalid={fault !== null}
        aria-describedby={`${id}-fault`}
        onChange={(event) => onChange(event.target.value)}
      />
      <p id={`${id}-fault`} className="fault">
        {fault}
      </p>
    </span>
  )
}

function commandsOf(type: string, form: Submission): readonly Command[] {
  const read = readSubmission(form)
  if (read.kind === 'invalid') return []
  const {
    payload,
    priority,
    task_id: taskId,
    delay_seconds: delay,
    labels,
    group_key: group,
    ttl_seconds: ttl,
    max_attempts: attempts,
    idempotency_key: key,
  } = read.body
  const options = [
    ['--priority', priority],
    ['--task-id', taskId],
    ['--delay', delay],
    ...Object.entries(labels ?? {}).map(([name, value]) => ['--label', `${name}=${value}`] as const),
    ['--group', group],
    ['--ttl-seconds', ttl],
    ['--max-attempts', attempts],
    ['--idempotency-key', key],
  ].flatMap(([name, value]) => (value === undefined || value === null ? [] : [String(name), String(value)]))
  return [
    curlCommand(apiBase(), { method: 'POST', path: ['automations', type, 'tasks'], body: read.body }),
    musterCommand(apiBase(), 'tasks', 'submit', type, '--payload', JSON.stringify(payload), ...options),
  ]
}
