/**
 * @module dashboard/palette/palette
 * Renders the command palette: pages, saved views, task types, workers, acts and tasks by a few letters. ↓ and ↑ move,
 * Enter opens, Escape closes.
 */
/* oxlint-disable jsx-a11y/prefer-tag-over-role -- a combobox */
import './palette.css'
import { useEffect, useId, useMemo, useState } from 'react'
import { useInstalled } from '../api/installed.ts'
import { useFeed, useFeedState } from '../api/live.ts'
import { Dialog } from '../components/dialog.tsx'
import { OptionList } from '../components/option-list.tsx'
import type { Route } from '../route.ts'
import { changePreferences } from '../settings/preferences.ts'
import { isViewable } from '../views/saved-views.ts'
import { useSavedViews } from '../views/use-saved-views.ts'
import { useSnapshot } from '../workers/use-workers.ts'
import { entriesOf, foundEntries, type Act, type Entry } from './entries.ts'

export interface PaletteProps {
  readonly route: Route
  readonly onClose: () => void
  /** Opens another dialog of the frame. The text is the ID of a task. */
  readonly onDialog: (dialog: 'find' | 'keys' | 'view', text: string) => void
  readonly onSignOut: () => void
}

export function Palette(props: PaletteProps) {
  const { onClose } = props
  const [text, setText] = useState('')
  const [marked, setMarked] = useState(0)
  const id = useId()
  const found = useFound(props.route, text) // Not deferred: Enter acts on the text that is shown.
  const run = useRun(props)
  const at = Math.min(marked, found.length - 1)
  const onKeyDown = (event: React.KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return
    const entry = found[at]
    if (event.key === 'Enter' && entry !== undefined) run(entry)
    else if (event.key === 'ArrowDown') setMarked((at + 1) % Math.max(1, found.length))
    else if (event.key === 'ArrowUp') setMarked((at + found.length - 1) % Math.max(1, found.length))
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-label="Worker, task type, page, act or task ID"
        aria-autocomplete="list"
        aria-expanded={found.length > 0}
        aria-controls={id}
        aria-activedescendant={found.length > 0 ? `${id}-${at}` : undefined}
        placeholder="Worker, task type, page, act or task ID"
        value={text}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        enterKeyHint="go"
        onChange={(event) => {
          setText(event.target.value)
          setMarked(0)
        }}
        onKeyDown={onKeyDown}
      />
      <Found id={id} found={found} at={at} onRun={run} />
      <output className="soft palette-foot">
        {found.length === 0 ? 'Nothing matches.' : '↓ ↑ to move, Enter to open, Esc to close'}
      </output>
    </Dialog>
  )
}

interface FoundProps {
  readonly id: string
  readonly found: readonly Entry[]
  readonly at: number
  readonly onRun: (entry: Entry) => void
}

function Found({ id, found, at, onRun }: FoundProps) {
  useEffect(() => {
    document.querySelector(`[id="${id}-${at}"]`)?.scrollIntoView({ block: 'nearest' })
  }, [id, at])
  return (
    <OptionList
      id={id}
      label="Matches"
      className="palette-list"
      options={found}
      marked={at}
      keyOf={({ key }) => key}
      textOf={({ text }) => text}
      noteOf={({ kind }) => kind}
      onTake={onRun}
    />
  )
}

function useFound(route: Route, text: string): readonly Entry[] {
  const { automations } = useInstalled()
  const { rows } = useSnapshot()
  const views = useSavedViews()
  const isPaused = useFeedState().kind === 'paused'
  const entries = useMemo(
    () =>
      entriesOf({
        route,
        types: automations.map(({ type, kind }) => ({ type, hasTasks: kind === 'BatchAutomation' })),
        views,
        canSaveView: isViewable(location.hash),
        isPaused,
      }),
    [route, automations, views, isPaused],
  )
  return useMemo(
    () => foundEntries(text, entries, rows.values()),
    // `rows` is the same Map in every version; the palette follows its size only.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [text, entries, rows, rows.size],
  )
}

function useRun({ onClose, onDialog, onSignOut }: PaletteProps): (entry: Entry) => void {
  const feed = useFeed()
  const isPaused = useFeedState().kind === 'paused'
  const act = (name: Act, text: string): void => {
    switch (name) {
      case 'find':
      case 'keys':
        return onDialog(name, text)
      case 'save-view':
        return onDialog('view', '')
      case 'live':
        return isPaused ? feed.resume() : feed.pause()
      case 'sign-out':
        return onSignOut()
      case 'theme-system':
        return changePreferences({ theme: 'system' })
      case 'theme-light':
        return changePreferences({ theme: 'light' })
      case 'theme-dark':
        return changePreferences({ theme: 'dark' })
    }
  }
  return ({ to }) => {
    onClose()
    if (to.kind === 'hash') location.hash = to.hash
    else act(to.act, to.text)
  }
}
