/**
 * @module storage/config-labels
 * Defines how a store keeps the label of a config (`<revision>/<variant>`) and the history row of a bulk change.
 *
 * A label is stored with the generation that it was written for. Every other change raises the generation, so its label
 * reads `<revision>/*` without being written. This also holds for a change by a master of a release that has no labels.
 *
 * The history row of a bulk change has `["<revision>",<patch>]` in the place of the config, since 50 configs of 10,000
 * workers would be 1.4 GB. No config is an array. A release that knows no bulk changes reads it as a config without
 * fields.
 */
import type { HistoryRow } from './backend.ts'

/** The variant of a config that was changed since. */
const CHANGED_SINCE = '*'

/** The label of a config. @param writtenForGen The generation that `variant` was written for. */
export const labelOf = (revision: string, variant: string, writtenForGen: number, gen: number): string =>
  `${revision}/${writtenForGen === gen ? variant : CHANGED_SINCE}`

/** The revision that wrote generation `gen`, as a field of a result; empty if another change wrote it. */
export const writtenBy = (revision: string | null, writtenForGen: number | null, gen: number): { revision?: string } =>
  revision !== null && writtenForGen === gen ? { revision } : {}

/** The text of a bulk change in the place of the config. */
export const bulkText = (revision: string, patch: string): string => `[${JSON.stringify(revision)},${patch}]`

/** What a stored history row says of the config after the change. */
export function historyContent(text: string): Pick<HistoryRow, 'config' | 'bulk'> {
  if (!text.startsWith('[')) return { config: text }
  const [revision] = JSON.parse(text) as readonly [string, unknown]
  const patchStart = JSON.stringify(revision).length + 2 // Behind the bracket and the comma.
  return { config: null, bulk: { revision, patch: text.slice(patchStart, -1) } }
}
