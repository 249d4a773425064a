/**
 * @module worker-test/run-rows
 * Runs rows against a worker, several at a time. At most one process per processor starts at a time, since a start
 * needs far more computing time than a row does. A row that fails while this process itself was delayed is repeated
 * once, because its times then say nothing about the worker.
 */
import { availableParallelism } from 'node:os'
import type { Row } from './row.ts'
import { RowFailure, Trial } from './trial.ts'

const ROWS_PER_CPU = 8
const SHOWN_EVENTS = 40
const SHOWN_LINES = 20

export interface RowFault {
  readonly expected: string
  readonly seen: string
  /** The last calls and frames. */
  readonly events: readonly string[]
  /** The last lines of what the worker printed. */
  readonly output: readonly string[]
}

export interface RowResult {
  readonly row: Row
  readonly seconds: number
  /** null: the row passed. */
  readonly fault: RowFault | null
  /** Whether the kit itself was delayed meanwhile, because the machine was busy. */
  readonly wasDelayed: boolean
}

export interface RunOptions {
  /** Starts the worker; run by `sh`. */
  readonly command: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly rows: readonly Row[]
  /** Called when a row has ended. */
  readonly onResult?: (result: RowResult) => void
  /** Ends the rows that run, and starts no more. Their processes are killed. */
  readonly signal?: AbortSignal
  /** Shared by several runs, so that together they do not use more than the machine has. */
  readonly limits?: Limits
}

/** How many rows run, and how many processes start, at the same time. */
export class Limits {
  readonly rows: Semaphore
  readonly starts = new Semaphore(availableParallelism())

  constructor(rowsPerCpu: number = ROWS_PER_CPU) {
    this.rows = new Semaphore(rowsPerCpu * availableParallelism())
  }
}

/** Lets at most `limit` holders in, first come, first served. */
class Semaphore {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(limit: number) {
    this.#free = limit
  }

  /** Resolves with the function that frees the place. */
  async enter(): Promise<() => void> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    let isFree = false
    return () => {
      if (isFree) return
      isFree = true
      const next = this.#waiting.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }
}

/** Runs the rows. @returns their results, in the order of the rows. @throws the reason of the signal. */
export async function runRows(options: RunOptions): Promise<readonly RowResult[]> {
  const { rows, signal = new AbortController().signal, limits = new Limits() } = options
  const results = new Map<Row, RowResult>()
  const longestFirst = rows.toSorted((one, other) => other.seconds - one.seconds)
  const ended = await Promise.allSettled(
    longestFirst.map(async (row) => {
      const leave = await limits.rows.enter()
      try {
        signal.throwIfAborted()
        const run = (): Promise<RowResult> => runRow(row, options, signal, limits)
        const first = await run()
        const result = first.fault !== null && first.wasDelayed ? await run() : first
        results.set(row, result)
        options.onResult?.(result)
      } finally {
        leave()
      }
    }),
  )
  const failed = ended.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
  return rows.flatMap((row) => results.get(row) ?? [])
}

async function runRow(
  row: Row,
  { command, environment }: RunOptions,
  signal: AbortSignal,
  limits: Limits,
): Promise<RowResult> {
  const startTurn = (): Promise<() => void> => limits.starts.enter()
  const trial = new Trial({ command, environment, signal, startTurn })
  try {
    await trial.open()
    await row.check(trial)
    trial.checkFaults()
    return { row, seconds: trial.seconds, fault: null, wasDelayed: trial.wasDelayed }
  } catch (error) {
    if (!(error instanceof RowFailure)) throw error
    const { expected, seen } = error
    const events = trial.master.events.slice(-SHOWN_EVENTS)
    const fault = { expected, seen, events, output: trial.outputTail(SHOWN_LINES) }
    return { row, seconds: trial.seconds, fault, wasDelayed: trial.wasDelayed }
  } finally {
    await trial.close()
  }
}
