/**
 * What goes wrong between an operator and its two servers. Every request asks for its fate; writes are numbered over both
 * servers, in the order they are sent, so that a run can be repeated with a fault at the n-th of them:
 *
 *   sent ──crash before──┬── took effect ──crash, or the answer is lost──┬── answered ──crash after
 */
export interface Asked {
  readonly side: 'api' | 'master'
  readonly method: string
  readonly path: string
  readonly body?: unknown
}

/** `effect`, `answered`: called when the request took effect, and when its answer has been read. */
export type Fate = { readonly effect?: () => void; readonly answered?: () => void } & (
  | { readonly kind: 'pass' }
  /** The connection breaks before, or after, the request took effect. */
  | { readonly kind: 'break' }
  | { readonly kind: 'lose' }
  /** `retryAfterSeconds`: 1 when left out; null: the response has no `Retry-After`. */
  | { readonly kind: 'refuse'; readonly status: number; readonly retryAfterSeconds?: number | null }
  /** Answered so by something between the operator and the master; nothing arrives there. */
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }
  /** It arrives so much later, also if its sender is dead by then. */
  | { readonly kind: 'late'; readonly ms: number }
  /** It is answered when this is over. */
  | { readonly kind: 'held'; readonly until: Promise<void> }
)

export const PASS: Fate = { kind: 'pass' }

const isWrite = ({ method }: Asked): boolean => method !== 'GET' && method !== 'WATCH'
export const nameOf = ({ side, method, path }: Asked): string =>
  `${method} ${side} ${path.replace(/^\/api(s\/[^/]+)?\/v1(alpha1)?(\/namespaces\/[^/]+)?/, '').replace(/\/[0-9a-z.-]+\.[0-9a-f]{16}$/, '')}`

export class Faults {
  readonly #writes: Asked[] = []
  /** For each request; `write`: its number among the writes, from 1; undefined for a read. */
  rule: (asked: Asked, write: number | undefined) => Fate = () => PASS

  /** Writes since the start or the last `restart`. */
  get writes(): readonly Asked[] {
    return this.#writes
  }

  restart(): void {
    this.#writes.length = 0
  }

  fateOf(asked: Asked): Fate {
    if (!isWrite(asked)) return this.rule(asked, undefined)
    this.#writes.push(asked)
    return this.rule(asked, this.#writes.length)
  }
}

/** The requests of one operator that are under way, and its end. */
export class Traffic {
  readonly #end = new AbortController()
  #underWay = 0

  get underWay(): number {
    return this.#underWay
  }

  get ended(): AbortSignal {
    return this.#end.signal
  }

  /** Nothing leaves any more, and nothing that is under way is answered. */
  end(): void {
    this.#end.abort(new Error('the operator is dead'))
  }

  /** @throws once the operator is dead, or the call was given up. */
  async alive(signal: AbortSignal): Promise<void> {
    if (this.#end.signal.aborted) throw this.#end.signal.reason as Error
    signal.throwIfAborted()
  }

  /** The dead wait for nothing. */
  orDead<T>(call: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const onEnd = (): void => reject(this.#end.signal.reason as Error)
      this.#end.signal.addEventListener('abort', onEnd)
      call.then(resolve, reject).finally(() => this.#end.signal.removeEventListener('abort', onEnd))
    })
  }

  async count<T>(call: Promise<T>): Promise<T> {
    this.#underWay += 1
    try {
      return await call
    } finally {
      this.#underWay -= 1
    }
  }

  /** What waits for virtual time is not waited for. */
  async apart<T>(wait: Promise<T>): Promise<T> {
    this.#underWay -= 1
    try {
      return await wait
    } finally {
      this.#underWay += 1
    }
  }
}

export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
