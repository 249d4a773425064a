/** Runs `muster doctor` in this process, against a real master. */
import { runDoctor } from '../../../src/cmd/doctor/index.ts'
import type { Limits } from '../../../src/cmd/doctor/session.ts'
import { SLACK } from '../../kit/index.ts'
import { terminalOf, type Terminal } from '../admin/fixture.ts'

interface Checked {
  readonly check: string
  readonly status: 'ok' | 'warn' | 'fail' | 'skip'
  readonly text: string
  readonly cause: string | null
  readonly next: string | null
}

export interface Diagnosis {
  readonly code: number
  readonly checks: readonly Checked[]
  /** The finding of one check. */
  readonly of: (check: string) => Checked | undefined
  /** The names of the checks with this status. */
  readonly named: (status: Checked['status']) => readonly string[]
}

/** A machine that runs other tests may be slow to send the first byte. */
const LIMITS: Partial<Limits> = { firstByteMs: 2_000 * SLACK, stepMs: 5_000 * SLACK, upgradeMs: 15_000 * SLACK }
/** No kubeconfig of the person who runs the tests is used. */
const NO_HOME = { HOME: '/nonexistent' }

/** Prints lines. */
export async function doctorLines(
  url: string,
  words: readonly string[] = [],
  terminal: Terminal = {},
  limits: Partial<Limits> = {},
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const environment = { ...NO_HOME, ...terminal.environment }
  const { io, printed } = terminalOf(url, { ...terminal, environment })
  const code = await runDoctor(words, io, { ...LIMITS, ...limits })
  return { code, out: printed.out, err: printed.err }
}

export async function doctor(
  url: string,
  words: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
  limits: Partial<Limits> = {},
): Promise<Diagnosis> {
  const { code, out } = await doctorLines(url, [...words, '-o', 'json'], { environment }, limits)
  const { checks } = JSON.parse(out) as { readonly checks: readonly Checked[] }
  return {
    code,
    checks,
    of: (name) => checks.find(({ check }) => check === name),
    named: (wanted) => checks.filter(({ status }) => status === wanted).map(({ check }) => check),
  }
}
