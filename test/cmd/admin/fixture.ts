/** Runs the admin verbs in this process against a real master over HTTP. Only the terminal is simulated. */
import type { Io } from '../../../src/cmd/admin/index.ts'
import { runAdmin } from '../../../src/cmd/admin/index.ts'
import { seededRandom, systemTime } from '../../../src/runtime/index.ts'
import { TOKENS } from '../../kit/running-master.ts'

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
  readonly questions: readonly string[]
}

export interface Terminal {
  readonly environment?: Readonly<Record<string, string>>
  readonly stdin?: string | (() => Promise<string>)
  /** The user's reply to a prompt. Absent: there is no terminal. */
  readonly answer?: boolean
  readonly unread?: AbortSignal
  readonly onOut?: (out: string) => void
  readonly isKubectlPlugin?: boolean
}

/** Contexts of the person who runs the tests are not used. */
const NO_CONTEXTS = '/nonexistent'

/** Runs `muster …words`. A string is split at spaces. */
export async function muster(url: string, words: string | readonly string[], terminal: Terminal = {}): Promise<Ran> {
  const [noun = '', ...rest] = typeof words === 'string' ? words.split(' ') : words
  const { io, printed } = terminalOf(url, terminal)
  const code = await runAdmin(noun, rest, io)
  return { code, ...printed }
}

/** A terminal, and what was printed on it. */
export function terminalOf(
  url: string,
  terminal: Terminal = {},
): { readonly io: Io; readonly printed: Omit<Ran, 'code'> } {
  const ran = { out: '', err: '', questions: [] as string[] }
  const io: Io = {
    environment: {
      SVC_MASTER_URL: url,
      SVC_API_TOKEN: TOKENS.admin,
      XDG_CONFIG_HOME: NO_CONTEXTS,
      ...terminal.environment,
    },
    time: systemTime,
    random: seededRandom(1),
    user: 'ana',
    isKubectlPlugin: terminal.isKubectlPlugin ?? false,
    out: (text) => {
      ran.out += text
      terminal.onOut?.(ran.out)
    },
    err: (text) => void (ran.err += text),
    unread: () => ({ signal: terminal.unread ?? new AbortController().signal, end: () => {} }),
    stdin: async () => (typeof terminal.stdin === 'function' ? terminal.stdin() : (terminal.stdin ?? '')),
    ask:
      terminal.answer === undefined
        ? null
        : async (question) => {
            ran.questions.push(question)
            return terminal.answer === true
          },
  }
  return { io, printed: ran }
}

export const lines = (text: string): string[] => text.trimEnd().split('\n')
/** Splits the lines of a table into cells, which are separated by two spaces. */
export const cells = (text: string): string[][] => lines(text).map((line) => line.split(/ {2,}/))
