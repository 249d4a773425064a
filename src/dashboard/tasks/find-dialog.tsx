/**
 * @module dashboard/tasks/find-dialog
 * Finds a task by its ID in the queues of all types that the token covers (D116), and opens its page. If several types
 * have a task with this ID, the dialog lists them.
 */
import { useEffect, useId, useState, type SyntheticEvent } from 'react'
import type { FoundTask } from '../../protocol/index.ts'
import { useRead } from '../api/queries.ts'
import { apiBase } from '../api/session.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { CopyAs } from '../components/copy-as.tsx'
import { Dialog } from '../components/dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ReadState } from '../components/read-state.tsx'
import { formatRoute } from '../route.ts'
import { goTo } from '../use-route.ts'
import './find-dialog.css'

const EVERY_MS = 10_000

interface FindDialogProps {
  /** The ID that is searched for first; empty if none. */
  readonly initial?: string
  readonly onClose: () => void
}

export function FindDialog({ initial = '', onClose }: FindDialogProps) {
  const [text, setText] = useState(initial)
  const [wanted, setWanted] = useState(initial)
  const id = useId()
  const find = (event: SyntheticEvent): void => {
    event.preventDefault()
    setWanted(text.trim())
  }
  return (
    <Dialog title="Find a task" onClose={onClose}>
      <form className="find-task" onSubmit={find}>
        <label htmlFor={id}>Task ID</label>
        <input
          id={id}
          type="search"
          value={text}
          spellCheck={false}
          autoComplete="off"
          autoCapitalize="off"
          enterKeyHint="search"
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit" className="primary" disabled={text.trim() === ''}>
          Find
        </button>
      </form>
      <div aria-live="polite">{wanted !== '' && <Search key={wanted} id={wanted} onClose={onClose} />}</div>
      <div className="buttons">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

/** Searches until the dialog is closed: a task that is submitted meanwhile is found as well. */
function Search({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const read = useRead(
    ['find-task', id],
    EVERY_MS,
    async (api, signal) => (await api.get<readonly FoundTask[]>(['tasks', id], {}, signal)).body,
  )
  const found = read.data
  const only = found?.length === 1 ? found[0]?.automation_type : undefined
  useEffect(() => {
    if (only === undefined) return
    onClose()
    goTo({ page: 'task', type: only, id })
  }, [only, id, onClose])
  return (
    <>
      <ReadState read={read} />
      {found?.length === 0 && <UnknownTask id={id} />}
      {found !== undefined && found.length > 1 && (
        <>
          <p>
            {found.length} automation types have a task <bdi>{id}</bdi>:
          </p>
          <ul className="found-tasks">
            {found.map(({ automation_type: type, place }) => (
              <li key={type}>
                <a href={formatRoute({ page: 'task', type, id })} onClick={onClose}>
                  <bdi>{type}</bdi>
                </a>{' '}
                <span className="soft">{place.replace('_', ' ')}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}

function UnknownTask({ id }: { readonly id: string }) {
  return (
    <EmptyState kind="gone" title="No task with this ID">
      <p>
        <bdi>{id}</bdi> has finished and its result is not kept, was cancelled, never existed, or belongs to an
        automation type that this token does not cover.
      </p>
      <p>
        <CopyAs
          commands={[
            curlCommand(apiBase(), { method: 'GET', path: ['tasks', id] }),
            musterCommand(apiBase(), 'tasks', 'find', id),
          ]}
        />
      </p>
    </EmptyState>
  )
}
