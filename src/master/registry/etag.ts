/**
 * @module master/registry/etag
 * The mark of a config, `"<epoch>.<config_gen>"`: ETag of PATCH and poll, `If-Match` of every careful writer,
 * `If-None-Match` of every poll (D15). Within an epoch the number never falls; another epoch says that the store lost
 * its state.
 */

export interface ConfigMark {
  readonly epoch: string
  readonly gen: number
}

export const etagOf = ({ epoch, gen }: ConfigMark): string => `"${epoch}.${gen}"`

const TAG = /"([^"]*)"/g
const MARK = /^(?<epoch>.+)\.(?<gen>\d{1,16})$/

/** What a client sent in If-Match or If-None-Match: any state at all, or these marks; what is no mark of ours matches nothing. */
export type Marks = '*' | readonly ConfigMark[]

/** Reads the header. The weak prefix `W/` is passed over: a proxy that compresses adds it, and the mark inside is exact all the same. */
export function parseMarks(header: string): Marks {
  if (header.trim() === '*') return '*'
  return [...header.matchAll(TAG)].flatMap(([, tag]) => {
    const { epoch, gen } = MARK.exec(tag ?? '')?.groups ?? {}
    return epoch === undefined || gen === undefined || !Number.isSafeInteger(Number(gen))
      ? []
      : [{ epoch, gen: Number(gen) }]
  })
}

/** Whether the header names exactly this mark. */
export function marksInclude(marks: Marks, { epoch, gen }: ConfigMark): boolean {
  return marks === '*' || marks.some((mark) => mark.epoch === epoch && mark.gen === gen)
}
