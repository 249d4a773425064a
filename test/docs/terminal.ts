// Simulates a terminal: runs one script after another in one folder, and keeps one command running in the background.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { plain, prints } from './expected.ts'

const STEP_MS = 180_000 // Most take less than a second; `go run` without its cache needs minutes.
const STRICT = 'set -euo pipefail; exec 2>&1'

interface Running {
  readonly child: ChildProcess
  readonly exited: Promise<unknown[]>
  output: string
}

/** What the page shows and the actual output. */
const difference = (expected: string, output: string): Error =>
  new Error(`the page says:\n${plain(expected)}\nprinted was:\n${plain(output)}`)

export class Terminal {
  readonly #folder: string
  readonly #state: string
  readonly #env: NodeJS.ProcessEnv
  #background: Running | undefined

  /** @param home holds the terminal's own files, outside of the reader's folder. */
  constructor(folder: string, home: string, env: NodeJS.ProcessEnv) {
    this.#folder = folder
    this.#env = env
    this.#state = join(home, 'state.sh')
    writeFileSync(this.#state, '')
  }

  /** Runs a script to its end. Exports and the current folder stay for the next one. */
  async run(script: string, expected?: string, withinMs = STEP_MS): Promise<void> {
    const keep = `{ export -p; printf 'cd %q\\n' "$PWD"; } >"${this.#state}"`
    const running = this.#start(`source "${this.#state}"\n${STRICT}\n${script}\n${keep}`)
    const timer = setTimeout(() => signal(running, 'SIGKILL'), withinMs)
    const [code] = await running.exited
    clearTimeout(timer)
    if (code !== 0) throw new Error(`exit ${String(code)} instead of 0; printed was:\n${plain(running.output)}`)
    if (expected !== undefined && !prints(running.output, expected, 'whole')) throw difference(expected, running.output)
  }

  /** Starts a script that keeps running, and waits until it has printed the expected output. */
  async keep(script: string, expected = '…\n…'): Promise<void> {
    await this.interrupt()
    const running = this.#start(`source "${this.#state}"\n${STRICT}\n${script}`)
    this.#background = running
    const deadline = Date.now() + STEP_MS
    const ended = running.exited.then(() => 'ended' as const)
    while (running.output === '' || !prints(running.output, expected, 'start')) {
      const left = deadline - Date.now()
      const aborted = AbortSignal.timeout(Math.max(1, left))
      const more = await Promise.race([
        ended,
        once(running.child.stdout ?? running.child, 'data', { signal: aborted }).catch(() => 'late' as const),
      ])
      if (more === 'ended' || more === 'late')
        throw new Error(
          `it ${more === 'ended' ? 'ended' : 'was late'}. ${difference(expected, running.output).message}`,
        )
    }
  }

  /** Sends Ctrl-C to the background command, which must exit with 0. */
  async interrupt(): Promise<void> {
    const running = this.#background
    this.#background = undefined
    if (running === undefined) return
    signal(running, 'SIGINT')
    const timer = setTimeout(() => signal(running, 'SIGKILL'), STEP_MS)
    const [code, killedBy] = await running.exited
    clearTimeout(timer)
    if (code !== 0)
      throw new Error(
        `exit ${String(code ?? killedBy)} after Ctrl-C instead of 0; printed was:\n${plain(running.output)}`,
      )
  }

  /** Stops everything that still runs. */
  async close(): Promise<void> {
    const running = this.#background
    this.#background = undefined
    if (running === undefined) return
    signal(running, 'SIGKILL')
    await running.exited
  }

  #start(script: string): Running {
    const child = spawn('bash', ['-c', script], {
      cwd: this.#folder,
      env: this.#env,
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const running: Running = { child, exited: once(child, 'close'), output: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      running.output += text
    })
    return running
  }
}

/** Sends a signal to the whole process group, as a terminal does for Ctrl-C. */
function signal({ child }: Running, name: NodeJS.Signals): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, name)
  } catch {
    // The group has already ended; `exited` reports it.
  }
}
