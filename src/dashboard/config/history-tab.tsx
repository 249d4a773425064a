/**
 * @module dashboard/config/history-tab
 * Lists the stored generations of a config with author, time and changed fields. Compares any two, and starts a draft
 * from one.
 */
import './config.css'
import './history.css'
import type { HistoryBody, JsonObject, JsonSchema, WorkerBody } from '../../protocol/index.ts'
import type { Read } from '../api/queries.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { ReadState } from '../components/read-state.tsx'
import { Age } from '../components/times.tsx'
import type { RouteTo } from '../route.ts'
import { goTo, replaceRoute } from '../use-route.ts'
import { ChangesList } from './changes-list.tsx'
import { changesOf, formOf } from './draft.ts'
import { formatPair, pairOf } from './pair.ts'
import { useConfigDraft } from './use-config-draft.ts'

export interface HistoryTabProps {
  readonly route: RouteTo<'worker'>
  readonly worker: WorkerBody
  readonly epoch: string | null
  readonly schema: JsonSchema
  readonly read: Read<HistoryBody>
}

type Entry = HistoryBody[number]

export function HistoryTab({ route, worker, epoch, schema, read }: HistoryTabProps) {
  const handle = useConfigDraft({ worker, epoch, schema }, null)
  const { data } = read
  const toConfig = { place: 'worker', type: route.type, id: route.id, tab: 'config' } as const
  const editFrom = ({ config }: Entry): void => {
    handle.revert(config as JsonObject)
    goTo({ ...toConfig, view: 'changes' })
  }
  if (data === undefined) return <ReadState read={read} />
  if (data.length === 0)
    return (
      <EmptyState kind="nothing" title="No config changes yet">
        <p>Each save appears here with its author, time and changed fields. You can edit from any generation.</p>
      </EmptyState>
    )
  return (
    <>
      <ReadState read={read} />
      {handle.isDirty && <p className="notice">This config has an unsaved draft. “Edit from here” replaces it.</p>}
      <div className="history">
        <HistoryTable route={route} worker={worker} entries={data} onEdit={editFrom} />
        <Difference route={route} schema={schema} entries={data} />
      </div>
    </>
  )
}

interface TableProps {
  readonly route: RouteTo<'worker'>
  readonly worker: WorkerBody
  readonly entries: readonly Entry[]
  readonly onEdit: (entry: Entry) => void
}

function HistoryTable({ route, worker, entries, onEdit }: TableProps) {
  const pair = pairOf(
    route.diff,
    entries.map(({ config_gen }) => config_gen),
  )
  const choose = (side: 'from' | 'to', gen: number): void =>
    replaceRoute({ ...route, diff: formatPair({ ...pair, [side]: gen }) })
  return (
    <table className="generations" aria-label="Generations of the config">
      <thead>
        <tr>
          <th scope="col">From</th>
          <th scope="col">To</th>
          <th scope="col">Generation</th>
          <th scope="col">Saved</th>
          <th scope="col">Changed</th>
          <th scope="col">
            <span className="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <tr key={entry.config_gen}>
            {(['from', 'to'] as const).map((side) => (
              <td key={side} data-label={side}>
                <input
                  type="radio"
                  name={`${side} generation`}
                  aria-label={`Compare ${side} generation ${entry.config_gen}`}
                  checked={pair[side] === entry.config_gen}
                  onChange={() => choose(side, entry.config_gen)}
                />
              </td>
            ))}
            <th scope="row">
              {entry.config_gen}
              {marksOf(entry, worker).map((mark) => (
                <span key={mark} className="mark">
                  {mark}
                </span>
              ))}
            </th>
            <td>
              <Age at={entry.ts} /> by <bdi>{entry.actor}</bdi>
            </td>
            <td>
              <bdi>{entry.changed.length === 0 ? 'nothing' : entry.changed.join(', ')}</bdi>
            </td>
            <td className="number">
              {entry.config_gen !== worker.config_gen && (
                <button type="button" onClick={() => onEdit(entry)}>
                  Edit from here<span className="hidden"> (generation {entry.config_gen})</span>
                </button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const marksOf = ({ config_gen: gen }: Entry, worker: WorkerBody): readonly string[] => [
  ...(gen === worker.config_gen ? ['desired'] : []),
  ...(gen === worker.applied_config_gen ? ['applied'] : []),
]

function Difference({
  route,
  schema,
  entries,
}: {
  readonly route: RouteTo<'worker'>
  readonly schema: JsonSchema
  readonly entries: readonly Entry[]
}) {
  const { from, to } = pairOf(
    route.diff,
    entries.map(({ config_gen }) => config_gen),
  )
  const [old, now] = [from, to].map((gen) => entries.find(({ config_gen }) => config_gen === gen))
  if (old === undefined || now === undefined)
    return <p className="soft">Only one generation is stored, so there is nothing to compare.</p>
  const form = formOf(schema)
  const changes = changesOf(form, old.config as JsonObject, now.config as JsonObject)
  return (
    <section aria-label="Difference" className="card">
      <h2>
        Generation {from} to {to}
      </h2>
      {changes.length === 0 ? (
        <p>
          {from === to ? 'Select two different generations to compare.' : 'No visible difference. Secrets may differ.'}
        </p>
      ) : (
        <ChangesList form={form} changes={changes} />
      )}
    </section>
  )
}
