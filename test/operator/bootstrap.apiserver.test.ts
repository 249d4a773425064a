/**
 * Tests the Secrets that the operator creates, on a real API server and with the permissions of
 * manifests/operator/bootstrap. The first replica creates them, an existing one is never changed, and no value is
 * visible elsewhere.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Bootstrap } from '../../src/operator/bootstrap.ts'
import { identityFromText, PooledTransport } from '../../src/operator/kube/index.ts'
import { systemRandom, systemTime } from '../../src/runtime/index.ts'
import { freePort, recordingLog, type RecordingLog } from '../kit/index.ts'
import { Cluster } from './cluster.ts'
import { FaultProxy } from './fault-proxy.ts'
import { withApiServer } from './with-programs.ts'

const SECRETS = '/api/v1/namespaces/muster/secrets'
const RACES = 100
const ACCOUNT = 'muster-bootstrap'
const TEST_MS = 240_000

interface Secret {
  readonly metadata: {
    readonly uid: string
    readonly resourceVersion: string
    readonly labels: object
    readonly managedFields: readonly { readonly manager: string }[]
  }
  readonly data: Readonly<Record<string, string>>
}
interface Replica {
  readonly log: RecordingLog
  readonly made: string[]
  complete(): Promise<void>
  end(): Promise<void>
}

withApiServer('the Secrets that the operator creates', () => {
  let cluster: Cluster
  let kubeconfig: string
  const running: Replica[] = []

  beforeAll(async () => {
    cluster = await Cluster.start('namespaced')
    const folder = join(cluster.server.folder, 'overlay')
    mkdirSync(folder)
    const from = (name: string): string => relative(folder, join(process.cwd(), 'manifests/operator', name))
    writeFileSync(
      join(folder, 'kustomization.yaml'),
      JSON.stringify({ resources: [from('namespaced')], components: [from('bootstrap')] }),
    )
    await cluster.kubectl('apply', '-k', folder)
    kubeconfig = readFileSync(await cluster.writeKubeconfig(undefined, ACCOUNT), 'utf8')
  }, TEST_MS)
  afterAll(async () => {
    for (const replica of running.splice(0)) await replica.end()
    await cluster.close()
  }, 60_000)

  /** The bootstrap process of one replica. `server`: a proxy in front of the API server. */
  const replica = (
    options: { tokens?: string; redis?: string; scaler?: string } = { tokens: 'muster-tokens' },
    text = kubeconfig,
  ): Replica => {
    const transport = new PooledTransport({ identity: identityFromText(text), clock: systemTime, timers: systemTime })
    const [log, made, abort] = [recordingLog(), [] as string[], new AbortController()]
    const bootstrap = new Bootstrap({
      namespace: 'muster',
      tokens: options.tokens,
      redis: options.redis,
      scaler: options.scaler,
      transport,
      time: systemTime,
      random: systemRandom,
      log,
      onMade: ({ name }) => made.push(name),
    })
    const ended = bootstrap.run(abort.signal)
    const each: Replica = {
      log,
      made,
      complete: () => cluster.until('the Secrets exist', async () => bootstrap.isComplete),
      end: async () => {
        abort.abort()
        await ended
        await transport.close()
      },
    }
    running.push(each)
    return each
  }
  const ended = async (...replicas: readonly Replica[]): Promise<void> => {
    for (const each of replicas) {
      running.splice(running.indexOf(each), 1)
      await each.end()
    }
  }
  const secret = (name: string): Promise<Secret> => cluster.ok<Secret>('GET', `${SECRETS}/${name}`)
  const remove = (name: string): Promise<unknown> => cluster.server.request('DELETE', `${SECRETS}/${name}`)
  const decoded = ({ data }: Secret): Record<string, string> =>
    Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]))

  describe('the Secrets that the operator creates', () => {
    it(
      'contain new tokens and a password, and are the same for later replicas',
      async () => {
        const names = { tokens: 'muster-tokens', redis: 'muster-redis', scaler: 'muster-scaler' }
        const first = replica(names)
        await first.complete()
        const tokens = await secret('muster-tokens')
        expect(decoded(tokens)).toEqual({
          'admin-token': expect.stringMatching(/^[\w-]{43}$/),
          'worker-token': expect.stringMatching(/^[\w-]{43}$/),
          'worker-tokens': '',
          'token-scopes': '{}',
        })
        expect(decoded(await secret('muster-redis'))).toEqual({ password: expect.stringMatching(/^[\w-]{43}$/) })
        expect(tokens.metadata.labels).toEqual({ 'app.kubernetes.io/managed-by': 'muster-operator' })
        expect(decoded(await secret('muster-scaler'))).toEqual({ 'scaler-token': expect.stringMatching(/^[\w-]{43}$/) })
        expect(first.made).toEqual(['muster-tokens', 'muster-redis', 'muster-scaler'])
        await ended(first)
        for (let restart = 0; restart < 10; restart += 1) {
          const again = replica(names)
          await again.complete()
          expect(again.made).toEqual([])
          await ended(again)
        }
        expect(await secret('muster-tokens')).toEqual(tokens)
      },
      TEST_MS,
    )

    it(
      `are created by one of two replicas, ${RACES} times out of ${RACES}`,
      async () => {
        for (let race = 0; race < RACES; race += 1) {
          await remove('muster-tokens')
          const both = [replica(), replica()]
          await Promise.all(both.map((each) => each.complete()))
          const { metadata } = await secret('muster-tokens')
          expect([both.flatMap(({ made }) => made).length, metadata.managedFields.length]).toEqual([1, 1])
          await ended(...both)
        }
      },
      TEST_MS,
    )

    it.each([
      ['with its own tokens', { 'admin-token': Buffer.from('mine').toString('base64') }, true],
      ['with other data', { other: Buffer.from('x').toString('base64') }, false],
    ])(
      'do not replace one that is created concurrently, %s',
      async (_what, data, hasToken) => {
        await remove('muster-tokens')
        const proxy = new FaultProxy(cluster.server)
        const url = await proxy.start()
        let isHidden = true
        // As if the Secret was created between the read and the apply.
        proxy.fault = ({ method, path }) =>
          isHidden && method === 'GET' && path.includes('/secrets/') ? { kind: 'status', status: 404 } : undefined
        const theirs = await cluster.ok<Secret>('POST', SECRETS, { metadata: { name: 'muster-tokens' }, data })
        const late = replica(
          { tokens: 'muster-tokens' },
          readFileSync(await cluster.writeKubeconfig(url, ACCOUNT), 'utf8'),
        )
        await cluster.until('it tried and was rejected', async () => late.log.lines.length > 0)
        isHidden = false
        if (!hasToken)
          await cluster.until('it reports what is missing', async () =>
            JSON.stringify(late.log.lines).includes('has no admin-token'),
          )
        else await late.complete()
        expect(await secret('muster-tokens')).toEqual(theirs)
        expect(late.made).toEqual([])
        await ended(late)
        await proxy.close()
      },
      TEST_MS,
    )

    it(
      'are covered by permissions that include no other Secret',
      async () => {
        const may = async (account: string, question: readonly string[]): Promise<string> =>
          (
            await cluster.server.kubectl(
              'auth',
              'can-i',
              ...question,
              '-n',
              'muster',
              `--as=system:serviceaccount:muster:${account}`,
            )
          ).stdout.trim()
        const responses = [
          ['create', 'secrets'],
          ['create', 'secrets/another'],
          ['patch', 'secrets/another'],
          ['update', 'secrets/muster-tokens'],
          ['delete', 'secrets/muster-tokens'],
          ['list', 'secrets'],
          ['create', 'secrets/muster-tokens'],
          ['patch', 'secrets/muster-redis'],
          ['patch', 'secrets/muster-scaler'],
        ]
        expect(await Promise.all(responses.map((question) => may('muster-bootstrap', question)))).toEqual([
          'no',
          'no',
          'no',
          'no',
          'no',
          'no',
          'yes',
          'yes',
          'yes',
        ])
        expect(await may('muster-operator', ['patch', 'secrets/muster-tokens'])).toBe('no')
        const stranger = replica({ tokens: 'another' })
        await cluster.until('it is refused', async () => JSON.stringify(stranger.log.lines).includes('forbidden'))
        await ended(stranger)
      },
      TEST_MS,
    )

    it(
      'are created by a process with its own account; a deleted one is created again, and no value is visible anywhere',
      async () => {
        for (const name of ['muster-tokens', 'muster-redis']) await remove(name)
        const port = await freePort()
        const KUBECONFIG = await cluster.writeKubeconfig(undefined, ACCOUNT)
        const sinceMs = Date.now()
        const process = cluster.fleet.spawn('bootstrap', {
          KUBECONFIG,
          SVC_BOOTSTRAP_TOKENS_SECRET: 'muster-tokens',
          SVC_BOOTSTRAP_REDIS_SECRET: 'muster-redis',
          SVC_METRICS_LISTEN: `127.0.0.1:${port}`,
        })
        const values: string[] = []
        for (const round of [1, 2]) {
          await cluster.until(
            'the tokens exist',
            async () => (await cluster.server.request('GET', `${SECRETS}/muster-tokens`)).status === 200,
          )
          const tokens = decoded(await secret('muster-tokens'))
          values.push(tokens['admin-token'] ?? '', tokens['worker-token'] ?? '')
          await cluster.until(
            'it is ready',
            async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200,
          )
          if (round === 1) await remove('muster-tokens')
        }
        expect(new Set(values).size).toBe(4)
        await cluster.until('the Event exists', async () =>
          (await cluster.kubectl('get', 'events', '-n', 'muster', '-o', 'yaml')).includes('SecretGenerated'),
        )
        const outputs = [
          process.output(),
          await cluster.kubectl('get', 'events,fwk,leases', '-A', '-o', 'yaml'),
          JSON.stringify(cluster.server.audit()),
        ].join('\n')
        for (const value of [...values, ...values.map((each) => Buffer.from(each).toString('base64'))])
          expect(outputs).not.toContain(value)
        process.child.kill('SIGTERM')
        expect(await process.exited).toBe(0)
        const uses = cluster.server
          .audit()
          .filter(
            ({ user, objectRef, requestReceivedTimestamp }) =>
              objectRef?.resource === 'secrets' &&
              user.username.endsWith(`:${ACCOUNT}`) &&
              Date.parse(requestReceivedTimestamp) >= sinceMs,
          )
        expect([...new Set(uses.map(({ verb, objectRef }) => `${verb} ${objectRef?.name}`))].toSorted()).toEqual([
          'get muster-redis',
          'get muster-tokens',
          'patch muster-redis',
          'patch muster-tokens',
        ])
      },
      TEST_MS,
    )
  })
})
