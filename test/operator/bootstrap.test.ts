/** Tests the parts of creating Secrets that need no API server: retries and log messages. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { Bootstrap } from '../../src/operator/bootstrap.ts'
import { KubeError, type KubeTransport } from '../../src/operator/kube/index.ts'
import { VirtualTime } from '../../src/runtime/index.ts'
import { random, scripted } from './kube/fixture.ts'
import { recordingLog, runTurns } from '../kit/index.ts'

const abort: AbortController[] = []
afterEach(() => {
  for (const each of abort.splice(0)) each.abort()
})

interface Names {
  readonly tokens?: string
  readonly redis?: string
  readonly scaler?: string
}

function started(json: KubeTransport['json'], names: Names = { tokens: 'tokens' }) {
  const [time, log, end] = [new VirtualTime(), recordingLog(), new AbortController()]
  abort.push(end)
  const bootstrap = new Bootstrap({
    namespace: 'ns',
    tokens: names.tokens,
    redis: names.redis,
    scaler: names.scaler,
    transport: scripted(json),
    time,
    random: random(),
    log,
    onMade: () => {},
  })
  void bootstrap.run(end.signal)
  return { bootstrap, log, time }
}

const answered = (data: Readonly<Record<string, string>>) =>
  ({
    status: 200,
    dateMs: undefined,
    body: { metadata: { name: 'tokens', uid: 'u', resourceVersion: '1' }, data },
  }) as never

describe('the Secrets that the operator creates', () => {
  it('are created after an outage of the API server, which is logged once', async () => {
    let isUnavailable = true
    const { bootstrap, log, time } = started(async () => {
      if (isUnavailable) throw new KubeError(0, 'NoResponse', 'the API server did not respond')
      return answered({ 'admin-token': Buffer.from(' theirs\n').toString('base64') })
    })
    for (let second = 0; second < 60; second += 1) {
      await time.advance(1_000)
      await runTurns(2)
    }
    expect([bootstrap.isComplete, log.lines.length]).toEqual([false, 1])
    isUnavailable = false
    await time.advance(1_000)
    await runTurns()
    expect(bootstrap.isComplete).toBe(true)
  })

  it('are complete while the tokens contain an admin token; a Secret without it is named in the log', async () => {
    let data: Readonly<Record<string, string>> = { 'admin-token': Buffer.from('one').toString('base64') }
    const { bootstrap, log, time } = started(async () => answered(data))
    await runTurns()
    expect(bootstrap.isComplete).toBe(true)
    data = { other: '' }
    await time.advance(5_000)
    await runTurns()
    expect(bootstrap.isComplete).toBe(false)
    expect(log.lines.map(({ fields }) => fields)).toEqual([
      { why: expect.stringContaining('the Secret tokens has no admin-token: add it') },
    ])
  })
})
