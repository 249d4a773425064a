/**
 * @module dashboard/tasks/payload-input
 * Edits a payload as a form of its schema or as JSON. Both views share one draft.
 */
import { lazy, Suspense, useState } from 'react'
import type { FieldError } from '../../protocol/index.ts'
import type { Automation } from '../api/automations.ts'
import type { ValueDraft } from '../config/value-draft.ts'

const SchemaForm = lazy(async () => ({ default: (await import('../config/schema-form.tsx')).SchemaForm }))
const JsonEditor = lazy(async () => ({ default: (await import('../config/json-editor.tsx')).JsonEditor }))

export interface PayloadInputProps {
  readonly automation: Automation
  readonly draft: ValueDraft
  readonly onDraft: (draft: ValueDraft) => void
  readonly faults: readonly FieldError[]
}

export function PayloadInput({ automation: { payloadSchema }, draft, onDraft, faults }: PayloadInputProps) {
  const [view, setView] = useState<'form' | 'json'>('form')
  const whole = faults.filter(({ path }) => path === '' || view === 'json')
  return (
    <>
      <fieldset className="payload-views" aria-label="Payload view">
        <button type="button" aria-pressed={view === 'form'} onClick={() => setView('form')}>
          Form
        </button>
        <button type="button" aria-pressed={view === 'json'} onClick={() => setView('json')}>
          JSON
        </button>
      </fieldset>
      <Suspense fallback={<output className="reading">Loading…</output>}>
        {view === 'form' ? (
          <SchemaForm schema={payloadSchema ?? {}} draft={draft} onDraft={onDraft} faults={faults} label="Payload" />
        ) : (
          <JsonEditor draft={draft} onDraft={onDraft} label="Payload" />
        )}
      </Suspense>
      {whole.length > 0 && (
        <ul className="fault" aria-label="Payload errors">
          {whole.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              {path !== '' && (
                <code>
                  <bdi>{path}</bdi>
                </code>
              )}{' '}
              <bdi>{message}</bdi>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
