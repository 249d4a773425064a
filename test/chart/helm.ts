/** Runs Helm against a real API server, without the configuration of this machine's user. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ApiServer } from '../operator/real-apiserver.ts'
import { run, type Json } from './chart.ts'

export class Helm {
  readonly #program: string
  readonly #server: ApiServer

  constructor(program: string, server: ApiServer) {
    this.#program = program
    this.#server = server
  }

  /** @returns its output. */
  run(...args: readonly string[]): string {
    const folders = ['--registry-config', '--repository-cache', '--repository-config'].flatMap((flag) => [
      flag,
      join(this.#server.folder, flag.slice(2)),
    ])
    const { status, stdout, stderr } = run(this.#program, [
      '--kubeconfig',
      join(this.#server.folder, 'kubeconfig.json'),
      ...folders,
      ...args,
    ])
    if (status !== 0) throw new Error(stderr)
    return stdout
  }

  /** Installs or upgrades the release muster in the namespace muster. @param chart is a folder or an archive. */
  put(verb: 'install' | 'upgrade', chart: string, values: Json, ...more: readonly string[]): string {
    const file = join(this.#server.folder, 'values.json')
    writeFileSync(file, JSON.stringify(values))
    return this.run(verb, 'muster', chart, '--namespace', 'muster', '--values', file, ...more)
  }
}
