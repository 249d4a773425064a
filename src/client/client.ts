/**
 * @module client/client
 * Everything an admin or scoped token may ask of a master, typed. The operator, the command line and the tests speak to
 * a master through this alone. Bodies are as the wire has them; every answer names the epoch of the store (D15).
 * @see D32, D48
 */
import type {
  AutomationDescriptor,
  CatalogEntryBody,
  MeBody,
  OverviewBody,
  PoolBody,
  ReadyBody,
} from '../protocol/index.ts'
import { apiPath } from './address.ts'
import type { Reply } from './answer.ts'
import { followEvents, type FeedItem, type FeedOptions } from './feed.ts'
import { Output } from './output.ts'
import { Tasks } from './tasks.ts'
import { Transport, type CallOptions, type ClientOptions } from './transport.ts'
import { Workers } from './workers.ts'

export class MasterClient {
  readonly workers: Workers
  readonly tasks: Tasks
  readonly output: Output
  readonly #transport: Transport
  readonly #options: ClientOptions

  /** @throws TypeError when the URL of the master cannot be used. */
  constructor(options: ClientOptions) {
    this.#options = options
    this.#transport = new Transport(options)
    this.workers = new Workers(this.#transport)
    this.tasks = new Tasks(this.#transport)
    this.output = new Output(this.#transport, options)
  }

  automations(options?: CallOptions): Promise<Reply<AutomationDescriptor[]>> {
    return this.#transport.call({ method: 'GET', path: apiPath(['automations']) }, options)
  }

  catalog(options?: CallOptions): Promise<Reply<Record<string, CatalogEntryBody>>> {
    return this.#transport.call({ method: 'GET', path: apiPath(['catalog']) }, options)
  }

  catalogEntry(type: string, options?: CallOptions): Promise<Reply<CatalogEntryBody>> {
    return this.#transport.call({ method: 'GET', path: apiPath(['catalog', type]) }, options)
  }

  pool(
    name: string,
    { n, ...options }: CallOptions & { readonly n?: number | undefined } = {},
  ): Promise<Reply<PoolBody>> {
    return this.#transport.call({ method: 'GET', path: apiPath(['pools', name], { n }) }, options)
  }

  overview(options?: CallOptions): Promise<Reply<OverviewBody>> {
    return this.#transport.call({ method: 'GET', path: apiPath(['overview']) }, options)
  }

  /** What the token may do. */
  me(options?: CallOptions): Promise<Reply<MeBody>> {
    return this.#transport.call({ method: 'GET', path: apiPath(['me']) }, options)
  }

  /** Whether the master can serve; one that can not is an answer too. Asked once: whoever probes has a rhythm of their own. */
  ready(options?: CallOptions): Promise<Reply<ReadyBody>> {
    return this.#transport.call({ method: 'GET', path: '/readyz', alsoGood: 503, repeat: 'never' }, options)
  }

  /** What changes, until `signal` aborts. */
  events(options: FeedOptions): AsyncGenerator<FeedItem> {
    return followEvents(this.#transport, this.#options, options)
  }

  /** Ends every call that is still out. */
  close(): Promise<void> {
    return this.#transport.close()
  }
}
