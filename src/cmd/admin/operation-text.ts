/** @module cmd/admin/operation-text  Names and describes operations, and waits for their end. */
import { OPERATION_RESULTS, type OperationShown } from '../../protocol/index.ts'
import { when } from './printer.ts'
import { EXIT, Failure, type Invocation } from './verb.ts'
import { waitUntil } from './wait.ts'

export function nameOf({ type, operation }: OperationShown): string {
  return `${type}/${operation}`
}

/** @throws {Failure} unless the word is TYPE/OPERATION. */
export function operationOf(word = ''): { readonly type: string; readonly id: string } {
  const [type = '', id = '', ...more] = word.split('/')
  if (type !== '' && id !== '' && more.length === 0) return { type, id }
  throw new Failure(EXIT.USAGE, 'not an operation', `"${word}" is not TYPE/OPERATION; for example mailer/3f2a91bc`)
}

/** Prints an operation. */
export async function printOperation(
  { printer }: Pick<Invocation, 'printer'>,
  operation: OperationShown,
): Promise<void> {
  await printer.value(operation, () => describe(operation), [nameOf(operation)])
}

/**
 * Waits until no worker of an operation is active or will begin, and prints it.
 *
 * @returns the exit code: 1 unless the operation is done, without a failure.
 * @throws {Failure} after the timeout.
 */
export async function printEnded(
  call: Pick<Invocation, 'client' | 'io' | 'printer' | 'timeoutMs'>,
  { type, operation: id }: Pick<OperationShown, 'type' | 'operation'>,
): Promise<number> {
  const read = async (): Promise<OperationShown> => (await call.client.operations.get(type, id)).body
  let seen = await read()
  await waitUntil(`the end of operation ${type}/${id}`, call.timeoutMs, call.io.time, async () => {
    seen = await read()
    return seen.state !== 'running' && seen.counts.active === 0
  })
  await printOperation(call, seen)
  return seen.state === 'done' && seen.counts.failed + seen.counts.refused === 0 ? EXIT.OK : EXIT.FAILED
}

function describe(operation: OperationShown): string {
  const { counts, failures, fields, kind, note, parallel, reason, state } = operation
  const numbers = OPERATION_RESULTS.filter((result) => counts[result] > 0).map(
    (result) => `${counts[result]} ${result}`,
  )
  const rows: readonly (readonly [string, string | null])[] = [
    ['operation', nameOf(operation)],
    ['kind', operation.undo_of === null ? kind : `undo of ${operation.undo_of}`],
    ['state', reason === null ? state : `${state}: ${reason}`],
    ['progress', `${numbers.join(', ')} of ${operation.total}`],
    ['fields', fields.length === 0 ? null : fields.join(', ')],
    ['pace', `${operation.per_second}/s${kind === 'replay' ? '' : `, ${parallel} at a time`}`],
    ['note', note],
    ['by', operation.created_by],
    ['created', when(operation.created_at)],
    ['ended', when(operation.ended_at)],
    ['undone by', operation.undone_by],
    ...failures.map(({ worker_id: id, message }) => ['failed', `${id}: ${message}`] as const),
  ]
  return rows
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name.padEnd(10)} ${value}\n`)
    .join('')
}
