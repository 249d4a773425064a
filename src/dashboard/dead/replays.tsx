/**
 * @module dashboard/dead/replays
 * Lists the newest replays of dead tasks with their results: how many tasks are done, and how many are dead again
 * (D180). First come the operations that are replaying tasks now, with their progress (D194).
 */
import { useOperations, useReplays } from '../operations/reading.ts'
import { OperationLink, OperationProgress } from '../operations/state.tsx'
import { isRunning, replayText } from '../operations/texts.ts'
import { Age } from '../components/times.tsx'

const SHOWN = 5

export function Replays({ type }: { readonly type: string }) {
  const operations = useOperations().data ?? []
  const running = operations.filter((each) => each.type === type && each.kind === 'replay' && isRunning(each))
  const { data = [] } = useReplays(type, running.length > 0)
  if (data.length + running.length === 0) return null
  return (
    <section aria-labelledby="replays-title">
      <h3 id="replays-title">Replays</h3>
      {running.map((operation) => (
        <OperationProgress key={operation.operation} operation={operation}>
          replayed by operation <OperationLink type={type} id={operation.operation} />
        </OperationProgress>
      ))}
      <ul className="replays" aria-labelledby="replays-title">
        {data.slice(0, SHOWN).map((replay) => (
          <li key={replay.id}>
            {replayText(replay)} (started <Age at={replay.started_at} />
            {replay.operation !== undefined && (
              <>
                {' '}
                by operation <OperationLink type={type} id={replay.operation} />
              </>
            )}
            )
            {replay.pattern !== null && (
              <span className="soft">
                : <bdi>{replay.pattern}</bdi>
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
