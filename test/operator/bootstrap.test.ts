/** The parts of making Secrets that no API server need be there for: patience, and what is said. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { Bootstrap } from '../../src/operator/bootstrap.ts'
import { KubeError, type KubeTransport } from '../../src/operator/kube/index.ts'
import { VirtualTime } from '../../src/runtime/index.ts'
import { keptLog, random, scripted, turns } from './kube/world.ts'

const abort: AbortController[] = []
afterEach(() => {
  for (const each of abort.splice(0)) each.abort()
})

function started(json: KubeTransport['json'], names: { tokens?: string; redis?: string } = { tokens: 'tokens' }) {
  const [time, log, end] = [new VirtualTime(), keptLog(), new AbortController()]
  abort.push(end)
  const bootstrap = new Bootstrap({
    namespace: 'ns',
    tokens: names.tokens,
    redis: names.redis,
    transport: scripted(json),
    time,
    random: random(),
    log,
    onMade: () => {},
  })
  const seen = { isComplete: false, hasEnded: false }
  void bootstrap.complete.then(() => (seen.isComplete = true))
  void bootstrap.run(end.signal).then(() => (seen.hasEnded = true))
  return { bootstrap, end, log, seen, time }
}

const answered = (data: Readonly<Record<string, string>>) =>
  ({
    status: 200,
    dateMs: undefined,
    body: { metadata: { name: 'tokens', uid: 'u', resourceVersion: '1' }, data },
  }) as never

describe('the Secrets that the operator makes', () => {
  it('are none where none is asked for, and nothing is waited for', async () => {
    const { seen } = started(async () => answered({}), {})
    await turns()
    expect(seen).toEqual({ isComplete: true, hasEnded: true })
  })

  it('are waited for while the API server is away, and it is said once', async () => {
    let isAway = true
    const { bootstrap, log, seen, time } = started(async () => {
      if (isAway) throw new KubeError(0, 'NoAnswer', 'the API server did not answer')
      return answered({ 'admin-token': Buffer.from(' theirs\n').toString('base64') })
    })
    for (let second = 0; second < 60; second += 1) {
      await time.advance(1_000)
      await turns(2)
    }
    expect([seen.isComplete, log.lines.length]).toEqual([false, 1])
    isAway = false
    await time.advance(1_000)
    await turns()
    expect([seen.isComplete, bootstrap.adminToken]).toEqual([true, 'theirs'])
  })

  it('follow one that is edited, and keep the last token of one that lost it', async () => {
    let data: Readonly<Record<string, string>> = { 'admin-token': Buffer.from('one').toString('base64') }
    const { bootstrap, log, time } = started(async () => answered(data))
    await turns()
    expect(bootstrap.adminToken).toBe('one')
    for (const [next, token] of [
      [{ 'admin-token': Buffer.from('two').toString('base64') }, 'two'],
      [{ other: '' }, 'two'],
    ] as const) {
      data = next
      await time.advance(5_000)
      await turns()
      expect(bootstrap.adminToken).toBe(token)
    }
    expect(log.lines.map(({ fields }) => fields)).toEqual([
      { why: expect.stringContaining('the Secret tokens has no admin-token: add it') },
    ])
  })
})
