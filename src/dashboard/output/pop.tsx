/** @module dashboard/output/pop  Takes entries out of a stream, for every consumer; what was popped stays in this tab. */
import { useId, useState } from 'react'
import type { OutputEntry } from '../../protocol/index.ts'
import { useAct } from '../api/use-act.ts'
import { readN } from '../parts/act-size.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { countText, plural } from '../parts/numbers.ts'
import { Entries } from './entries.tsx'

export interface PopProps {
  readonly type: string
  readonly popped: readonly OutputEntry[]
  readonly onPopped: (entries: readonly OutputEntry[]) => void
}

export function Pop({ type, popped, onPopped }: PopProps) {
  const [text, setText] = useState('10')
  const [asking, setAsking] = useState(false)
  const [message, setMessage] = useState<string | null>(null)
  const id = useId()
  const n = readN(text)
  const pop = useAct(async (api) => {
    const { body } = await api.send<readonly OutputEntry[]>('POST', ['automations', type, 'output', 'pop'], { body: { n } })
    setAsking(false)
    setMessage(body.length === 0 ? 'The stream was empty.' : `${plural(body.length, 'entry', 'entries')} taken.`)
    onPopped(body)
  })
  return (
    <section className="card">
      <h2>Pop</h2>
      <p>Popping takes the oldest entries out of the stream, for every consumer, and cannot be undone. They stay on this page until you leave it.</p>
      <div className="buttons start">
        <label htmlFor={id}>Number to pop</label>
        <input id={id} className="short number" type="text" inputMode="numeric" value={text} aria-invalid={n === null} onChange={(event) => setText(event.target.value)} />
        <button type="button" disabled={n === null} onClick={() => setAsking(true)}>{n === null ? 'Pop: 1 to 10,000' : `Pop ${countText(n)}…`}</button>
        {message !== null && <output className="done">{message}</output>}
      </div>
      {popped.length > 0 && <Entries label="Popped entries" entries={popped} stale={false} />}
      {asking && n !== null && (
        <ConfirmDialog title={`Pop from ${type}?`} verb={`Pop ${countText(n)}`} act={pop} onClose={() => setAsking(false)}>
          <p>Up to {plural(n, 'entry', 'entries')} leave the stream. No other consumer will see them, and nothing brings them back.</p>
        </ConfirmDialog>
      )}
    </section>
  )
}
