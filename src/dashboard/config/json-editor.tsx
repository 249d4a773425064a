/**
 * @module dashboard/config/json-editor
 * Edits the whole value as JSON text with line numbers and the position of syntax errors.
 */
import { useId, useRef } from 'react'
import { prettyJson } from '../components/json-text.ts'
import { faultPosition } from './position.ts'
import { typeWhole, type ValueDraft } from './value-draft.ts'

export interface JsonEditorProps {
  readonly draft: ValueDraft
  readonly onDraft: (next: ValueDraft) => void
  readonly label: string
  readonly readOnly?: boolean
}

const MOST_LINES = 32

export function JsonEditor({ draft, onDraft, label, readOnly = false }: JsonEditorProps) {
  const id = useId()
  const gutter = useRef<HTMLPreElement>(null)
  const field = useRef<HTMLTextAreaElement>(null)
  const typed = draft.texts.get('')
  const text = typed?.text ?? prettyJson(draft.value ?? {})
  const lines = text.split('\n').length
  const position = typed?.fault == null ? null : faultPosition(text)
  const show = (): void => {
    if (position === null || field.current === null) return
    const at =
      text
        .split('\n')
        .slice(0, position.line - 1)
        .reduce((sum, line) => sum + line.length + 1, 0) +
      position.column -
      1
    field.current.focus()
    field.current.setSelectionRange(at, at + 1)
  }
  return (
    <div className="json-editor">
      <label className="label" htmlFor={id}>
        {label}
      </label>
      <div className="json-text">
        <pre ref={gutter} aria-hidden="true" className="gutter">
          {Array.from({ length: lines }, (_, index) => index + 1).join('\n')}
        </pre>
        <textarea
          ref={field}
          id={id}
          className="code"
          wrap="off"
          spellCheck={false}
          autoComplete="off"
          readOnly={readOnly}
          rows={Math.min(MOST_LINES, lines + 1)}
          value={text}
          aria-invalid={typed?.fault != null}
          aria-describedby={`${id}-fault`}
          onChange={(event) => onDraft(typeWhole(draft, event.target.value))}
          onScroll={(event) => gutter.current?.scrollTo(0, event.currentTarget.scrollTop)}
        />
      </div>
      <output id={`${id}-fault`} className="fault">
        {typed?.fault != null &&
          (position === null ? (
            typed.fault
          ) : (
            <>
              <span aria-hidden="true">✗ </span>Invalid JSON at line {position.line}, column {position.column}.{' '}
              <button type="button" className="link" onClick={show}>
                Show
              </button>
            </>
          ))}
      </output>
    </div>
  )
}
