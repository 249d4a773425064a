import { afterEach, describe, expect, it } from '@jest/globals'
import {
  defineBatch,
  Permanent,
  RetryIn,
  runBatchSlot,
  SlotStopped,
  Type,
  type BatchContext,
} from '../../src/automation/index.ts'
import { untilAborted, SlotFixture } from './slot-fixture.ts'

type RunTask = (context: BatchContext) => Promise<void> | void
let slot: { fixture: SlotFixture; done: Promise<void> } | undefined

function start(run: RunTask, fixture = fixtureOf(run)) {
  const done = runBatchSlot(fixture.entry, fixture.control, fixture.source, fixture.ports)
  slot = { fixture, done }
  return { fixture, done }
}

const fixtureOf = (run: RunTask): SlotFixture =>
  new SlotFixture(
    defineBatch({
      type: 'mailer',
      payload: {},
      config: Type.Object({ api_key: Type.Optional(Type.String({ writeOnly: true })) }),
      output: Type.Object({ n: Type.Integer() }),
      run,
    }),
    { api_key: 'hunter2-secret' },
  )

afterEach(async () => {
  slot?.fixture.kill()
  await slot?.done
  slot = undefined
})

describe('runBatchSlot', () => {
  it('acks a task whose run returned and takes the next one', async () => {
    const seen: unknown[] = []
    const { fixture } = start(
      ({ task, config, slotId }) => void seen.push([task.id, task.payload, task.attempt, config.slots, slotId]),
    )
    fixture.offer('a', { url: 'x' }, { attempt: 2 })
    fixture.offer('b')
    await fixture.time.advance(0)
    expect(seen).toEqual([
      ['a', { url: 'x' }, 2, 1, 3],
      ['b', {}, 0, 1, 3],
    ])
    expect(fixture.settled).toEqual(['ack a', 'ack b'])
  })

  it.each<[string, () => unknown, string]>([
    [
      'an error',
      () => {
        throw new Error('smtp is down')
      },
      'nack t smtp is down {}',
    ],
    [
      'a rejection',
      async () => {
        throw new Error('smtp is down')
      },
      'nack t smtp is down {}',
    ],
    [
      'RetryIn',
      () => {
        throw new RetryIn(2.5, 'later')
      },
      'nack t later {"retryInMs":2500}',
    ],
    [
      'Permanent',
      () => {
        throw new Permanent('no such user')
      },
      'nack t no such user {"permanent":true}',
    ],
    [
      'the RetryIn of another copy of the package',
      () => {
        throw Object.assign(new Error('later'), { name: 'RetryIn', seconds: 5 })
      },
      'nack t later {"retryInMs":5000}',
    ],
    [
      'a RetryIn that was tampered with',
      () => {
        throw Object.assign(new Error('later'), { name: 'RetryIn', seconds: 'soon' })
      },
      'nack t later {}',
    ],
    [
      'an error without a message',
      () => {
        throw new TypeError()
      },
      'nack t TypeError {}',
    ],
    [
      'a string',
      () => {
        throw 'plain' as unknown
      },
      'nack t threw plain {}',
    ],
    [
      'undefined',
      () => {
        throw undefined as unknown
      },
      'nack t threw undefined {}',
    ],
    ['null', () => Promise.reject(null), 'nack t threw null {}'],
    [
      'a symbol',
      () => {
        throw Symbol('s') as unknown
      },
      'nack t threw Symbol(s) {}',
    ],
    [
      'an object',
      () => {
        throw { code: 7 } as unknown
      },
      'nack t threw {"code":7} {}',
    ],
    [
      'an error whose message cannot be read',
      () => {
        throw Object.defineProperty(new Error(), 'message', {
          get: () => {
            throw new Error('no')
          },
        }) as unknown
      },
      'nack t threw something that cannot be read {}',
    ],
    [
      'a thenable that throws',
      () => ({
        // oxlint-disable-next-line unicorn/no-thenable -- it is what is tested
        then: () => {
          throw new Error('odd')
        },
      }),
      'nack t odd {}',
    ],
  ])('nacks a task whose run threw %s, and continues (D55)', async (_, run, settled) => {
    const { fixture } = start(({ task }) => (task.id === 't' ? (run() as Promise<void>) : undefined))
    fixture.offer('t')
    fixture.offer('next')
    await fixture.time.advance(0)
    expect(fixture.settled).toEqual([settled, 'ack next'])
  })

  it('reports a failure, and the recovery after it', async () => {
    const { fixture } = start(({ task }) => {
      if (task.id === 'bad') throw new Error('broken')
    })
    for (const id of ['fine', 'bad', 'fine', 'fine']) fixture.offer(id)
    await fixture.time.advance(0)
    expect(fixture.errors).toEqual(['broken', null])
  })

  it('reports each run with its config, outcome and duration; one whose lease was lost is none (D137)', async () => {
    const { fixture } = start(async ({ task, sleep, signal }) => {
      await sleep(task.id === 'stuck' ? 1_000_000 : 250).catch(() => {})
      if (task.id === 'bad') throw new Error('smtp is down')
      if (task.id === 'lost') signal.throwIfAborted()
    })
    fixture.offer('good')
    await fixture.time.advance(300)
    fixture.offer('bad')
    await fixture.time.advance(300)
    const lost = fixture.offer('lost')
    await fixture.time.advance(100)
    lost.lose()
    await fixture.time.advance(300)
    fixture.offer('stuck')
    await fixture.time.advance(700)
    fixture.kill()
    await fixture.time.advance(0)
    const { config } = fixture
    expect(fixture.runs).toEqual([
      { config, outcome: 'ok', ms: 250 },
      { config, outcome: 'failed', ms: 250, error: 'smtp is down' },
      { config, outcome: 'released', ms: 700 },
    ])
    expect(fixture.runs.every((run) => run.config === config)).toBe(true)
  })

  it('masks secrets in errors, logs and spans, and truncates errors to 4,096 characters (D17)', async () => {
    const { fixture } = start(({ log, config }) => {
      log.info('using hunter2-secret', {
        config,
        nested: [{ url: 'https://x/?key=hunter2-secret' }],
        error: new Error('hunter2-secret'),
      })
      throw new Error(`refused hunter2-secret ${'😀'.repeat(3_000)}`)
    })
    fixture.offer('t')
    await fixture.time.advance(0)
    expect(
      JSON.stringify([
        fixture.logs,
        fixture.settled,
        fixture.errors,
        fixture.spans.map(({ error }) => String((error as Error | undefined)?.stack)),
      ]),
    ).not.toContain('hunter2')
    expect(fixture.errors[0]).toMatch(/^refused \*{8} 😀+$/u)
    expect(fixture.errors[0]?.length).toBeLessThanOrEqual(4_096)
    expect(fixture.errors[0]?.isWellFormed()).toBe(true)
  })

  it('ends after its task when it is stopped, without interrupting it (D53)', async () => {
    let finish = (): void => {}
    const { fixture, done } = start(async ({ signal }) => {
      await new Promise<void>((resolve) => {
        finish = resolve
      })
      expect(signal.aborted).toBe(false)
    })
    fixture.offer('t')
    await fixture.time.advance(0)
    fixture.offer('never taken')
    fixture.stop('drain')
    await fixture.time.advance(3_600_000)
    expect(fixture.settled).toEqual([])
    finish()
    await done
    expect(fixture.settled).toEqual(['ack t'])
  })

  it('ends immediately when it is stopped while waiting for a task', async () => {
    const { fixture, done } = start(() => {})
    await fixture.time.advance(0)
    fixture.stop()
    await done
    expect(fixture.settled).toEqual([])
  })

  it('aborts the run of a lost lease and ignores its outcome (D24)', async () => {
    const reasons: unknown[] = []
    const { fixture } = start(async ({ task, signal }) => {
      if (task.id === 'later') return
      if (task.id === 'threw') await untilAborted(signal)
      await new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve())
      })
      reasons.push(signal.reason)
    })
    for (const id of ['threw', 'returned']) {
      const { lose } = fixture.offer(id)
      await fixture.time.advance(0)
      lose()
      await fixture.time.advance(0)
    }
    fixture.offer('later')
    await fixture.time.advance(0)
    expect(fixture.settled).toEqual(['ack later'])
    expect(reasons).toEqual([new SlotStopped('lease_lost')])
    expect(fixture.errors).toEqual([])
  })

  it('rejects extending a lost task with LeaseLost', async () => {
    const caught: unknown[] = []
    const { fixture } = start(async ({ task, signal }) => {
      await task.extend()
      await untilAborted(signal).catch(() => {})
      await task.extend().catch((error: unknown) => caught.push(error))
    })
    const { lose } = fixture.offer('t')
    await fixture.time.advance(0)
    lose()
    await fixture.time.advance(0)
    expect(fixture.settled).toEqual(['extend t'])
    expect(caught).toMatchObject([{ name: 'LeaseLost', code: 'lease_lost' }])
  })

  it.each<[string, RunTask]>([
    ['that obeys its signal', ({ signal }) => untilAborted(signal)],
    ['that never settles', () => new Promise<void>(() => {})],
  ])('releases the task of a run %s when it is killed, and ends (D53)', async (_, run) => {
    const { fixture, done } = start(run)
    fixture.offer('t')
    await fixture.time.advance(0)
    fixture.kill('shutdown')
    await done
    expect(fixture.settled).toEqual(['release t'])
    expect(fixture.errors).toEqual([])
  })

  it('rejects later calls of an abandoned run, and ignores its later errors', async () => {
    let later = (): void => {}
    const refused: unknown[] = []
    const unhandled: unknown[] = []
    const note = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    const { fixture, done } = start(async ({ emit }) => {
      await new Promise<void>((resolve) => {
        later = resolve
      })
      await emit({ n: 1 }).catch((error: unknown) => refused.push(error))
      void emit({ n: 2 }) // Not awaited: its rejection must not end the process.
      throw new Error('after the end')
    })
    fixture.offer('t')
    await fixture.time.advance(0)
    fixture.kill()
    await done
    later()
    await fixture.time.advance(0)
    expect(refused).toMatchObject([{ message: expect.stringContaining('the run has ended') }])
    process.off('unhandledRejection', note)
    expect([fixture.outputs, fixture.settled, unhandled]).toEqual([[], ['release t'], []])
  })

  it('releases a task that arrives while it is killed', async () => {
    const fixture = fixtureOf(() => {
      throw new Error('must not run')
    })
    fixture.offer('t')
    slot = {
      fixture,
      done: runBatchSlot(
        fixture.entry,
        fixture.control,
        {
          take: async (stopping) => {
            const lease = await fixture.source.take(stopping)
            fixture.kill()
            return lease
          },
        },
        fixture.ports,
      ),
    }
    await slot.done
    expect(fixture.settled).toEqual(['release t'])
  })

  it("gives a run the config at the time of its task's reserve", async () => {
    const seen: number[] = []
    const { fixture } = start(async (context) => {
      await context.sleep(1_000)
      seen.push(context.config.slots)
    })
    fixture.offer('t')
    await fixture.time.advance(0)
    fixture.config = fixture.applied({ slots: 9 })
    await fixture.time.advance(1_000)
    expect(seen).toEqual([1])
    expect(Object.isFrozen(fixture.config)).toBe(true)
  })

  it('gives its runs contexts without accessors, which would keep them in memory', async () => {
    const kinds: string[] = []
    const { fixture } = start((context) => {
      const fields = Object.values(Object.getOwnPropertyDescriptors(context))
      kinds.push(fields.every((field) => 'value' in field) ? 'plain' : 'accessor')
    })
    fixture.offer('t')
    await fixture.time.advance(0)
    expect(kinds).toEqual(['plain'])
  })

  it('retries a task by its own policy, unless its run decides (D113)', async () => {
    const ends: Readonly<Record<string, Error>> = {
      own: new Error('own'),
      asked: new RetryIn(7, 'asked'),
      final: new Permanent('final'),
      automation: new Error('automation'),
    }
    const { fixture } = start(({ task }) => {
      throw ends[task.id] ?? new Error('another')
    })
    const retry = { baseMs: 100, factor: 10, capMs: 5_000 }
    fixture.random.unit = () => 0.5
    fixture.offer('own', {}, { retry })
    fixture.offer('own', {}, { retry, attempt: 1 })
    fixture.offer('own', {}, { retry, attempt: 9 })
    fixture.offer('asked', {}, { retry })
    fixture.offer('final', {}, { retry })
    fixture.offer('automation')
    await fixture.time.advance(0)
    expect(fixture.settled).toEqual([
      'nack own own {"retryInMs":50}',
      'nack own own {"retryInMs":500}',
      'nack own own {"retryInMs":2500}',
      'nack asked asked {"retryInMs":7000}',
      'nack final final {"permanent":true}',
      'nack automation automation {}',
    ])
  })

  it('gives a run the labels of its task, and its span a link to the trace of the submit (D113)', async () => {
    const seen: unknown[] = []
    const { fixture } = start(({ task }) => void seen.push(task.labels))
    fixture.offer('a', {}, { labels: { tenant: 'acme' }, trace: { traceparent: '00-1' } })
    fixture.offer('b')
    await fixture.time.advance(0)
    expect(seen).toEqual([{ tenant: 'acme' }, {}])
    const runs = fixture.spans.filter(({ name }) => name === 'slot.run_one')
    expect(runs.map(({ origin }) => origin)).toEqual([{ link: { traceparent: '00-1' } }, { link: undefined }])
  })

  it('reports progress, and gives a run what an earlier one reported (D114)', async () => {
    const seen: unknown[] = []
    const { fixture } = start(({ task }) => {
      seen.push(task.lastProgress)
      task.progress({ page: 7 })
      for (const wrong of [undefined, () => 1, 'x'.repeat(1_023)]) expect(() => task.progress(wrong)).toThrow()
      task.progress('x'.repeat(1_022))
    })
    fixture.offer('a')
    fixture.offer('b', {}, { lastProgress: { page: 3 } })
    await fixture.time.advance(0)
    expect(seen).toEqual([null, { page: 3 }])
    const ofRun = (id: string): string[] => [`progress ${id} {"page":7}`, `progress ${id} "${'x'.repeat(1_022)}"`]
    expect(fixture.settled).toEqual([...ofRun('a'), 'ack a', ...ofRun('b'), 'ack b'])
  })

  it('creates the specified spans and log fields', async () => {
    const { fixture } = start(({ log }) => {
      log.info('inside')
      throw new Error('broken')
    })
    fixture.offer('t', {}, { attempt: 4 })
    await fixture.time.advance(0)
    const slotAttributes = { 'fleet.automation_type': 'mailer', 'fleet.worker_id': 'w1', 'fleet.slot_id': 3 }
    expect(fixture.spans).toMatchObject([
      { name: 'slot.reserve', attributes: slotAttributes },
      {
        name: 'slot.run_one',
        attributes: { ...slotAttributes, 'fleet.task_id': 't', 'fleet.attempt': 4 },
        error: { message: 'broken' },
      },
      { name: 'slot.reserve' },
    ])
    expect(fixture.logs.find(({ message }) => message === 'inside')?.bound).toEqual({
      automation_type: 'mailer',
      worker_id: 'w1',
      slot_id: 3,
      task_id: 't',
      attempt: 4,
    })
  })
})

describe('the result of a run', () => {
  const withResult = (run: (context: BatchContext) => unknown): SlotFixture =>
    new SlotFixture(
      defineBatch({
        type: 'mailer',
        payload: {},
        result: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
        run,
      }),
    )
  const settledBy = async (fixture: SlotFixture): Promise<readonly string[]> => {
    start(() => {}, fixture)
    fixture.offer('t')
    await fixture.time.advance(0)
    return fixture.settled
  }

  it('is acknowledged with the task, if the automation declares a result (D110)', async () => {
    expect(await settledBy(withResult(async () => ({ text: 'hi' })))).toEqual(['ack t {"text":"hi"}'])
  })

  it('is ignored if the automation declares none', async () => {
    const fixture = new SlotFixture(defineBatch({ type: 'mailer', payload: {}, run: () => ({ text: 'hi' }) }))
    expect(await settledBy(fixture)).toEqual(['ack t'])
  })

  it.each<[string, unknown, string]>([
    ['does not match its schema', { text: 7 }, 'the result does not match the schema of mailer: /text must be string'],
    ['is missing', undefined, 'the run returned nothing, but mailer declares a result'],
  ])('that %s is a failed attempt (D110)', async (_, value, error) => {
    expect(await settledBy(withResult(() => value))).toEqual([`nack t ${error} {}`])
  })
})
