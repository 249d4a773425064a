/**
 * @module dashboard/overview/acknowledge-dialog
 * Acknowledges an item of the attention list, with a note and an end.
 */
import { useState } from 'react'
import type { AcknowledgeBody } from '../../protocol/index.ts'
import { apiBase, serverClock } from '../api/session.ts'
import { useAction } from '../api/use-action.ts'
import { useRefresh } from '../api/queries.ts'
import { curlCommand } from '../components/commands.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CopyAs } from '../components/copy-as.tsx'
import { NoteAndEnd } from '../components/note-and-end.tsx'
import type { Attention } from '../diagnosis/attention.ts'
import { preferences } from '../settings/preferences.ts'
import { AttentionText } from './attention-text.tsx'
import { ACKNOWLEDGE_ENDS, endBody } from './acknowledge-ends.ts'

export function AcknowledgeDialog({ item, onClose }: { readonly item: Attention; readonly onClose: () => void }) {
  const refresh = useRefresh()
  const [note, setNote] = useState('')
  const [end, setEnd] = useState<(typeof ACKNOWLEDGE_ENDS)[number]>(ACKNOWLEDGE_ENDS[0])
  const text = note.trim()
  const path = ['automations', item.type, 'acknowledgements', item.item]
  const bodyNow = (): AcknowledgeBody => ({
    ...(text !== '' && { note: text }),
    ...endBody(end, serverClock.nowSeconds(), preferences().utc),
    count: item.count,
    ...(item.mark !== null && { mark: item.mark }),
  })
  const act = useAction(async (api) => {
    await api.send('PUT', path, { body: bodyNow() })
    refresh(['acknowledgements'])
    onClose()
  })
  return (
    <ConfirmDialog title="Acknowledge this problem?" verb="Acknowledge" act={act} danger={false} onClose={onClose}>
      <p>
        <bdi className="attention-subject">{item.subject}</bdi> <AttentionText item={item} />
      </p>
      <p>
        It is hidden for all users, and listed again when the time has passed
        {item.affected.length > 0 ? ', or earlier if more workers have the problem' : ''}.
      </p>
      <NoteAndEnd note={note} onNote={setNote} ends={ACKNOWLEDGE_ENDS} end={end} onEnd={setEnd} />
      <p>
        <CopyAs commands={[curlCommand(apiBase(), { method: 'PUT', path, body: bodyNow() })]} />
      </p>
    </ConfirmDialog>
  )
}
