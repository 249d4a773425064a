/**
 * @module storage/error-pattern
 * Groups errors by their text (D157). The variable parts of an error are replaced, so that
 * `ENOTFOUND img-04.example.com, 3 tries` becomes `ENOTFOUND <host>, <n> tries`. Errors with the same pattern are in
 * one group, whose name is a hash of the pattern. Every backend takes the group from here, also the Redis backend,
 * which passes it to its scripts.
 */
import { createHash } from 'node:crypto'

/** Groups of one type beside {@link OTHER_GROUP}. Errors of further patterns are in that group. */
export const MAX_DEAD_GROUPS = 200
/** The group of errors for which there was no group left. */
export const OTHER_GROUP = '0'.repeat(16)

/** Characters of an error that are read. */
const MAX_READ = 1_024
/** Characters of a pattern. */
const MAX_PATTERN = 256
/** Top-level domains by which a name without a port is recognised as a host. */
const DOMAINS =
  'com|net|org|io|dev|app|cloud|info|biz|edu|gov|eu|de|uk|us|fr|nl|ch|at|pl|es|it|jp|cn|in|br|au|ca|local|' +
  'localdomain|internal|invalid|test|example|lan|home|corp|svc|cluster'
const LAST_LABEL = String.raw`(?:(?:${DOMAINS})(?::\d{1,5})?|[a-z]{2,24}:\d{1,5})`
const HOST = String.raw`(?<![\w.-])(?:[a-z\d_-]{1,63}\.){1,10}${LAST_LABEL}(?![\w-])`

/**
 * A rule sees what the rules before it have left. Each expression reads a bounded part behind each position, so the
 * whole takes time in proportion to the characters read.
 */
const RULES: readonly (readonly [variable: RegExp, replacement: string])[] = [
  [/[\p{Cc}\p{Cf}\s]+/gu, ' '],
  [/(?<![\w+.-])[a-z][\w+.-]{1,20}:\/\/[^\s"'`<>()[\]{}]+/gi, '<url>'],
  [/(?<![\w-])[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}(?![\w-])/gi, '<uuid>'],
  [/(?<!\w)\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?Z|[+-]\d\d:?\d\d)?(?!\w)/g, '<time>'],
  [/(?<![\w.+-])[\w.+-]{1,64}@[\w.-]{1,128}/g, '<email>'],
  [/"[^"]{0,256}"|`[^`]{0,256}`|“[^”]{0,256}”|(?<![\w'])'[^']{0,256}'(?!\w)/g, '<text>'],
  [/(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?![\w.])/g, '<host>'],
  [/(?<![\w:])\[?[\da-f]{0,4}(?::[\da-f]{0,4}){2,8}(?:\]:\d{1,5}|\])?(?![\w:])/gi, '<host>'],
  [new RegExp(HOST, 'gi'), '<host>'],
  [/(?<=\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED) )[a-z\d][\w.-]{0,252}(?::\d{1,5})?(?![\w-])/g, '<host>'],
  [/(?<![\w<./])(?:~|\.{1,2}|[a-z]:)?(?:[\\/][\w.@%+~-]{1,128}){2,32}[\\/]?/gi, '<path>'],
  [/(?<!\w)0x[\da-f]+(?!\w)/gi, '<hex>'],
  [/(?<!\w)(?=[a-f]{0,64}\d)(?=\d{0,64}[a-f])[\da-f]{8,}(?!\w)/gi, '<hex>'],
  [/(?<!\w)(?=[a-z_]{0,64}\d)(?=[\d_]{0,64}[a-z])\w{20,}(?!\w)/gi, '<id>'],
]
const NUMBER = /\d+(?:[.,:]\d+)*/g
/** Before a number that says what went wrong, such as 404 in `HTTP 404` and `status code: 404`. */
const STATUS = /\b(?:HTTP(?:\/\d(?:\.\d)?)?|status(?: ?code)?)[ :=]{1,2}$/i

/**
 * Finds the pattern of an error. Only the first 1,024 characters count, and of a stack trace only its head.
 *
 * @returns at most 256 characters; `no error text` for an empty error.
 */
export function errorPattern(error: string): string {
  const read = error.slice(0, MAX_READ)
  const stack = /\r?\n\s+at /.exec(read)?.index ?? read.length
  let pattern = read.slice(0, stack).toWellFormed()
  for (const [variable, replacement] of RULES) pattern = pattern.replace(variable, replacement)
  pattern = pattern.replace(NUMBER, (number, at: number, text: string) => {
    const isStatus = /^[1-5]\d\d$/.test(number) && STATUS.test(text.slice(Math.max(0, at - 16), at))
    return isStatus ? number : '<n>'
  })
  return pattern.trim().slice(0, MAX_PATTERN).toWellFormed() || 'no error text'
}

/** Finds the group of an error: equal for errors with the same pattern. @returns 16 hexadecimal digits. */
export function errorGroup(error: string): string {
  const group = createHash('sha256').update(errorPattern(error)).digest('hex').slice(0, OTHER_GROUP.length)
  return group === OTHER_GROUP ? '1'.repeat(OTHER_GROUP.length) : group
}
