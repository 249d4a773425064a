/**
 * @module automation/testing/open-resources
 * Records the resources that a run has opened and not closed, to explain why it hangs: a real timer, a connection, a
 * file. A resource belongs to the run that opened it. Resources of the test runner are ignored.
 */
import { AsyncLocalStorage, createHook, type AsyncHook } from 'node:async_hooks'

const WORDS: readonly (readonly [RegExp, string])[] = [
  [/^Timeout$/, 'a timer of the real clock (setTimeout and the like; context.sleep runs on virtual time)'],
  [/^(?:TCPWRAP|TLSWRAP|UDPWRAP|PIPEWRAP)$/, 'a connection'],
  [/^(?:GETADDRINFOREQWRAP|QUERYWRAP)$/, 'a name lookup'],
  [/^FSREQ/, 'an operation on a file'],
  [/^PROCESSWRAP$/, 'a child process'],
  [/^WORKER$/, 'a worker thread'],
]

interface Resource {
  readonly owner: object
  readonly word: string
  readonly resource: { hasRef?: () => boolean }
}

export class OpenResources {
  readonly #running = new AsyncLocalStorage<object>()
  readonly #open = new Map<number, Resource>()
  readonly #hook: AsyncHook = createHook({
    init: (id, type, _trigger, resource) => {
      if (type === 'PROMISE') return
      const owner = this.#running.getStore()
      const word = owner === undefined ? undefined : WORDS.find(([pattern]) => pattern.test(type))?.[1]
      if (owner !== undefined && word !== undefined) this.#open.set(id, { owner, word, resource })
    },
    destroy: (id) => void this.#open.delete(id),
  })

  watch(): void {
    this.#hook.enable()
  }

  unwatch(): void {
    this.#hook.disable()
  }

  /** Assigns the resources that `inside` opens to `owner`. */
  ownedBy<T>(owner: object, inside: () => T): T {
    return this.#running.run(owner, inside)
  }

  /** @returns a description of each kind of open resource. Ignores unreferenced timers, which are usually deadlines. */
  of(owner: object): readonly string[] {
    const own = [...this.#open.values()].filter((each) => each.owner === owner && each.resource.hasRef?.() !== false)
    return [...new Set(own.map(({ word }) => word))]
  }
}
