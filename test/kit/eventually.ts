/** Waits for what happens in a socket, a store or another process, where there is no event to await. */
import { setTimeout as sleep } from 'node:timers/promises'

const WITHIN_MS = 30_000
const EVERY_MS = 10

type Condition = () => boolean | Promise<boolean>

interface EventuallyOptions {
  readonly withinMs?: number
  /** Returns what helps to understand a timeout, for example the output of a process. */
  readonly context?: (() => string) | undefined
}

type Named = [what: string, holds: Condition, options?: EventuallyOptions]
type Unnamed = [holds: Condition, options?: EventuallyOptions]

/**
 * Polls until `holds` returns true.
 *
 *   await eventually('the worker is connected', async () => (await stateOf('w-1')) === 'RUNNING')
 *
 * @param args The condition in words for the error (default: the source of `holds`), the condition, and the options.
 * @throws {Error} after `withinMs`, with the words and `context`. An error of `holds` is passed on.
 */
export async function eventually(...args: Named | Unnamed): Promise<void> {
  const [what, holds, { withinMs = WITHIN_MS, context = () => '' } = {}] = isNamed(args)
    ? args
    : ([args[0].toString(), ...args] as const)
  const deadlineMs = performance.now() + withinMs
  while (!(await holds())) {
    if (performance.now() > deadlineMs)
      throw new Error(`timed out after ${withinMs / 1_000} s, waiting until ${what}\n${context()}`)
    await sleep(EVERY_MS)
  }
}

const isNamed = (args: Named | Unnamed): args is Named => typeof args[0] === 'string'
