/** @module dashboard/operations/operations-link  Links to the operations, with the number of those that run. */
import { plural } from '../components/numbers.ts'
import { formatRoute } from '../route.ts'
import { useOperations } from './reading.ts'
import { isRunning } from './texts.ts'

export function OperationsLink() {
  const running = (useOperations().data ?? []).filter(isRunning)
  const [first, ...more] = running
  const isOne = first !== undefined && more.length === 0
  return (
    <a
      className="operations-link"
      href={formatRoute(isOne ? { page: 'operation', type: first.type, id: first.operation } : { page: 'operations' })}
    >
      {first === undefined ? 'Operations' : `${plural(running.length, 'operation')} running`}
    </a>
  )
}
