/**
 * @module storage/redis/script-text
 * Makes one script of a Lua file and the files it includes. A directive stands alone in a line:
 *
 *   --- @include "fence"    the text of include/fence.lua, at the first directive that names it; later ones are ignored
 *   --- @define MAX_SLOTS   `local MAX_SLOTS = 1024`: a value that TypeScript defines
 *   --- @keys P0 T          `local P0, T = KEYS[1], KEYS[2]`; callers read the names of the keys from `keys`
 *   --- @group end_leases()  The rest of the line, a directive included, only in the grouped variant of the script
 *
 * The grouped variant of a script is that for types with a group policy (D119). In it, the file grouped-X.lua replaces
 * an include X where there is one, and the keys that only this variant uses follow those of `@keys`.
 *
 * The first line of a command is the shebang of Redis, with its flags. Comments and empty lines are not sent to Redis;
 * `origins` maps a line of an error message of Redis back to its file.
 */

export interface ScriptText {
  readonly source: string
  /** Names of KEYS[1], KEYS[2] … in lower case; empty without `@keys`. */
  readonly keys: readonly string[]
  readonly flags: readonly string[]
  /** File and line of each line of `source`, such as `include/fence.lua:12`. */
  readonly origins: readonly string[]
}

type Constants = Readonly<Record<string, number | string>>

const SHEBANG = /^#!lua(?: flags=(?<flags>[a-z,-]+))?$/
const DIRECTIVE = /^\s*--- @(?<kind>\S*) *(?<rest>.*)$/
/** Keys that a grouped variant may need beside those of `@keys`; scripts/include/groups.lua explains the last seven. */
const GROUP_KEYS = ['T', 'M', 'X', 'C', 'D', 'GT', 'GQ', 'GN', 'GR', 'GW', 'GL', 'GA']
const NOT_SENT = /^\s*(?:--.*)?$/

/**
 * @param path of the command, such as `tasks.ack.lua`.
 * @param files text by path.
 * @param isGrouped Whether the grouped variant is wanted.
 * @throws {TypeError} for an invalid directive, with file and line.
 */
export function resolveScript(
  path: string,
  files: Readonly<Record<string, string>>,
  constants: Constants,
  isGrouped = false,
): ScriptText {
  return new Resolver(files, constants, isGrouped).resolve(path)
}

class Resolver {
  readonly #files: Readonly<Record<string, string>>
  readonly #constants: Constants
  readonly #isGrouped: boolean
  readonly #included = new Set<string>()
  readonly #defined = new Set<string>()
  readonly #lines: string[] = []
  readonly #origins: string[] = []
  #keys: readonly string[] = []
  /** The number of lines up to the one that names the keys. */
  #keysEnd = 0

  constructor(files: Readonly<Record<string, string>>, constants: Constants, isGrouped: boolean) {
    this.#files = files
    this.#constants = constants
    this.#isGrouped = isGrouped
  }

  resolve(path: string): ScriptText {
    const text = this.#files[path]
    if (text === undefined) throw new TypeError(`there is no ${path}`)
    const [first = '', ...lines] = text.split('\n')
    const shebang = SHEBANG.exec(first)
    if (shebang === null) throw new TypeError(`${path}:1: must be #!lua, with or without flags`)
    this.#add(first, `${path}:1`)
    this.#addFile(path, lines, 2)
    if (this.#isGrouped) this.#nameGroupKeys()
    return {
      source: `${this.#lines.join('\n')}\n`,
      keys: this.#keys.map((name) => name.toLowerCase()),
      flags: shebang.groups?.['flags']?.split(',') ?? [],
      origins: this.#origins,
    }
  }

  #addFile(path: string, lines: readonly string[], firstLine: number): void {
    for (const [i, line] of lines.entries()) this.#addLine(line, `${path}:${firstLine + i}`)
  }

  #addLine(line: string, origin: string): void {
    const directive = DIRECTIVE.exec(line)?.groups
    if (directive !== undefined) this.#direct(directive['kind'] ?? '', directive['rest'] ?? '', origin)
    else if (!NOT_SENT.test(line)) this.#add(line, origin)
  }

  #direct(kind: string, rest: string, origin: string): void {
    if (kind === 'include') this.#include(rest, origin)
    else if (kind === 'define') this.#define(rest, origin)
    else if (kind === 'keys') this.#nameKeys(rest, origin)
    else if (kind === 'group') this.#addGrouped(rest, origin)
    else throw new TypeError(`${origin}: unknown directive @${kind}`)
  }

  #addGrouped(rest: string, origin: string): void {
    if (this.#isGrouped) this.#addLine(rest.startsWith('@') ? `--- ${rest}` : rest, origin)
  }

  #include(quoted: string, origin: string): void {
    const name = quoted.replaceAll('"', '')
    const replacement = `include/grouped-${name}.lua`
    const path = this.#isGrouped && replacement in this.#files ? replacement : `include/${name}.lua`
    const text = this.#files[path]
    if (text === undefined) throw new TypeError(`${origin}: there is no ${path}`)
    if (this.#included.has(path)) return
    this.#included.add(path)
    this.#addFile(path, text.split('\n'), 1)
  }

  #define(name: string, origin: string): void {
    const value = this.#constants[name]
    if (value === undefined) throw new TypeError(`${origin}: script-constants.ts has no ${name}`)
    if (this.#defined.has(name)) return
    this.#defined.add(name)
    this.#add(`local ${name} = ${JSON.stringify(value)}`, origin)
  }

  #nameKeys(names: string, origin: string): void {
    if (this.#keys.length > 0) throw new TypeError(`${origin}: the script has another @keys already`)
    this.#keys = names.split(' ')
    this.#add(`local ${this.#keys.join(', ')} = ${this.#keys.map((_, i) => `KEYS[${i + 1}]`).join(', ')}`, origin)
    this.#keysEnd = this.#lines.length
  }

  /** Adds the keys that the script uses and `@keys` does not name. */
  #nameGroupKeys(): void {
    const text = this.#lines.join('\n')
    const isMissing = (name: string): boolean => !this.#keys.includes(name) && new RegExp(`\\b${name}\\b`).test(text)
    const names = GROUP_KEYS.filter(isMissing)
    if (names.length === 0) return
    const values = names.map((_, i) => `KEYS[${this.#keys.length + i + 1}]`)
    this.#lines.splice(this.#keysEnd, 0, `local ${names.join(', ')} = ${values.join(', ')}`)
    this.#origins.splice(this.#keysEnd, 0, this.#origins[this.#keysEnd - 1] ?? '')
    this.#keys = [...this.#keys, ...names]
  }

  #add(line: string, origin: string): void {
    this.#lines.push(line)
    this.#origins.push(origin)
  }
}
