/**
 * Runs a fleet whose every secret is a canary, makes everything fail that can fail with a secret in its hands, and
 * searches all that the processes put out. The searches of other tests stand in `test/kit/canary.ts`.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { killAll, startMuster, type Proc } from '../kit/built-command.ts'
import { canaries } from '../kit/canary.ts'
import { eventually } from '../kit/index.ts'
import { scanOutput } from '../kit/process-outputs.ts'
import { startRedis, withRedisServer, type RedisServer } from '../kit/redis-server.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'
import { ADMIN_TOKEN, Fleet, WORKER_TOKEN } from './fleet.ts'

const PASSWORD = canaries.create('redis-password')
const TOKENS = {
  SVC_ADMIN_TOKEN: ADMIN_TOKEN,
  SVC_WORKER_TOKEN: WORKER_TOKEN,
  SVC_TOKEN_SCOPES: JSON.stringify({ [canaries.create('scoped')]: ['http-probe'] }),
  SVC_TOKENS: JSON.stringify([
    { name: 'viewer', role: 'viewer', types: ['http-probe'], token: canaries.create('named') },
  ]),
}
const SECRETS = {
  ...TOKENS,
  SVC_WORKER_TOKENS: JSON.stringify([canaries.create('worker-peer')]),
  SVC_API_TOKEN: canaries.create('api'),
  SVC_BACKEND_PASSWORD: PASSWORD,
  SVC_BACKEND_SENTINEL_PASSWORD: canaries.create('sentinel-password'),
  SVC_BACKEND_URL: `kvstore://:${PASSWORD}@127.0.0.1:1`,
}
const SUBCOMMANDS = ['master', 'worker', 'operator', 'bootstrap', 'dev', 'workers', 'config', 'tasks', 'dead']

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
})

withRedisServer('the outputs of a fleet', () => {
  describe('the outputs of a fleet', () => {
    it('contain no secret while requests, the store and the workers fail', async () => {
      const redis = await startRedis({ password: PASSWORD })
      stops.push(() => redis.close())
      const fleet = new Fleet(redis.url)
      stops.push(() => fleet.stop())
      await fleet.startMaster({ ...TOKENS, SVC_LOG_LEVEL: 'debug' })
      const worker = fleet.startWorker('http-probe', 'w-1', { SVC_LOG_LEVEL: 'debug' })
      const secret = canaries.create('write-only')
      await configure(fleet, secret)
      await hostileRequests(fleet, secret)
      fleet.startWorker('http-probe', 'w-2', { SVC_WORKER_TOKEN: canaries.create('refused') })
      await failingStore(fleet, redis)
      expect(worker.output()).toMatch(/w-1/)
      expect(fleet.masterOutput()).toMatch(/store/i)
    }, 60_000)
  })
})

async function configure(fleet: Fleet, secret: string): Promise<void> {
  await fleet.configure('http-probe', 'w-1', {
    enabled: true,
    interval_seconds: 1,
    allow_cidrs: ['127.0.0.0/8'],
    allow_ports: [1],
    authorization: `Bearer ${secret}`,
    targets: [{ name: 'closed', url: 'http://127.0.0.1:1/' }],
  })
  await eventually(
    'the worker has probed',
    async () => (await fleet.call<{ length: number }>('GET', '/automations/http-probe/output/length')).body.length > 0,
  )
}

/** Requests that fail, each with a secret where its sender should not have put it, or with one that is wrong. */
async function hostileRequests(fleet: Fleet, secret: string): Promise<void> {
  const worker = '/automations/http-probe/workers/w-1'
  const statuses = await Promise.all([
    fleet.call('GET', `/me?token=${ADMIN_TOKEN}`),
    fleet.call('GET', '/me', undefined, { authorization: `Bearer ${canaries.create('unknown')}` }),
    fleet.call('GET', '/me', undefined, { authorization: `Basic ${Buffer.from(`a:${secret}`).toString('base64')}` }),
    fleet.call('PATCH', `${worker}/config`, { authorization: [secret] }),
    fleet.call('PATCH', `${worker}/config`, { authorization: { deep: secret } }),
    fleet.call('PATCH', `${worker}/config`, { authorization: `${secret}\n` }),
    fleet.call('POST', `${worker}/config/validate`, { authorization: 7, slots: -1 }),
  ])
  expect(statuses.map(({ status }) => status).filter((status) => status >= 500)).toEqual([])
}

async function failingStore(fleet: Fleet, redis: RedisServer): Promise<void> {
  const readiness = async (): Promise<number> => (await fetch(`${fleet.url}/readyz`)).status
  await redis.kill()
  await eventually('the master is not ready', async () => (await readiness()) === 503)
  await fleet.call('GET', '/automations/http-probe/workers')
  await redis.start()
  await eventually('the master is ready again', async () => (await readiness()) === 200)
}

describe('a process with secrets in its settings', () => {
  const run = async (args: readonly string[], settings: Readonly<Record<string, string>>): Promise<Proc> => {
    const proc = startMuster(args, settings)
    stops.push(() => killAll([proc]))
    await proc.exited
    scanOutput([proc])
    return proc
  }

  it('does not show them in its help', async () => {
    const processes = await Promise.all(SUBCOMMANDS.map((each) => run([each, '--help'], SECRETS)))
    expect(processes.map(({ output }) => output().length > 100)).toEqual(SUBCOMMANDS.map(() => true))
    canaries.assertNone()
  }, 60_000)

  it.each<[label: string, subcommand: string, settings: Readonly<Record<string, string>>]>([
    ['a listen address without a port', 'master', { SVC_LISTEN: 'nowhere' }],
    [
      'an unknown option in the URL of the store',
      'master',
      { SVC_BACKEND_URL: `kvstore://user:${PASSWORD}@127.0.0.1:1?no=1`, SVC_LISTEN: '127.0.0.1:0' },
    ],
    ['an unknown scheme', 'master', { SVC_BACKEND_URL: `redis://user:${PASSWORD}@127.0.0.1` }],
    ['a URL that cannot be parsed', 'master', { SVC_BACKEND_URL: `kvstore://${PASSWORD} @%` }],
    ['tokens that are not JSON', 'master', { SVC_TOKENS: `{"${PASSWORD}` }],
    ['a scope that is not a list', 'master', { SVC_TOKEN_SCOPES: `{"${PASSWORD}": 4}` }],
    ['a token with a space', 'master', { SVC_ADMIN_TOKEN: `${ADMIN_TOKEN} ` }],
    ['one token for two roles', 'master', { SVC_ADMIN_TOKEN: WORKER_TOKEN }],
    [
      'an address of the master with a password',
      'worker',
      { SVC_MASTER_URL: `http://user:${PASSWORD}@127.0.0.1:1`, SVC_AUTOMATION_TYPE: 'http-probe' },
    ],
    [
      'an address and a tenant map that is cut',
      'operator',
      { SVC_MASTER_URL: `http://user:${PASSWORD}@127.0.0.1:1`, SVC_TENANTS: '{' },
    ],
    ['an address of the master with a password', 'workers', { SVC_MASTER_URL: `http://user:${PASSWORD}@127.0.0.1:1` }],
  ])('does not show them when it refuses %s: muster %s', async (_, subcommand, settings) => {
    const { child, output } = await run([subcommand, 'list'], { ...SECRETS, ...settings })
    expect([child.exitCode === 0, output().length > 0]).toEqual([false, true])
    canaries.assertNone()
  })

  it('does not write them into a crash report of Node', async () => {
    const folder = temporaryFolder()
    const tokens = join(folder, 'admin-token')
    writeFileSync(tokens, ADMIN_TOKEN)
    const fleet = new Fleet('memory://')
    stops.push(() => fleet.stop())
    const { child } = await fleet.startMaster(
      {
        NODE_OPTIONS: `--report-on-signal --report-uncaught-exception --report-directory=${folder}`,
        SVC_ADMIN_TOKEN_FILE: tokens,
      },
      ['SVC_ADMIN_TOKEN'],
    )
    child.kill('SIGUSR2')
    const reports = (): readonly string[] => readdirSync(folder).filter((name) => name.endsWith('.json'))
    const text = (): string =>
      reports()
        .map((name) => readFileSync(join(folder, name), 'utf8'))
        .join('\n')
    await eventually('the report is complete', () => text().trimEnd().endsWith('}'))
    canaries.scan('a crash report', text())
    canaries.assertNone()
  })
})
