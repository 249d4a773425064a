/**
 * The process of a group of clients, which call a store through the real Redis backend and record their calls.
 * Usage: node client.ts OPTIONS, with ClientOptions as JSON. Commands arrive on stdin, one JSON text a line, and each
 * gets one reply on stdout.
 */
import { openSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { seededRandom, systemTime } from '../../src/runtime/index.ts'
import type { Backend } from '../../src/storage/index.ts'
import { parseStoreUrl, RedisBackend } from '../../src/storage/redis/index.ts'
import { History } from '../kit/history.ts'
import { partsOf, StoreCalls } from './calls.ts'
import { withDefect } from './defects.ts'
import { GROUPS, Load } from './load.ts'
import type { ClientCommand, ClientOptions, ClientReply } from './protocol.ts'

const OPEN_WITHIN_MS = 30_000
const TELL_EVERY_MS = 250
const RETRY_MS = 20
const BATCH = 200
const NS_PER_MS = 1_000_000
/** A key that no client uses. */
const PROBE = { key: 'probe', value: '1', ttlMs: null }

const options = JSON.parse(process.argv[2] ?? '{}') as ClientOptions
const reply = (message: ClientReply): void => void process.stdout.write(`${JSON.stringify(message)}\n`)
const nowNs = (): number => Number(process.hrtime.bigint())

/** Lets calls pass, or holds all of them. */
class Gate {
  #isHeld = false
  #underWay = 0
  #waiting: (() => void)[] = []
  #onIdle: () => void = () => undefined

  /** Resolves when a call may begin. @returns a function to call after it. */
  readonly enter = async (): Promise<() => void> => {
    while (this.#isHeld) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    return this.pass()
  }

  /** Counts a call that may begin also while others are held. */
  readonly pass = (): (() => void) => {
    this.#underWay += 1
    return () => {
      this.#underWay -= 1
      if (this.#underWay === 0) this.#onIdle()
    }
  }

  /** Resolves when no call is under way. */
  async hold(): Promise<void> {
    this.#isHeld = true
    if (this.#underWay > 0) await new Promise<void>((resolve) => void (this.#onIdle = resolve))
  }

  open(): void {
    this.#isHeld = false
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

async function opened(): Promise<Backend> {
  const backend = new RedisBackend({
    url: parseStoreUrl(options.url),
    time: systemTime,
    random: seededRandom(options.seed),
  })
  await backend.open(AbortSignal.timeout(OPEN_WITHIN_MS))
  return backend
}

/** Repeats a call that has no effect of its own until the store takes it. */
async function untilServed(call: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await call()
      return
    } catch {
      await systemTime.sleep(RETRY_MS)
    }
  }
}

async function recoverAll(calls: StoreCalls, keys: Extract<ClientCommand, { kind: 'recover' }>['keys']): Promise<void> {
  for (const [kind, some] of Object.entries(keys))
    for (const group of GROUPS) {
      const ofGroup = some.filter((key) => partsOf(key)[0] === group)
      for (let from = 0; from < ofGroup.length; from += BATCH)
        await calls.recover(kind as keyof typeof keys, ofGroup.slice(from, from + BATCH))
    }
}

async function main(): Promise<void> {
  const file = openSync(options.history, 'a')
  const history = new History((line) => void writeSync(file, `${line}\n`), nowNs)
  const gate = new Gate()
  const store = await opened()
  const backend = withDefect(store, options.defect ?? null)
  const calls = new StoreCalls(backend, history, options.name, gate.enter)
  const recovery = new StoreCalls(store, history, `${options.name}-recovery`, () => Promise.resolve(gate.pass()))
  const load = new Load({
    calls,
    random: seededRandom(options.seed),
    nowMs: () => nowNs() / NS_PER_MS,
    sleep: (ms) => systemTime.sleep(ms),
    process: options.name,
    roundMs: options.roundMs,
    hasDeadlines: options.hasDeadlines,
  })
  const prepare = async (): Promise<void> => {
    for (const group of GROUPS) await untilServed(() => calls.prepare(group))
  }
  await prepare()
  await gate.hold()
  const clients = Promise.all(Array.from({ length: options.clients }, () => load.run()))
  let comparing = Promise.resolve()
  const cancel = systemTime.every(TELL_EVERY_MS, () => reply({ kind: 'tally', ...calls.tally }))
  reply({ kind: 'ready' })

  const handle = async (command: ClientCommand): Promise<void> => {
    switch (command.kind) {
      case 'hold':
        await gate.hold()
        return reply({ kind: 'held' })
      case 'resume':
        gate.open()
        comparing = load.compareGenerations()
        return reply({ kind: 'resumed' })
      case 'probe':
        await Promise.all(GROUPS.map((group) => untilServed(() => store.kv.set(group, [PROBE]))))
        return reply({ kind: 'served' })
      case 'recover':
        await recoverAll(recovery, command.keys)
        await prepare()
        return reply({ kind: 'recovered' })
      case 'store': {
        const { epoch, nowMs } = await store.meta.info()
        return reply({ kind: 'store', epoch, nowMs })
      }
      case 'end':
        load.end()
        gate.open()
        await Promise.all([clients, comparing])
        cancel()
        await store.close()
        reply({
          kind: 'ended',
          ...calls.tally,
          regressions: load.regressions,
          unexpected: [...calls.unexpected, ...recovery.unexpected],
        })
        process.exit(0)
    }
  }
  // Commands overlap: a probe may wait for a store while calls are being held.
  for await (const line of createInterface({ input: process.stdin })) void handle(JSON.parse(line) as ClientCommand)
}

await main()
