/** Test fixture of the Kubernetes runtime: virtual time with real sockets, a fake API server, and a transport to it. */
import { seededRandom, VirtualTime } from '../../../src/runtime/index.ts'
import {
  PooledTransport,
  type Credentials,
  type KubeObject,
  type KubeTransport,
  type Resource,
} from '../../../src/operator/kube/index.ts'
import { recordingLog, type RecordingLog } from '../../kit/index.ts'
import { FakeApiServer, PROBES, type FakeKind } from '../fake-apiserver.ts'

export const PROBE: Resource = {
  group: PROBES.group,
  version: PROBES.version,
  plural: PROBES.plural,
  kind: PROBES.kind,
}
export interface Probe extends KubeObject {
  readonly spec?: { readonly type?: string; readonly slots?: number }
}

export interface KubeFixture {
  readonly time: VirtualTime
  readonly fake: FakeApiServer
  readonly transport: PooledTransport
  readonly log: RecordingLog
  readonly abort: AbortController
  readonly credentials: { current: Credentials; asked: number }
  close(): Promise<void>
}

export async function kubeFixture(...kinds: readonly FakeKind[]): Promise<KubeFixture> {
  const time = new VirtualTime()
  const fake = await new FakeApiServer(kinds.length === 0 ? [PROBES] : kinds, time.wallMs).start()
  const credentials = { current: { authorization: 'Bearer first', tls: {} } as Credentials, asked: 0 }
  const transport = transportTo(fake, time, credentials)
  const abort = new AbortController()
  const close = async (): Promise<void> => {
    abort.abort(new Error('the test is over'))
    await transport.close()
    await fake.close()
  }
  return { time, fake, transport, log: recordingLog(), abort, credentials, close }
}

export function transportTo(
  fake: FakeApiServer,
  time: VirtualTime,
  credentials: KubeFixture['credentials'],
  onRequest?: (...request: string[]) => void,
): PooledTransport {
  return new PooledTransport({
    clock: time,
    timers: time,
    ...(onRequest === undefined ? {} : { onRequest }),
    identity: {
      server: new URL(fake.url),
      namespace: 'here',
      credentials: async () => {
        credentials.asked += 1
        return credentials.current
      },
    },
  })
}

/** A transport without sockets whose responses the test defines; it may also fail or never respond. */
export const scripted = (json: KubeTransport['json']): KubeTransport => ({ json, async *lines() {} })

export const random = () => seededRandom(7)

/** A probe as the API returns it. */
export function probe(name: string, meta: Partial<KubeObject['metadata']> = {}, rest: Partial<Probe> = {}): Probe {
  return {
    apiVersion: 'conformance.muster.dev/v1',
    kind: 'Probe',
    metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: '10', generation: 1, ...meta },
    spec: { type: 'a' },
    ...rest,
  }
}

/** Creates a probe in the fake API server. */
export const created = ({ fake }: KubeFixture, name: string, namespace = 'ns') =>
  fake.store.create({ kind: PROBES, namespace }, { metadata: { name }, spec: { type: 'a' } }, 'kubectl')

export const edited = ({ fake }: KubeFixture, name: string, spec: object, namespace = 'ns') =>
  fake.store.patch({ kind: PROBES, namespace, name }, '', 'application/merge-patch+json', { spec }, 'kubectl', false)
