/** Kills a process with the store under load at random moments. Everything that it had confirmed must be stored. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, it } from '@jest/globals'
import { seededRandom, systemTime, type Random } from '../../../src/runtime/index.ts'
import { backendOn, folders } from './fixture.ts'
import type { Line } from './writer.ts'
import type { SqliteBackend } from '../../../src/storage/sqlite/index.ts'

const WRITER = join(import.meta.dirname, 'writer.ts')
const TYPE = 'render'
const ROUNDS = 20
const running = new Set<ChildProcess>()

afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
})

/** Everything that was confirmed in all runs of the store. */
class History {
  readonly submitted = new Set<string>()
  readonly acked = new Map<string, number>()
  readonly tokens = new Set<number>()
  /** The newest lease of each task. */
  readonly leased = new Map<string, number>()
  readonly popped = new Set<string>()
  readonly violations: string[] = []
  pushed = 0
  lastPopped = 0
  kv = 0
  counter = 0
  gen = 0

  note(line: Line): void {
    switch (line.op) {
      case 'submit':
        for (const id of line.ids) this.submitted.add(id)
        return
      case 'reserve':
        for (const [i, token] of line.tokens.entries()) {
          this.check(!this.tokens.has(token), `token ${token} was issued twice`)
          this.check(!this.acked.has(line.ids[i] ?? ''), `${line.ids[i]} was delivered after its ack`)
          this.tokens.add(token)
          this.leased.set(line.ids[i] ?? '', token)
        }
        return
      case 'ack':
        for (const [i, id] of line.ids.entries()) this.acked.set(id, line.tokens[i] ?? 0)
        return
      case 'push':
        this.pushed = Math.max(this.pushed, ...line.numbers)
        return
      case 'pop':
        for (const id of line.ids) this.check(!this.popped.has(id), `entry ${id} was popped twice`)
        for (const id of line.ids) this.popped.add(id)
        this.lastPopped = Math.max(this.lastPopped, ...line.numbers)
        return
      case 'kv':
        this.kv = line.value
        return
      case 'counter':
        this.check(line.value > this.counter, `the counter fell from ${this.counter} to ${line.value}`)
        this.counter = line.value
        return
      case 'gen':
        this.check(line.value > this.gen, `generation ${line.value} was issued twice`)
        this.gen = line.value
        return
      case 'open':
      case 'refused':
    }
  }

  check(holds: boolean, violation: string): void {
    if (!holds) this.violations.push(violation)
  }

  /** Compares the reopened store with the confirmed results. */
  async judge(backend: SqliteBackend): Promise<void> {
    for (const ids of slices([...this.submitted], 500)) {
      const places = await backend.tasks.locate(TYPE, ids)
      for (const [i, id] of ids.entries()) {
        if (this.acked.has(id)) this.check(places[i] === null, `${id} was acked and is still ${places[i]}`)
        else if (places[i] === null) this.check(await this.#wasAcked(backend, id), `${id} was submitted and is gone`)
      }
    }
    for (const leases of slices(
      [...this.acked].map(([id, token]) => ({ id, token })),
      500,
    )) {
      const results = await backend.tasks.ack(TYPE, leases)
      this.check(
        results.every((answer) => answer === 'ok'),
        'an ack is not remembered',
      )
    }
    const [value] = await backend.kv.get('n', ['k'])
    this.check(Number(value ?? 0) >= this.kv, `the value ${this.kv} is lost`)
    this.check(Number((await backend.counters.get('n', ['c']))[0]) >= this.counter, `the count ${this.counter} is lost`)
    const [config] = await backend.configs.get([{ type: TYPE, id: 'w1' }])
    this.check((config?.gen ?? 0) >= this.gen, `generation ${this.gen} is lost`)
    const [newest] = (await backend.streams.tail(TYPE, null, 1)).entries
    this.check(newest === undefined || Number(newest.entry) >= this.pushed, `entry ${this.pushed} is lost`)
    const [oldest] = await backend.streams.peek(TYPE, 1)
    this.check(oldest === undefined || !this.popped.has(oldest.id), 'a popped entry is back')
    this.check(
      oldest === undefined || Number(oldest.entry) <= this.lastPopped + 4,
      `entries behind ${this.lastPopped} are lost`,
    )
  }

  /**
   * The kill may have cut off the response to an ack. In that case the store knows the lease, and repeating the ack
   * succeeds.
   */
  async #wasAcked(backend: SqliteBackend, id: string): Promise<boolean> {
    const token = this.leased.get(id)
    if (token === undefined || (await backend.tasks.ack(TYPE, [{ id, token }]))[0] !== 'ok') return false
    this.acked.set(id, token)
    return true
  }
}

function slices<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size))
}

/** Runs the writer, kills it after `results` lines of output, and records the lines. */
async function killedAfter(
  results: number,
  file: string,
  run: string,
  history: History,
  ...more: readonly string[]
): Promise<void> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', WRITER, file, run, ...more], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] ?? '' },
  })
  running.add(child)
  const ended = once(child, 'close')
  let received = 0
  for await (const text of createInterface({ input: child.stdout })) {
    // Reads to the end, because lines written before the kill count.
    history.note(JSON.parse(text) as Line)
    received += 1
    if (received === results) child.kill('SIGKILL')
  }
  await ended
  running.delete(child)
  expect(received).toBeGreaterThanOrEqual(results)
}

async function round(
  file: string,
  run: string,
  random: Random,
  history: History,
  ...more: readonly string[]
): Promise<void> {
  await killedAfter(2 + Math.floor(random.unit() * 120), file, run, history, ...more)
  const backend = backendOn(file, systemTime)
  await backend.open(AbortSignal.timeout(30_000))
  await history.judge(backend)
  await backend.close()
}

describe('a SQLite store whose process is killed', () => {
  const folder = folders()

  it('has everything it confirmed, delivers no acked task and issues no token twice (G1)', async () => {
    const { file } = folder()
    const [history, random] = [new History(), seededRandom(20_261_121)]
    for (let i = 0; i < ROUNDS; i += 1) await round(file, `r${i}`, random, history)
    expect(history.violations).toEqual([])
    expect(history.acked.size).toBeGreaterThan(50)
  }, 180_000)

  it('fails this test if it confirms before its commit', async () => {
    const { file } = folder()
    const [history, random] = [new History(), seededRandom(7)]
    for (let i = 0; i < 10 && history.violations.length === 0; i += 1)
      await round(file, `r${i}`, random, history, 'late')
    expect(history.violations).not.toEqual([])
  }, 180_000)

  it('rejects a second process while the first one runs, and accepts it after a kill', async () => {
    const { file } = folder()
    const backend = backendOn(file, systemTime)
    await backend.open(AbortSignal.timeout(30_000))
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', WRITER, file, 'second'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    running.add(child)
    const lines: Line[] = []
    for await (const text of createInterface({ input: child.stdout })) lines.push(JSON.parse(text) as Line)
    running.delete(child)
    expect(lines).toEqual([
      expect.objectContaining({
        op: 'refused',
        code: 'STORAGE_LOCKED',
        message: expect.stringContaining('another master uses this file'),
      }),
    ])
    await backend.close()
    const history = new History()
    await round(file, 'third', seededRandom(3), history)
    expect(history.violations).toEqual([])
  }, 60_000)
})
