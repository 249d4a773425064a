/**
 * Observes both sides from outside: the FleetWorkers at the API server, and the events of the master. Each watcher
 * keeps the newest state, counts, and resolves when a condition holds for a name. All times are of this process's
 * clock.
 */
import { Agent, request } from 'undici'
import { readFileSync } from 'node:fs'
import { ADMIN_TOKEN } from '../processes.mjs'
import { nowMs } from '../recorder.mjs'
import { COLLECTION } from './resources.mjs'

const PAGE = 500

export class Waiters {
  #waiting = new Map()

  /** Resolves when `holds` is true for a new state of `name`. Rejects after `withinMs`. */
  when(name, what, holds, withinMs) {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(name) ?? new Set()
      this.#waiting.set(name, waiting)
      const waiter = (state) => {
        if (!holds(state)) return
        clearTimeout(timer)
        waiting.delete(waiter)
        resolve(nowMs())
      }
      const timer = setTimeout(() => {
        waiting.delete(waiter)
        reject(new Error(`not within ${withinMs} ms: ${name} ${what}`))
      }, withinMs)
      waiting.add(waiter)
    })
  }

  tell(name, state) {
    for (const waiter of this.#waiting.get(name) ?? []) waiter(state)
  }
}

async function* linesOf(body) {
  let rest = ''
  body.setEncoding('utf8')
  for await (const chunk of body) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()
    yield* lines
  }
}

export class ResourceWatch {
  #server
  #collection
  #agent
  #abort = new AbortController()
  #waiters = new Waiters()
  /** By name: generation, observed generation, conditions by type, and the status as text. */
  seen = new Map()
  /** By name, since the last `reset`. */
  statusWrites = new Map()
  readyFlips = new Map()

  constructor(server, collection = COLLECTION) {
    this.#server = server
    this.#collection = collection
    this.#agent = new Agent({ connect: { ca: readFileSync(server.caFile, 'utf8') }, bodyTimeout: 0, headersTimeout: 0 })
  }

  async start() {
    let version
    for (let next = ''; next !== undefined;) {
      const { body } = await this.#server.request(
        'GET',
        `${this.#collection}?limit=${PAGE}&continue=${encodeURIComponent(next)}`,
      )
      for (const item of body.items) this.seen.set(item.metadata.name, briefOf(item))
      version = body.metadata.resourceVersion
      next = body.metadata.continue || undefined
    }
    this.ended = this.#follow(version).catch((error) => {
      if (!this.#abort.signal.aborted) throw error
    })
  }

  async #follow(from) {
    let version = from
    for (;;) {
      const query = `watch=true&allowWatchBookmarks=true&timeoutSeconds=3600&resourceVersion=${version}`
      const url = `${this.#server.url}${this.#collection}?${query}`
      const { body } = await request(url, {
        headers: { authorization: `Bearer ${this.#server.adminToken}` },
        dispatcher: this.#agent,
        signal: this.#abort.signal,
      })
      for await (const line of linesOf(body)) {
        const { type, object } = JSON.parse(line)
        if (type === 'ERROR') throw new Error(`the watch ended: ${object.message}`)
        version = object.metadata.resourceVersion
        if (type !== 'BOOKMARK') this.#took(object)
      }
    }
  }

  #took(object) {
    const { name } = object.metadata
    const [before, now] = [this.seen.get(name), briefOf(object)]
    this.seen.set(name, now)
    if (before !== undefined && before.status !== now.status) count(this.statusWrites, name)
    if (before !== undefined && before.conditions.Ready?.status !== now.conditions.Ready?.status)
      count(this.readyFlips, name)
    this.#waiters.tell(name, now)
  }

  reset() {
    this.statusWrites.clear()
    this.readyFlips.clear()
  }

  /** The number of states for which `holds` is true. */
  count(holds) {
    let found = 0
    for (const each of this.seen.values()) if (holds(each)) found += 1
    return found
  }

  when(name, what, holds, withinMs = 120_000) {
    return this.#waiters.when(name, what, holds, withinMs)
  }

  async end() {
    this.#abort.abort()
    await this.ended
    await this.#agent.destroy()
  }
}

const count = (counts, name) => counts.set(name, (counts.get(name) ?? 0) + 1)
const briefOf = ({ metadata, status }) => ({
  generation: metadata.generation,
  observed: status?.observedGeneration ?? -1,
  status: JSON.stringify(status),
  workers: status?.workers,
  conditions: Object.fromEntries((status?.conditions ?? []).map((each) => [each.type, each])),
})
/** True, and for the newest generation of the spec. */
export const holds =
  (type) =>
  ({ generation, conditions }) =>
    conditions[type]?.status === 'True' && conditions[type].observedGeneration === generation

export class MasterFeed {
  #url
  #abort = new AbortController()
  #agent = new Agent({ bodyTimeout: 0, headersTimeout: 0 })
  #waiters = new Waiters()
  /** Number of config changes by an operator since the start. */
  patches = 0
  onPatch = () => {}

  constructor(url) {
    this.#url = url
  }

  async start() {
    const { body } = await request(`${this.#url}/api/v1/events`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, accept: 'text/event-stream' },
      dispatcher: this.#agent,
      signal: this.#abort.signal,
    })
    this.ended = this.#follow(body).catch((error) => {
      if (!this.#abort.signal.aborted) throw error
    })
  }

  async #follow(body) {
    let event = ''
    for await (const line of linesOf(body)) {
      if (line.startsWith('event: ')) event = line.slice('event: '.length)
      else if (line.startsWith('data: ') && event === 'worker.config_changed')
        this.#changed(JSON.parse(line.slice('data: '.length)))
      else if (event === 'reset') throw new Error('the feed of the master lost events')
    }
    throw new Error('the feed of the master ended')
  }

  #changed(data) {
    if (data.config_changed_by?.includes(' kubernetes:') !== true) return // After the role of the token.
    this.patches += 1
    this.onPatch(data)
    this.#waiters.tell(data.worker_id, data)
  }

  /** Resolves when an operator next changes this field of the worker's config. */
  patched(name, field, withinMs = 120_000) {
    return this.#waiters.when(name, 'gets a PATCH', ({ changed }) => changed.includes(field), withinMs)
  }

  async end() {
    this.#abort.abort()
    await this.ended
    await this.#agent.destroy()
  }
}
