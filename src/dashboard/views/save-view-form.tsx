/** @module dashboard/views/save-view-form  Asks for the name of a view of the present address, and saves it. */
import { useId, useState, type SyntheticEvent } from 'react'
import { saveView, useSavedViews } from './use-saved-views.ts'

const MAX_NAME = 60

export function SaveViewForm({ onSaved }: { readonly onSaved?: () => void }) {
  const [text, setText] = useState('')
  const id = useId()
  const name = text.trim()
  const isKnown = useSavedViews().some((each) => each.name === name)
  const save = (event: SyntheticEvent): void => {
    event.preventDefault()
    if (name === '') return
    saveView({ name, hash: location.hash })
    setText('')
    onSaved?.()
  }
  return (
    <form className="save-view" onSubmit={save}>
      <label htmlFor={id}>Save this view as</label>
      <input
        id={id}
        type="text"
        value={text}
        maxLength={MAX_NAME}
        autoComplete="off"
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" className="primary" disabled={name === ''}>
        {isKnown ? 'Replace' : 'Save'}
      </button>
    </form>
  )
}
