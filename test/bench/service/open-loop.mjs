import { nowMs } from '../recorder.mjs'

/**
 * Calls `send(i)` `perSecond` times per second, independent of earlier calls (open loop). Timers fire at whole
 * milliseconds, so calls of the same millisecond are sent together. @throws when a send failed, or when the rate was
 * not reached.
 */
export async function evenly(count, perSecond, send) {
  const began = nowMs()
  const sent = []
  const failures = []
  const once = async (i) => {
    await send(i).catch((error) => failures.push(error))
  }
  while (sent.length < count && failures.length === 0) {
    const due = Math.min(count, Math.floor(((nowMs() - began) * perSecond) / 1_000) + 1)
    while (sent.length < due) sent.push(once(sent.length))
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const took = nowMs() - began
  await Promise.all(sent)
  if (failures.length > 0) throw failures[0]
  if (took > ((count / perSecond) * 1_000 + 100) * 1.1)
    throw new Error(`the load generator offered ${Math.round((count / took) * 1_000)}/s instead of ${perSecond}/s`)
}
