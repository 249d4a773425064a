/** @module dashboard/views/save-view-dialog  Saves a view from the command palette. */
import { Dialog } from '../components/dialog.tsx'
import { SaveViewForm } from './save-view-form.tsx'

export function SaveViewDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Save this view" onClose={onClose}>
      <SaveViewForm onSaved={onClose} />
      <div className="buttons">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  )
}
