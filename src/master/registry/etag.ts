/**
 * @module master/registry/etag
 * The version of a config, `"<epoch>.<config_gen>"`: ETag of PATCH and poll, `If-Match` of a PATCH, `If-None-Match` of
 * a poll (D15). Within an epoch the number never decreases. Another epoch means that the store lost its state.
 */

export interface ConfigMark {
  readonly epoch: string
  readonly gen: number
}

export const etagOf = ({ epoch, gen }: ConfigMark): string => `"${epoch}.${gen}"`

const TAG = /"([^"]*)"/g
const MARK = /^(?<epoch>.+)\.(?<gen>\d{1,16})$/

/** The value of If-Match or If-None-Match: any version, or a list. Values of another form match nothing. */
export type Marks = '*' | readonly ConfigMark[]

/** Parses the header. The weak prefix `W/` is ignored: a compressing proxy adds it, and the version is still exact. */
export function parseMarks(header: string): Marks {
  if (header.trim() === '*') return '*'
  return [...header.matchAll(TAG)].flatMap(([, tag]) => {
    const { epoch, gen } = MARK.exec(tag ?? '')?.groups ?? {}
    return epoch === undefined || gen === undefined || !Number.isSafeInteger(Number(gen))
      ? []
      : [{ epoch, gen: Number(gen) }]
  })
}

/** Whether the header names exactly this version. */
export function marksInclude(marks: Marks, { epoch, gen }: ConfigMark): boolean {
  return marks === '*' || marks.some((mark) => mark.epoch === epoch && mark.gen === gen)
}
