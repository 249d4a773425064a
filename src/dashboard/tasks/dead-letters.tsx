/**
 * @module dashboard/tasks/dead-letters
 * Tasks that ran out of attempts: replayed, oldest death first, or cleared for good. The buttons name their number; the
 * acts of the API take what is there when they arrive, and the words say so.
 */
import { useId, useState } from 'react'
import type { DeadBody } from '../../protocol/index.ts'
import { useAct } from '../api/use-act.ts'
import { usePolled } from '../api/use-polled.ts'
import { readN } from '../parts/act-size.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { Freshness } from '../parts/freshness.tsx'
import { countText, plural } from '../parts/numbers.ts'
import { ProblemBox } from '../parts/problem-box.tsx'
import { TaskTable } from './task-table.tsx'

const EVERY_MS = 5_000
const SHOWN = 50

export function DeadLetters({ type }: { readonly type: string }) {
  const polled = usePolled(`dead ${type}`, EVERY_MS, async (api, signal) => (await api.get<DeadBody>(['automations', type, 'dead'], { n: SHOWN }, signal)).body)
  const { data, problem, refresh } = polled
  const [done, setDone] = useState<string | null>(null)
  const onDone = (text: string): void => {
    setDone(text)
    refresh()
  }
  return (
    <section className="card">
      <h2>Dead letters {data !== undefined && <span className={data.length > 0 ? 'count bad' : 'count'}>{countText(data.length)}</span>}</h2>
      <Freshness polled={polled} every="5 s" />
      {done !== null && <output className="done">{done}</output>}
      {data !== undefined && data.length === 0 && <p className="soft">No task ran out of attempts.</p>}
      {data !== undefined && data.length > 0 && (
        <>
          <DeadActs type={type} length={data.length} onDone={onDone} />
          <TaskTable label="Dead letters" items={data.items} stale={problem !== undefined} />
          {data.length > data.items.length && <p className="soft">The first {countText(data.items.length)} of {countText(data.length)}, oldest death first.</p>}
        </>
      )}
    </section>
  )
}

interface DeadActsProps { readonly type: string; readonly length: number; readonly onDone: (text: string) => void }

function DeadActs({ type, length, onDone }: DeadActsProps) {
  const [text, setText] = useState('')
  const [clearing, setClearing] = useState(false)
  const id = useId()
  const n = text.trim() === '' ? Math.min(length, SHOWN) : readN(text)
  const replay = useAct(async (api, count: number) => {
    const { body } = await api.send<{ replayed: number }>('POST', ['automations', type, 'dead', 'replay'], { body: { n: count } })
    onDone(`${plural(body.replayed, 'task')} went back to the queue.`)
  })
  const clear = useAct(async (api) => {
    const { body } = await api.send<{ cleared: number }>('DELETE', ['automations', type, 'dead'])
    setClearing(false)
    onDone(`${plural(body.cleared, 'dead letter')} cleared.`)
  })
  return (
    <>
      <div className="buttons start">
        <label htmlFor={id}>Number to replay</label>
        <input id={id} className="short number" type="text" inputMode="numeric" value={text} placeholder={String(Math.min(length, SHOWN))} aria-invalid={n === null} onChange={(event) => setText(event.target.value)} />
        <button type="button" disabled={n === null || replay.busy} onClick={() => n !== null && void replay.run(n)}>{n === null ? 'Replay: 1 to 10,000' : `Replay the oldest ${countText(Math.min(n, length))}`}</button>
        <button type="button" onClick={() => setClearing(true)}>Clear all…</button>
      </div>
      {replay.problem !== null && <ProblemBox problem={replay.problem} />}
      {clearing && (
        <ConfirmDialog title={`Clear the dead letters of ${type}?`} verb={`Clear ${plural(length, 'dead letter')}`} act={clear} onClose={() => setClearing(false)}>
          <p>All of them are deleted with their payloads, also those that die until this arrives. This cannot be undone; replay is the way to run them again.</p>
        </ConfirmDialog>
      )}
    </>
  )
}
