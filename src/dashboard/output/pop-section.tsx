/**
 * @module dashboard/output/pop-section
 * Pops entries from a stream and keeps them in this tab until they are saved or discarded.
 */
import { useMemo, useState } from 'react'
import type { OutputEntry } from '../../protocol/index.ts'
import { useRefresh } from '../api/queries.ts'
import { apiBase } from '../api/session.ts'
import { useAction, type Action } from '../api/use-action.ts'
import { readN } from '../components/item-count.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CopyAs } from '../components/copy-as.tsx'
import { CountInput } from '../components/count-input.tsx'
import { Download, ndjson } from '../components/download.tsx'
import { countText, plural } from '../components/numbers.ts'
import { EntryTable } from './entry-table.tsx'
import { rowOf } from './tail-buffer.ts'
import { popped, usePopped } from './use-popped.ts'

export function PopSection({ type }: { readonly type: string }) {
  const [text, setText] = useState('10')
  const [isAsking, setAsking] = useState(false)
  const n = readN(text)
  const { pop, message } = usePop(type, () => setAsking(false))
  return (
    <section className="card pop">
      <h2>Pop</h2>
      <p>
        Popping <strong>removes</strong> the oldest entries from the stream for all consumers and cannot be undone. Tail
        and Peek only read.
      </p>
      <div className="buttons start">
        <CountInput label="Number to pop" value={text} isInvalid={n === null} onChange={setText} />
        <button type="button" disabled={n === null} onClick={() => setAsking(true)}>
          {n === null ? 'Enter 1 to 10,000' : `Pop ${countText(n)}…`}
        </button>
        {n !== null && (
          <CopyAs
            commands={[
              curlCommand(apiBase(), { method: 'POST', path: ['automations', type, 'output', 'pop'], body: { n } }),
              musterCommand(apiBase(), 'output', 'pop', type, '-n', String(n)),
            ]}
          />
        )}
        <output className="done">{message}</output>
      </div>
      <PoppedEntries type={type} />
      {isAsking && n !== null && <PopDialog type={type} n={n} pop={pop} onClose={() => setAsking(false)} />}
    </section>
  )
}

type PopAction = Action<readonly [n: number]>

/** @returns The act that pops entries, and the message about its result. */
function usePop(type: string, onDone: () => void): { readonly pop: PopAction; readonly message: string | null } {
  const [message, setMessage] = useState<string | null>(null)
  const refresh = useRefresh()
  const pop = useAction(async (api, n: number) => {
    const { body } = await api.send<readonly OutputEntry[]>('POST', ['automations', type, 'output', 'pop'], {
      body: { n },
    })
    onDone()
    setMessage(body.length === 0 ? 'The stream was empty.' : `${plural(body.length, 'entry', 'entries')} popped.`)
    popped.add(type, body)
    refresh(['output', type], ['overview'])
  })
  return { pop, message }
}

interface PopDialogProps {
  readonly type: string
  readonly n: number
  readonly pop: PopAction
  readonly onClose: () => void
}

function PopDialog({ type, n, pop, onClose }: PopDialogProps) {
  const act = { ...pop, run: () => pop.run(n) }
  return (
    <ConfirmDialog title={`Pop from ${type}?`} verb={`Pop ${countText(n)}`} act={act} onClose={onClose}>
      <p>
        Up to {plural(n, 'entry', 'entries')} will be removed for all consumers. This cannot be undone. This tab keeps a
        copy that you can save.
      </p>
      {pop.problem?.status === null && <p>The entries may have been removed. In that case they are lost.</p>}
    </ConfirmDialog>
  )
}

function PoppedEntries({ type }: { readonly type: string }) {
  const { entries, isSaved } = usePopped(type)
  const rows = useMemo(() => entries.map(rowOf), [entries])
  if (rows.length === 0) return null
  return (
    <>
      <p className="notice">
        {plural(rows.length, 'popped entry exists', 'popped entries exist')} only in this tab.{' '}
        {isSaved ? 'Saved to a file.' : 'Save before you close it.'}
      </p>
      <div className="buttons start">
        <Download
          name={`${type}-popped.ndjson`}
          media="application/x-ndjson"
          make={() => ndjson(entries)}
          onSaved={() => popped.markSaved(type)}
        >{`Save ${countText(rows.length)} as NDJSON`}</Download>
        <button type="button" disabled={!isSaved} onClick={() => popped.clear(type)}>
          {isSaved ? 'Discard copy' : 'Discard (save first)'}
        </button>
      </div>
      <EntryTable label="Popped entries" type={type} rows={rows} />
    </>
  )
}
