import { runTurns } from '../../kit/index.ts'
import { beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { VirtualTime } from '../../../src/runtime/index.ts'
import { WorkQueue, type ObjectKey, type Priority } from '../../../src/operator/kube/index.ts'
import { random } from './fixture.ts'

let time: VirtualTime
let queue: WorkQueue
const never = new AbortController().signal

beforeEach(() => {
  time = new VirtualTime()
  queue = new WorkQueue({ clock: time, timers: time, random: random() })
})

/** Returns the keys that are due, in order; each is finished immediately. */
async function drained(): Promise<readonly ObjectKey[]> {
  const keys: ObjectKey[] = []
  while (queue.depth > 0) {
    const key = await queue.take(never)
    keys.push(key)
    queue.done(key, { kind: 'ok' })
  }
  return keys
}

describe('the work queue', () => {
  it('returns what follows an edit first, then edits, deletions, pushes and sweeps', async () => {
    queue.add('ns/swept', -100)
    queue.add('ns/pushed', 50)
    queue.add('ns/deleted', 90)
    queue.add('ns/edited', 100)
    queue.add('ns/followed', 110)
    expect(await drained()).toEqual(['ns/followed', 'ns/edited', 'ns/deleted', 'ns/pushed', 'ns/swept'])
  })

  it('contains a key once, at its highest priority', async () => {
    queue.add('ns/a', -100)
    queue.add('ns/b', 50)
    queue.add('ns/a', 100)
    queue.add('ns/a', 50)
    expect(await drained()).toEqual(['ns/a', 'ns/b'])
  })

  it('limits the wait of each key to 200 s and its turn while edits continue', async () => {
    queue.add('ns/swept', -100)
    let waitedSeconds = 0
    for (let key: ObjectKey | undefined; key !== 'ns/swept'; waitedSeconds += 1) {
      queue.add(`ns/edit-${waitedSeconds}a`, 100)
      queue.add(`ns/edit-${waitedSeconds}b`, 100)
      key = await queue.take(never)
      queue.done(key, { kind: 'ok' })
      if (key !== 'ns/swept') await time.advance(1_000)
      // Two edits arrive for each processed key, so its turn takes as long again.
      expect(waitedSeconds).toBeLessThan(410)
    }
    expect(waitedSeconds).toBeGreaterThan(199)
  })

  it('processes an edit before a full pass of 10,000', async () => {
    for (let index = 0; index < 10_000; index += 1) queue.add(`ns/${index}`, -100)
    await time.advance(150_000)
    queue.add('ns/9999', 100)
    expect(await queue.take(never)).toBe('ns/9999')
    expect(queue.depth).toBe(9_999)
  })

  it('processes an edit at the next turn or the one after it, however long a full pass has waited', async () => {
    for (let index = 0; index < 10_000; index += 1) queue.add(`ns/${index}`, 50)
    for (let second = 0; second < 600; second += 60) {
      await time.advance(60_000)
      queue.add(`ns/edit-${second}`, 100)
      const taken = [await queue.take(never), await queue.take(never)]
      expect(taken).toContain(`ns/edit-${second}`)
      for (const key of taken) queue.done(key, { kind: 'ok' })
    }
  })

  it('reserves capacity for edits: at most twelve keys of other work run in parallel', async () => {
    for (let index = 0; index < 20; index += 1) queue.add(`ns/swept-${index}`, index % 2 === 0 ? -100 : 50)
    const running = await Promise.all(Array.from({ length: 12 }, () => queue.take(never)))
    const taken: ObjectKey[] = []
    const takers = [1, 2].map(() => queue.take(never).then((key) => taken.push(key)))
    await time.advance(300_000) // Not even for keys that have waited that long.
    expect(taken).toEqual([])
    queue.add('ns/edited', 100)
    await runTurns()
    expect(taken).toEqual(['ns/edited'])
    queue.done('ns/edited', { kind: 'ok' })
    await runTurns()
    expect(taken).toEqual(['ns/edited'])
    queue.done(running[0] ?? 'ns/none', { kind: 'ok' })
    await Promise.all(takers)
    expect(taken.at(-1)).toMatch(/^ns\/swept-/)
  })

  it('hands out only edits and deletions while bulk work is held, whatever waits', async () => {
    queue.holdBulk(true)
    queue.add('ns/swept', -100)
    queue.add('ns/pushed', 50)
    const taken: ObjectKey[] = []
    const takers = [1, 2, 3].map(() => queue.take(never).then((key) => taken.push(key)))
    await time.advance(300_000)
    expect(taken).toEqual([])
    queue.add('ns/edited', 100)
    await runTurns()
    expect(taken).toEqual(['ns/edited'])
    queue.holdBulk(false)
    await Promise.all(takers)
    expect(taken).toHaveLength(3)
  })

  it('gives every eighth turn to the key that has waited longest, once that is over 200 s', async () => {
    queue.add('ns/swept', -100)
    queue.add('ns/swept-later', -100)
    for (let index = 0; index < 30; index += 1) queue.add(`ns/edit-${index}`, 100)
    await time.advance(200_000)
    const keys = await drained()
    expect([keys.indexOf('ns/swept'), keys.indexOf('ns/swept-later')]).toEqual([7, 15])
  })

  it('never runs a key twice in parallel, and runs it again when it was added meanwhile', async () => {
    queue.add('ns/a', 100)
    const key = await queue.take(never)
    queue.add('ns/a', 50)
    expect(queue.depth).toBe(0)
    queue.done(key, { kind: 'ok' })
    expect(await drained()).toEqual(['ns/a'])
  })

  it('keeps the earlier of two deadlines', async () => {
    queue.addAfter('ns/a', 5_000, 50)
    queue.addAfter('ns/a', 9_000, 50)
    queue.addAfter('ns/a', 2_000, 50)
    await time.advance(1_999)
    expect(queue.depth).toBe(0)
    await time.advance(1)
    expect(await drained()).toEqual(['ns/a'])
    await time.advance(60_000)
    expect(queue.depth).toBe(0)
  })

  it('requeues a key when its run requested it, unless another run came first', async () => {
    queue.add('ns/a', 100)
    queue.done(await queue.take(never), { kind: 'ok', againAfterMs: 45_000 })
    await time.advance(10_000)
    queue.add('ns/a', 100)
    queue.done(await queue.take(never), { kind: 'ok' })
    await time.advance(60_000)
    expect(queue.depth).toBe(0)
  })

  it('requeues it at the requested priority', async () => {
    for (const priority of [undefined, -100] as const) {
      queue.add('ns/again', 100)
      queue.done(await queue.take(never), { kind: 'ok', againAfterMs: 1, ...(priority !== undefined && { priority }) })
      queue.add('ns/swept', -100)
      await time.advance(1)
      expect(await drained()).toEqual(priority === undefined ? ['ns/again', 'ns/swept'] : ['ns/swept', 'ns/again'])
    }
  })

  it('backs off from 1 s to 30 s with full jitter, and resets after a success', async () => {
    const waits: number[] = []
    queue.add('ns/a', 100)
    for (let run = 0; run < 40; run += 1) {
      queue.done(await queue.take(never), { kind: 'retry' })
      const fromMs = time.monotonicMs()
      while (queue.depth === 0) await time.advanceToNext()
      waits.push(time.monotonicMs() - fromMs)
    }
    expect(waits[0]).toBeLessThanOrEqual(1_000)
    expect(Math.max(...waits)).toBeLessThanOrEqual(30_000)
    expect(Math.max(...waits)).toBeGreaterThan(20_000)
    expect(Math.min(...waits.slice(6))).toBeLessThan(6_000)
    queue.done(await queue.take(never), { kind: 'ok' })
    queue.add('ns/a', 100)
    queue.done(await queue.take(never), { kind: 'retry' })
    await time.advance(1_000)
    expect(queue.depth).toBe(1)
  })

  it('waits as long as a retry requests, but an edit does not wait for it', async () => {
    queue.add('ns/a', 50)
    queue.done(await queue.take(never), { kind: 'retry', afterMs: 300_000 })
    await time.advance(200_000)
    expect(queue.depth).toBe(0)
    queue.add('ns/a', 100)
    expect(await drained()).toEqual(['ns/a'])
  })

  it('returns no key while it is parked, and edits first afterwards', async () => {
    queue.park('the breaker is open')
    queue.add('ns/a', -100)
    const taken = queue.take(never)
    await time.advance(60_000)
    queue.add('ns/b', 100)
    expect(queue.depth).toBe(2)
    queue.park(null)
    expect(await taken).toBe('ns/b')
  })

  it('leaves a key to another caller when the notified one was aborted', async () => {
    const abort = new AbortController()
    const first = queue.take(abort.signal).catch(() => 'gave up')
    const second = queue.take(never)
    queue.add('ns/a', 100)
    abort.abort(new Error('over'))
    expect([await first, await second]).toContain('ns/a')
    if ((await first) !== 'ns/a') expect(await second).toBe('ns/a')
    expect(queue.depth).toBe(0)
  })

  it('rejects a take whose signal aborts', async () => {
    const abort = new AbortController()
    const taken = queue.take(abort.signal)
    abort.abort(new Error('over'))
    await expect(taken).rejects.toThrow('over')
    await runTurns()
    queue.add('ns/a', 100)
    expect(await drained()).toEqual(['ns/a'])
  })

  it('throws at the end of a run that never started', () => {
    expect(() => queue.done('ns/a', { kind: 'ok' })).toThrow(TypeError)
  })

  it('neither loses nor duplicates a key under any order of calls', async () => {
    const call = fc.record({
      key: fc.integer({ min: 0, max: 4 }),
      priority: fc.constantFrom<Priority>(100, 90, 50, -100),
      what: fc.constantFrom('add', 'after', 'take', 'ok', 'retry', 'time'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 60 }), async (calls) => {
        time = new VirtualTime()
        queue = new WorkQueue({ clock: time, timers: time, random: random() })
        const wanted = new Set<ObjectKey>()
        const running = new Set<ObjectKey>()
        for (const { key: number, priority, what } of calls) {
          const key: ObjectKey = `ns/${number}`
          if (what === 'add' || what === 'after') {
            if (what === 'add') queue.add(key, priority)
            else queue.addAfter(key, 3_000, priority)
            wanted.add(key)
          } else if (what === 'time') await time.advance(1_500)
          else if (what === 'take' && queue.depth > 0) {
            const taken = await queue.take(never)
            expect(running.has(taken)).toBe(false)
            running.add(taken)
            wanted.delete(taken)
          } else if (running.delete(key)) {
            queue.done(key, { kind: what === 'retry' ? 'retry' : 'ok' })
            if (what === 'retry') wanted.add(key)
          }
        }
        for (const key of running) queue.done(key, { kind: 'ok' })
        await time.advance(31_000)
        const left = new Set(await drained())
        for (const key of wanted) expect(left).toContain(key)
      }),
      { numRuns: 200 },
    )
  })
})
