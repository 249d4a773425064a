/** @module dashboard/settings/key-list  Lists the keyboard shortcuts. */
import { Dialog } from '../components/dialog.tsx'
import { usePreferences } from './preferences.ts'

const KEYS = [
  ['/', 'Filter or find a worker'],
  ['Ctrl+K ⌘K', 'Go to a worker, task type, page, act, saved view or task'],
  ['f', 'Find a task by its ID'],
  ['g then o w t u p a s', 'Overview, Workers, Tasks, Output, Pools, Automations, Settings'],
  ['j k', 'Next and previous row; in a row also ↓ ↑'],
  ['x', 'Select the row'],
  ['Enter', 'Open the row'],
  ['e', 'Edit the config of the open worker'],
  ['p', 'Pause or resume live updates'],
  ['?', 'This list'],
  ['Esc', 'Go back or close'],
] as const

export function KeyTable() {
  return (
    <dl className="keys">
      {KEYS.map(([keys, what]) => (
        <div key={keys}>
          <dt>{keys.split(' ').map((key) => (key === 'then' ? ' then ' : <kbd key={key}>{key}</kbd>))}</dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  )
}

export function KeyList({ onClose }: { readonly onClose: () => void }) {
  const { keys } = usePreferences()
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      {!keys && <p className="notice">Keyboard shortcuts are turned off in Settings.</p>}
      <KeyTable />
      <div className="buttons">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
