/** Tests a set while calls to the master fail, other clients write meanwhile, and sources are missing. */
import { describe, expect, it } from '@jest/globals'
import type { IncomingMessage } from 'node:http'
import { eventually } from '../../kit/index.ts'
import { SetFixture } from './fixture.ts'

const CONFIG = { enabled: true, url: 'http://one' }
const WORKERS = ['crawler-0', 'crawler-1', 'crawler-2']
const isBulk = ({ method, url = '' }: IncomingMessage): boolean => method === 'POST' && url.endsWith('/configs')

async function running(): Promise<{ sets: SetFixture; proxy: Awaited<ReturnType<SetFixture['throughProxy']>> }> {
  const sets = await SetFixture.create()
  const proxy = await sets.throughProxy()
  for (const id of WORKERS) await sets.join(id)
  sets.declare('crawler', { config: CONFIG })
  return { sets, proxy }
}

describe('a bulk call', () => {
  it.each(['reset before', 'reset after', 'cut'] as const)(
    'whose connection breaks (%s) is repeated, and each worker has one new generation',
    async (deed) => {
      const { sets, proxy } = await running()
      let faults = 1
      proxy.rule = (request) => {
        if (!isBulk(request) || faults === 0) return 'pass'
        faults -= 1
        return deed
      }
      await sets.start()
      await sets.settled('crawler', 'Complete')
      expect(faults).toBe(0)
      for (const id of WORKERS) expect(await sets.history(id)).toHaveLength(1)
    },
  )

  it('that is refused for overload is repeated after the pause that the master requests', async () => {
    const { sets, proxy } = await running()
    let refusals = 2
    proxy.rule = (request) => {
      if (!isBulk(request) || refusals === 0) return 'pass'
      refusals -= 1
      return { status: 503, headers: { 'retry-after': '1' }, body: '{"detail":"later"}' }
    }
    await sets.start()
    await sets.settled('crawler', 'Complete')
    expect(refusals).toBe(0)
  })

  it('never overwrites the change of another client unseen', async () => {
    const { sets, proxy } = await running()
    await sets.start()
    await sets.settled('crawler', 'Complete')
    let isChanged = false
    proxy.rule = (request) => {
      if (!isBulk(request) || isChanged) return 'pass'
      isChanged = true
      // The operator has sent its call; another client is faster.
      return (response) => void sets.change('crawler-1', { url: 'http://faster' }).then(() => response.destroy())
    }
    sets.edit('crawler', { config: { ...CONFIG, url: 'http://two' } })
    await sets.settled('crawler', 'Complete')
    expect((await sets.history('crawler-1')).map(({ actor }) => actor.includes('kubernetes:'))).toEqual([
      true,
      false,
      true,
    ])
    expect((await sets.worker('crawler-1')).config['url']).toBe('http://two')
    expect(await sets.history('crawler-0')).toHaveLength(2)
  })

  it('takes no worker that another operator manages', async () => {
    const { sets } = await running()
    const claim = 'kubernetes:elsewhere/fleetworkersets/theirs#12345678'
    await sets.master.call('PUT', '/api/v1/automations/job/workers/crawler-1/claim', { body: { managed_by: claim } })
    await sets.start({ watchNamespaces: ['ns'] })
    await sets.settled('crawler', 'Complete')
    expect(await sets.history('crawler-1')).toEqual([])
    expect(sets.statusOf('crawler').workers).toMatchObject({ matched: 3, updated: 2, conflicted: 1 })
    expect(sets.condition('crawler', 'Conflicted')?.message).toContain(claim)
  })
})

describe('a Secret of a set', () => {
  it('is missing: no worker is touched until it exists; then each has the value and it is in no status', async () => {
    const sets = await SetFixture.create()
    await sets.join('crawler-0')
    sets.declare('crawler', {
      config: CONFIG,
      configFrom: [{ field: 'api_key', secretKeyRef: { name: 'keys', key: 'api' } }],
    })
    await sets.start()
    await sets.settled('crawler', 'SourceNotFound')
    expect(await sets.history('crawler-0')).toEqual([])
    sets.secret('keys', { api: 'hunter2-the-canary' })
    await eventually(
      'the worker has the config',
      async () => (await sets.worker('crawler-0')).config['url'] === 'http://one',
    )
    await sets.settled('crawler', 'Complete')
    const stored = await sets.master.backend.workers.get([{ type: 'job', id: 'crawler-0' }])
    expect(JSON.stringify(stored)).toContain('hunter2-the-canary')
    expect(JSON.stringify([sets.statusOf('crawler'), sets.log.lines])).not.toContain('hunter2-the-canary')
    expect(sets.statusOf('crawler').sources).toMatchObject([{ field: 'api_key' }])
  })

  it('is read only to store a revision: a restart requests its metadata alone', async () => {
    const sets = await SetFixture.create()
    await sets.join('crawler-0')
    sets.secret('keys', { api: 'x' })
    sets.declare('crawler', {
      config: CONFIG,
      configFrom: [{ field: 'api_key', secretKeyRef: { name: 'keys', key: 'api' } }],
    })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    await sets.stop()
    const reads = (): readonly string[] =>
      sets.fake.requests
        .filter(({ path }) => path.endsWith('/secrets/keys'))
        .map(({ headers }) => (String(headers['accept']).includes('PartialObjectMetadata') ? 'metadata' : 'data'))
    const before = reads().length
    await sets.start()
    await eventually('the new operator has looked', async () => reads().length > before)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(new Set(reads().slice(before))).toEqual(new Set(['metadata']))
  })
})

describe('a hostile worker', () => {
  it('has labels and an id like members of objects, and disturbs no other one', async () => {
    const sets = await SetFixture.create()
    await sets.join('crawler-0', { labels: { zone: 'eu-1' } })
    await sets.join('constructor', { labels: { constructor: 'x', tostring: '' } })
    await sets.join('crawler-<script>', { labels: { zone: 'eu-1' } })
    sets.declare('crawler', { config: CONFIG, selector: { idPatterns: ['*'], matchLabels: { zone: 'eu-1' } } })
    await sets.start()
    await sets.settled('crawler', 'Complete')
    expect(sets.statusOf('crawler').workers).toMatchObject({ matched: 2, acknowledged: 2 })
    expect((await sets.worker('constructor')).config['enabled']).toBe(false)
  })
})
