import { beforeEach, describe, expect, it } from '@jest/globals'
import type { AppliedConfig } from '../../src/automation/index.ts'
import { seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import { ConfigFollower } from '../../src/worker/config.ts'
import { MasterFeatures } from '../../src/worker/master-features.ts'
import type { HttpResponse } from '../../src/worker/rpc-client.ts'
import { batchEntry, recordingLog, type RecordingLog } from './fixtures.ts'

const entry = batchEntry(() => {})

let time: VirtualTime
let log: RecordingLog
let asked: (string | null)[]
let digests: (string | null)[]
let answer: () => HttpResponse | Promise<HttpResponse>
let applied: AppliedConfig[]
let errors: (string | null)[]
let again: string[]
let features: MasterFeatures
let known: number
let ageMs: number
let follower: ConfigFollower

beforeEach(() => {
  time = new VirtualTime()
  log = recordingLog()
  asked = []
  digests = []
  applied = []
  errors = []
  again = []
  ageMs = 60_000
  known = 0
  features = new MasterFeatures(time)
  serve('e1', 1)
  follower = new ConfigFollower({
    timers: time,
    random: seededRandom(3),
    log,
    entry,
    channelAgeMs: () => ageMs,
    features,
    fetch: async (headers) => {
      asked.push(headers['if-none-match'] ?? null)
      digests.push(headers['muster-config-digest'] ?? null)
      return answer()
    },
    registerAgain: (why) => void again.push(why),
    onApplied: (config) => void applied.push(config),
    onKnown: () => void (known += 1),
    onError: (message) => void errors.push(message),
  })
})

const base = { enabled: true, slots: 2, max_attempts: 3, recycle_seconds: 0 }

function serve(epoch: string | null, gen: number, config: object = base): void {
  const headers: Record<string, string> = epoch === null ? {} : { etag: `"${epoch}.${gen}"`, 'muster-epoch': epoch }
  answer = () => ({ status: 200, headers, text: JSON.stringify({ config, config_gen: gen }) })
}

async function poll(): Promise<void> {
  follower.poll()
  await time.advance(0)
}

describe('the config follower', () => {
  it('starts with the defaults at generation 0 (D4)', () => {
    expect(follower.current).toMatchObject({ enabled: false, slots: 1, max_attempts: 3, recycle_seconds: 0 })
    expect(follower.appliedGen).toBe(0)
  })

  it('applies a new config as a whole, frozen at every depth (G16)', async () => {
    serve('e1', 4, { ...base, text: 'hello' })
    await poll()
    expect(follower.current).toEqual({ ...base, text: 'hello' })
    expect(Object.isFrozen(follower.current)).toBe(true)
    expect(follower.appliedGen).toBe(4)
    expect(applied).toHaveLength(1)
  })

  it('polls every 30 s with the ETag of the applied config, from a random phase', async () => {
    follower.start()
    await time.advance(29_999)
    expect(asked).toEqual([null])
    answer = () => ({ status: 304, headers: { etag: '"e1.1"' }, text: '' })
    await time.advance(60_001)
    expect(asked).toEqual([null, '"e1.1"', '"e1.1"'])
    expect(applied).toHaveLength(1)
  })

  it('names the digest of the applied config, and of no other, in each poll (D46)', async () => {
    const served = (gen: number, digest: string | null): void => {
      const headers = { etag: `"e1.${gen}"`, ...(digest === null ? {} : { 'muster-config-digest': digest }) }
      answer = () => ({ status: 200, headers, text: JSON.stringify({ config: base, config_gen: gen }) })
    }
    for (const [gen, digest] of [
      [4, 'a'],
      [4, 'b'],
      [5, 'c'],
      [6, null],
    ] as const) {
      served(gen, digest)
      await poll()
    }
    await poll()
    expect(digests).toEqual([null, 'a', 'a', 'c', null])
  })

  it('ignores generations up to its own in the same epoch', async () => {
    serve('e1', 7)
    await poll()
    for (const gen of [7, 6, 0]) {
      serve('e1', gen, { ...base, slots: 9 })
      await poll()
    }
    expect([applied.length, follower.appliedGen, follower.current.slots]).toEqual([1, 7, 2])
  })

  it('applies any generation of another epoch, because the master lost its state (D15)', async () => {
    serve('e1', 7)
    await poll()
    serve('e2', 0, { ...base, enabled: false })
    await poll()
    expect([follower.appliedGen, follower.current.enabled]).toEqual([0, false])
    await poll()
    expect(asked.at(-1)).toBe('"e2.0"')
    expect(log.lines.some(({ message }) => message.includes('the master lost its state'))).toBe(true)
  })

  it('compares generations with a master that sends no epoch', async () => {
    serve(null, 3)
    await poll()
    serve(null, 2, { ...base, slots: 9 })
    await poll()
    serve(null, 4, { ...base, slots: 5 })
    await poll()
    expect([applied.length, follower.appliedGen, follower.current.slots]).toEqual([2, 4, 5])
    expect(asked).toEqual([null, null, null])
  })

  it('keeps the old config when the new one is invalid, and reports why (G16)', async () => {
    await poll()
    serve('e1', 2, { ...base, slots: 'many' })
    await poll()
    await poll()
    expect([applied.length, follower.appliedGen, follower.current.slots]).toEqual([1, 1, 2])
    expect(errors.filter((each) => each !== null)).toEqual([expect.stringContaining('config 2 rejected: /slots')])
    serve('e1', 3)
    await poll()
    expect([follower.appliedGen, errors.at(-1)]).toEqual([3, null])
  })

  it('polls once more after a change during a poll', async () => {
    const responses: ((value: HttpResponse) => void)[] = []
    answer = () => new Promise((resolve) => void responses.push(resolve))
    follower.poll()
    await time.advance(0)
    follower.poll()
    follower.poll()
    await time.advance(0)
    expect(asked).toHaveLength(1)
    responses[0]?.({ status: 304, headers: {}, text: '' })
    await time.advance(0)
    expect(asked).toHaveLength(2)
  })

  it('registers again after a 404, except shortly after a register (D7)', async () => {
    answer = () => ({ status: 404, headers: {}, text: '{"detail":"unknown worker"}' })
    ageMs = 50
    await poll()
    expect(again).toEqual([])
    ageMs = 20_000
    await time.advance(1_000)
    expect(asked).toHaveLength(2)
    expect(again).toHaveLength(1)
  })

  it('retries with backoff while the master is unavailable', async () => {
    answer = () => ({ status: 503, headers: {}, text: '{"detail":"no"}' })
    await poll()
    await time.advance(1_000)
    expect(asked).toHaveLength(2)
    await time.advance(60_000)
    expect(asked.length).toBeLessThan(9)
    serve('e1', 1)
    await time.advance(30_000)
    expect(applied).toHaveLength(1)
  })

  it('backs off after unreadable responses', async () => {
    answer = () => ({ status: 200, headers: {}, text: '<html>' })
    await poll()
    await time.advance(60_000)
    expect(asked.length).toBeLessThan(12)
  })

  it('does not report a poll that was aborted by its own stop', async () => {
    answer = () => new Promise((_, reject) => void time.after(10, () => reject(new Error('the client is destroyed'))))
    await poll()
    follower.stop()
    await time.advance(1_000)
    expect(log.lines).toEqual([])
  })

  describe('when the channel has opened', () => {
    const offer = (epoch: string): void => features.read({ 'muster-features': 'stream, epoch', 'muster-epoch': epoch })
    const opened = async (isRegistered = true): Promise<number> => {
      const before = asked.length
      follower.connected(isRegistered)
      await time.advance(0)
      return asked.length - before
    }

    it('does not poll if its config is of the epoch of the store, and is known to the master', async () => {
      await poll()
      offer('e1')
      known = 0
      expect([await opened(), known]).toEqual([0, 1])
    })

    it('polls if the epoch differs, no config is applied, or nothing is offered', async () => {
      offer('e1')
      expect(await opened()).toBe(1)
      expect(await opened(false)).toBe(1)
      offer('e2')
      expect(await opened()).toBe(1)
      features.read({ 'muster-epoch': 'e1' })
      expect(await opened()).toBe(1)
    })

    it('polls if the newest config was rejected', async () => {
      await poll()
      serve('e1', 2, { ...base, slots: -1 })
      await poll()
      expect(errors.at(-1)).toContain('slots')
      offer('e1')
      expect(await opened()).toBe(1)
    })
  })

  it('stops polling when stopped', async () => {
    follower.start()
    follower.stop()
    follower.poll()
    await time.advance(120_000)
    expect(asked).toEqual([])
    expect(time.pending).toBe(0)
  })
})
