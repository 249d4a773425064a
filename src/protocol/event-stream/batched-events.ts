/**
 * @module protocol/event-stream/batched-events
 * Names events that contain several changes, `workers.state` for several `worker.state`, and splits them again (D135).
 */
const SINGLE = 'worker.'
const BATCHED = 'workers.'

/** An event, its data parsed. */
export interface NamedEvent<Fields> {
  readonly name: string
  readonly data: Fields
}

/** Returns the name of an event with several changes. @param name That of one change, for example `worker.state`. */
export const batchNameOf = (name: string): string => `${BATCHED}${name.slice(SINGLE.length)}`

/**
 * Splits an event with several changes.
 * @param event Any event.
 * @returns its changes, in order, each as an event; the event itself if it is no such event.
 */
export function singleEvents<Fields extends { readonly [field: string]: unknown }>(
  event: NamedEvent<Fields>,
): readonly NamedEvent<Fields>[] {
  const { name, data } = event
  const items: unknown = data['items']
  if (!name.startsWith(BATCHED) || !Array.isArray(items)) return [event]
  return (items as readonly Fields[]).map((each) => ({ name: `${SINGLE}${name.slice(BATCHED.length)}`, data: each }))
}
