/**
 * @module cmd/settings
 * Defines settings as data. Each is an environment variable SVC_SOME_NAME and a flag --some-name; the flag takes
 * precedence. Reading them reports all faults together and never shows the value of a secret. The same table prints
 * `--help` (D34).
 *
 * Secrets are never flags. They are read from the variable, or from the file that its _FILE variable names (D22).
 */
import { readFileSync } from 'node:fs'

/** Turns the text of one setting into its value. @throws Error whose message is the problem and an example. */
export type Read<T> = (text: string) => T

export interface Setting<T> {
  /** SVC_…; the flag is derived from it. */
  readonly name: string
  readonly help: string
  readonly read: Read<T>
  /** Text of the default, as a user would write it; undefined: the setting has none. */
  readonly fallback?: string
  readonly required?: boolean
  readonly secret?: boolean
  /** Has a _FILE variable although it may also be a flag, because the value may contain a secret. */
  readonly fromFile?: boolean
  /**
   * Rejects a value that must not be passed as a flag, which every user of the machine can read.
   * @throws {Error} as `read` does.
   */
  readonly checkFlag?: (text: string) => void
}

export type SettingsTable = Readonly<Record<string, Setting<unknown>>>
type ValueOf<S> =
  S extends Setting<infer T> ? (S extends { fallback: string } | { required: true } ? T : T | undefined) : never
export type Values<T extends SettingsTable> = { readonly [K in keyof T]: ValueOf<T[K]> }

export type Environment = Readonly<Record<string, string | undefined>>
/** One line of the report: which setting, and what is wrong with it. */
export interface SettingFault {
  readonly name: string
  readonly problem: string
}

/** Thrown with every fault of a start; exit code 2. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly faults: readonly SettingFault[]
  constructor(faults: readonly SettingFault[]) {
    super(`${faults.length} ${faults.length === 1 ? 'fault' : 'faults'} in the settings`)
    this.faults = faults
  }
}

const flagOf = (name: string): string => `--${name.replace(/^SVC_/, '').toLowerCase().replaceAll('_', '-')}`

/** Declares a setting. Its type is inferred from its reader. */
export function setting<T, const S extends Omit<Setting<T>, 'read'>>(
  read: Read<T>,
  rest: S,
): S & { readonly read: Read<T> } {
  return { ...rest, read }
}

/**
 * Reads a table of settings.
 * @param argv the flags after the subcommand: `--listen 1.2.3.4:80` or `--listen=1.2.3.4:80`.
 * @returns the values of what could be read, and every fault.
 */
export function readSettings<T extends SettingsTable>(
  table: T,
  environment: Environment,
  argv: readonly string[],
): { values: Values<T>; faults: SettingFault[] } {
  const { flags, faults } = parseFlags(table, argv)
  const values: Record<string, unknown> = {}
  for (const [key, each] of Object.entries(table)) {
    try {
      const flag = flags.get(flagOf(each.name))
      if (flag !== undefined) each.checkFlag?.(flag)
      const text = flag ?? textFromEnvironment(each, environment) ?? each.fallback
      if (text === undefined && each.required === true)
        throw new Error(
          `is required; set it, or give ${each.secret === true ? `${each.name}_FILE` : flagOf(each.name)}`,
        )
      values[key] = text === undefined ? undefined : each.read(text)
    } catch (error) {
      faults.push({ name: each.name, problem: (error as Error).message })
    }
  }
  return { values: values as Values<T>, faults }
}

function textFromEnvironment(each: Setting<unknown>, environment: Environment): string | undefined {
  const text = environment[each.name]
  const file = each.secret === true || each.fromFile === true ? environment[`${each.name}_FILE`] : undefined
  if (file === undefined || file === '') return text === '' ? undefined : text
  if (text !== undefined && text !== '') throw new Error(`and ${each.name}_FILE are both set; unset one of them`)
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new Error(`${each.name}_FILE cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`, {
      cause: error,
    })
  }
}

function parseFlags(
  table: SettingsTable,
  argv: readonly string[],
): { flags: Map<string, string>; faults: SettingFault[] } {
  const byFlag = new Map(Object.values(table).map((each) => [flagOf(each.name), each]))
  const flags = new Map<string, string>()
  const faults: SettingFault[] = []
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? ''
    const equals = word.indexOf('=')
    const flag = equals === -1 ? word : word.slice(0, equals)
    const known = byFlag.get(flag)
    if (known === undefined) {
      faults.push({
        name: word.startsWith('-') ? flag : word,
        problem: `is not known${nearest(flag, [...byFlag.keys()])}; see --help`,
      })
      if (equals === -1 && argv[index + 1]?.startsWith('-') === false) index += 1
    } else if (known.secret === true) {
      faults.push({ name: flag, problem: `secrets are never flags; set ${known.name} or ${known.name}_FILE` })
      if (equals === -1) index += 1
    } else if (equals !== -1) flags.set(flag, word.slice(equals + 1))
    else if (argv[index + 1] === undefined) faults.push({ name: flag, problem: 'needs a value' })
    else flags.set(flag, argv[(index += 1)] as string)
  }
  return { flags, faults }
}

/**
 * @returns `; did you mean --listen?` for a word that differs by a few letters from a known one, otherwise an empty
 *   string.
 */
export function nearest(word: string, known: readonly string[]): string {
  const [best] = known
    .map((each) => ({ each, distance: editDistance(word, each) }))
    .toSorted((a, b) => a.distance - b.distance)
  return best !== undefined && best.distance <= Math.max(2, Math.floor(word.length / 3))
    ? `; did you mean ${best.each}?`
    : ''
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [i, charA] of [...a].entries()) {
    const next = [i + 1]
    for (const [j, charB] of [...b].entries())
      next.push(Math.min((row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1, (row[j] ?? 0) + (charA === charB ? 0 : 1)))
    row = next
  }
  return row.at(-1) ?? 0
}

function fallbackText({ required, fallback }: Setting<unknown>): string {
  if (required === true) return 'required'
  return fallback === undefined ? 'not set' : `default ${fallback}`
}

/** Formats the settings for `--help`: variable, flag, meaning and default. */
export function describeSettings(table: SettingsTable): string {
  return Object.values(table)
    .map((each) => {
      const forms =
        [each.name, ...(each.secret === true ? [] : [flagOf(each.name)])].join(', ') +
        (each.secret === true || each.fromFile === true ? `, or ${each.name}_FILE` : '')
      return `  ${forms}\n      ${each.help} (${fallbackText(each)})`
    })
    .join('\n')
}
