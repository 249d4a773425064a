/** Tests a set whose config comes from a Secret that changes: a new value is a rollout, new metadata are none. */
import { describe, expect, it } from '@jest/globals'
import { eventually } from '../../kit/index.ts'
import { SetFixture } from './fixture.ts'

const CONFIG = { enabled: true, url: 'http://one' }
const source = (key: string) => ({ field: 'api_key', secretKeyRef: { name: 'keys', key } })
const VALUES = { api: 'first', other: 'x' }
const TEST_MS = 60_000

/** A set with a Secret. A second one waits for a key of the same Secret, so that it is read every 5 s. */
async function running(): Promise<SetFixture> {
  const sets = await SetFixture.create()
  await sets.join('crawler-0')
  sets.secret('keys', VALUES)
  sets.declare('crawler', { config: CONFIG, configFrom: [source('api')] })
  sets.declare('waits', { config: CONFIG, configFrom: [source('absent')] })
  await sets.start()
  await sets.settled('crawler', 'Complete')
  return sets
}

/** Resolves when the operator has had the time to act upon what it read of the Secret. */
async function seen(sets: SetFixture): Promise<void> {
  const reads = (): number => sets.fake.requests.filter(({ path }) => path.endsWith('/secrets/keys')).length
  const before = reads()
  await eventually('the Secret was read again', async () => reads() >= before + 2, { withinMs: 15_000 })
  await new Promise((resolve) => setTimeout(resolve, 1_500))
}

describe('a Secret of a set', () => {
  it(
    'starts no rollout with new metadata, or a new value of another key, also over a restart',
    async () => {
      const sets = await running()
      const { currentRevision } = sets.statusOf('crawler')
      sets.editSecret('keys', { annotations: { note: 'rotated by nothing' } })
      await seen(sets)
      sets.editSecret('keys', { data: { other: 'y' } })
      await seen(sets)
      await sets.stop()
      await sets.start()
      await seen(sets)
      expect(await sets.history('crawler-0')).toHaveLength(1)
      expect(sets.statusOf('crawler')).toMatchObject({ currentRevision, updateRevision: currentRevision })
      expect(JSON.stringify(sets.statusOf('crawler').sources)).not.toContain('first')
    },
    TEST_MS,
  )

  it(
    'starts one rollout with a new value, and none with new metadata after it',
    async () => {
      const sets = await running()
      const { currentRevision } = sets.statusOf('crawler')
      sets.editSecret('keys', { annotations: { note: 'a' } })
      await seen(sets)
      sets.editSecret('keys', { data: { api: 'second' } })
      await seen(sets)
      await sets.settled('crawler', 'Complete')
      const rotated = sets.statusOf('crawler').currentRevision
      expect(rotated).not.toBe(currentRevision)
      sets.editSecret('keys', { annotations: { note: 'b' } })
      await seen(sets)
      expect(await sets.history('crawler-0')).toHaveLength(2)
      expect(sets.statusOf('crawler').currentRevision).toBe(rotated)
      const stored = await sets.master.backend.workers.get([{ type: 'job', id: 'crawler-0' }])
      expect(JSON.stringify(stored)).toContain('second')
    },
    TEST_MS,
  )
})
