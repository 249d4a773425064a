/** @module dashboard/components/json-view  Shows a JSON value as text, truncated until expanded. */
/* oxlint-disable jsx-a11y/prefer-tag-over-role, jsx-a11y/no-noninteractive-tabindex -- scrollable: needs focus */
import { useState } from 'react'
import { cutText, prettyJson } from './json-text.ts'

const SHOWN_CHARACTERS = 2_000

export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }) {
  const [whole, setWhole] = useState(false)
  const text = prettyJson(value)
  return (
    <>
      <pre aria-label={label} role="group" tabIndex={0}>
        <bdi>{whole ? text : cutText(text, SHOWN_CHARACTERS)}</bdi>
      </pre>
      {text.length > SHOWN_CHARACTERS && (
        <button type="button" className="link" onClick={() => setWhole(!whole)}>
          {whole ? 'Show less' : 'Show all'}
        </button>
      )}
    </>
  )
}
