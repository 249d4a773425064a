/**
 * @module dashboard/charts/stats-source
 * The statistics of one worker: read from the time of the newest frame on, parsed in a thread of their own. The page's
 * policy lets a thread start from one address alone, that of our own script.
 */
import type { Api } from '../api/client.ts'
import { Problem } from '../api/problem.ts'
import { FRAMES_KEPT, type StatsColumns } from './columns.ts'
import type { Answered, Asked } from './stats-worker.ts'
// oxlint-disable-next-line import/default -- the bundler answers with the address
import threadUrl from './stats-worker.ts?worker&url'

/** An hour of a thousand slots is megabytes. */
const READ_WITHIN_MS = 30_000

/** Trusted Types are not in every browser, and in TypeScript's own types not at all. */
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
      thread.postMessage({ id, bytes } satisfies Asked, [bytes])
    })
  }

  close(): void {
    this.#end('the page was closed')
  }

  #started(): Worker {
    if (this.#thread !== undefined) return this.#thread
    const thread = new Worker(policy?.createScriptURL(threadUrl) ?? threadUrl, { type: 'module' })
    thread.addEventListener('message', ({ data }: MessageEvent<Answered>) => this.#take(data))
    thread.addEventListener('error', () => this.#end('the statistics thread stopped'))
    this.#thread = thread
    return thread
  }

  #take(answer: Answered): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if ('fault' in answer) return waiting?.reject(new Problem(`the statistics could not be read: ${answer.fault}`))
    this.#lastTs = answer.lastTs
    waiting?.resolve(answer.columns)
  }

  /** Ends the thread; the next read starts another, from the beginning. */
  #end(why: string): void {
    this.#thread?.terminate()
    this.#thread = undefined
    this.#lastTs = 0
    for (const { reject } of this.#waiting.values()) reject(new Problem(why))
    this.#waiting.clear()
  }
}
