/**
 * @module cmd/admin/io
 * Defines what an admin verb uses of its process, so that tests can replace it. Data is written to `out`, everything
 * else to `err`.
 */
import { userInfo } from 'node:os'
import { basename } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import { systemRandom, systemTime, type Random, type Time, type Timers } from '../../runtime/index.ts'
import type { Environment } from '../settings.ts'
import { pipeReader } from './pipe-reader.ts'

export interface Io {
  readonly environment: Environment
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /**
   * Watches the reader of `out`: `signal` aborts when the reader closed its end, as `head` does. `end` stops watching.
   */
  readonly unread: () => { readonly signal: AbortSignal; readonly end: () => void }
  readonly stdin: () => Promise<string>
  /** Asks a yes/no question on the terminal. null: there is no terminal. */
  readonly ask: ((question: string) => Promise<boolean>) | null
  /** Name of the operating system user, which the history of a config shows. */
  readonly user: string
  /** Whether kubectl has started this process, as its plugin `kubectl-muster`. */
  readonly isKubectlPlugin: boolean
  readonly time: Time
  readonly random: Random
}

export function processIo(): Io {
  const { stdin, stdout, stderr } = process
  return {
    environment: process.env,
    time: systemTime,
    random: systemRandom,
    user: userName(),
    isKubectlPlugin: basename(process.argv[1] ?? '', '.js') === 'kubectl-muster',
    out: (words) => void stdout.write(words),
    err: (words) => void stderr.write(words),
    unread: () => watchReader(systemTime),
    stdin: () => text(stdin),
    ask: stdin.isTTY && stderr.isTTY ? askOnTerminal : null,
  }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}` // A container's user may have no name.
  }
}

async function askOnTerminal(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(?:es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}

const LOOK_EVERY_MS = 500

/** Detects a closed reader by a failed write and, between writes, by checking the pipe every {@link LOOK_EVERY_MS}. */
function watchReader(timers: Timers): ReturnType<Io['unread']> {
  const { stdout } = process
  const unread = new AbortController()
  const gone = (): void => unread.abort()
  stdout.on('error', gone).on('close', gone)
  const isRead = pipeReader(stdout.fd)
  const cancel = timers.every(LOOK_EVERY_MS, () => {
    if (!isRead()) gone()
  })
  const end = (): void => {
    cancel()
    stdout.off('error', gone).off('close', gone)
  }
  return { signal: unread.signal, end }
}
