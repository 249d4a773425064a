/**
 * Measures a process of the soak from inside. Preloaded with `node --expose-gc --import`, so that the product needs no
 * code for it. Sends one {@link Probe} for each message of the parent; memory is read after a full collection.
 */
import { EventEmitter, getEventListeners } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { queryObjects } from 'node:v8'

/** What the parent sends. */
export interface ProbeRequest {
  readonly id: number
  /** Walks the heap to count timers and promises, which takes a second. */
  readonly countObjects: boolean
  /** Forgets the delays of the event loop that were measured before. */
  readonly resetDelay: boolean
}

export interface Probe {
  readonly id: number
  readonly rssMib: number
  readonly heapMib: number
  readonly externalMib: number
  readonly openFiles: number
  readonly listeners: number
  /** Of the event loop since the last reset, measurements excluded. */
  readonly delayP99Ms: number
  /** How long the process has waited for a CPU since its start. */
  readonly cpuWaitMs: number
  readonly timers?: number
  readonly promises?: number
}

const MIB = 2 ** 20
const RESOLUTION_MS = 10
type Target = EventEmitter | EventTarget

const targets: WeakRef<Target>[] = []
const known = new WeakSet<Target>()

function remember(target: Target): void {
  if (known.has(target)) return
  known.add(target)
  targets.push(new WeakRef(target))
}

/** Makes every emitter and event target with a listener known. */
function watch(prototype: object, names: readonly string[]): void {
  for (const name of names) {
    const original = Reflect.get(prototype, name) as (this: Target, ...args: unknown[]) => unknown
    Reflect.set(prototype, name, function listen(this: Target, ...args: unknown[]) {
      remember(this)
      return original.apply(this, args)
    })
  }
}

function listenersOf(target: Target): number {
  if (target instanceof EventEmitter)
    return target.eventNames().reduce((sum, name) => sum + target.listenerCount(name), 0)
  return getEventListeners(target, 'abort').length
}

/** Counts the listeners of all targets that are still in memory. */
function countListeners(): number {
  let count = 0
  const alive: WeakRef<Target>[] = []
  for (const reference of targets.splice(0)) {
    const target = reference.deref()
    if (target === undefined) continue
    alive.push(reference)
    count += listenersOf(target)
  }
  for (const reference of alive) targets.push(reference) // Not spread: there may be too many for arguments.
  return count
}

const collect = (globalThis as { gc?: (options?: object) => void }).gc
if (collect === undefined) throw new Error('start this process with --expose-gc')
watch(EventEmitter.prototype, ['on', 'addListener', 'prependListener'])
watch(EventTarget.prototype, ['addEventListener'])
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
delay.enable()
const timerClass = (() => {
  const timer = setTimeout(() => undefined, 1)
  clearTimeout(timer)
  return timer.constructor as new () => unknown
})()

function measure({ id, countObjects, resetDelay }: ProbeRequest): Probe {
  const delayP99Ms = delay.count === 0 ? 0 : Math.max(0, delay.percentile(99) / 1e6 - RESOLUTION_MS)
  const collectAll = (): void => collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  collectAll()
  const listeners = countListeners()
  collectAll() // The references to targets that are gone, of which each request leaves some.
  const { rss, heapUsed, external } = process.memoryUsage()
  const probe = {
    id,
    rssMib: rss / MIB,
    heapMib: heapUsed / MIB,
    externalMib: external / MIB,
    openFiles: readdirSync('/proc/self/fd').length,
    listeners,
    delayP99Ms,
    cpuWaitMs: Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6,
    ...(countObjects && {
      timers: queryObjects(timerClass, { format: 'count' }),
      promises: queryObjects(Promise, { format: 'count' }),
    }),
  }
  if (resetDelay) delay.reset()
  return probe
}

process.on('message', (request: ProbeRequest) => {
  delay.disable() // A measurement is no delay of the product.
  setImmediate(() => {
    const probe = measure(request)
    process.send?.(probe, () => undefined)
    delay.enable()
  })
})
process.on('disconnect', () => process.exit(1)) // The soak was killed.
process.channel?.unref() // The process ends as it does without a parent.
