/**
 * A release of the chart in a namespace of its own, and its API, which the test reaches at a port of the node. Its
 * master has a Service of type NodePort.
 */
import { eventually } from '../kit/index.ts'
import { CRDS, Namespace } from './cluster.ts'

const NAME = 'muster'
export const CHART = 'charts/muster'

/** How many tasks of a type were submitted, and how their runs ended. */
interface Totals {
  readonly submitted: number
  readonly acked: number
  readonly nacked: number
  readonly died: number
}

export class Release {
  readonly place: Namespace
  #url = ''
  #token = ''

  constructor(namespace: string) {
    this.place = new Namespace(namespace)
  }

  /** Runs `helm install` or `helm upgrade` of a chart, and waits until its pods are ready. */
  async helm(verb: 'install' | 'upgrade', chart: string, values: readonly string[]): Promise<void> {
    await this.place.helm(verb, NAME, chart, ...values, '--wait', '--timeout=120s')
  }

  async rollBack(revision: number): Promise<void> {
    await this.place.helm('rollback', NAME, String(revision), '--wait', '--timeout=120s')
  }

  /** Reads the generated admin token and the address of the master; resolves when it responds. */
  async connect(): Promise<void> {
    const token = await this.place.kubectl('get', 'secret', 'muster-tokens', '--output=jsonpath={.data.admin-token}')
    this.#token = Buffer.from(token, 'base64').toString('utf8')
    this.#url = `http://${await this.place.address('muster-master')}`
    await eventually('the master responds', async () =>
      this.ok('GET', '/me').then(
        () => true,
        () => false,
      ),
    )
  }

  /** Removes the namespace and what Helm keeps by design: the definitions. */
  async remove(): Promise<void> {
    await this.place.kubectl('delete', 'namespace', this.place.name, '--ignore-not-found', '--timeout=150s')
    await this.place.kubectl('delete', 'customresourcedefinition', ...CRDS, '--ignore-not-found')
  }

  get url(): string {
    return this.#url
  }

  call(method: string, path: string, body?: object): Promise<Response> {
    return fetch(`${this.#url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  }

  /** Like `call`, but returns the body, and throws if the call fails. */
  async ok<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await this.call(method, path, body)
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return JSON.parse(text) as T
  }

  /** Totals of the store, as of the last sample. */
  async totals(type: string): Promise<Totals> {
    const [totals] = await this.ok<readonly Totals[]>('GET', `/automations/${type}/queue/stats?limit=1`)
    return totals ?? { submitted: 0, acked: 0, nacked: 0, died: 0 }
  }

  async dead(type: string): Promise<number> {
    return (await this.ok<{ length: number }>('GET', `/automations/${type}/dead?n=1`)).length
  }
}
