/**
 * @module automation/testing/config
 * Holds the config of the simulated worker: merges and checks patches as the master does, freezes them as the worker
 * does.
 */
import { mergeConfig, type JsonObject } from '../../protocol/index.ts'
import type { Backend, Ref } from '../../storage/index.ts'
import type { AppliedConfig, CatalogEntry } from '../index.ts'
import type { Faults } from './errors.ts'

export class WorkerConfig {
  readonly #entry: CatalogEntry
  readonly #backend: Backend
  readonly #ref: Ref
  readonly #faults: Faults
  #current: AppliedConfig
  #gen = 0

  constructor(entry: CatalogEntry, backend: Backend, ref: Ref, faults: Faults) {
    this.#entry = entry
    this.#backend = backend
    this.#ref = ref
    this.#faults = faults
    this.#current = frozen(structuredClone(entry.defaults))
  }

  get current(): AppliedConfig {
    return this.#current
  }

  get gen(): number {
    return this.#gen
  }

  /** Applies a patch. @throws {RunError} naming every invalid field; the previous config stays. */
  async patch(patch: object): Promise<AppliedConfig> {
    const { config, changed } = mergeConfig(
      this.#entry.configSchema,
      this.#entry.secrets,
      this.#current,
      structuredClone(patch) as JsonObject,
    )
    const faults = this.#entry.validateConfig(config)
    if (faults.length > 0) throw this.#faults.usage(...faults.map(({ path, message }) => `config${path}: ${message}`))
    const put = await this.#backend.configs.put({
      ...this.#ref,
      expectGen: this.#gen,
      config: JSON.stringify(config),
      changed,
      actor: 'script',
    })
    if (put.kind !== 'stored') throw new TypeError('two simultaneous changes of the config; await setConfig')
    this.#gen = put.gen
    this.#current = frozen(config as AppliedConfig)
    return this.#current
  }
}

/** Freezes a JSON value at every depth. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const each of Object.values(value)) frozen<unknown>(each)
  return Object.freeze(value)
}
