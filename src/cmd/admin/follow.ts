/** @module cmd/admin/follow  Polls for an option --follow. */
import { MasterError } from '../../client/index.ts'
import { sleep } from '../../runtime/index.ts'
import type { Invocation } from './verb.ts'

export interface Followed {
  readonly everyMs: number
  /** What is read, for the note about a failure: `the log`. */
  readonly what: string
  /** Prints what is new. */
  readonly look: () => Promise<void>
  /** Failures that may end by themselves, in addition to those of the network and of the master. */
  readonly mayPass?: (error: MasterError) => boolean
}

/**
 * Calls `look` again and again until the reader of the output closes it. A failure that may pass is noted once.
 *
 * @throws {MasterError} for every other failure.
 */
export async function follow(
  { io, printer }: Pick<Invocation, 'io' | 'printer'>,
  { everyMs, what, look, mayPass = () => false }: Followed,
): Promise<void> {
  const { signal, end } = io.unread()
  let lost: string | null = null
  try {
    while (!signal.aborted) {
      try {
        await look()
        lost = null
      } catch (error) {
        if (!(error instanceof MasterError) || !(error.isRetryable || mayPass(error))) throw error
        if (error.message !== lost) printer.note(`cannot read ${what}, retrying: ${error.message}`)
        lost = error.message
      }
      await sleep(io.time, everyMs, signal)
    }
  } finally {
    end()
  }
}
