/**
 * @module cmd/admin/parse
 * Parses the words after `muster NOUN VERB`. Options may be anywhere, as `--name VALUE`, `--name=VALUE`, `-n VALUE` or
 * `-nVALUE`; `--` ends them. Reports all faults together, and suggests the nearest known option for an unknown one.
 */
import { nearest, type SettingFault } from '../settings.ts'
import type { Option, Options } from './verb.ts'

export interface Parsed {
  readonly operands: readonly string[]
  readonly values: Readonly<Record<string, unknown>>
  readonly faults: readonly SettingFault[]
}

interface Word {
  readonly key: string
  readonly option: Option
  readonly flag: string
  readonly attached: string | undefined
}

/** @returns the value of an option that is not given. */
function initialValue({ value, many }: Option): readonly unknown[] | false | undefined {
  if (many === true) return []
  return value === undefined ? false : undefined
}

export function parseWords(words: readonly string[], options: Options): Parsed {
  const operands: string[] = []
  const values: Record<string, unknown> = Object.fromEntries(
    Object.entries(options).map(([key, option]) => [key, initialValue(option)]),
  )
  const faults: SettingFault[] = []
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    if (word === '--') {
      operands.push(...words.slice(at + 1))
      break
    }
    if (!word.startsWith('-') || word === '-') {
      operands.push(word)
      continue
    }
    const known = optionOf(word, options)
    if (known === undefined) {
      const [flag = ''] = word.split('=', 1)
      faults.push({
        name: flag,
        problem: `is not known${nearest(
          flag,
          Object.values(options).map(({ name }) => `--${name}`),
        )}`,
      })
      continue
    }
    const takesNext = known.option.value !== undefined && known.attached === undefined
    if (takesNext) at += 1
    const fault = take(known, takesNext ? words[at] : known.attached, values)
    if (fault !== null) faults.push({ name: known.flag, problem: fault })
  }
  return { operands, values, faults }
}

function optionOf(word: string, options: Options): Word | undefined {
  for (const [key, option] of Object.entries(options)) {
    const flag = `--${option.name}`
    if (word === flag || word.startsWith(`${flag}=`))
      return { key, option, flag, attached: word === flag ? undefined : word.slice(flag.length + 1) }
    const short = option.short === undefined || word.startsWith('--') ? undefined : `-${option.short}`
    if (short !== undefined && (word === short || (option.value !== undefined && word.startsWith(short)))) {
      return { key, option, flag: short, attached: word === short ? undefined : word.slice(short.length) }
    }
  }
  return undefined
}

/** Stores the value of an option. @returns the problem, or null. */
function take(
  { key, option, attached }: Word,
  text: string | undefined,
  values: Record<string, unknown>,
): string | null {
  if (option.value === undefined) {
    values[key] = true
    return attached === undefined ? null : 'takes no value'
  }
  if (text === undefined) return `needs a value: ${option.value}`
  if (option.many !== true && values[key] !== undefined) return 'is given more than once'
  try {
    const value = option.read(text)
    if (option.many === true) (values[key] as unknown[]).push(value)
    else values[key] = value
    return null
  } catch (error) {
    return (error as Error).message
  }
}
