/**
 * @module dashboard/config/history-tab
 * Lists the stored generations of a config with author, time and changed fields, and the defaults before them. Compares
 * any two, and starts a draft from one.
 */
import './config.css'
import type { HistoryBody, JsonObject, JsonSchema, WorkerBody } from '../../protocol/index.ts'
import type { Read } from '../api/queries.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { ReadState } from '../components/read-state.tsx'
import { Age } from '../components/times.tsx'
import type { RouteTo } from '../route.ts'
import { actorText } from '../settings/actor.ts'
import { goTo, replaceRoute } from '../use-route.ts'
import { ChangesList } from './changes-list.tsx'
import { changesOf, formOf } from './draft.ts'
import { firstGeneration } from './first-generation.ts'
import { formatPair, pairOf, type Pair } from './pair.ts'
import { useConfigDraft } from './use-config-draft.ts'

export interface HistoryTabProps {
  readonly route: RouteTo<'worker'>
  readonly worker: WorkerBody
  readonly epoch: string | null
  readonly schema: JsonSchema
  readonly read: Read<HistoryBody>
}

interface Generation extends Omit<HistoryBody[number], 'ts' | 'actor' | 'changed'> {
  /** What made it; null for the defaults at registration. */
  readonly change: Pick<HistoryBody[number], 'ts' | 'actor' | 'changed'> | null
}

export function HistoryTab({ route, worker, epoch, schema, read }: HistoryTabProps) {
  const handle = useConfigDraft({ worker, epoch, schema }, null)
  const { data } = read
  const toConfig = { page: 'worker', type: route.type, id: route.id, tab: 'config' } as const
  const editFrom = ({ config }: Generation): void => {
    handle.revert(config as JsonObject)
    goTo({ ...toConfig, view: 'changes' })
  }
  if (data === undefined) return <ReadState read={read} />
  if (data.length === 0)
    return (
      <EmptyState kind="nothing" title="No config changes yet">
        <p>
          The worker has generation {worker.config_gen}, with the values from its registration. Each save appears here
          with its author, time and changed fields. You can edit from any generation.
        </p>
      </EmptyState>
    )
  const first = firstGeneration(worker, data, schema)
  const generations: readonly Generation[] = [
    ...data.map((each) => ({ ...each, change: each })),
    ...(first.kind === 'derived' ? [{ config_gen: first.gen, config: first.config, change: null }] : []),
  ]
  return (
    <>
      <ReadState read={read} />
      {handle.isDirty && <p className="notice">This config has an unsaved draft. “Edit from here” replaces it.</p>}
      <div className="history">
        <HistoryTable route={route} worker={worker} generations={generations} onEdit={editFrom} />
        {first.kind === 'unknown' && <p className="soft">{first.why}</p>}
        <Difference route={route} schema={schema} generations={generations} />
      </div>
    </>
  )
}

interface HistoryTableProps {
  readonly route: RouteTo<'worker'>
  readonly worker: WorkerBody
  readonly generations: readonly Generation[]
  readonly onEdit: (generation: Generation) => void
}

function HistoryTable({ route, worker, generations, onEdit }: HistoryTableProps) {
  const pair = comparedIn(route, generations)
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
        {generations.map((generation) => (
          <GenerationRow
            key={generation.config_gen}
            generation={generation}
            worker={worker}
            pair={pair}
            onPair={(next) => replaceRoute({ ...route, diff: formatPair(next) })}
            onEdit={onEdit}
          />
        ))}
      </tbody>
    </table>
  )
}

interface GenerationRowProps {
  readonly generation: Generation
  readonly worker: WorkerBody
  /** The compared generations. */
  readonly pair: Pair
  readonly onPair: (pair: Pair) => void
  readonly onEdit: (generation: Generation) => void
}

function GenerationRow({ generation, worker, pair, onPair, onEdit }: GenerationRowProps) {
  const { config_gen: gen, change, config, revision } = generation
  return (
    <tr>
      {(['from', 'to'] as const).map((end) => (
        <td key={end} data-label={end}>
          <input
            type="radio"
            name={`${end} generation`}
            aria-label={`Compare ${end} generation ${gen}`}
            checked={pair[end] === gen}
            onChange={() => onPair({ ...pair, [end]: gen })}
          />
        </td>
      ))}
      <th scope="row">
        {gen}
        {marksOf(gen, worker).map((mark) => (
          <span key={mark} className="mark">
            {mark}
          </span>
        ))}
      </th>
      <td>
        {change === null ? (
          <>
            <Age at={worker.registered_at} /> by registration
          </>
        ) : (
          <>
            <Age at={change.ts} /> by <bdi>{actorText(change.actor)}</bdi>
          </>
        )}
      </td>
      <td>
        <bdi>{changedText(generation)}</bdi>
        {revision !== undefined && <span className="mark">revision {revision}</span>}
      </td>
      <td className="number">
        {config === null && <span className="soft">config not stored</span>}
        {config !== null && gen !== worker.config_gen && (
          <button type="button" onClick={() => onEdit(generation)}>
            Edit from here<span className="hidden"> (generation {gen})</span>
          </button>
        )}
      </td>
    </tr>
  )
}

function changedText({ change }: Generation): string {
  if (change === null) return 'the present defaults, which are not stored'
  return change.changed.length === 0 ? 'nothing' : change.changed.join(', ')
}

const marksOf = (gen: number, worker: WorkerBody): readonly string[] => [
  ...(gen === worker.config_gen ? ['desired'] : []),
  ...(gen === worker.applied_config_gen ? ['applied'] : []),
]

const comparedIn = ({ diff }: RouteTo<'worker'>, generations: readonly Generation[]): Pair =>
  pairOf(
    diff,
    generations.map(({ config_gen }) => config_gen),
  )

function Difference({
  route,
  schema,
  generations,
}: {
  readonly route: RouteTo<'worker'>
  readonly schema: JsonSchema
  readonly generations: readonly Generation[]
}) {
  const { from, to } = comparedIn(route, generations)
  const [old, now] = [from, to].map((gen) => generations.find(({ config_gen }) => config_gen === gen))
  if (old === undefined || now === undefined)
    return <p className="soft">Only one generation is stored, so there is nothing to compare.</p>
  if (old.config === null || now.config === null)
    return (
      <p className="soft">
        One of these configs was made from a revision that is not stored any more, so they cannot be compared.
      </p>
    )
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
