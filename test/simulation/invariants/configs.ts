/**
 * Checks the configs of workers.
 *
 *   I8   the generation rises by one with each PATCH, no update is lost, and no worker sees it fall  (G15)
 *   I9   a running config equals a stored one, and stays as it is while a task runs                  (G16)
 *   I15  a PATCH is acknowledged only after the store executed it                                    (G18)
 */
import type {
  ConfigPut,
  ConfigPutResult,
  ConfigRaiseResult,
  Ref,
  RegisterResult,
  Registration,
  StorageCall,
} from '../../../src/storage/index.ts'
import type { Exchange } from '../pool.ts'
import type { CheckDeps, CreateCheck, InvariantCheck, PluginEvent } from './invariant.ts'

type Fields = Readonly<Record<string, unknown>>

interface ConfigState {
  /** -1 without a record. */
  gen: number
  /** The generation that is kept of a forgotten worker; -1 if there is none. */
  kept: number
  config: Fields
}

const CONFIG_PATH = /\/automations\/([^/]+)\/workers\/([^/?]+)\/config$/

class ConfigCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  readonly #states = new Map<string, ConfigState>()
  /** Every config that was ever stored of a worker, and every generation that a PATCH made, also lost ones. */
  readonly #stored = new Map<string, Set<string>>()
  readonly #made = new Set<string>()
  /** The newest generation that each life of a worker has read, since the store last lost changes. */
  readonly #seen = new Map<object, number>()
  /** PATCHes that a client knows to be stored, until the store loses changes. */
  #acknowledged = new Set<string>()
  #acknowledgedBefore = new Set<string>()
  #lostAtMs = -1

  constructor(deps: CheckDeps) {
    this.#deps = deps
  }

  executed({ group, method, args }: StorageCall, result: unknown): void {
    const results = result as readonly unknown[]
    const items = args[0] as readonly Ref[]
    switch (`${group}.${method}`) {
      case 'workers.register':
        return items.forEach((item, at) => this.#registered(item as Registration, results[at] as RegisterResult))
      case 'workers.forget':
        return items.forEach((item, at) => void (results[at] === true && this.#forgot(item)))
      case 'configs.put':
        return this.#put(args[0] as ConfigPut, result as ConfigPutResult)
      case 'configs.raise':
        return items.forEach((item, at) =>
          this.#raised(item as Ref & { above: number }, results[at] as ConfigRaiseResult),
        )
    }
  }

  storeLost(): void {
    this.#states.clear()
    this.#seen.clear()
    this.#lostAtMs = this.#deps.time.monotonicMs()
    this.#acknowledgedBefore = this.#acknowledged
    this.#acknowledged = new Set()
  }

  received(exchange: Exchange): void {
    const [matches, type = '', id = ''] = CONFIG_PATH.exec(exchange.path) ?? []
    if (matches === undefined) return
    if (exchange.method === 'PATCH') this.#patched(`${type}/${id}`, exchange)
    else if (exchange.process.name === id && exchange.status === 200) this.#polled(exchange)
  }

  ran(event: PluginEvent): void {
    if (event.kind !== 'run_started' && event.kind !== 'run_ended') return
    const config = canonical(event.config)
    if (event.kind === 'run_ended') {
      const before = canonical(event.startedWith)
      if (config !== before)
        this.#deps.fail('I9', `the config of ${event.worker} changed during a run from ${before} to ${config}`)
      return
    }
    if (this.#stored.get(`${event.type}/${event.worker}`)?.has(config) !== true)
      this.#deps.fail('I9', `${event.worker} runs a config that was never stored: ${config}`)
  }

  #registered(ref: Registration, result: RegisterResult): void {
    if (result.kind !== 'registered') return
    const state = this.#stateOf(ref)
    const expected = state.gen >= 0 ? state.gen : state.kept + 1
    if (result.gen !== expected)
      this.#deps.fail('I8', `${ref.id} registered with generation ${result.gen} instead of ${expected}`)
    if (state.gen < 0) this.#store(ref, state, result.gen, ref.defaults)
    const owner = ref.conn.slice(0, ref.conn.lastIndexOf('/'))
    if (result.replaced !== null && !result.replaced.startsWith(`${owner}/`))
      this.#deps.count('connection replaced by one to another master')
  }

  #forgot(ref: Ref): void {
    const state = this.#stateOf(ref)
    Object.assign(state, { kept: state.gen, gen: -1, config: {} })
  }

  #put(put: ConfigPut, result: ConfigPutResult): void {
    if (result.kind === 'conflict') this.#deps.count('config PATCH met another one')
    if (result.kind !== 'stored') return
    const state = this.#stateOf(put)
    const name = `generation ${result.gen} of ${put.id}`
    if (result.gen !== state.gen + 1) this.#deps.fail('I8', `${name} was stored after generation ${state.gen}`)
    const config = JSON.parse(put.config) as Fields
    const lost = Object.keys({ ...state.config, ...config }).filter(
      (field) => !put.changed.includes(field) && canonical(config[field]) !== canonical(state.config[field]),
    )
    if (lost.length > 0) this.#deps.fail('I8', `${name} takes back an earlier change of ${lost.join(', ')}`)
    this.#store(put, state, result.gen, put.config)
    this.#made.add(`${put.type}/${put.id} ${result.gen}`)
  }

  #raised(ref: Ref & { readonly above: number }, result: ConfigRaiseResult): void {
    if (result.kind !== 'raised') return
    const state = this.#stateOf(ref)
    if (result.gen !== Math.max(state.gen, ref.above + 1))
      this.#deps.fail('I8', `the generation of ${ref.id} was raised from ${state.gen} to ${result.gen}`)
    if (result.gen > state.gen) this.#deps.count('config generation raised after a restore')
    state.gen = result.gen
  }

  #patched(ref: string, { status, text }: Exchange): void {
    if (status === 412) this.#deps.count('stale If-Match refused')
    if (status !== 200) return
    const { config_gen: gen } = JSON.parse(text) as { config_gen: number }
    if (!this.#made.has(`${ref} ${gen}`))
      this.#deps.fail('I15', `generation ${gen} of ${ref} was acknowledged, but the store has not stored it`)
    this.#acknowledged.add(`${ref} ${gen}`)
  }

  #polled({ process, text, sentAtMs }: Exchange): void {
    if (sentAtMs <= this.#lostAtMs) return
    const { config_gen: gen } = JSON.parse(text) as { config_gen: number }
    const before = this.#seen.get(process) ?? 0
    if (gen < before) this.#deps.fail('I8', `${process.name} read generation ${gen} after ${before}`)
    this.#seen.set(process, gen)
  }

  #store(ref: Ref, state: ConfigState, gen: number, config: string): void {
    state.gen = gen
    state.config = JSON.parse(config) as Fields
    const key = `${ref.type}/${ref.id}`
    const stored = this.#stored.get(key) ?? new Set()
    this.#stored.set(key, stored.add(canonical(state.config)))
    this.#acknowledgedBefore.delete(`${key} ${gen}`)
  }

  /** The changes that the store kept have been executed again. */
  storeKept(): void {
    for (const _ of this.#acknowledgedBefore) this.#deps.count('config PATCH lost in a failover')
  }

  #stateOf({ type, id }: Ref): ConfigState {
    const key = `${type}/${id}`
    const state = this.#states.get(key) ?? { gen: -1, kept: -1, config: {} }
    this.#states.set(key, state)
    return state
  }
}

/** JSON with sorted keys. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  )
}

export const checkConfigs: CreateCheck = (deps) => new ConfigCheck(deps)
