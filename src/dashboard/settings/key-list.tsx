/** @module dashboard/settings/key-list  The shortcuts, all of them. */
import { Dialog } from '../parts/dialog.tsx'
import { usePreferences } from './preferences.ts'

const KEYS = [
  ['/', 'Filter, or find a worker'],
  ['g then o w t u p a s', 'Overview, Workers, Tasks, Output, Pools, Automations, Settings'],
  ['j k', 'Next and previous row'],
  ['x', 'Select the row'],
  ['Enter', 'Open the row'],
  ['e', 'Edit the config of the worker that is open'],
  ['p', 'Pause: the page stands still'],
  ['?', 'This list'],
  ['Esc', 'Back, or close'],
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
    <Dialog title="Keys" onClose={onClose}>
      {!keys && <p className="notice">Single-key shortcuts are off in the settings.</p>}
      <KeyTable />
      <div className="buttons">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
