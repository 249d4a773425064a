/** @module dashboard/diagnosis/use-runs  Reads what runs did in the last minute (D151) while causes are shown. */
import type { RunsBody } from '../../protocol/index.ts'
import type { Api } from '../api/client.ts'
import { isProblem } from '../api/problem.ts'
import { useRead } from '../api/queries.ts'
import type { RunsByType } from '../../diagnosis/index.ts'

/** The master reads the statistics at most this often. */
const EVERY_MS = 5_000
const WORKER_EVERY_MS = 10_000

/** A master of an earlier release does not have the route. */
async function readRuns(
  api: Api,
  type: string,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<RunsBody | null> {
  try {
    return (await api.get<RunsBody>(['automations', type, 'runs'], query, signal)).body
  } catch (error) {
    if (isProblem(error, 404)) return null
    throw error
  }
}

/** @returns undefined until they are read, or could not be read; then a type may be missing. */
export function useRuns(types: readonly string[], everyMs = EVERY_MS): RunsByType | undefined {
  const { data, problem } = useRead(['runs', ...types], everyMs, async (api, signal) => {
    const bodies = await Promise.all(types.map(async (type) => [type, await readRuns(api, type, {}, signal)] as const))
    return new Map(bodies.flatMap(([type, body]) => (body === null ? [] : [[type, body] as const])))
  })
  return data ?? (problem === undefined ? undefined : new Map())
}

/** @returns the runs of one worker; undefined until they are read, null if they are not known. */
export function useWorkerRuns(type: string, id: string): RunsBody['workers'][number] | null | undefined {
  const { data, problem } = useRead(
    ['runs', type, id],
    WORKER_EVERY_MS,
    async (api, signal) => (await readRuns(api, type, { worker_id: id }, signal))?.workers[0] ?? null,
  )
  return data ?? (problem === undefined ? data : null)
}
