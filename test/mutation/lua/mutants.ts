/**
 * Makes mutants of the Lua scripts of the Redis backend. A mutant is the text of one file with one change:
 *
 *   comparison  `<` becomes `<=`, `==` becomes `~=`, and the other way round
 *   write       a call whose result is not used, which is a write or a helper that writes, is removed
 *   end         a list is used from its other end: LPUSH instead of RPUSH, the last entry instead of the first
 *
 * Text in, text out: the same files give the same mutants in the same order. Comments and strings are not changed,
 * except the names of commands that choose an end.
 */
export interface Mutant {
  readonly file: string
  /** Counted from 1. */
  readonly line: number
  readonly kind: 'comparison' | 'write' | 'end'
  /** The changed lines before and after, without indentation. */
  readonly code: string
  readonly becomes: string
  /** Counts equal mutants of one file, from 1. */
  readonly occurrence: number
  /** The whole file with the change. */
  readonly text: string
}

interface Edit {
  readonly kind: Mutant['kind']
  readonly from: number
  readonly to: number
  readonly by: string
}

const OPPOSITE: Readonly<Record<string, string>> = {
  '==': '~=',
  '~=': '==',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
}
const COMPARISON = /[=~<>]=|[<>]/g
/** Name of a function at the start of a statement. */
const STATEMENT = /(?<=^[ ]*|\b(?:then|do|else) )(?:[a-z_]\w*\.)?[a-zA-Z_]\w*(?=\()/gm
const KEYWORDS = new Set(['if', 'elseif', 'while', 'until', 'return', 'and', 'or', 'not', 'function', 'for', 'local'])
const END_OF_STATEMENT = /^\s*(?:$|\n|end\b|else\b)/

/** Patterns of what uses one end of a list, each with what uses the other. */
const ENDS: readonly (readonly [RegExp, string])[] = [
  [/'LPUSH'/g, "'RPUSH'"],
  [/'RPUSH'/g, "'LPUSH'"],
  [/'LPOP'/g, "'RPOP'"],
  [/'RPOP'/g, "'LPOP'"],
  [/'ZPOPMIN'/g, "'ZPOPMAX'"],
  [/'REV', /g, ''],
  [/('LINDEX', \w+), 0\)/g, '$1, -1)'],
  [/('ZRANGE', \w+), 0, 0\b(?!, 'REV')/g, '$1, -1, -1'],
  [/('LTRIM', [\w.[\]]+), (?!'0', )(.+?), '?-1'?\)/g, '$1, 0, -1 - ($2))'],
  [/('LTRIM', [\w.[\]]+), '0', (.+)\)/g, '$1, -1 - ($2), -1)'],
  [/('LRANGE', [\w.[\]]+), 0, ([^()]+)\)/g, '$1, -1 - ($2), -1)'],
  [/\bfor (\w+) = (#\w+), 1, -1 do/g, 'for $1 = 1, $2 do'],
  [/\btable\.insert\((.+), (\w+(?:\[\w+\])?)\)/g, 'table.insert($1, 1, $2)'],
]

/** @param files text by path, as in `SCRIPT_FILES`. */
export function mutantsOf(files: Readonly<Record<string, string>>): readonly Mutant[] {
  return Object.keys(files)
    .toSorted()
    .flatMap((file) => mutantsOfFile(file, files[file] ?? ''))
}

/** Identifies a mutant in the list of survivors; it does not change with the number of its line. */
export const keyOf = ({ file, code, becomes, occurrence }: Omit<Mutant, 'line' | 'kind' | 'text'>): string =>
  [file, code, becomes, occurrence].join('\n')

function mutantsOfFile(file: string, text: string): readonly Mutant[] {
  const code = blanked(text)
  const edits = [...comparisons(code), ...writes(code), ...ends(text, code)]
  const seen = new Map<string, number>()
  return edits
    .toSorted((a, b) => a.from - b.from || a.kind.localeCompare(b.kind) || a.to - b.to)
    .map((edit) => {
      const mutant = { ...mutantOf(file, text, edit), occurrence: 1 }
      const occurrence = (seen.get(keyOf(mutant)) ?? 0) + 1
      seen.set(keyOf(mutant), occurrence)
      return { ...mutant, occurrence }
    })
}

function mutantOf(file: string, text: string, { kind, from, to, by }: Edit): Omit<Mutant, 'occurrence'> {
  const start = text.lastIndexOf('\n', from - 1) + 1
  const end = text.indexOf('\n', to)
  const tail = end < 0 ? text.slice(to) : text.slice(to, end)
  const lines = (middle: string): string =>
    `${text.slice(start, from)}${middle}${tail}`.trim().replaceAll(/\n\s*/g, ' ')
  return {
    file,
    line: text.slice(0, from).split('\n').length,
    kind,
    code: lines(text.slice(from, to)),
    becomes: lines(by),
    text: text.slice(0, from) + by + text.slice(to),
  }
}

/** The text with comments and the insides of strings as spaces, so that offsets stay the same. */
function blanked(text: string): string {
  return text.replaceAll(/--.*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|^#!.*/gm, (found) =>
    /^['"]/.test(found) ? `'${' '.repeat(found.length - 2)}'` : ' '.repeat(found.length),
  )
}

function* comparisons(code: string): Generator<Edit> {
  for (const { 0: found, index } of code.matchAll(COMPARISON))
    yield { kind: 'comparison', from: index, to: index + found.length, by: OPPOSITE[found] ?? found }
}

function* writes(code: string): Generator<Edit> {
  for (const { 0: name, index } of code.matchAll(STATEMENT)) {
    const to = endOfCall(code, index + name.length)
    if (!KEYWORDS.has(name) && END_OF_STATEMENT.test(code.slice(to)))
      yield { kind: 'write', from: index, to, by: 'do end' }
  }
}

/** @param at the opening parenthesis. */
function endOfCall(code: string, at: number): number {
  let depth = 0
  for (let i = at; i < code.length; i += 1) {
    if (code[i] === '(') depth += 1
    else if (code[i] === ')') depth -= 1
    if (depth === 0) return i + 1
  }
  return code.length
}

function* ends(text: string, code: string): Generator<Edit> {
  for (const [pattern, by] of ENDS)
    for (const { 0: found, index } of text.matchAll(pattern))
      if (code[index] !== ' ')
        yield { kind: 'end', from: index, to: index + found.length, by: found.replace(new RegExp(pattern.source), by) }
}
