/** @module dashboard/output/output-place  The output stream of a type: peek, which leaves it as it is, and pop, which takes. */
import { useId, useState } from 'react'
import type { OutputEntry } from '../../protocol/index.ts'
import { useInstalled } from '../api/installed.ts'
import { usePolled } from '../api/use-polled.ts'
import { readN } from '../parts/act-size.ts'
import { Choices } from '../parts/choices.tsx'
import { Empty } from '../parts/empty.tsx'
import { Freshness } from '../parts/freshness.tsx'
import { countText, plural } from '../parts/numbers.ts'
import { Entries } from './entries.tsx'
import { Pop } from './pop.tsx'

const EVERY_MS = 2_000
const DEFAULT_N = '10'

export function OutputPlace({ name }: { readonly name: string | null }) {
  const types = useInstalled().automations.map(({ type }) => type)
  return (
    <>
      <h1>Output</h1>
      <Choices label="Automations" place="output" names={types} open={name} />
      {name === null && <p className="soft">Choose an automation to see what its slots emitted in the last hour.</p>}
      {name !== null && !types.includes(name) && <Empty><p><bdi>{name}</bdi> is not an automation this token covers.</p></Empty>}
      {name !== null && types.includes(name) && <Stream key={name} type={name} />}
    </>
  )
}

interface Peeked { readonly length: number; readonly entries: readonly OutputEntry[] }

function Stream({ type }: { readonly type: string }) {
  const [text, setText] = useState(DEFAULT_N)
  const [popped, setPopped] = useState<readonly OutputEntry[]>([])
  const id = useId()
  const n = readN(text) ?? Number(DEFAULT_N)
  const polled = usePolled<Peeked>(`output ${type} ${n}`, EVERY_MS, async (api, signal) => {
    const [length, entries] = await Promise.all([
      api.get<{ length: number }>(['automations', type, 'output', 'length'], {}, signal),
      api.get<readonly OutputEntry[]>(['automations', type, 'output', 'peek'], { n }, signal),
    ])
    return { length: length.body.length, entries: entries.body }
  })
  const { data, problem, refresh } = polled
  const onPopped = (entries: readonly OutputEntry[]): void => {
    setPopped((before) => [...before, ...entries])
    refresh()
  }
  return (
    <>
      <section className="card">
        <h2>Stream of <bdi>{type}</bdi> {data !== undefined && <span className="count">{plural(data.length, 'entry', 'entries')}</span>}</h2>
        <div className="buttons start">
          <label htmlFor={id}>Show the oldest</label>
          <input id={id} className="short number" type="text" inputMode="numeric" value={text} aria-invalid={readN(text) === null} onChange={(event) => setText(event.target.value)} />
        </div>
        <Freshness polled={polled} every="2 s" />
        {data !== undefined && data.entries.length === 0 && <p className="soft">The stream is empty. Entries stay for an hour.</p>}
        {data !== undefined && data.entries.length > 0 && <Entries label="Peeked entries" entries={data.entries} stale={problem !== undefined} />}
        {data !== undefined && data.length > data.entries.length && data.entries.length > 0 && <p className="soft">The oldest {countText(data.entries.length)} of {countText(data.length)}.</p>}
      </section>
      <Pop type={type} popped={popped} onPopped={onPopped} />
    </>
  )
}
