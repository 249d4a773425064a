/**
 * Tests the rotation of the worker token (the three steps of the specification) under load, with a real master, real
 * workers and a client that submits tasks throughout. No acknowledged task is lost and no worker is rejected. A worker
 * is disconnected only while it reconnects.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Fleet, WORKER_TOKEN, type Proc } from './fleet.ts'
import { eventually } from '../kit/index.ts'

const NEW_TOKEN = 'worker-token-that-is-new'
const QUICK = '/automations/quick'
const IDS = ['q-1', 'q-2', 'q-3']
/** The first reconnect attempts are 1, 2 and 4 s apart, so reconnecting may take this long. */
const BACK_WITHIN_MS = 10_000

const worlds: Rotation[] = []
afterEach(async () => {
  await Promise.all(worlds.splice(0).map((fixture) => fixture.stop()))
})
function open(): Rotation {
  const fixture = new Rotation()
  worlds.push(fixture)
  return fixture
}

type Settings = Readonly<Record<string, string>>

class Rotation {
  readonly fleet = new Fleet()
  readonly #settings: Settings = {
    SVC_AUTOMATIONS: join(process.cwd(), 'test/e2e/automations/outage.mjs'),
    NOTES: join(this.fleet.directory, 'notes'),
  }
  readonly #workers = new Map<string, Proc>()
  readonly #everything: Proc[] = []
  readonly acknowledged: string[] = []
  #submitting = true
  #submitter: Promise<void> | null = null
  #master: Proc | null = null

  /** Starts a fleet and a client that submits tasks. */
  async start(ofMaster: Settings = {}, ofWorkers: Settings = {}): Promise<void> {
    await this.#startMaster(ofMaster)
    for (const id of IDS) await this.#startWorker(id, ofWorkers)
    for (const id of IDS) await this.fleet.configure('quick', id, { enabled: true, slots: 4 })
    this.#submitter = this.#submit()
    await eventually('tasks are done', async () => this.#done().size > 20, { context: () => this.seen() })
  }

  file(name: string): string {
    return join(this.fleet.directory, name)
  }

  /** Writes atomically, so that a reader never sees a partial file. */
  write(name: string, text: string): void {
    writeFileSync(this.file('next'), text)
    renameSync(this.file('next'), this.file(name))
  }

  async restartMaster(tokens: Settings): Promise<void> {
    this.#master?.child.kill('SIGTERM')
    expect(await this.#master?.exited).toBe(0)
    await this.#startMaster(tokens)
    await this.allBack()
  }

  async #startMaster(tokens: Settings): Promise<void> {
    this.#master = await this.fleet.startMaster(
      { ...this.#settings, ...tokens },
      'SVC_WORKER_TOKEN_FILE' in tokens ? ['SVC_WORKER_TOKEN'] : [],
    )
    this.#everything.push(this.#master)
  }

  async #startWorker(id: string, settings: Settings): Promise<void> {
    const worker = this.fleet.startWorker('quick', id, { ...this.#settings, ...settings })
    this.#everything.push(worker)
    this.#workers.set(id, worker)
    await this.#back(id)
  }

  /** Stops a worker cleanly and starts it again. */
  async moveWorker(id: string, settings: Settings): Promise<void> {
    const worker = this.#workers.get(id)
    worker?.child.kill('SIGTERM')
    expect(await worker?.exited).toBe(0)
    await this.#startWorker(id, settings)
  }

  async allBack(): Promise<void> {
    for (const id of IDS) await this.#back(id)
  }

  async #back(id: string): Promise<void> {
    await eventually(
      `${id} is connected`,
      async () =>
        (await this.fleet.call<{ connected?: boolean }>('GET', `${QUICK}/workers/${id}`)).body.connected === true,
      { context: () => this.seen(), withinMs: BACK_WITHIN_MS },
    )
  }

  /** Whether the old and the new token are accepted on worker routes. */
  async accepted(): Promise<{ readonly old: boolean; readonly new: boolean }> {
    const opens = async (token: string): Promise<boolean> =>
      (
        await fetch(`${this.fleet.url}/api/v1${QUICK}/workers/${IDS[0]}/config`, {
          headers: { authorization: `Bearer ${token}` },
        })
      ).status === 200
    return { old: await opens(WORKER_TOKEN), new: await opens(NEW_TOKEN) }
  }

  /** Number of control sockets that this master closed because of their token. */
  async rejectedCount(): Promise<number> {
    const text = await (await fetch(`${this.fleet.url}/metrics`)).text()
    return Number(/^svc_control_closed_total\{code="4401"\} (\d+)$/m.exec(text)?.[1] ?? 0)
  }

  /** Continues for a while after the last step, then stops submitting. Resolves when every task is done. */
  async finish(): Promise<void> {
    const before = this.acknowledged.length
    await eventually('tasks are acknowledged after the last step', async () => this.acknowledged.length > before + 20, {
      context: () => this.seen(),
    })
    this.#submitting = false
    await this.#submitter
    await eventually(
      'every task was done',
      async () => {
        const done = this.#done()
        return this.acknowledged.every((id) => done.has(id))
      },
      { context: () => this.seen(), withinMs: 60_000 },
    )
    await eventually(
      'the queue is empty',
      async () => (await this.fleet.ok<{ length: number }>('GET', `${QUICK}/queue`)).length === 0,
    )
    expect(await this.fleet.ok('GET', `${QUICK}/dead`)).toMatchObject({ length: 0 })
  }

  #done(): ReadonlySet<string> {
    const file = this.file('notes')
    return new Set(
      existsSync(file)
        ? readFileSync(file, 'utf8')
            .split('\n')
            .map((line) => line.split(' ')[0] ?? '')
        : [],
    )
  }

  seen(): string {
    return this.#everything.map(({ output }) => output()).join('\n')
  }

  async stop(): Promise<void> {
    this.#submitting = false
    await this.fleet.stop()
    await this.#submitter
  }

  /** Submits one task after the other. A task that is not acknowledged is submitted again with the same id. */
  async #submit(): Promise<void> {
    for (let n = 0; this.#submitting; n += 1) {
      const id = `t${n}`
      while (this.#submitting) {
        const answer = await this.fleet
          .call('POST', `${QUICK}/tasks`, { payload: { ms: 5 }, task_id: id })
          .catch(() => null)
        if (answer?.status === 200) {
          this.acknowledged.push(id)
          break
        }
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
}

describe('the rotation of the worker token', () => {
  it('loses no task and rejects no worker in the three steps of the specification', async () => {
    const fixture = open()
    await fixture.start()
    expect(await fixture.accepted()).toEqual({ old: true, new: false })
    await fixture.restartMaster({ SVC_WORKER_TOKENS: NEW_TOKEN }) // 1: both tokens are accepted
    expect(await fixture.accepted()).toEqual({ old: true, new: true })
    for (const id of IDS) await fixture.moveWorker(id, { SVC_WORKER_TOKEN: NEW_TOKEN }) // 2: workers move one at a time
    await fixture.restartMaster({ SVC_WORKER_TOKEN: NEW_TOKEN }) // 3: the old token stops working
    expect(await fixture.accepted()).toEqual({ old: false, new: true })
    await fixture.finish()
    expect(fixture.seen()).not.toContain('rejected the worker token')
  }, 180_000)

  it('needs no restart with token files: a worker reconnects once, when its old token is removed (D22)', async () => {
    const fixture = open()
    fixture.write('worker', WORKER_TOKEN)
    fixture.write('peers', '')
    fixture.write('of-workers', WORKER_TOKEN)
    await fixture.start(
      { SVC_WORKER_TOKEN_FILE: fixture.file('worker'), SVC_WORKER_TOKENS_FILE: fixture.file('peers') },
      { SVC_WORKER_TOKEN: '', SVC_WORKER_TOKEN_FILE: fixture.file('of-workers') },
    )
    fixture.write('peers', NEW_TOKEN) // 1
    await eventually('both are accepted', async () => (await fixture.accepted()).new)
    fixture.write('of-workers', NEW_TOKEN) // 2
    await eventually(
      'the workers have read it',
      async () => fixture.seen().split('SVC_WORKER_TOKEN was rotated').length === IDS.length + 1,
      { context: () => fixture.seen() },
    )
    expect(await fixture.rejectedCount()).toBe(0)
    fixture.write('worker', NEW_TOKEN) // 3
    fixture.write('peers', '')
    await eventually('the old token is rejected', async () => !(await fixture.accepted()).old, {
      context: () => fixture.seen(),
      withinMs: 6_000,
    })
    await eventually('their sockets are closed', async () => (await fixture.rejectedCount()) === IDS.length, {
      context: () => fixture.seen(),
      withinMs: 6_000,
    })
    await fixture.allBack()
    await fixture.finish()
    expect(await fixture.rejectedCount()).toBe(IDS.length)
    expect(await fixture.accepted()).toEqual({ old: false, new: true })
  }, 180_000)
})
