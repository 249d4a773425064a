/** @module master/events/changed-workers  Reads which workers the entries of the event log are about (D161). */
import { itemsOf, type LoggedEvent, type Ref } from '../../storage/index.ts'

export const isOfWorkers = ({ name }: LoggedEvent): boolean => name.startsWith('worker.')

/** The worker of an event of which {@link isOfWorkers} is true. */
export const workerIn = (data: string): string => (JSON.parse(data) as { readonly worker_id: string }).worker_id

/**
 * @param shows Whether events of this type are shown.
 * @param showsWorker Whether events of this worker of the type are shown.
 * @param limit Once there are this many workers, no further entry is read.
 * @returns the workers, each once, and how many entries they are from.
 */
export function changedWorkers(
  entries: readonly LoggedEvent[],
  shows: (type: string) => boolean,
  showsWorker: (type: string, id: string) => boolean,
  limit: number,
): { readonly refs: readonly Ref[]; readonly taken: number } {
  const found = new Map<string, Ref>()
  let taken = 0
  for (const entry of entries) {
    if (found.size >= limit) break
    taken += 1
    if (!isOfWorkers(entry) || !shows(entry.scope)) continue
    for (const data of itemsOf(entry)) {
      const id = workerIn(data)
      if (showsWorker(entry.scope, id)) found.set(`${entry.scope}/${id}`, { type: entry.scope, id })
    }
  }
  return { refs: [...found.values()], taken }
}
