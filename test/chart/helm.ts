/** Helm before a real API server, with nothing that this machine's user keeps for it. */
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

  /** @returns what it says. */
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

  /** The release muster in the namespace muster. `chart`: a folder or an archive. */
  put(verb: 'install' | 'upgrade', chart: string, values: Json, ...more: readonly string[]): string {
    const file = join(this.#server.folder, 'values.json')
    writeFileSync(file, JSON.stringify(values))
    return this.run(verb, 'muster', chart, '--namespace', 'muster', '--values', file, ...more)
  }
}
