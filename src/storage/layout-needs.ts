/**
 * @module storage/layout-needs
 * Names what the data of a store needs beside its layout (D121). A store records a need before the first data that has
 * it. From then on a program that does not know the need refuses the store, because it would lose or misread this data.
 * Until then the previous release opens the store.
 *
 * Releases before this one know the number of the layout alone, and refuse a higher one. So a store with a need records
 * its layout plus {@link NEEDS_MARK}.
 */
import { FleetError } from '../protocol/index.ts'

/** The known needs: `unique`, tasks with a unique key (D118); `groups`, tasks in groups, or a group policy (D119). */
const LAYOUT_NEEDS = ['unique', 'groups'] as const
/** The name of a need. */
export type LayoutNeed = (typeof LAYOUT_NEEDS)[number]

/** Is added to the number of the layout while the store has needs. */
export const NEEDS_MARK = 1_000

/** @returns the layout without the mark. @param stored The recorded layout. */
export const layoutOf = (stored: number): number => stored % NEEDS_MARK

/**
 * Refuses a store that needs what this release does not know.
 * @param needs The recorded needs, separated by spaces; empty for none.
 * @param store How the message names the store.
 * @throws {FleetError} STORAGE_SCHEMA.
 */
export function checkNeeds(needs: string, store: string): void {
  const known: readonly string[] = LAYOUT_NEEDS
  const unknown = needs.split(' ').filter((need) => need !== '' && !known.includes(need))
  if (unknown.length === 0) return
  throw new FleetError(
    'STORAGE_SCHEMA',
    `${store} has data that needs ${unknown.map((need) => `"${need}"`).join(', ')}, ` +
      'which this release does not know; upgrade this program',
  )
}

/** @returns the needs with one more. @param needs The recorded ones. @param need The one to add. */
export const withNeed = (needs: string, need: LayoutNeed): string =>
  needs.split(' ').includes(need) ? needs : `${needs} ${need}`.trim()
