/**
 * @module cmd/admin/io
 * What an admin verb touches of its process: data goes to `out`, everything else to `err`.
 */
import { userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import { systemRandom, systemTime, type Random, type Time, type Timers } from '../../runtime/index.ts'
import type { Environment } from '../settings.ts'
import { pipeReader } from './pipe-reader.ts'

export interface Io {
  readonly environment: Environment
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Watches whether somebody reads what is written to `out`: `signal` aborts when nobody does. */
  readonly unread: () => { readonly signal: AbortSignal; readonly end: () => void }
  readonly stdin: () => Promise<string>
  /** Whether a person said yes; null: there is no terminal to ask on. */
  readonly ask: ((question: string) => Promise<boolean>) | null
  /** Who runs the command, as the history of a config shows it. */
  readonly user: string
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

/** A write that fails tells, and between writes the pipe is looked at. */
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
