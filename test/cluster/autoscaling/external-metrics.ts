/**
 * A small metrics adapter, as prometheus-adapter is one: serves `svc_wanted_slots` of a master as an External metric to
 * the API server of the cluster, over TLS from this machine.
 */
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Authority } from '../authority.ts'
import { ingress } from '../cluster.ts'
import { eventually } from '../../kit/index.ts'
import { TYPE, type ScaledRelease } from './scaled-release.ts'

const GROUP = 'external.metrics.k8s.io'
const VERSION = 'v1beta1'
const ROOT = `/apis/${GROUP}/${VERSION}`
const METRIC = 'svc_wanted_slots'
const NAME = 'adapter'
const RESOURCES = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: `${GROUP}/${VERSION}`,
  resources: [{ name: METRIC, singularName: '', namespaced: true, kind: 'ExternalMetricValueList', verbs: ['get'] }],
}

export class ExternalMetrics {
  readonly #authority = new Authority()
  readonly #release: ScaledRelease
  readonly #server: Server

  private constructor(release: ScaledRelease) {
    this.#release = release
    const { certFile, keyFile } = this.#authority
    this.#server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (request, response) => {
      const path = request.url?.split('?')[0] ?? ''
      void this.#answer(path).then((body) => {
        response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
        response.end(JSON.stringify(body ?? {}))
      })
    })
  }

  /** Resolves when the API server gets the metric from here. */
  static async start(release: ScaledRelease): Promise<ExternalMetrics> {
    const metrics = new ExternalMetrics(release)
    await new Promise<void>((done) => metrics.#server.listen(0, '0.0.0.0', done))
    await metrics.#register((metrics.#server.address() as AddressInfo).port)
    const path = `${ROOT}/namespaces/${release.place.name}/${METRIC}`
    await eventually('the metric is served', () =>
      release.place.kubectl('get', '--raw', path).then(
        (text) => text.includes(METRIC),
        () => false,
      ),
    )
    return metrics
  }

  async stop(): Promise<void> {
    await this.#release.place.kubectl('delete', 'apiservice', `${VERSION}.${GROUP}`, '--ignore-not-found')
    this.#server.closeAllConnections()
    await new Promise((done) => void this.#server.close(done))
    this.#authority.remove()
  }

  async #answer(path: string): Promise<object | undefined> {
    if (path === ROOT) return RESOURCES
    if (!path.endsWith(`/${METRIC}`)) return undefined
    const text = await this.#release.metrics().catch(() => '')
    const value = new RegExp(`^${METRIC}\\{[^}]*automation_type="${TYPE}"[^}]*\\} (\\S+)$`, 'm').exec(text)?.[1]
    if (value === undefined) return undefined
    const item = {
      metricName: METRIC,
      metricLabels: { automation_type: TYPE },
      timestamp: new Date().toISOString(),
      value,
    }
    return { kind: 'ExternalMetricValueList', apiVersion: `${GROUP}/${VERSION}`, metadata: {}, items: [item] }
  }

  /** The Service has no selector: its only endpoint is this machine, at its end of the wire to the node. */
  async #register(port: number): Promise<void> {
    const { place } = this.#release
    const address = ingress().address.replace(/\d+$/, '1')
    const metadata = { name: NAME, namespace: place.name }
    const ports = [{ name: 'https', port: 443, targetPort: port, protocol: 'TCP' }]
    await place.apply({ apiVersion: 'v1', kind: 'Service', metadata, spec: { ports } })
    await place.apply({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': NAME } },
      addressType: 'IPv4',
      ports: [{ name: 'https', port, protocol: 'TCP' }],
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
    })
    await place.apply({
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `${VERSION}.${GROUP}` },
      spec: {
        group: GROUP,
        version: VERSION,
        groupPriorityMinimum: 100,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
        service: metadata,
      },
    })
  }
}
