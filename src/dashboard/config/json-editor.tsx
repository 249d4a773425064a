/**
 * @module dashboard/config/json-editor
 * Edits the whole value as JSON text with line numbers and the position of syntax errors.
 */
import { useId, useRef } from 'react'
import { prettyJson } from '../components/json-text.ts'
import { faultPosition, type Position } from './position.ts'
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
        {position === null ? (
          typed?.fault
        ) : (
          <JsonFault position={position} onShow={() => select(field.current, indexOf(text, position))} />
        )}
      </output>
    </div>
  )
}

function JsonFault({ position, onShow }: { readonly position: Position; readonly onShow: () => void }) {
  return (
    <>
      <span aria-hidden="true">✗ </span>Invalid JSON at line {position.line}, column {position.column}.{' '}
      <button type="button" className="link" onClick={onShow}>
        Show
      </button>
    </>
  )
}

/** Moves the focus to the field and selects the character at `index`. */
function select(field: HTMLTextAreaElement | null, index: number): void {
  field?.focus()
  field?.setSelectionRange(index, index + 1)
}

function indexOf(text: string, { line, column }: Position): number {
  const before = text.split('\n').slice(0, line - 1)
  return before.reduce((sum, each) => sum + each.length + 1, 0) + column - 1
}
