/**
 * @module storage/redis/namespaces
 * Bounds the number of namespaces of one kind (D100). A namespace has a hash tag of its own, so a registry in another
 * one counts them. `K` is k, l or c, as in the keys of the namespace itself:
 *
 *   {ns}:K       ZSET  namespace by the time of its last registration
 *   {ns}:K.full  HASH  `at`: when the registry was last searched for empty namespaces
 *
 * A script that writes to a namespace returns {@link NEW_NAMESPACE}, and writes nothing, where the namespace holds
 * nothing and its mark (ARGV[2]) is 0. So a namespace that holds something is never refused, also where an earlier
 * release has made it.
 *
 *   mark 0 ─▶ wrote ─▶ registered in the background, also above the bound
 *     └─▶ NEW_NAMESPACE ─▶ register: refused at the bound ─▶ mark 1
 *
 * A registration is trusted for 30 s without asking again. An empty namespace loses its place 60 s after its last
 * registration at the earliest, and only if it was not registered again since the search began. So no process trusts a
 * registration that is removed. A write that reaches Redis 30 s late may fill a namespace without a place: the next
 * write to it registers it.
 */
import { FleetError } from '../../protocol/index.ts'
import { BoundedMap, type Clock } from '../../runtime/index.ts'
import { namespacesFull, type NamespaceKind } from '../index.ts'
import type { Caller, Reply } from './caller.ts'
import { namespacesKey } from './keys.ts'
import { runPruned } from './pruning.ts'
import { NEW_NAMESPACE } from './script-constants.ts'
import { script, type Script } from './script.ts'

/** What a namespace may do: 0 write if it holds something, 1 write. */
export type Mark = 0 | 1

const TRUSTED_MS = 30_000
/** Namespaces that are looked at simultaneously. */
const LOOKS = 50
const MAX_TRUSTED = 10_000
const FULL_RETRY_SECONDS = 5
const REPEATABLE = { repeatable: true }

const REGISTER = script('namespaces.register')
const UNREGISTER = script('namespaces.unregister')

interface NamespacesDeps {
  readonly caller: Caller
  readonly clock: Clock
  readonly kind: 'k' | 'l' | 'c'
  readonly what: NamespaceKind
  readonly keysOf: (namespace: string) => readonly string[]
  /** Returns 1 where the namespace holds nothing. */
  readonly isEmpty: Script
}

export class Namespaces {
  readonly #deps: NamespacesDeps
  readonly #keys: readonly string[]
  /** When the registration of a namespace was requested. */
  readonly #trusted = new BoundedMap<string, number>(MAX_TRUSTED)
  readonly #registering = new Set<string>()

  constructor(deps: NamespacesDeps) {
    this.#deps = deps
    this.#keys = [namespacesKey(deps.kind), namespacesKey(`${deps.kind}.full`)]
  }

  /**
   * Writes to a namespace that has a place, or gets one.
   * @param isOfType the namespace is that of an automation type, which needs no place.
   * @param run sends the script with this mark.
   * @throws {FleetError} STORAGE_FULL where it would be one too many; nothing was written.
   */
  async write<T>(
    namespace: string,
    isOfType: boolean,
    run: (mark: Mark) => Promise<T | typeof NEW_NAMESPACE>,
  ): Promise<T> {
    const isTrusted = this.#deps.clock.monotonicMs() - (this.#trusted.get(namespace) ?? -Infinity) < TRUSTED_MS
    if (!isOfType && !isTrusted) {
      const reply = await run(0)
      if (reply !== NEW_NAMESPACE) {
        void this.#renew(namespace)
        return reply
      }
      await this.#require(namespace)
    }
    return (await run(1)) as T
  }

  async #require(namespace: string): Promise<void> {
    let reply = await this.#register(namespace, true)
    if (Array.isArray(reply)) {
      await this.#removeEmpty(reply as readonly string[])
      reply = await this.#register(namespace, true)
    }
    if (reply === 'ok') return
    throw new FleetError('STORAGE_FULL', namespacesFull(this.#deps.what, namespace), {
      retryAfterSeconds: FULL_RETRY_SECONDS,
      outcome: 'not_sent',
    })
  }

  /** Where the registry cannot be reached, the next write does it. */
  async #renew(namespace: string): Promise<void> {
    if (this.#registering.has(namespace)) return
    this.#registering.add(namespace)
    await this.#register(namespace, false).catch(() => undefined)
    this.#registering.delete(namespace)
  }

  async #register(namespace: string, isBounded: boolean): Promise<Reply> {
    const { caller, clock } = this.#deps
    const sentAt = clock.monotonicMs()
    const reply = await caller.run(REGISTER, this.#keys, [namespace, isBounded ? 1 : 0], REPEATABLE)
    if (reply !== 'ok') return reply
    this.#trusted.set(namespace, sentAt)
    return reply
  }

  /** @param old namespaces, each followed by the time of its registration. */
  async #removeEmpty(old: readonly string[]): Promise<void> {
    const { caller } = this.#deps
    for (let from = 0; from < old.length; from += 2 * LOOKS) {
      const some = Array.from({ length: Math.min(LOOKS, (old.length - from) / 2) }, (_, i) =>
        old.slice(from + 2 * i, from + 2 * i + 2),
      )
      const empty = await Promise.all(some.map(([namespace = '']) => this.#isEmpty(namespace)))
      const args = some.filter((_, i) => empty[i]).flat()
      if (args.length > 0) await caller.run(UNREGISTER, this.#keys, args, REPEATABLE)
    }
  }

  async #isEmpty(namespace: string): Promise<boolean> {
    const { caller, keysOf, isEmpty } = this.#deps
    // Its node may be down.
    const reply = await runPruned(caller, isEmpty, keysOf(namespace), [], REPEATABLE).catch(() => 0)
    return reply === 1
  }
}
