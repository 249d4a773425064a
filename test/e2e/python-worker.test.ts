/**
 * Tests the worker of clients/python as a process, against real masters. Each scenario runs on all stores at the same
 * time: SQLite, and Redis where it is installed.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { eventually, SLACK } from '../kit/index.ts'
import { PYTHON, PYTHON_CLIENT, PYTHON_ENVIRONMENT, withPythonClient } from '../kit/python-client.ts'
import { REDIS_SERVER, startRedis, type RedisServer } from '../kit/redis-server.ts'
import { freePort } from './fleet.ts'
import { PROGRAM, PythonFixture } from './python-fixture.ts'
import { Relay } from './relay.ts'

const AUTOMATIONS = { SVC_AUTOMATIONS: join(process.cwd(), 'test/e2e/automations/python.mjs') }
/** The value of a `writeOnly` field. */
const SECRET = 'correct-horse-battery'

const MASKED_FAILURE = 'ValueError: ******** failed after 17 ms'

interface LogsBody {
  readonly entries: readonly object[]
  readonly next: number
}
interface RpcResult {
  readonly result?: { readonly results: readonly { readonly ok: boolean; readonly error?: string }[] }
  readonly error?: { readonly code: number }
}
/** The code of JSON-RPC for a wrong parameter. */
const INVALID_PARAMS = -32_602
const byName = ([a]: [string, number], [b]: [string, number]): number => a.localeCompare(b)

/** Writes the files of the example in clients/python/README.md into the folder of the fixture. */
function writeExample(fixture: PythonFixture, edited: (text: string) => string = (text) => text): void {
  const page = readFileSync(join(PYTHON_CLIENT, 'README.md'), 'utf8')
  for (const [, name = '', text = ''] of page.matchAll(/^```(?:yaml|python) (\S+)\n([^]*?)^```$/gm))
    writeFileSync(fixture.file(name), edited(text))
}

withPythonClient('a Python worker', () => {
  describe('a Python worker', () => {
    const fixtures: PythonFixture[] = []
    let redis: RedisServer | undefined

    beforeAll(async () => {
      fixtures.push(new PythonFixture('sqlite'))
      if (REDIS_SERVER !== undefined) {
        redis = await startRedis({ appendfsync: 'everysec' })
        fixtures.push(new PythonFixture('redis', redis.url))
      }
      await Promise.all(fixtures.map(({ fleet }) => fleet.startMaster(AUTOMATIONS)))
    }, 60_000)
    afterEach(async () => void (await Promise.all(fixtures.map((fixture) => fixture.killWorkers()))))
    afterAll(async () => {
      await Promise.all(fixtures.map(({ fleet }) => fleet.stop()))
      await redis?.close()
    })

    if (REDIS_SERVER === undefined) it.skip('redis-server is not installed', () => undefined)

    /** Defines a test that runs a scenario on every store. */
    function onEveryStore(title: string, scenario: (fixture: PythonFixture) => Promise<void>, withinMs = 60_000): void {
      it(title, async () => void (await Promise.all(fixtures.map(scenario))), withinMs)
    }

    onEveryStore('runs tasks, acknowledges them, and keeps its outputs in order (G1, G10)', async (fixture) => {
      const worker = await fixture.worker('py', 'runs', 2)
      const ids = await fixture.submit('py', [
        { do: 'emit', n: 1_500 },
        { do: 'emit', n: 1_500 },
      ])
      const outputs = await fixture.outputs('py', 3_000, worker)
      for (const id of ids)
        expect(outputs.filter(({ task_id }) => task_id === id).map(({ n }) => n)).toEqual(
          Array.from({ length: 1_500 }, (_, n) => n),
        )
      await fixture.isDone('py', ids, worker)
      expect(await fixture.record('py', 'runs')).toMatchObject({ connected: true, state: 'RUNNING', last_error: null })
      expect(await fixture.terminate(worker)).toBe(0)
      expect(existsSync(fixture.file(`${worker.child.pid}.exit`))).toBe(true) // Its exit handlers have run.
    })

    onEveryStore('retries a failed task, and gives up on a permanent failure without its secret', async (fixture) => {
      const worker = await fixture.worker('py', 'fails')
      await fixture.fleet.configure('py', 'fails', { password: SECRET })
      await eventually('the secret is applied', async () => {
        const { applied_config_gen: gen } = await fixture.record('py', 'fails')
        return gen !== null && gen >= 2
      })
      const [retried = ''] = await fixture.submit('py', [{ do: 'fail twice' }], { max_attempts: 5 })
      expect(await fixture.outputs('py', 1, worker)).toEqual([{ attempt: 2, last_progress: { attempt: 1 } }])
      await fixture.isDone('py', [retried], worker)

      await fixture.submit('py', [{ do: 'give up' }], { max_attempts: 5 })
      await fixture.submit('py', [{ do: 'exit' }], { max_attempts: 1 })
      const dead = '/automations/py/dead'
      await eventually('both tasks are dead', async () => (await fixture.length(dead)) === 2, {
        context: worker.output,
      })
      const letters = await fixture.fleet.ok<{ items: { last_error: string }[] }>('GET', dead)
      expect(letters.items.map(({ last_error }) => last_error).toSorted()).toEqual([
        'SystemExit: a run must not end the worker',
        'the password is ********',
      ])
      expect(worker.output()).not.toContain(SECRET)
      await eventually('the record shows the error', async () => {
        const { state, last_error: lastError } = await fixture.record('py', 'fails')
        return state === 'ERROR' && lastError !== null
      })
      expect(await fixture.terminate(worker)).toBe(0)
    })

    onEveryStore(
      'shows its log, and names slot and task of its outputs, claims and runs (D181, D186, D188, D196)',
      async (fixture) => {
        const { fleet } = fixture
        const worker = await fixture.worker('py-long', 'logs')
        const gen = await fleet.configure('py-long', 'logs', { password: SECRET })
        await eventually('the secret is applied', async () => {
          const { applied_config_gen: applied } = await fixture.record('py-long', 'logs')
          return applied === gen
        })
        const [id = ''] = await fixture.submit('py-long', [{ do: 'log', name: 'logs' }], { max_attempts: 1 })
        await fixture.exists('logs.started', worker)
        const path = '/automations/py-long/workers/logs'
        const ofTask = await fleet.ok<LogsBody>('GET', `${path}/logs?task_id=${id}&level=info`)
        expect(ofTask).toMatchObject({
          has_more: false,
          missed: 0,
          entries: [
            {
              level: 'info',
              message: 'login with ********',
              slot_id: 0,
              task_id: id,
              attempt: 0,
              fields: { headers: { auth: ['********'] }, n: 1 },
            },
          ],
        })
        const claims = await fleet.ok('GET', '/pools/held/claims')
        expect(claims).toMatchObject({ claims: [{ worker_id: 'logs', slot_id: 0, task_id: id }] })
        await eventually('its output names the task', async () => {
          const outputs = await fleet.ok<unknown[]>('GET', '/automations/py-long/output/peek')
          return JSON.stringify(outputs).includes(`"task_id":"${id}"`)
        })
        await eventually(
          'its statistics name the task',
          async () => JSON.stringify(await fixture.record('py-long', 'logs')).includes(`"task_id":"${id}"`),
          { withinMs: 40_000 },
        )

        writeFileSync(fixture.file('logs.go'), '')
        let later: readonly object[] = []
        await eventually('the failure is in the log', async () => {
          const page = await fleet.ok<LogsBody>('GET', `${path}/logs?after=${ofTask.next}&task_id=${id}`)
          later = page.entries
          return later.length > 0
        })
        expect(later).toMatchObject([
          { level: 'warn', message: 'the task failed', task_id: id, attempt: 0, fields: { error: MASKED_FAILURE } },
        ])
        expect(JSON.stringify(await fleet.ok('GET', `${path}/logs?after=0&limit=1000`))).not.toContain(SECRET)
        await eventually(
          'its statistics count the error',
          async () => {
            const runs = JSON.stringify(await fleet.ok('GET', '/automations/py-long/runs?worker_id=logs'))
            return runs.includes('"died":1') && runs.includes('"last_error_runs":1')
          },
          { withinMs: 10_000 },
        )
        await fleet.ok('DELETE', '/automations/py-long/dead')
        await fixture.outputs('py-long', 1, worker)
        expect(await fixture.terminate(worker)).toBe(0)
      },
      90_000,
    )

    onEveryStore('runs plain functions in threads, continuous functions, and the primitives', async (fixture) => {
      const plain = await fixture.worker('py-plain', 'plain', 4, { SVC_DRAIN_TIMEOUT_SECONDS: '0.5' })
      const ticks = await fixture.worker('py-ticks', 'ticks', 2)
      const batch = await fixture.worker('py', 'primitives')
      await fixture.submit(
        'py-plain',
        Array.from({ length: 20 }, () => ({ do: 'emit' })),
      )
      const outputs = await fixture.outputs('py-plain', 20, plain)
      expect(outputs.map(({ n }) => n as number).toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 20 }, (_, n) => n + 1),
      )
      const ids = await fixture.submit('py', [{ do: 'primitives' }])
      await fixture.isDone('py', ids, batch)
      expect(await fixture.outputs('py', 1, batch)).toEqual([
        { value: { text: '\u{1f389}' }, refused: true, again: [2, 2], seat: 'a' },
      ])
      await fixture.outputs('py-ticks', 4, ticks)
      await fixture.fleet.configure('py-ticks', 'ticks', { enabled: false })
      await eventually('the worker is idle', async () => (await fixture.record('py-ticks', 'ticks')).state === 'IDLE')

      await fixture.submit('py-plain', [{ do: 'wait' }])
      await fixture.exists('plain.waits', plain)
      expect(await Promise.all([plain, ticks, batch].map((each) => fixture.terminate(each)))).toEqual([0, 0, 0])
      expect(readFileSync(fixture.file('plain.why'), 'utf8')).toBe('shutdown')
    })

    onEveryStore('applies a config without disturbing a running task (D15)', async (fixture) => {
      const worker = await fixture.worker('py', 'config')
      await fixture.submit('py', [{ do: 'hold', name: 'config' }])
      await fixture.exists('config.started', worker)
      const gen = await fixture.fleet.configure('py', 'config', { greeting: 'ahoy', slots: 2 })
      const savedMs = performance.now()
      await eventually(
        'the config is applied',
        async () => (await fixture.record('py', 'config')).applied_config_gen === gen,
        { context: worker.output },
      )
      expect(performance.now() - savedMs).toBeLessThan(2_000 * SLACK)
      await fixture.submit('py', [{ do: 'emit', n: 1 }])
      expect(await fixture.outputs('py', 1, worker)).toMatchObject([{ greeting: 'ahoy' }])
      writeFileSync(fixture.file('config.go'), '')
      expect(await fixture.outputs('py', 1, worker)).toMatchObject([{ name: 'config', attempt: 0 }])
      expect(await fixture.terminate(worker)).toBe(0)
    })

    onEveryStore('drains: it finishes its task, takes no new one, and exits with 0 (G14)', async (fixture) => {
      const worker = await fixture.worker('py', 'drained')
      await fixture.submit('py', [{ do: 'hold', name: 'drain' }])
      await fixture.exists('drain.started', worker)
      await fixture.fleet.ok('POST', '/automations/py/workers/drained/drain')
      await eventually('the worker is draining', () => worker.output().includes('worker draining'))
      const [later = ''] = await fixture.submit('py', [{ do: 'emit', n: 1 }])
      writeFileSync(fixture.file('drain.go'), '')
      expect(await worker.exited).toBe(0)
      expect(await fixture.outputs('py', 1, worker)).toMatchObject([{ name: 'drain', attempt: 0 }])
      expect(await fixture.length('/automations/py/queue')).toBe(1)
      expect(await fixture.fleet.ok('GET', `/automations/py/tasks/${later}`)).toMatchObject({ place: 'pending' })

      const next = await fixture.worker('py', 'after-drain')
      await fixture.outputs('py', 1, next)
      expect(await fixture.terminate(next)).toBe(0)
    })

    onEveryStore('on SIGTERM releases what does not end in time, and exits with 0 (D53)', async (fixture) => {
      const worker = await fixture.worker('py', 'stopped', 1, { SVC_DRAIN_TIMEOUT_SECONDS: '0.3' })
      const [task = ''] = await fixture.submit('py', [{ do: 'end the second time' }], { max_attempts: 1 })
      await fixture.exists('never.started', worker)
      expect(await fixture.terminate(worker)).toBe(0)
      expect(readFileSync(fixture.file('never.why'), 'utf8')).toBe('shutdown')
      expect(await fixture.fleet.ok('GET', '/automations/py/queue')).toMatchObject({
        items: [{ id: task, attempt: 0 }],
      })

      const next = await fixture.worker('py', 'after-stop')
      await fixture.isDone('py', [task], next)
      expect(await fixture.terminate(next)).toBe(0)
    })

    onEveryStore(
      'redelivers the tasks of a killed and of a frozen worker, whose late outcome has no effect (G1, D24)',
      async (fixture) => {
        const [killed, frozen] = await Promise.all([fixture.worker('py', 'killed'), fixture.worker('py', 'frozen')])
        const ids = await fixture.submit('py', [
          { do: 'hold', name: 'one' },
          { do: 'hold', name: 'two' },
        ])
        await Promise.all([fixture.exists('one.started', killed), fixture.exists('two.started', frozen)])
        killed.child.kill('SIGKILL')
        frozen.child.kill('SIGSTOP')
        writeFileSync(fixture.file('one.go'), '')
        writeFileSync(fixture.file('two.go'), '')
        const heir = await fixture.worker('py', 'heir', 2)
        const outputs = await fixture.outputs('py', 2, heir)
        expect(outputs.map(({ name, pid }) => [name, pid] as [string, number]).toSorted(byName)).toEqual([
          ['one', heir.child.pid],
          ['two', heir.child.pid],
        ])
        await fixture.isDone('py', ids, heir)

        frozen.child.kill('SIGCONT')
        await eventually('the late outcome is rejected', () => /lease (had expired|lost)/.test(frozen.output()), {
          context: frozen.output,
        })
        const [again = ''] = await fixture.submit('py', [{ do: 'emit', n: 1 }])
        await fixture.isDone('py', [again], frozen)
        expect(await fixture.length('/automations/py/queue')).toBe(0)
        expect(await Promise.all([heir, frozen].map((each) => fixture.terminate(each)))).toEqual([0, 0])
        await fixture.fleet.ok('POST', '/automations/py/output/pop', { n: 10_000 })
      },
    )

    onEveryStore(
      'survives a restart of the master: the task ends once, its outputs are in order (G1, G10)',
      async (fixture) => {
        const worker = await fixture.worker('py-long', 'reconnects')
        const [id = ''] = await fixture.submit('py-long', [{ do: 'hold, then emit', name: 'outage', n: 500 }])
        await fixture.exists('outage.started', worker)
        await fixture.fleet.stopMaster()
        writeFileSync(fixture.file('outage.go'), '')
        await fixture.exists('outage.emitted', worker)
        await fixture.fleet.startMaster(AUTOMATIONS)
        await fixture.isDone('py-long', [id], worker)
        const outputs = await fixture.outputs('py-long', 500, worker)
        expect(outputs.map(({ n }) => n)).toEqual(Array.from({ length: 500 }, (_, n) => n))
        expect(readFileSync(fixture.file('outage.started'), 'utf8').trim().split('\n')).toHaveLength(1)
        expect(await fixture.terminate(worker)).toBe(0)
      },
    )

    onEveryStore('that lies about tokens ends no lease: its run ends it once (G5)', async (fixture) => {
      const worker = await fixture.worker('py-long', 'liar')
      const [id = ''] = await fixture.submit('py-long', [{ do: 'lie' }])
      await fixture.isDone('py-long', [id], worker)
      const [output] = await fixture.outputs('py-long', 1, worker)
      const { responses, attempt } = output as { responses: [string, RpcResult][]; attempt: number }
      expect(attempt).toBe(0)
      expect(responses).toHaveLength(44)
      const outcomes = responses.map(([, { result, error }]) => error?.code ?? result?.results[0]?.error)
      expect(new Set(outcomes)).toEqual(new Set(['lease_lost', INVALID_PARAMS]))
      expect((await fixture.fleet.ok<{ length: number }>('GET', '/automations/py-long/dead')).length).toBe(0)
    })

    onEveryStore('streams its tasks, and loses none when a stream is cut inside a line (G1)', async (fixture) => {
      const relay = await Relay.start(fixture.fleet.url)
      try {
        const worker = await fixture.worker('py', 'streams', 2, { SVC_MASTER_URL: relay.url })
        const ids: string[] = []
        for (let round = 0; round < 10; round += 1) {
          relay.cuts = round % 3 === 2 ? 1 : 0
          ids.push(
            ...(await fixture.submit(
              'py',
              Array.from({ length: 5 }, () => ({ do: 'emit', n: 1 })),
            )),
          )
          await eventually(`${fixture.store}: a line was cut`, () => relay.cuts === 0, { context: worker.output })
        }
        await fixture.isDone('py', ids, worker)
        const outputs = await fixture.outputs('py', ids.length, worker)
        expect(outputs.map(({ task_id }) => String(task_id)).toSorted()).toEqual(ids.toSorted())
        expect(relay.lines).toBeGreaterThanOrEqual(10)
        expect(await fixture.terminate(worker)).toBe(0)
      } finally {
        await relay.close()
      }
    })

    it('exits with 2 and names every fault of its settings, but not the token', async () => {
      const worker = fixtures[0]?.fleet.startForeignWorker(
        [PYTHON, PROGRAM, '--master-url', 'ftp://x'],
        'other',
        'a/b',
        {
          ...PYTHON_ENVIRONMENT,
          FOLDER: fixtures[0].fleet.directory,
        },
      )
      expect(await worker?.exited).toBe(2)
      for (const name of ['SVC_MASTER_URL', 'SVC_WORKER_ID']) expect(worker?.output()).toContain(name)
    })

    it('runs the example of clients/python/README.md', async () => {
      const fixture = new PythonFixture('readme')
      fixtures.push(fixture)
      writeExample(fixture)
      await fixture.fleet.startMaster({ SVC_AUTOMATIONS: fixture.file('greeter.automation.yaml') })
      const worker = await fixture.worker('greeter', 'g-1', 1, {}, fixture.file('greeter.py'))
      await fixture.fleet.ok('POST', '/automations/greeter/tasks', { payload: { name: 'Ada' } })
      expect(await fixture.outputs('greeter', 1, worker)).toEqual([{ text: 'Hello, Ada', count: 1 }])
      expect(await fixture.terminate(worker)).toBe(0)
    }, 60_000)

    it('starts the worker of that example with muster dev (D108)', async () => {
      const fixture = new PythonFixture('dev')
      fixtures.push(fixture)
      const command = JSON.stringify(['python3', fixture.file('greeter.py')])
      writeExample(fixture, (text) => text.replace('[python3, greeter.py]', command))
      const dev = fixture.fleet.spawn('dev', {
        ...PYTHON_ENVIRONMENT,
        PATH: `${dirname(PYTHON)}:${process.env['PATH']}`,
        SVC_AUTOMATIONS: fixture.file('greeter.automation.yaml'),
        SVC_STATE_DIR: fixture.file('state'),
        SVC_LISTEN: `127.0.0.1:${await freePort()}`,
      })
      await eventually(
        'the Python worker is enabled',
        async () => dev.output().includes('worker   ready   dev-greeter (enabled)'),
        { context: dev.output },
      )
      dev.child.kill('SIGINT')
      expect(await dev.exited).toBe(0)
    }, 60_000)
  })
})
