/** @module cmd/admin/input  Reads and parses the input of a verb: a file, or stdin for `-`. */
import { readFile } from 'node:fs/promises'
import { withSourceNumbers, type JsonObject, type JsonValue } from '../../protocol/index.ts'
import { SettingsError } from '../settings.ts'
import type { Io } from './io.ts'

/** @throws SettingsError naming `name`. */
export async function readInput(name: string, file: string, io: Pick<Io, 'stdin'>): Promise<string> {
  try {
    return file === '-' ? await io.stdin() : await readFile(file, 'utf8')
  } catch (error) {
    throw new SettingsError([
      { name, problem: `${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}` },
    ])
  }
}

export function jsonOperand(name: string, text: string): JsonValue {
  try {
    return parsed(text) as JsonValue
  } catch (error) {
    throw new SettingsError([{ name, problem: `is not JSON: ${(error as Error).message}` }])
  }
}

/**
 * A YAML reviver that keeps the digits of an integer that a double cannot represent, so that the master rejects that
 * field (D75).
 */
const exactInteger = (_key: unknown, value: unknown): unknown =>
  typeof value === 'bigint' ? withSourceNumbers(String(value), Number(value)) : value

/** One object, as JSON or YAML. */
export async function objectInput(name: string, file: string, io: Pick<Io, 'stdin'>): Promise<JsonObject> {
  const text = await readInput(name, file, io)
  const { parse } = await import('./yaml.ts')
  try {
    const value: unknown = parse(text, exactInteger, { maxAliasCount: 0, intAsBigInt: true }) // JSON is YAML as well.
    if (isObject(value)) return value
  } catch (error) {
    throw new SettingsError([
      { name, problem: `${file} is neither JSON nor YAML: ${(error as Error).message.split('\n')[0]}` },
    ])
  }
  throw new SettingsError([{ name, problem: `${file} does not contain an object of fields` }])
}

/** One JSON object, or one on each line. */
export async function objectsInput(
  name: string,
  file: string,
  io: Pick<Io, 'stdin'>,
): Promise<{ readonly objects: readonly JsonObject[]; readonly lines: boolean }> {
  const text = await readInput(name, file, io)
  const whole = tried(text)
  if (isObject(whole)) return { objects: [whole], lines: false }
  const lines = text
    .split('\n')
    .map((line, at) => ({ line: line.trim(), at: at + 1 }))
    .filter(({ line }) => line !== '')
  const faults = lines.filter(({ line }) => !isObject(tried(line)))
  if (lines.length === 0) throw new SettingsError([{ name, problem: `${file} is empty` }])
  if (faults.length > 0)
    throw new SettingsError(
      faults.slice(0, 10).map(({ at }) => ({ name, problem: `line ${at} of ${file} is not a JSON object` })),
    )
  return { objects: lines.map(({ line }) => parsed(line) as JsonObject), lines: true }
}

/** Parses JSON. A number that a double cannot represent is sent with the digits of the source text (D75). */
const parsed = (text: string): unknown => withSourceNumbers(text, JSON.parse(text))

function tried(text: string): unknown {
  try {
    return parsed(text)
  } catch {
    return undefined // More than one line of JSON, or none at all.
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
