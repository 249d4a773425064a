/** @module dashboard/output/peek-view  Shows the oldest entries, which the next pop would remove. Read-only. */
import { useMemo, useState } from 'react'
import type { OutputEntry } from '../../protocol/index.ts'
import { useRead } from '../api/queries.ts'
import { apiBase } from '../api/session.ts'
import { readN } from '../components/item-count.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { CopyAs } from '../components/copy-as.tsx'
import { CountInput } from '../components/count-input.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { countText } from '../components/numbers.ts'
import { ReadView } from '../components/read-state.tsx'
import { EntryTable } from './entry-table.tsx'
import { rowOf } from './tail-buffer.ts'

const EVERY_MS = 2_000
const DEFAULT_N = '10'

interface PeekResult {
  readonly length: number
  readonly entries: readonly OutputEntry[]
}

export function PeekView({ type }: { readonly type: string }) {
  const [text, setText] = useState(DEFAULT_N)
  const n = readN(text) ?? Number(DEFAULT_N)
  const read = useRead<PeekResult>(['output', type, n], EVERY_MS, async (api, signal) => {
    const [length, entries] = await Promise.all([
      api.get<{ length: number }>(['automations', type, 'output', 'length'], {}, signal),
      api.get<readonly OutputEntry[]>(['automations', type, 'output', 'peek'], { n }, signal),
    ])
    return { length: length.body.length, entries: entries.body }
  })
  return (
    <section className="card">
      <div className="title">
        <h2>
          Oldest entries{' '}
          {read.data !== undefined && (
            <span className="count">
              {countText(read.data.entries.length)} of {countText(read.data.length)}
            </span>
          )}
        </h2>
        <div className="buttons">
          <CountInput label="Show the oldest" value={text} isInvalid={readN(text) === null} onChange={setText} />
          <CopyAs
            commands={[
              curlCommand(apiBase(), { method: 'GET', path: ['automations', type, 'output', 'peek'], query: { n } }),
              musterCommand(apiBase(), 'output', 'peek', type, '-n', String(n)),
            ]}
          />
        </div>
      </div>
      <ReadView read={read}>{({ entries }) => <OldestEntries type={type} entries={entries} />}</ReadView>
    </section>
  )
}

interface OldestEntriesProps {
  readonly type: string
  readonly entries: readonly OutputEntry[]
}

function OldestEntries({ type, entries }: OldestEntriesProps) {
  const rows = useMemo(() => entries.map(rowOf), [entries])
  return (
    <EntryTable
      label="Oldest entries"
      type={type}
      rows={rows}
      empty={
        <EmptyState kind="nothing" title="The stream is empty">
          <p>Entries are kept for an hour, at most 50,000.</p>
        </EmptyState>
      }
    />
  )
}
