import type { Backend } from '../../../src/storage/index.ts'

/** A store whose calls (for example `tasks.reserve`) can be recorded, delayed and made to fail. */
export class Watched {
  readonly calls: { readonly name: string; readonly args: readonly unknown[] }[] = []
  /** Returns the error of a call, or undefined to let it succeed. */
  failure: (name: string) => Error | undefined = () => undefined
  /** Awaited before a call continues. */
  gate: (name: string) => Promise<void> | undefined = () => undefined

  readonly wrap = (real: Backend): Backend =>
    new Proxy(real, {
      get: (target, group: string) => {
        const value: unknown = Reflect.get(target, group, target)
        if (typeof value === 'function') return (value as () => unknown).bind(target)
        return typeof value === 'object' && value !== null && group !== 'capabilities'
          ? this.#group(group, value)
          : value
      },
    })

  named(name: string): readonly (readonly unknown[])[] {
    return this.calls.filter((call) => call.name === name).map(({ args }) => args)
  }

  #group(group: string, methods: object): object {
    return new Proxy(methods, {
      get: (target, method: string) => {
        const real = Reflect.get(target, method, target) as (...args: unknown[]) => unknown
        const name = `${group}.${method}`
        if (name === 'bus.onSignal' || name === 'events.onAppend') return real.bind(target)
        return async (...args: unknown[]) => {
          this.calls.push({ name, args })
          await this.gate(name)
          const failure = this.failure(name)
          if (failure !== undefined) throw failure
          return real.apply(target, args)
        }
      },
    })
  }
}
