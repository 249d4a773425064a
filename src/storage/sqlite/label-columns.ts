/**
 * @module storage/sqlite/label-columns
 * Reads the label of a config from its columns of `cfg`. They are NULL before the first bulk change of the worker.
 */
import { labelOf } from '../index.ts'

/** The columns, with the names that {@link LABEL_COLUMNS} gives them. */
export interface LabelColumns {
  readonly revision: string | null
  readonly variant: string | null
  /** The generation that the variant was written for. */
  readonly variantGen: number | null
}

export const LABEL_COLUMNS = 'cfg.revision, variant, variant_gen AS variantGen'

/** @returns `<revision>/<variant>`, or `null`. @param gen The current generation. */
export function storedLabel({ revision, variant, variantGen }: LabelColumns, gen: number): string | null {
  return revision === null || variant === null || variantGen === null
    ? null
    : labelOf(revision, variant, variantGen, gen)
}
