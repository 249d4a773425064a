/** Builds `hack/tools/porcupine` with Go, and lets it judge recorded histories. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, it } from '@jest/globals'

const SOURCES = join(import.meta.dirname, '../../hack/tools/porcupine')
const DECISION_TIMEOUT = '60s'

/** A key whose calls are not linearizable, with a short history that shows it, or an undecided one with all calls. */
interface Finding {
  readonly model: string
  readonly key: string
  readonly calls: readonly unknown[] | null
}

/** What a recovery found of one key: the newest acknowledged change that is there, the oldest that is not; 0: none. */
export interface Cut {
  readonly key: string
  readonly recoveredNs: number
  readonly keptStartNs: number
  readonly lostEndNs: number
  /** How many acknowledged changes are lost. */
  readonly lost: number
}

export interface Verdict {
  readonly calls: number
  readonly unknown: number
  readonly keys: number
  readonly callsByModel: Readonly<Record<string, number>>
  readonly violations: readonly Finding[]
  /** Keys whose histories took more than a minute. */
  readonly undecided: readonly Finding[]
  /** Acknowledged changes that recoveries did not find, by model. */
  readonly lost: Readonly<Record<string, number>>
  readonly cuts: readonly Cut[]
}

const HAS_GO = spawnSync('go', ['version']).status === 0

/** Runs `define`, which describes tests. Without Go it defines a named skip instead. */
export function withGo(name: string, define: () => void): void {
  if (HAS_GO) define()
  else describe(name, () => it.skip('go is not installed', () => undefined))
}

/**
 * Builds the judge: a second, or nothing where Go has built the same sources before.
 *
 * @param folder Where the program is put.
 * @returns its path.
 */
export function buildJudge(folder: string): string {
  const program = join(folder, 'porcupine')
  const { status, stderr } = spawnSync('go', ['build', '-mod=readonly', '-trimpath', '-o', program, '.'], {
    cwd: SOURCES,
    env: { ...process.env, CGO_ENABLED: '0' },
  })
  if (status !== 0) throw new Error(`go build failed: ${stderr.toString()}`)
  return program
}

/** @param histories Files of recorded lines, one for each process. */
export async function judge(program: string, histories: readonly string[]): Promise<Verdict> {
  const child = spawn(program, ['-timeout', DECISION_TIMEOUT, ...histories], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit') as Promise<[number | null]>
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  if (code !== 0) throw new Error(`the judge ended with ${code}: ${errors}`)
  return JSON.parse(output) as Verdict
}
