/**
 * @module cmd/admin/contexts/kubectl
 * Reaches the master of a Kubernetes context with kubectl: reads its token from the Secret, and forwards a port of this
 * machine to its Service until the command ends. A forward that ends, for example because the pod was replaced, is
 * started again on the same port.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import type { Io } from '../io.ts'
import { EXIT, Failure } from '../verb.ts'
import type { KubernetesContext } from './context-file.ts'
import { lastLine, outputOf } from './programs.ts'

const READ_MS = 15_000
const FORWARD_MS = 15_000
const RESTART_MS = 1_000
const MASTER_LABELS = 'app.kubernetes.io/name=muster,app.kubernetes.io/component=master'
const DEFAULT_KEY = 'admin-token'

export interface KubernetesMaster {
  readonly url: URL
  readonly token: string
  /** What the token was read from, for error messages. */
  readonly secret: string
  readonly stop: () => void
}

/** @throws {Failure} that names the field of the context and what to do. */
export async function reachByKubectl(given: KubernetesContext, name: string, io: Io): Promise<KubernetesMaster> {
  const kubectl = new Kubectl(given, name, io)
  const service = given.service ?? (await kubectl.findService())
  const [secret = '', key = DEFAULT_KEY] = (given.secret ?? `${service.replace(/-master$/, '')}-tokens`).split('/')
  const forward = kubectl.forward(service)
  try {
    const [token, url] = await Promise.all([kubectl.readSecret(secret, key), forward.url])
    return { url, token, secret: `Secret ${secret}, key ${key}`, stop: forward.stop }
  } catch (error) {
    forward.stop()
    throw error
  }
}

interface ObjectList {
  readonly items: readonly { readonly metadata: { readonly name: string; readonly namespace?: string } }[]
}

class Kubectl {
  readonly #common: readonly string[]
  readonly #name: string
  readonly #io: Io

  constructor({ context, namespace }: KubernetesContext, name: string, io: Io) {
    this.#common = [
      ...(context === undefined ? [] : ['--context', context]),
      ...(namespace === undefined ? [] : ['--namespace', namespace]),
    ]
    this.#name = name
    this.#io = io
  }

  /** Returns the Service that has the labels of the chart. */
  async findService(): Promise<string> {
    const text = await this.#read(['get', 'services', '-l', MASTER_LABELS, '-o', 'json'], 'service')
    const names = (JSON.parse(text) as ObjectList).items.map(({ metadata }) => metadata.name)
    if (names.length === 1) return names[0] ?? ''
    throw this.#failure(
      'service',
      names.length === 0
        ? `no Service of the namespace has the labels ${MASTER_LABELS}`
        : `the namespace has ${names.length} masters: ${names.join(', ')}`,
    )
  }

  async readSecret(secret: string, key: string): Promise<string> {
    const text = await this.#read(['get', 'secret', secret, '-o', 'json'], 'secret')
    const { data = {} } = JSON.parse(text) as { readonly data?: Readonly<Record<string, string>> }
    const value = Object.hasOwn(data, key) ? data[key] : undefined
    if (value !== undefined) return Buffer.from(value, 'base64').toString().trim()
    const keys = Object.keys(data).join(', ')
    throw this.#failure('secret', `the Secret ${secret} has no key ${key}; it has ${keys === '' ? 'none' : keys}`)
  }

  forward(service: string): { readonly url: Promise<URL>; readonly stop: () => void } {
    let child: ChildProcess
    let port = ''
    let isStopped = false
    let resolve: (url: URL) => void
    let reject: (error: Failure) => void
    const url = new Promise<URL>((done, fail) => ([resolve, reject] = [done, fail]))
    const late = (): void => reject(this.#failure('service', `no port was forwarded within ${FORWARD_MS / 1_000} s`))
    let cancel = this.#io.time.after(FORWARD_MS, late)
    const start = (): void => {
      const words = ['port-forward', '--address', '127.0.0.1', ...this.#common, `service/${service}`, `${port}:http`]
      let err = ''
      child = spawn('kubectl', words, { stdio: ['ignore', 'pipe', 'pipe'], env: this.#io.environment })
      child.stderr?.on('data', (text) => (err = `${err}${String(text)}`.slice(-1_000)))
      child.stdout?.on('data', (text) => {
        const [, found] = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(String(text)) ?? []
        if (found === undefined) return
        port = found
        cancel()
        resolve(new URL(`http://127.0.0.1:${found}`))
      })
      child.once('error', (error) => reject(this.#failure('service', `kubectl cannot be started: ${error.message}`)))
      child.once('close', (code) => {
        reject(this.#failure('service', `kubectl port-forward ended with code ${code}: ${lastLine(err)}`))
        if (!isStopped && port !== '') cancel = this.#io.time.after(RESTART_MS, start)
      })
    }
    const stop = (): void => {
      isStopped = true
      cancel()
      child.kill()
    }
    start()
    return { url, stop }
  }

  #read(words: readonly string[], field: keyof KubernetesContext): Promise<string> {
    return outputOf({
      words: ['kubectl', ...words, ...this.#common],
      timeoutMs: READ_MS,
      from: this.#field(field),
      next: this.#next,
      environment: this.#io.environment,
    })
  }

  #failure(field: keyof KubernetesContext, problem: string): Failure {
    return new Failure(
      EXIT.FAILED,
      'the master of the Kubernetes context cannot be reached',
      `${this.#field(field)}: ${problem}`,
      this.#next,
    )
  }

  #field(field: keyof KubernetesContext): string {
    return this.#name === '' ? `kubeconfig, ${field}` : `contexts.${this.#name}.kubernetes.${field}`
  }

  get #next(): string {
    const name = this.#name === '' ? 'NAME' : this.#name
    return (
      `look at kubectl get services,secrets${this.#common.map((word) => ` ${word}`).join('')}, ` +
      `or name them: muster context set ${name} --kube-namespace NAMESPACE --kube-service SERVICE --kube-secret SECRET`
    )
  }
}
