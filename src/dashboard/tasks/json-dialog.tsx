/** @module dashboard/tasks/json-dialog  Dialog that shows an item with its complete JSON to read, copy or save. */
import type { ReactNode } from 'react'
import { Dialog } from '../components/dialog.tsx'
import { Download } from '../components/download.tsx'
import { JsonView } from '../components/json-view.tsx'
import { prettyJson } from '../components/json-text.ts'

export interface JsonDialogProps {
  readonly title: string
  readonly value: unknown
  readonly onClose: () => void
  readonly children?: ReactNode
}

export function JsonDialog({ title, value, onClose, children }: JsonDialogProps) {
  return (
    <Dialog title={title} onClose={onClose} wide>
      {children}
      <div className="whole-json">
        <JsonView value={value} label={`${title} as JSON`} />
      </div>
      <div className="buttons">
        <Download name={`${title}.json`} media="application/json" make={() => prettyJson(value)}>
          Save as JSON
        </Download>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
