/**
 * Finds the Kubernetes programs for tests, which hack/install-tools.sh installs: KUBEBUILDER_ASSETS, PATH, or what
 * `make tools` built. Runs one of them as a private process that is stopped by its pid; a failure quotes its output.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { hackPath } from '../hack/tree.ts'

export function programPath(name: string): string | undefined {
  const { status, stdout } = spawnSync(hackPath('install-tools.sh'), ['--where', name], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

export class Program {
  readonly #child: ChildProcess
  readonly #logFile: string
  readonly #onExit = (): void => void this.#child.kill('SIGKILL')

  constructor(name: string, args: readonly string[], logFile: string) {
    const path = programPath(name)
    if (path === undefined) throw new Error(`${name} is not installed: run make tools (tests: skip with withPrograms)`)
    const log = openSync(logFile, 'a')
    this.#child = spawn(path, args, { stdio: ['ignore', log, log] })
    closeSync(log)
    this.#logFile = logFile
    process.once('exit', this.#onExit)
  }

  get ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** The end of its output. */
  log(): string {
    return readFileSync(this.#logFile, 'utf8').slice(-4_000)
  }

  /** Kills the process; its data is deleted, so no orderly shutdown is needed. */
  async kill(): Promise<void> {
    process.off('exit', this.#onExit)
    if (this.ended) return
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await gone
  }
}
