/**
 * @module cmd/completion/candidates
 * Finds what may stand at the cursor: a subcommand, a verb, an option or one of its values, or an operand. Subcommands,
 * verbs and options are the same tables from which `--help` is printed; types, workers and pools come from the master.
 */
import { findVerb, isSingle, type Noun, type Option, type Verb } from '../admin/index.ts'

export interface Candidate {
  readonly word: string
  /** What it is; empty if the word says it. */
  readonly help: string
}

/** What a master knows. */
export interface Known {
  readonly types: () => Promise<readonly string[]>
  /** IDs of workers of the type. */
  readonly workers: (type: string) => Promise<readonly string[]>
  readonly pools: () => Promise<readonly string[]>
  /** Fields of the config of the type. */
  readonly fields: (type: string) => Promise<readonly string[]>
  /** Contexts of the configuration file. */
  readonly contexts: () => Promise<readonly string[]>
}

export interface Commands {
  /** Subcommands and what they do. */
  readonly summaries: Readonly<Record<string, string>>
  /** Those that have verbs. */
  readonly nouns: Readonly<Record<string, Noun>>
  /** @returns all options of the verb, with the common ones. */
  readonly optionsOf: (verb: Verb) => readonly Option[]
  /** @returns the help of a subcommand without verbs. */
  readonly helpOf: (subcommand: string) => Promise<string>
  /** @returns the options of a subcommand without verbs; none if only its help lists them. */
  readonly ownOptionsOf: (subcommand: string) => Promise<readonly Option[]>
}

/**
 * @param words The words after `muster`; the last is the one at the cursor, and may be empty.
 * @returns what begins with the last word.
 */
export async function candidatesOf(
  words: readonly string[],
  commands: Commands,
  known: Known,
): Promise<readonly Candidate[]> {
  const last = words.at(-1) ?? ''
  const found = await allOf(words.slice(0, -1), last, commands, known)
  return found.filter(({ word }) => word.startsWith(last))
}

async function allOf(
  before: readonly string[],
  last: string,
  { summaries, nouns, optionsOf, helpOf, ownOptionsOf }: Commands,
  known: Known,
): Promise<readonly Candidate[]> {
  const [subcommand, ...rest] = before
  if (subcommand === undefined) return Object.entries(summaries).map(([word, help]) => ({ word, help }))
  if (!Object.hasOwn(summaries, subcommand)) return []
  const noun = Object.hasOwn(nouns, subcommand) ? nouns[subcommand] : undefined
  if (noun === undefined) {
    const option = optionBefore(rest.at(-1), await ownOptionsOf(subcommand))
    if (option !== undefined) return valuesOf(option, known)
    return last.startsWith('-') ? flagsIn(await helpOf(subcommand)) : []
  }
  if (!isSingle(noun) && rest.length === 0)
    return noun.verbs.map(({ name, summary }) => ({ word: name, help: summary }))
  const [name = '', ...given] = isSingle(noun) ? ['', ...rest] : rest
  const verb = findVerb(noun, name)
  return verb === undefined ? [] : ofVerb(verb, optionsOf(verb), { subcommand, given, last }, known)
}

/** The flags that a help text lists: `  SVC_LISTEN, --listen`, `  -o, --output table|json`, `  --only ROW`. */
const flagsIn = (help: string): readonly Candidate[] =>
  [...help.matchAll(/^ {2}(?:(?:SVC_[A-Z_]+|-[a-z]), )?(--[a-z][a-z-]*)/gm)].map(([, word = '']) => ({
    word,
    help: '',
  }))

interface Typed {
  readonly subcommand: string
  /** The words between the verb and the cursor. */
  readonly given: readonly string[]
  readonly last: string
}

async function ofVerb(
  verb: Verb,
  options: readonly Option[],
  { subcommand, given, last }: Typed,
  known: Known,
): Promise<readonly Candidate[]> {
  const takesValue = (word: string | undefined): Option | undefined => optionBefore(word, options)
  const option = takesValue(given.at(-1))
  if (option !== undefined) return valuesOf(option, known)
  if (last.startsWith('-')) return options.map(({ name, help }) => ({ word: `--${name}`, help }))
  const operands = given.filter((word, at) => !word.startsWith('-') && takesValue(given[at - 1]) === undefined)
  const kind = verb.operands.replaceAll(/[[\]…]/g, '').split(' ')[operands.length]
  return operandsOf(kind === 'NAME' ? `${subcommand} NAME` : kind, operands, last, known)
}

/** The option whose value follows this word. */
const optionBefore = (word: string | undefined, options: readonly Option[]): Option | undefined =>
  options.find(({ name, short, value }) => value !== undefined && (word === `--${name}` || word === `-${short}`))

/** `table|json|jsonpath=…` are its values; a placeholder in capitals has none that are known. */
async function valuesOf({ value = '' }: Option, known: Known): Promise<readonly Candidate[]> {
  if (value === 'CONTEXT') return bare(await known.contexts())
  return value.includes('|') ? bare(value.split('|').map((word) => word.replace(/=…$/, '='))) : []
}

const bare = (words: readonly string[]): readonly Candidate[] => words.map((word) => ({ word, help: '' }))

async function operandsOf(
  kind: string | undefined,
  before: readonly string[],
  last: string,
  known: Known,
): Promise<readonly Candidate[]> {
  if (kind === 'TYPE') return bare(await known.types())
  if (kind === 'CONTEXT') return bare(await known.contexts())
  if (kind === 'pools NAME') return bare(await known.pools())
  if (kind === 'WORKER') return bare(await known.workers(before[0] ?? ''))
  if (kind === 'TYPE.FIELD') return fieldsOf(last, known)
  if (kind !== 'TYPE/ID') return []
  const slash = last.indexOf('/')
  if (slash === -1) return bare((await known.types()).map((type) => `${type}/`))
  const type = last.slice(0, slash)
  return bare((await known.workers(type)).map((id) => `${type}/${id}`))
}

/** Types until there is a dot, then the fields of the type. */
async function fieldsOf(last: string, known: Known): Promise<readonly Candidate[]> {
  const dot = last.indexOf('.')
  if (dot === -1) return bare(await known.types())
  const type = last.slice(0, dot)
  return bare((await known.fields(type)).map((field) => `${type}.${field}`))
}
