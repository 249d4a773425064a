/**
 * Watches the pods of a workload: the largest number so far, those that run now, and each pod whose deletion began.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { programPath } from '../../operator/programs.ts'
import { KUBECONFIG, type Namespace } from '../cluster.ts'

const FORMAT = '{.type} {.object.metadata.name} {.object.metadata.uid} {.object.metadata.deletionTimestamp}{"\\n"}'

export class PodWatch {
  readonly #child: ChildProcess
  readonly #running = new Map<string, string>()
  readonly #deleted = new Set<string>()
  #largest = 0

  /** @param onDeletion is called once for each pod, when its deletion begins. */
  constructor(place: Namespace, selector: string, onDeletion: (pod: string) => void) {
    const args = ['get', 'pods', `--selector=${selector}`, `--namespace=${place.name}`]
    this.#child = spawn(
      programPath('kubectl') ?? 'kubectl',
      [...args, '--watch', '--output-watch-events', `--output=jsonpath=${FORMAT}`],
      { env: { ...process.env, KUBECONFIG }, stdio: ['ignore', 'pipe', 'inherit'] },
    )
    if (this.#child.stdout === null) throw new Error('kubectl has no output')
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const [type = '', name = '', uid = '', deletedAt = ''] = line.split(' ')
      if (type === 'DELETED') this.#running.delete(uid)
      else this.#running.set(uid, name)
      this.#largest = Math.max(this.#largest, this.#running.size)
      if ((deletedAt === '' && type !== 'DELETED') || this.#deleted.has(uid)) return
      this.#deleted.add(uid)
      onDeletion(name)
    })
  }

  get count(): number {
    return this.#running.size
  }

  /** Largest number of pods since the last call. */
  takeLargest(): number {
    const largest = this.#largest
    this.#largest = this.#running.size
    return largest
  }

  get isOpen(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  close(): void {
    this.#child.kill('SIGTERM')
  }
}
