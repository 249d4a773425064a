/**
 * Tests the keys of ServiceAccount tokens, which the operator copies for masters: tokens of a real API server, accepted
 * by a real master that knows only the copy.
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { parseTokens } from '../../src/master/auth/index.ts'
import { publishIssuerKeys } from '../../src/operator/issuer-keys.ts'
import { identityFromText, PooledTransport } from '../../src/operator/kube/index.ts'
import { systemTime, VirtualTime } from '../../src/runtime/index.ts'
import { recordingLog } from '../kit/index.ts'
import { startTestMaster, TOKENS, type TestMaster } from '../kit/running-master.ts'
import { Cluster } from './cluster.ts'
import { FaultProxy } from './fault-proxy.ts'
import { withApiServer } from './with-programs.ts'

const NAME = 'muster-issuer'
const CONFIG_MAP = `/api/v1/namespaces/muster/configmaps/${NAME}`
const TEST_MS = 120_000
const RULES = [
  { when: { '/sub': 'system:serviceaccount:muster:muster-operator' }, role: 'admin' },
  {
    when: { '/sub': 'system:serviceaccount:muster:muster-probe' },
    role: 'worker',
    types: ['mailer'],
    worker_claim: '/kubernetes.io/pod/name',
  },
]

withApiServer('the keys of ServiceAccount tokens', () => {
  let cluster: Cluster
  let master: TestMaster
  let proxy: FaultProxy
  let transport: PooledTransport
  const [time, log, abort] = [new VirtualTime(), recordingLog(), new AbortController()]
  let running: Promise<void>

  const published = async (): Promise<string> =>
    (await cluster.ok<{ data?: { 'keys.json'?: string } }>('GET', CONFIG_MAP)).data?.['keys.json'] ?? ''
  const isPublished = async (): Promise<boolean> => (await cluster.server.request('GET', CONFIG_MAP)).status === 200
  /** Like a projected volume of the chart. */
  const tokenOf = async (account: string, pod?: string, audience = 'muster'): Promise<string> => {
    const boundObjectRef = pod === undefined ? undefined : { apiVersion: 'v1', kind: 'Pod', name: pod }
    const { status } = await cluster.ok<{ status: { token: string } }>(
      'POST',
      `/api/v1/namespaces/muster/serviceaccounts/${account}/token`,
      {
        spec: {
          audiences: [audience],
          expirationSeconds: 3_600,
          ...(boundObjectRef !== undefined && { boundObjectRef }),
        },
      },
    )
    return status.token
  }

  beforeAll(async () => {
    cluster = await Cluster.start('namespaced')
    const meta = { name: NAME, namespace: 'muster' }
    const rules = [
      { apiGroups: [''], resources: ['configmaps'], resourceNames: [NAME], verbs: ['get', 'create', 'patch'] },
    ]
    const roles = '/apis/rbac.authorization.k8s.io/v1/namespaces/muster'
    await cluster.ok('POST', `${roles}/roles`, { metadata: meta, rules })
    await cluster.ok('POST', `${roles}/rolebindings`, {
      metadata: meta,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: NAME },
      subjects: [{ kind: 'ServiceAccount', name: 'muster-operator', namespace: 'muster' }],
    })
    for (const name of ['muster-probe', 'muster-stranger'])
      await cluster.ok('POST', '/api/v1/namespaces/muster/serviceaccounts', { metadata: { name } })
    for (const name of ['muster-probe-0', 'muster-probe-1'])
      await cluster.ok('POST', '/api/v1/namespaces/muster/pods', {
        metadata: { name },
        spec: { serviceAccountName: 'muster-probe', containers: [{ name: 'worker', image: 'worker' }] },
      })
    proxy = new FaultProxy(cluster.server)
    const kubeconfig = await cluster.writeKubeconfig(await proxy.start())
    const identity = identityFromText(readFileSync(kubeconfig, 'utf8'))
    transport = new PooledTransport({ identity, clock: systemTime, timers: systemTime })
    running = publishIssuerKeys({ namespace: 'muster', issuerKeys: NAME, transport, time, log }, abort.signal)
    await cluster.until('the keys are published', isPublished).catch((error: Error) => {
      throw new Error(`${error.message} ${JSON.stringify(log.lines)}`)
    })
    const issuer = {
      name: 'kubernetes',
      issuer: 'https://kubernetes.default.svc',
      audience: 'muster',
      jwks_file: '/keys.json',
      rules: RULES,
    }
    const reading = parseTokens({ SVC_JWT_ISSUERS: JSON.stringify([issuer]) })
    if (reading.kind === 'invalid') throw new Error(JSON.stringify(reading.faults))
    master = await startTestMaster({
      tokens: { ...reading.tokens, admin: TOKENS.admin, worker: TOKENS.worker },
      keyReader: { file: published, url: () => Promise.reject(new Error('not used')) },
    })
  }, TEST_MS)
  afterAll(async () => {
    abort.abort()
    await running
    await transport.close()
    await master.stop()
    await proxy.close()
    await cluster.close()
  }, 60_000)

  describe('the keys of ServiceAccount tokens', () => {
    it(
      'let a master accept the operator, and a pod for the worker with its name alone',
      async () => {
        const operator = await master.call('GET', '/api/v1/me', { token: await tokenOf('muster-operator') })
        expect(operator.json).toMatchObject({ role: 'admin', issuer: 'kubernetes' })
        const token = await tokenOf('muster-probe', 'muster-probe-0')
        const poll = async (worker: string): Promise<number> =>
          (await master.call('GET', `/api/v1/automations/mailer/workers/${worker}/config`, { token })).status
        expect(await poll('muster-probe-1')).toBe(403)
        expect(await poll('muster-probe-0')).not.toBe(403)
        const foreign = await tokenOf('muster-probe', 'muster-probe-0', 'vault')
        expect((await master.call('GET', '/api/v1/me', { token: foreign })).json).toEqual({
          detail: 'this token is not accepted: it is made for another audience',
        })
        expect((await master.call('GET', '/api/v1/me', { token: await tokenOf('muster-stranger') })).status).toBe(403)
      },
      TEST_MS,
    )

    it(
      'are restored when the ConfigMap is edited or deleted, and stay while the API server does not respond',
      async () => {
        const before = await published()
        await cluster.ok('PATCH', CONFIG_MAP, { data: { 'keys.json': '{}' } }, 'application/merge-patch+json')
        await cluster.until('the keys are back', async () => {
          await time.advance(60_000)
          return (await published()) === before
        })
        await cluster.server.request('DELETE', CONFIG_MAP)
        await cluster.until('the ConfigMap is back', async () => {
          await time.advance(60_000)
          return isPublished()
        })
        proxy.fault = ({ path }) => (path.startsWith('/openid') ? { kind: 'status', status: 503 } : undefined)
        await cluster.until('it is reported', async () => {
          await time.advance(60_000)
          return JSON.stringify(log.lines).includes('retrying')
        })
        expect(await published()).toBe(before)
      },
      TEST_MS,
    )
  })
})
