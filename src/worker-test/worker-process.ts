/**
 * @module worker-test/worker-process
 * Runs the worker under test as a process, in a process group of its own so that nothing of it is left after a row.
 */
import { spawn, type ChildProcess } from 'node:child_process'

/** Characters of the output that are kept. */
const KEPT_CHARS = 2_000_000

export class WorkerProcess {
  readonly #child: ChildProcess
  #output = ''
  /** Resolves with the exit code; null after a signal ended the process. Never rejects. */
  readonly exited: Promise<number | null>
  /** The exit code once the process has ended; null after a signal ended it. */
  exitCode: number | null | undefined

  /** @param command is run by `sh` with `exec`, so that signals reach the program itself. */
  constructor(command: string, environment: Readonly<Record<string, string | undefined>>) {
    this.#child = spawn('sh', ['-c', `exec ${command}`], {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        this.#output = (this.#output + chunk.toString()).slice(-KEPT_CHARS)
      })
    this.exited = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        this.#output += `the program could not be started: ${error.message}\n`
        this.exitCode = null
        resolve(null)
      })
      this.#child.once('close', (code) => {
        this.exitCode = code
        resolve(code)
      })
    })
  }

  /** stdout and stderr, as they arrived. */
  get output(): string {
    return this.#output
  }

  /** Sends SIGTERM to the program. */
  terminate(): void {
    this.#child.kill('SIGTERM')
  }

  /** Kills the program and its children. Resolves when it has exited. */
  async kill(): Promise<void> {
    const { pid } = this.#child
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error // The group has ended already.
    }
    await this.exited
  }
}
