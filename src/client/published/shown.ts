/**
 * @module client/published/shown
 * Converts the names and times of the wire to those of the published client, and back: `died_at: 1.5` is
 * `diedAt: new Date(1_500)`. Only the fields of the object itself are converted, so that values of users stay as they
 * are.
 */
type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name
type TimeName = `${string}_at` | 'as_of' | 'before' | 'since'
type DateOf<Seconds> = Seconds extends number ? Date : Seconds

/** A body of the wire as the client shows it. */
export type Shown<Body> = {
  readonly [Name in keyof Body & string as CamelCase<Name>]: Name extends TimeName ? DateOf<Body[Name]> : Body[Name]
}

const TIME_NAME = /_at$|^(?:as_of|before|since)$/
const MS = 1_000

/** Returns a body with the names and times of the client. @param body A body of the wire. */
export function shown<Body extends object>(body: Body): Shown<Body> {
  const fields = Object.entries(body).map(([name, value]: [string, unknown]) => [
    name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
    typeof value === 'number' && TIME_NAME.test(name) ? dateOf(value) : value,
  ])
  return Object.fromEntries(fields) as Shown<Body>
}

/** Returns options with the names and times of the wire. @param options Options of the client. */
export function wire(options: object): object {
  const fields = Object.entries(options).map(([name, value]: [string, unknown]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value instanceof Date ? secondsOf(value) : value,
  ])
  return Object.fromEntries(fields) as object
}

/** Returns a time of the wire. @param seconds Unix seconds. */
export const dateOf = (seconds: number): Date => new Date(Math.round(seconds * MS))

/** Returns unix seconds, as on the wire. */
export const secondsOf = (date: Date): number => date.getTime() / MS
