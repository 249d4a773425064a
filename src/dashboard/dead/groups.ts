/**
 * @module dashboard/dead/groups
 * Describes groups of dead tasks, and reads the tasks of one, newest death first (D157).
 */
import type { DeadBody, DeadGroupBody, NewestDeadBody } from '../../protocol/index.ts'
import type { Api } from '../api/client.ts'

export type DeadItem = DeadBody['items'][number]

/** Tasks of one request. */
const PAGE = 500

/** Reads page after page until `n` tasks are read, or none is left. */
export async function newestTasks(
  api: Pick<Api, 'get'>,
  type: string,
  { group, n }: { readonly group?: string; readonly n: number },
  signal?: AbortSignal,
): Promise<readonly DeadItem[]> {
  const items: DeadItem[] = []
  let cursor: string | undefined
  do {
    const query = {
      n: Math.min(PAGE, n - items.length),
      ...(group !== undefined && { group }),
      ...(cursor !== undefined && { cursor }),
    }
    const { body } = await api.get<NewestDeadBody>(['automations', type, 'dead', 'newest'], query, signal)
    items.push(...body.items)
    cursor = body.cursor ?? undefined
  } while (cursor !== undefined && items.length < n)
  return items
}

/** The error that a group has in common. */
export const groupName = ({ pattern }: Pick<DeadGroupBody, 'pattern'>): string => pattern ?? 'Other errors'

/** The number of tasks of all groups. */
export const countOf = (groups: readonly DeadGroupBody[]): number => groups.reduce((sum, { count }) => sum + count, 0)

/** Describes the trend of a group: "12 in the last 5 minutes, 340 in the last hour". */
export function trendText(trend: readonly number[], format: (n: number) => string): string {
  const hour = trend.reduce((sum, deaths) => sum + deaths, 0)
  return `${format(trend.at(-1) ?? 0)} in the last 5 minutes, ${format(hour)} in the last hour`
}
