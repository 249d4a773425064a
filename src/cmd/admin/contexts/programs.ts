/** @module cmd/admin/contexts/programs  Runs the programs that a context names. None of them is run by a shell. */
import { execFile } from 'node:child_process'
import { EXIT, Failure } from '../verb.ts'

const MAX_OUTPUT_BYTES = 1_048_576

export interface Program {
  readonly words: readonly string[]
  readonly timeoutMs: number
  /** Which field of which context names it, for error messages. */
  readonly from: string
  readonly next: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Prints its stderr as it comes, such as the address of a sign-in page. Absent: it is part of the error. */
  readonly err?: (text: string) => void
}

/** Runs a program. Resolves with its stdout. @throws {Failure} if it fails or takes longer than its limit. */
export function outputOf({ words, timeoutMs, from, next, environment, err }: Program): Promise<string> {
  const [program = '', ...args] = words
  const options = {
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: MAX_OUTPUT_BYTES,
    env: environment,
  } as const
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout)
      const last = err === undefined ? lastLine(stderr) : ''
      const why = `${from}: ${problemOf(error, timeoutMs)}${last === '' ? '' : `: ${last}`}`
      return reject(new Failure(EXIT.USAGE, `${program} failed`, why, next))
    })
    child.stdin?.on('error', () => undefined).end()
    if (err !== undefined) child.stderr?.on('data', (text: Buffer | string) => err(String(text)))
  })
}

function problemOf(error: Error, timeoutMs: number): string {
  const { code, killed } = error as Error & { readonly code?: string | number | null; readonly killed?: boolean }
  if (code === 'ENOENT') return 'the program is not in the PATH'
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `the program wrote more than ${MAX_OUTPUT_BYTES} bytes`
  if (killed === true) return `the program did not end within ${timeoutMs / 1_000} s`
  return typeof code === 'number' ? `the program ended with code ${code}` : `the program failed: ${error.message}`
}

export const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? ''
