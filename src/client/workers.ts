/** @module client/workers  The workers of a fleet and their configs. @see D15, D31, D39, D40, D47, D49 */
import type {
  ClaimBody,
  ConfigBody,
  DrainBody,
  HistoryBody,
  JsonObject,
  RemovedBody,
  Stats,
  ValidatedBody,
  WorkerBody,
} from '../protocol/index.ts'
import { apiPath, type Query } from './address.ts'
import type { Reply } from './answer.ts'
import type { CallOptions, ChangeOptions, Transport } from './transport.ts'

const PAGE_ROWS = 500

interface WorkerFilter {
  readonly state?: WorkerBody['state'] | undefined
  readonly connected?: boolean | undefined
  readonly view?: 'summary' | undefined
}
/** The config that a change is based on (D15). */
interface ConfigMark {
  readonly epoch: string
  readonly configGen: number
}

export class Workers {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** All workers of a type, ordered by id, a page at a time. A worker that registers meanwhile may be missed. */
  async *pages(
    type: string,
    filter: WorkerFilter = {},
    options: CallOptions & { readonly pageRows?: number } = {},
  ): AsyncGenerator<Reply<WorkerBody[]>> {
    const limit = options.pageRows ?? PAGE_ROWS
    let after: string | undefined
    for (;;) {
      const page = await this.page(type, { ...filter, limit, after }, options)
      yield page
      after = page.body.at(-1)?.worker_id
      if (page.body.length < limit || after === undefined) return
    }
  }

  /** At most `limit` workers behind the id `after`; fewer: there are no more. */
  page(
    type: string,
    query: WorkerFilter & { readonly limit: number; readonly after?: string | undefined },
    options?: CallOptions,
  ): Promise<Reply<WorkerBody[]>> {
    return this.#transport.call(
      { method: 'GET', path: apiPath(['automations', type, 'workers'], { ...query }) },
      options,
    )
  }

  get(
    type: string,
    id: string,
    { view, ...options }: CallOptions & Pick<WorkerFilter, 'view'> = {},
  ): Promise<Reply<WorkerBody>> {
    return this.#transport.call({ method: 'GET', path: this.#path(type, id, [], { view }) }, options)
  }

  /** Changes fields of a config. `ifMatch`: STALE_GENERATION when another change came first. Never sent twice: each success is a new generation. */
  patchConfig(
    type: string,
    id: string,
    patch: JsonObject,
    { ifMatch, ...options }: ChangeOptions & { readonly ifMatch?: ConfigMark } = {},
  ): Promise<Reply<ConfigBody>> {
    const headers = ifMatch === undefined ? {} : { 'if-match': `"${ifMatch.epoch}.${ifMatch.configGen}"` }
    return this.#transport.call(
      { method: 'PATCH', path: this.#path(type, id, ['config']), body: patch, headers },
      options,
    )
  }

  /** What `patchConfig` would answer; changes nothing. */
  validateConfig(type: string, id: string, patch: JsonObject, options?: CallOptions): Promise<Reply<ValidatedBody>> {
    return this.#transport.call(
      { method: 'POST', path: this.#path(type, id, ['config', 'validate']), body: patch, repeat: 'always' },
      options,
    )
  }

  /** Past configs, newest first. */
  history(
    type: string,
    id: string,
    { limit, ...options }: CallOptions & { readonly limit?: number | undefined } = {},
  ): Promise<Reply<HistoryBody>> {
    return this.#transport.call(
      { method: 'GET', path: this.#path(type, id, ['config', 'history'], { limit }) },
      options,
    )
  }

  /** Statistics, oldest first. `since`: unix seconds. */
  stats(
    type: string,
    id: string,
    {
      since,
      limit,
      view,
      ...options
    }: CallOptions & Pick<WorkerFilter, 'view'> & { readonly since?: number; readonly limit?: number } = {},
  ): Promise<Reply<Stats[]>> {
    return this.#transport.call(
      { method: 'GET', path: this.#path(type, id, ['stats'], { since, limit, view }) },
      options,
    )
  }

  /** Never sent twice: it would drain the process that came after. */
  drain(type: string, id: string, options?: ChangeOptions): Promise<Reply<DrainBody>> {
    return this.#transport.call({ method: 'POST', path: this.#path(type, id, ['drain']) }, options)
  }

  forget(type: string, id: string, options?: ChangeOptions): Promise<Reply<RemovedBody>> {
    return this.#transport.call({ method: 'DELETE', path: this.#path(type, id) }, options)
  }

  /** Records who manages the config: 1 to 128 printable ASCII characters. Replaces a claim that is there. */
  claim(type: string, id: string, managedBy: string, options?: ChangeOptions): Promise<Reply<WorkerBody>> {
    return this.#transport.call(
      {
        method: 'PUT',
        path: this.#path(type, id, ['claim']),
        body: { managed_by: managedBy } satisfies ClaimBody,
        repeat: 'always',
      },
      options,
    )
  }

  unclaim(type: string, id: string, options?: ChangeOptions): Promise<Reply<WorkerBody>> {
    return this.#transport.call({ method: 'DELETE', path: this.#path(type, id, ['claim']), repeat: 'always' }, options)
  }

  #path(type: string, id: string, below: readonly string[] = [], query: Query = {}): string {
    return apiPath(['automations', type, 'workers', id, ...below], query)
  }
}
