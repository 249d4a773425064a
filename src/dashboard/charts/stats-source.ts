/**
 * @module dashboard/charts/stats-source
 * Loads the statistics of one worker, starting at the newest known frame, and parses them in a web worker thread. The
 * Trusted Types policy of the page allows only the URL of this thread's script.
 */
import type { Api } from '../api/client.ts'
import { Problem } from '../api/problem.ts'
import { FRAMES_KEPT, type StatsColumns } from './columns.ts'
import type { StatsResponse, StatsRequest } from './stats-worker.ts'
// oxlint-disable-next-line import/default -- the bundler replaces it with the URL
import threadUrl from './stats-worker.ts?worker&url'

/** Timeout. One hour of 1,000 slots is several megabytes. */
const READ_WITHIN_MS = 30_000

/** Trusted Types are missing in some browsers and in the type definitions of TypeScript. */
interface Policies {
  readonly trustedTypes?: {
    createPolicy: (
      name: string,
      rules: { createScriptURL: (url: string) => string },
    ) => { createScriptURL: (url: string) => string }
  }
}

const policy = (globalThis as Policies).trustedTypes?.createPolicy('muster', {
  createScriptURL: (url) => {
    if (url !== threadUrl) throw new TypeError('only the statistics thread may be started')
    return url
  },
})

export class StatsSource {
  readonly #path: readonly string[]
  readonly #waiting = new Map<
    number,
    { resolve: (columns: StatsColumns) => void; reject: (problem: Problem) => void }
  >()
  #thread: Worker | undefined
  #lastTs = 0
  #asked = 0

  constructor(type: string, id: string) {
    this.#path = ['automations', type, 'workers', id, 'stats']
  }

  async read(api: Api, signal: AbortSignal): Promise<StatsColumns> {
    const within = AbortSignal.any([signal, AbortSignal.timeout(READ_WITHIN_MS)])
    const { body } = await api.stream(this.#path, {}, within, { since: this.#lastTs, limit: FRAMES_KEPT })
    const bytes = await new Response(body).arrayBuffer().catch((cause: unknown) => {
      throw new Problem('the response with the statistics was cut off', { cause })
    })
    const id = ++this.#asked
    const thread = this.#started()
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      thread.postMessage({ id, bytes } satisfies StatsRequest, [bytes])
    })
  }

  close(): void {
    this.#end('the page was closed')
  }

  #started(): Worker {
    if (this.#thread !== undefined) return this.#thread
    const thread = new Worker(policy?.createScriptURL(threadUrl) ?? threadUrl, { type: 'module' })
    thread.addEventListener('message', ({ data }: MessageEvent<StatsResponse>) => this.#take(data))
    thread.addEventListener('error', () => this.#end('the statistics thread stopped'))
    this.#thread = thread
    return thread
  }

  #take(reply: StatsResponse): void {
    const waiting = this.#waiting.get(reply.id)
    this.#waiting.delete(reply.id)
    if (reply.kind === 'fault') return waiting?.reject(new Problem(`the statistics could not be read: ${reply.fault}`))
    this.#lastTs = reply.lastTs
    waiting?.resolve(reply.columns)
  }

  /** Terminates the thread. The next read starts a new one and loads all frames again. */
  #end(why: string): void {
    this.#thread?.terminate()
    this.#thread = undefined
    this.#lastTs = 0
    for (const { reject } of this.#waiting.values()) reject(new Problem(why))
    this.#waiting.clear()
  }
}
