/**
 * Decides what fails between an operator and its two servers. Each request has one `Fate`. Writes are numbered over
 * both servers in the order in which they are sent, so that a run can be repeated with a fault at the n-th write:
 *
 *   sent ──crash before──┬── took effect ──crash, or the response is lost──┬── responded ──crash after
 */
export interface Asked {
  readonly side: 'api' | 'master'
  readonly method: string
  readonly path: string
  readonly body?: unknown
}

/** `effect` is called when the request took effect, `answered` when its response has been read. */
export type Fate = { readonly effect?: () => void; readonly answered?: () => void } & (
  | { readonly kind: 'pass' }
  /** The connection breaks before, or after, the request took effect. */
  | { readonly kind: 'break' }
  | { readonly kind: 'lose' }
  /** `retryAfterSeconds`: 1 by default; `null`: the response has no `Retry-After`. */
  | { readonly kind: 'refuse'; readonly status: number; readonly retryAfterSeconds?: number | null }
  /** The response of a gateway in front of the master; the request does not reach the master. */
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }
  /** The request arrives that much later, even if its sender is dead then. */
  | { readonly kind: 'late'; readonly ms: number }
  /** The response is sent when the promise resolves. */
  | { readonly kind: 'held'; readonly until: Promise<void> }
)

export const PASS: Fate = { kind: 'pass' }

const isWrite = ({ method }: Asked): boolean => method !== 'GET' && method !== 'WATCH'
const PREFIX = /^\/api(s\/[^/]+)?\/v1(alpha1)?(\/namespaces\/[^/]+)?/
const EVENT_NAME = /\/[0-9a-z.-]+\.[0-9a-f]{16}$/
export const nameOf = ({ side, method, path }: Asked): string =>
  `${method} ${side} ${path.replace(PREFIX, '').replace(EVENT_NAME, '')}`

export class Faults {
  readonly #writes: Asked[] = []
  /** The rule for each request. `write`: its number among the writes, from 1; `undefined` for a read. */
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

/** Tracks the open requests of one operator, and its end. */
export class Traffic {
  readonly #end = new AbortController()
  #underWay = 0

  get underWay(): number {
    return this.#underWay
  }

  get ended(): AbortSignal {
    return this.#end.signal
  }

  /** Sends no further requests, and delivers no responses to open ones. */
  end(): void {
    this.#end.abort(new Error('the operator is dead'))
  }

  /** @throws once the operator is dead or the call was aborted. */
  async alive(signal: AbortSignal): Promise<void> {
    if (this.#end.signal.aborted) throw this.#end.signal.reason as Error
    signal.throwIfAborted()
  }

  /** Never resolves once the operator is dead. */
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

  /** Excludes a wait for virtual time from the count of open requests. */
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
