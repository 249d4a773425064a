/**
 * @module cmd/admin/rollout/status
 * `muster rollout status`: prints the state of a rollout, or waits for its end. While it waits it reads the set every
 * second, prints changes on stderr, and survives an API server that is unavailable for a while.
 */
import { KubeError } from '../../../operator/kube/index.ts'
import { EXIT, Failure, type ClusterInvocation } from '../verb.ts'
import type { SetObject } from './set-object.ts'
import { stateOf, stateText } from './state.ts'

const LOOK_MS = 1_000

interface StatusOptions {
  readonly watch: boolean
  readonly timeout: number | undefined
}
type StatusCall = ClusterInvocation & { readonly options: StatusOptions }

export async function showStatus(call: StatusCall): Promise<number> {
  const { operands, options, printer, sets } = call
  const [name = ''] = operands
  const set = options.watch ? await endOf(call, name) : await sets.get(name)
  if (set === undefined) return EXIT.OK
  await printer.value(set, () => stateText(set), [set.metadata.name])
  return stateOf(set).outcome === 'failed' ? EXIT.FAILED : EXIT.OK
}

/**
 * Waits for the end of the rollout. @returns the set; `undefined` if nothing reads the output any more. @throws
 * {Failure} when the time is over.
 */
async function endOf(call: StatusCall, name: string): Promise<SetObject | undefined> {
  const { io, options } = call
  const endsAtMs = io.time.monotonicMs() + (options.timeout ?? Infinity) * 1_000
  const unread = io.unread()
  let last: SetObject | undefined
  try {
    while (!unread.signal.aborted) {
      const set = await readPatiently(call, name)
      if (set !== undefined) {
        if (stateOf(set).outcome !== 'waiting') return set
        showChange(call, set, last)
        last = set
      }
      if (io.time.monotonicMs() >= endsAtMs) throw timedOut(call, last)
      await io.time.sleep(LOOK_MS)
    }
    return undefined
  } finally {
    unread.end()
  }
}

/** The whole state first, then the line that changed. */
function showChange({ io, printer }: StatusCall, set: SetObject, last: SetObject | undefined): void {
  if (last === undefined) {
    io.err(stateText(set))
    return
  }
  const [before, now] = [last, set].map((each) => `${stateOf(each).reason}: ${stateOf(each).message}`)
  if (now !== undefined && now !== before) printer.note(now)
}

/** @returns `undefined` while the API server is unavailable. */
async function readPatiently({ sets }: ClusterInvocation, name: string): Promise<SetObject | undefined> {
  try {
    return await sets.get(name)
  } catch (error) {
    if (error instanceof KubeError && (error.status === 0 || error.status === 429 || error.status >= 500))
      return undefined
    throw error
  }
}

function timedOut({ operands, options }: StatusCall, last: SetObject | undefined): Failure {
  return new Failure(
    EXIT.TIMEOUT,
    `timed out after ${options.timeout} s waiting for the rollout of ${operands[0]}`,
    last === undefined ? 'the API server has not responded' : 'it is neither complete nor failed',
    (last === undefined ? undefined : stateOf(last).next) ??
      'wait longer with --timeout SECONDS; the rollout continues',
  )
}
