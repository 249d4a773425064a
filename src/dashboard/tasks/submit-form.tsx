/** @module dashboard/tasks/submit-form  One task, its payload as JSON; the master validates it. */
import { useId, useState, type SyntheticEvent } from 'react'
import type { JsonObject, SubmitResult } from '../../protocol/index.ts'
import type { Automation } from '../api/automations.ts'
import { useAct } from '../api/use-act.ts'
import { JsonView } from '../parts/json-view.tsx'
import { ProblemBox } from '../parts/problem-box.tsx'
import { newSubmission, payloadExample, PRIORITIES, randomKey, readSubmission, resultText, type Submission } from './submission.ts'

const freshKey = (): string => randomKey((bytes) => crypto.getRandomValues(bytes))

export function SubmitForm({ automation: { type, payloadSchema }, onSubmitted }: { readonly automation: Automation; readonly onSubmitted: () => void }) {
  const [form, setForm] = useState(() => newSubmission(freshKey(), payloadExample(payloadSchema as JsonObject | null)))
  const [fault, setFault] = useState<string | null>(null)
  const [done, setDone] = useState<string | null>(null)
  const id = useId()
  const act = useAct(async (api, submission: Submission) => {
    const read = readSubmission(submission)
    setFault('fault' in read ? read.fault : null)
    setDone(null)
    if ('fault' in read) return
    const { body: result } = await api.send<SubmitResult>('POST', ['automations', type, 'tasks'], { body: read.body })
    setDone(resultText(result))
    setForm((now) => ({ ...now, taskId: '', idempotencyKey: freshKey() }))
    onSubmitted()
  })
  const put = (part: Partial<Submission>): void => setForm((now) => ({ ...now, ...part }))
  const onSubmit = (event: SyntheticEvent): void => {
    event.preventDefault()
    void act.run(form)
  }
  return (
    <section className="card">
      <h2>Submit a task</h2>
      <form onSubmit={onSubmit} noValidate>
        <label htmlFor={`${id}-payload`}>Payload</label>
        <textarea id={`${id}-payload`} className="code" rows={6} spellCheck={false} value={form.payload} aria-invalid={fault !== null} onChange={(event) => put({ payload: event.target.value })} />
        {payloadSchema !== null && <details><summary>Schema of the payload</summary><JsonView value={payloadSchema} label="Schema of the payload" /></details>}
        <div className="columns">
          <span>
            <label htmlFor={`${id}-priority`}>Priority</label>
            <select id={`${id}-priority`} value={form.priority} onChange={(event) => put({ priority: event.target.value })}>
              {PRIORITIES.map(({ value, text }) => <option key={value} value={value}>{text}</option>)}
            </select>
          </span>
          <TextInput label="Attempts" id={`${id}-attempts`} hint="as the worker's config" value={form.maxAttempts} onChange={(maxAttempts) => put({ maxAttempts })} />
          <TextInput label="Time to live, seconds" id={`${id}-ttl`} hint="for ever" value={form.ttlSeconds} onChange={(ttlSeconds) => put({ ttlSeconds })} />
          <TextInput label="Task id" id={`${id}-id`} hint="the master makes one" value={form.taskId} onChange={(taskId) => put({ taskId })} />
          <TextInput label="Idempotency key" id={`${id}-key`} hint="none" value={form.idempotencyKey} onChange={(idempotencyKey) => put({ idempotencyKey })} />
        </div>
        {fault !== null && <p className="problem" role="alert">{fault}</p>}
        {act.problem !== null && <Refused act={act} />}
        <div className="buttons">
          {done !== null && <output className="done"><bdi>{done}</bdi></output>}
          <button type="submit" className="primary" disabled={act.busy}>{act.busy ? 'Submitting…' : 'Submit'}</button>
        </div>
      </form>
    </section>
  )
}

/** After a lost answer the same key is sent again, so the task is queued once at most. */
function Refused({ act: { problem } }: { readonly act: { readonly problem: NonNullable<ReturnType<typeof useAct>['problem']> | null } }) {
  if (problem === null) return null
  return (
    <ProblemBox problem={problem} title={problem.status === null ? 'Perhaps queued:' : 'Not queued:'}>
      {problem.status === null && <p>Submit again: the idempotency key is the same, so the task is queued once at most.</p>}
    </ProblemBox>
  )
}

interface TextInputProps {
  readonly id: string
  readonly label: string
  readonly hint: string
  readonly value: string
  readonly onChange: (value: string) => void
}

function TextInput({ id, label, hint, value, onChange }: TextInputProps) {
  return (
    <span>
      <label htmlFor={id}>{label}</label>
      <input id={id} type="text" spellCheck={false} autoComplete="off" placeholder={hint} value={value} onChange={(event) => onChange(event.target.value)} />
    </span>
  )
}
