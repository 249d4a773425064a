/** @module automation/testing/continuous  Runs a continuous automation for a given virtual time. */
import { toMs } from '../../protocol/index.ts'
import { runContinuousSlot, type ContinuousAutomation, type Pools } from '../index.ts'
import { Harness } from './harness.ts'
import type { ContinuousOptions, ContinuousRun } from './options.ts'
import { checkedCall, checkedSeconds } from './usage.ts'

/**
 * Runs the slots as a worker would, without a master or a network, for `forSeconds` of virtual time, and drains them. A
 * failed run is restarted as in the worker, and is listed in `runs`.
 * @param automation The result of {@link defineContinuous}.
 * @param options Duration, config, seeds and script; see {@link ContinuousOptions}.
 * @returns What the runs did and left in the store. Failed runs are results, not errors.
 * @throws {RunError} when the automation violates a rule, would never end, or the options are invalid.
 * @throws {AutomationError} when a schema of the automation does not compile.
 */
export async function runContinuous<C, O, P extends Pools>(
  automation: ContinuousAutomation<C, O, P>,
  options: ContinuousOptions<C, P>,
): Promise<ContinuousRun<O>> {
  const faults = checkedCall('ContinuousAutomation', automation, options, ['forSeconds'])
  const { script = {}, ...given } = Object(options) as Partial<ContinuousOptions<C, P>>
  const forSeconds = checkedSeconds(faults, 'forSeconds', given.forSeconds)
  const late = Object.keys(script).find((second) => Number(second) > forSeconds)
  if (late !== undefined) throw faults.usage(`script/${late}: is after the end of the run (forSeconds ${forSeconds})`)
  const harness = new Harness(automation, options, faults)
  await harness.prepare()
  harness.follow(script, harness.handle())
  let isDone = false
  harness.time.after(toMs(forSeconds), () => void (isDone = true))
  await harness.play({
    run: (control, ports) => runContinuousSlot(harness.entry, control, ports),
    isDone: () => isDone,
    isSettled: () => true,
  })
  const runs = harness.ended.map(({ run: { slotId, startSeconds }, endSeconds, error }) => ({
    slotId,
    startSeconds,
    endSeconds,
    error,
  }))
  return { ...(await harness.result<O>()), runs }
}
