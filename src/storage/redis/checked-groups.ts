/**
 * @module storage/redis/checked-groups
 * Wraps the groups of the backend: each method checks its arguments before it runs, and runs only while the backend is
 * open.
 */
import {
  CHECKS,
  type Configs,
  type Counters,
  type Kv,
  type Locks,
  type Meta,
  type Pools,
  type StatsHistory,
  type Streams,
  type Tasks,
  type Workers,
} from '../index.ts'

/** Runs one call of the backend, or rejects it. */
type RunCall = <T>(call: () => Promise<T>) => Promise<T>

export class CheckedGroups {
  readonly #run: RunCall

  /** @param run runs each call; it rejects those that come while the backend is not open. */
  constructor(run: RunCall) {
    this.#run = run
  }

  meta(meta: Meta): Meta {
    const check = CHECKS.meta
    return {
      info: this.#checked(check.info, (...args) => meta.info(...args)),
      beat: this.#checked(check.beat, (...args) => meta.beat(...args)),
    }
  }

  workers(workers: Workers): Workers {
    const check = CHECKS.workers
    return {
      register: this.#checked(check.register, (...args) => workers.register(...args)),
      beat: this.#checked(check.beat, (...args) => workers.beat(...args)),
      disconnect: this.#checked(check.disconnect, (...args) => workers.disconnect(...args)),
      drain: this.#checked(check.drain, (...args) => workers.drain(...args)),
      manage: this.#checked(check.manage, (...args) => workers.manage(...args)),
      forget: this.#checked(check.forget, (...args) => workers.forget(...args)),
      get: this.#checked(check.get, (...args) => workers.get(...args)),
      page: this.#checked(check.page, (...args) => workers.page(...args)),
    }
  }

  configs(configs: Configs): Configs {
    const check = CHECKS.configs
    return {
      put: this.#checked(check.put, (...args) => configs.put(...args)),
      get: this.#checked(check.get, (...args) => configs.get(...args)),
      history: this.#checked(check.history, (...args) => configs.history(...args)),
      raise: this.#checked(check.raise, (...args) => configs.raise(...args)),
    }
  }

  stats(stats: StatsHistory): StatsHistory {
    const check = CHECKS.stats
    return {
      read: this.#checked(check.read, (...args) => stats.read(...args)),
    }
  }

  streams(streams: Streams): Streams {
    const check = CHECKS.streams
    return {
      push: this.#checked(check.push, (...args) => streams.push(...args)),
      tail: this.#checked(check.tail, (...args) => streams.tail(...args)),
      peek: this.#checked(check.peek, (...args) => streams.peek(...args)),
      pop: this.#checked(check.pop, (...args) => streams.pop(...args)),
      length: this.#checked(check.length, (...args) => streams.length(...args)),
      bytes: this.#checked(check.bytes, (...args) => streams.bytes(...args)),
      trim: this.#checked(check.trim, (...args) => streams.trim(...args)),
    }
  }

  tasks(tasks: Tasks): Tasks {
    const check = CHECKS.tasks
    return {
      submit: this.#checked(check.submit, (...args) => tasks.submit(...args)),
      reserve: this.#checked(check.reserve, (...args) => tasks.reserve(...args)),
      ack: this.#checked(check.ack, (...args) => tasks.ack(...args)),
      release: this.#checked(check.release, (...args) => tasks.release(...args)),
      nack: this.#checked(check.nack, (...args) => tasks.nack(...args)),
      extend: this.#checked(check.extend, (...args) => tasks.extend(...args)),
      sweep: this.#checked(check.sweep, (...args) => tasks.sweep(...args)),
      locate: this.#checked(check.locate, (...args) => tasks.locate(...args)),
      queue: this.#checked(check.queue, (...args) => tasks.queue(...args)),
      bodies: this.#checked(check.bodies, (...args) => tasks.bodies(...args)),
      dead: this.#checked(check.dead, (...args) => tasks.dead(...args)),
      replay: this.#checked(check.replay, (...args) => tasks.replay(...args)),
      newestDeath: this.#checked(check.newestDeath, (...args) => tasks.newestDeath(...args)),
      clearDead: this.#checked(check.clearDead, (...args) => tasks.clearDead(...args)),
      applyToDead: this.#checked(check.applyToDead, (...args) => tasks.applyToDead(...args)),
      counts: this.#checked(check.counts, (...args) => tasks.counts(...args)),
    }
  }

  pools(pools: Pools): Pools {
    const check = CHECKS.pools
    return {
      put: this.#checked(check.put, (...args) => pools.put(...args)),
      remove: this.#checked(check.remove, (...args) => pools.remove(...args)),
      claim: this.#checked(check.claim, (...args) => pools.claim(...args)),
      extend: this.#checked(check.extend, (...args) => pools.extend(...args)),
      release: this.#checked(check.release, (...args) => pools.release(...args)),
      list: this.#checked(check.list, (...args) => pools.list(...args)),
      sizes: this.#checked(check.sizes, (...args) => pools.sizes(...args)),
    }
  }

  kv(kv: Kv): Kv {
    const check = CHECKS.kv
    return {
      get: this.#checked(check.get, (...args) => kv.get(...args)),
      set: this.#checked(check.set, (...args) => kv.set(...args)),
      delete: this.#checked(check.delete, (...args) => kv.delete(...args)),
    }
  }

  locks(locks: Locks): Locks {
    const check = CHECKS.locks
    return {
      acquire: this.#checked(check.acquire, (...args) => locks.acquire(...args)),
      extend: this.#checked(check.extend, (...args) => locks.extend(...args)),
      release: this.#checked(check.release, (...args) => locks.release(...args)),
    }
  }

  counters(counters: Counters): Counters {
    const check = CHECKS.counters
    return {
      add: this.#checked(check.add, (...args) => counters.add(...args)),
      get: this.#checked(check.get, (...args) => counters.get(...args)),
    }
  }

  #checked<A extends readonly unknown[], R>(
    check: (...args: A) => void,
    method: (...args: A) => Promise<R>,
  ): (...args: A) => Promise<R> {
    return (...args) =>
      this.#run(() => {
        check(...args)
        return method(...args)
      })
  }
}
