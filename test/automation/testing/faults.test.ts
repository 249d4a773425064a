/** Every fault has an automation that causes it. */
import { describe, expect, it } from '@jest/globals'
import { defineBatch, defineContinuous, Type, type BatchContext, type Context } from '../../../src/automation/index.ts'
import { RunError, runBatch, runContinuous, type Excusable, type Fault } from '../../../src/automation/testing/index.ts'

interface Schemas {
  pools: { inboxes: { payload: object } }
}
const Config = Type.Object({ api_key: Type.Optional(Type.String({ writeOnly: true })) })
const Output = Type.Object({ n: Type.Integer() })
type Run = (context: BatchContext<typeof Config, typeof Output, object, Schemas['pools']>) => Promise<void> | void
const SECRET = 'hunter2-secret'
/** Time limit for a run that keeps the processor busy for seconds, and for the next test. */
const BUSY_MS = 30_000

const play = (run: Run, allow: Excusable[] = []) =>
  runBatch(
    defineBatch({
      type: 'mailer',
      payload: {},
      config: Config,
      output: Output,
      pools: { inboxes: { payload: {} } },
      run,
    }),
    {
      tasks: [{ payload: {} }],
      config: { api_key: SECRET, max_attempts: 1 },
      pools: { inboxes: [{ payload: {} }] },
      allow,
      maxWaitSeconds: 0.2,
      maxVirtualSeconds: 600,
    },
  )
const probe = (run: (context: Context) => Promise<void> | void, allow: Excusable[] = []) =>
  runContinuous(defineContinuous({ type: 'watcher', run }), { forSeconds: 10, allow, maxWaitSeconds: 0.2 })

async function faultsOf(run: Promise<unknown>): Promise<readonly Fault[]> {
  try {
    await run
  } catch (error) {
    if (error instanceof RunError) return error.faults
    throw error
  }
  return []
}
const saying = (name: string, message: string) => [{ name, message: expect.stringContaining(message) }]
const never = (): Promise<never> => new Promise(() => {})

describe('an excusable fault fails the run, unless it is allowed', () => {
  it.each<[string, Excusable, string, Run]>([
    [
      'an invalid output',
      'output',
      '/n must be integer',
      async ({ emit }) => emit({ n: 'many' as never }).catch(() => {}),
    ],
    [
      'an output larger than a frame',
      'output',
      'where a frame holds',
      async ({ emit }) => emit({ n: 1, pad: 'x'.repeat(2 ** 20) } as never).catch(() => {}),
    ],
    [
      'a lock that is still held',
      'held',
      'lock "mine" is still held',
      async ({ lock }) => void (await lock.acquire('mine', { holdSeconds: 5 })),
    ],
    [
      'a claim that is still held',
      'held',
      'item "inboxes-1" of pool "inboxes" is still held',
      async ({ pool }) => void (await pool('inboxes').claim({ holdSeconds: 5 })),
    ],
    ['a call that is not awaited', 'unawaited', 'emit was not awaited', ({ emit }) => void emit({ n: 1 })],
    [
      'a call that is still pending',
      'unawaited',
      'bus.publish was still under way',
      async ({ bus }) => void bus.publish('a', 1).catch(() => {}),
    ],
    [
      'a secret in an output',
      'secret',
      'an output holds a secret of the config, at /deep/0',
      async ({ emit }) => emit({ n: 1, deep: [`key ${SECRET}`] } as never),
    ],
    [
      'a secret in a log line',
      'secret',
      'a log line holds a secret of the config, at /1/key',
      ({ log }) => log.info('called', { key: SECRET }),
    ],
    [
      'a secret in an error',
      'secret',
      'its error holds a secret',
      () => {
        throw new Error(`401 for ${SECRET}`)
      },
    ],
  ])('%s', async (_, name, message, run) => {
    expect(await faultsOf(play(run))).toEqual(saying(name, message))
    expect(await faultsOf(play(run, [name]))).toEqual([])
  })

  it('does not blame a run that threw for resources that the runtime releases', async () => {
    expect(
      await faultsOf(
        play(async ({ lock, sleep }) => {
          await lock.acquire('mine', { holdSeconds: 5 })
          await Promise.all([sleep(1_000), Promise.reject(new Error('no route'))])
        }),
      ),
    ).toEqual([])
  })

  it('a signal ignored for two seconds, in calls of the context', async () => {
    const over = new AbortController()
    const deaf = async ({ sleep, kv }: Context): Promise<void> => {
      while (!over.signal.aborted) {
        await sleep(700)
          .catch(() => kv.get('a'))
          .catch(() => {})
        await new Promise((resolve) => void setTimeout(resolve, 20))
      }
    }
    expect(await faultsOf(probe(deaf))).toEqual(saying('signal', 'run still runs 2 s after its signal (why: drain)'))
    over.abort()
  })

  it('a signal ignored in a wait for something real', async () => {
    const deaf = async ({ sleep }: Context): Promise<void> => sleep(60_000).catch(never)
    expect(await faultsOf(probe(deaf))).toEqual(saying('signal', 'run still runs 2 s after its signal (why: drain)'))
    expect(await faultsOf(probe(deaf, ['signal']))).toEqual(saying('stuck', 'outside of its context'))
  })

  it('lets a run continue after its signal where it is allowed, within the drain timeout', async () => {
    const slow = async ({ sleep, bus }: Context): Promise<void> => {
      await sleep(60_000).catch(() => {})
      for await (const _ of bus.subscribe('bye')) return
    }
    expect(await faultsOf(probe(slow))).toEqual([]) // Its subscription ends with the signal.
  })
})

describe('a run that would never end reports what it waits for', () => {
  it('on a real timer', async () => {
    let timer: NodeJS.Timeout | undefined
    const sleeper = async ({ kv }: Context): Promise<void> => {
      await kv.get('x')
      await new Promise((resolve) => void (timer = setTimeout(resolve, 60_000)))
    }
    const [fault] = await faultsOf(probe(sleeper))
    clearTimeout(timer)
    expect(fault?.name).toBe('stuck')
    expect(fault?.message).toBe(
      'slot 0: run has waited 0.2 s for something outside of its context, ' +
        "and virtual time stands still meanwhile; its last call was kv.get('x'), at 0 s; " +
        'it has open: a timer of the real clock (setTimeout and the like; context.sleep runs on virtual time). ' +
        'Wait for it with a deadline (AbortSignal.timeout), or allow more with maxWaitSeconds',
    )
  })

  it('on a connection without a response', async () => {
    const { createServer, connect } = await import('node:net')
    const server = createServer(() => {}).listen(0, '127.0.0.1')
    await new Promise((resolve) => void server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    let hangUp = (): void => {}
    const reader = play(
      () =>
        new Promise((resolve) => {
          const socket = connect(port, '127.0.0.1').once('data', () => resolve())
          hangUp = () => void socket.destroy()
        }),
    )
    const [fault] = await faultsOf(reader)
    hangUp()
    server.close()
    expect(fault?.message).toMatch(/^slot 0, task "task-1": run has waited .* it has open: a connection\./)
  })

  it('on a promise that never settles', async () => {
    expect(await faultsOf(play(never))).toEqual(
      saying('stuck', 'it has not called its context; it has no timer, connection or file open'),
    )
  })

  it(
    'in a loop that never waits',
    async () => {
      const [fault] = await faultsOf(
        probe(async ({ emit, signal }) => {
          while (!signal.aborted) await emit({})
        }),
      )
      expect(fault).toEqual({
        name: 'stuck',
        message:
          'slot 0: run made 100000 calls of its context and never waited; ' +
          'a loop needs a sleep, or an end when signal.aborted',
      })
    },
    BUSY_MS,
  ) // A hundred thousand calls.

  it(
    'in a wait of the context that exceeds the time limit',
    async () => {
      expect(await faultsOf(play(({ sleep }) => sleep(1e9)))).toEqual(
        saying(
          'stuck',
          'after 600 virtual seconds not every task is done: ' +
            '"task-1" runs in slot 0 since 0 s; slot 0, task "task-1": its last call was sleep(1000000000), at 0 s',
        ),
      )
    },
    BUSY_MS,
  )

  it('without a slot', async () => {
    const idle = runBatch(defineBatch({ type: 'idle', payload: {}, run: () => {} }), {
      tasks: [{ payload: {} }],
      config: { enabled: false },
    })
    expect(await faultsOf(idle)).toEqual(
      saying('stuck', '"task-1" is pending; no slot runs a task (enabled: false, slots: 1)'),
    )
  })

  it('with the faults found before', async () => {
    const names = (
      await faultsOf(
        play(async ({ emit, sleep }) => {
          void emit({ n: 1 })
          await emit({ n: 1.5 }).catch(() => {})
          await sleep(1e9)
        }),
      )
    ).map(({ name }) => name)
    expect(names).toEqual(['stuck', 'output'])
  })
})
