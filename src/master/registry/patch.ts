/**
 * @module master/registry/patch
 * Applies PATCHes to configs. There is no other way to change a config:
 *
 *   stored ──If-Match──▶ merge (D13, D17) ──▶ validate ──▶ compare-and-set ──▶ config_gen + 1, event, config_changed
 *              │ 412                            │ 422        │ conflict
 *                                                            └──▶ repeat with the new config for 5 s; If-Match: 412
 *
 * Nothing is stored before the whole config is valid, and the compare-and-set of the store decides which writer was
 * first (D18). PATCHes of one worker through this master run one after another, so they never conflict with each other.
 * A dry run ends after "validate" (D49).
 */
import {
  boundSecretsOf,
  FleetError,
  keptBoundSecrets,
  maskSecrets,
  mergeConfig,
  pointerStep,
  type FieldError,
  type JsonObject,
  type JsonText,
  type ValidatedBody,
} from '../../protocol/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import type { Backend, ConfigRow, Ref } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import { forbiddenFaults, textOrFaults } from './config-faults.ts'
import { marksInclude, parseMarks, type ConfigMark, type Marks } from './etag.ts'
import { currentConfig } from './record.ts'
import { unknownWorker } from './unknown-worker.ts'

/** How long a PATCH without If-Match is repeated after conflicts. */
const CONFLICT_RETRY_MS = 5_000

export interface ConfigChange {
  readonly ref: Ref
  readonly entry: CatalogEntry
  readonly patch: JsonObject
  readonly actor: string
  readonly ifMatch: string | undefined
}

export interface Changed {
  readonly epoch: string
  readonly gen: number
  /** The connection to notify. */
  readonly conn: string | null
  readonly changed: readonly string[]
  /** The config with masked secrets. */
  readonly shown: JsonObject
}

/** Runs the PATCHes of each worker one after another. */
export class ConfigPatcher {
  readonly #deps: MasterDeps
  readonly #tails = new Map<string, Promise<Changed>>()

  constructor(deps: MasterDeps) {
    this.#deps = deps
  }

  /**
   * @throws {FleetError} NOT_FOUND, STALE_GENERATION, INVALID; OVERLOADED after 5 s of conflicts.
   */
  async apply(change: ConfigChange): Promise<Changed> {
    const faults = forbiddenFaults(change.patch, change.entry)
    if (faults.length > 0) throw new FleetError('INVALID', faults)
    const key = `${change.ref.type}/${change.ref.id}`
    const run = (): Promise<Changed> => this.#run(change)
    const mine = this.#tails.get(key)?.then(run, run) ?? run()
    this.#tails.set(key, mine)
    try {
      return await mine
    } finally {
      if (this.#tails.get(key) === mine) this.#tails.delete(key)
    }
  }

  async #run({ ref, entry, patch, actor, ifMatch }: ConfigChange): Promise<Changed> {
    const { backend, clock } = this.#deps
    const wanted = ifMatch === undefined ? undefined : parseMarks(ifMatch)
    const giveUpAt = clock.monotonicMs() + CONFLICT_RETRY_MS
    let [epoch, [stored]]: [string, readonly (ConfigRow | null)[]] = await Promise.all([
      this.#deps.epoch.read(),
      backend.configs.get([ref]),
    ])
    do {
      if (stored === null || stored === undefined) throw unknownWorker(ref)
      if (wanted !== undefined) requireMatch(wanted, epoch, stored.gen, ref)
      const before = currentConfig(entry, stored.config)
      const { config, changed } = merged(entry, before, patch)
      const released = boundFaults(entry, before, patch, changed)
      if (released.length > 0) throw new FleetError('INVALID', released)
      const outcome = await backend.configs.put({
        ...ref,
        expectGen: stored.gen,
        expectConfig: stored.config,
        config: validText(config, entry),
        changed,
        actor,
      })
      if (outcome.kind === 'not_found') throw unknownWorker(ref)
      if (outcome.kind === 'stored')
        return { epoch, gen: outcome.gen, conn: outcome.conn, changed, shown: maskSecrets(config, entry.secrets) }
      stored = outcome.current
      epoch = await this.#deps.epoch.read()
    } while (clock.monotonicMs() < giveUpAt)
    throw new FleetError(
      'OVERLOADED',
      `the config of worker ${JSON.stringify(ref.id)} changed several times during this request; try again`,
      { retryAfterSeconds: 1 },
    )
  }
}

export function requireMatch(wanted: Marks, epoch: string, gen: number, { id }: Ref): void {
  if (marksInclude(wanted, { epoch, gen })) return
  const [mark] = wanted === '*' ? [] : wanted
  const named = mismatchText(mark, epoch)
  throw new FleetError(
    'STALE_GENERATION',
    `the config of worker ${JSON.stringify(id)} is at generation ${gen}, ${named}; read it again, then repeat`,
  )
}

function mismatchText(mark: ConfigMark | undefined, epoch: string): string {
  if (mark === undefined) return 'If-Match names none of its generations'
  const named = `If-Match names generation ${mark.gen}`
  return mark.epoch === epoch ? named : `${named} of another epoch`
}

/**
 * Checks a PATCH against the current config. Stores nothing and publishes nothing.
 * @throws {FleetError} NOT_FOUND.
 */
export async function validatePatch(
  change: Pick<ConfigChange, 'ref' | 'entry' | 'patch'>,
  { configs }: Pick<Backend, 'configs'>,
): Promise<ValidatedBody> {
  const { ref, entry, patch } = change
  const [row] = await configs.get([ref])
  if (row === null || row === undefined) throw unknownWorker(ref)
  const stored = currentConfig(entry, row.config)
  const { config, changed } = merged(entry, stored, patch)
  const own = [...forbiddenFaults(change.patch, change.entry), ...boundFaults(entry, stored, patch, changed)]
  const checked = own.length > 0 ? own : textOrFaults(config, entry)
  if (typeof checked !== 'string') return { valid: false, errors: [...checked] }
  return { valid: true, errors: [], changed: [...changed] }
}

/** What a PATCH does to one stored config. `before`: the values of the patched fields; null for a field without one. */
export type PlannedPatch =
  | { readonly kind: 'refused'; readonly faults: readonly FieldError[] }
  | {
      readonly kind: 'planned'
      readonly text: JsonText
      readonly changed: readonly string[]
      readonly before: JsonObject
    }

/** Decides what a PATCH does to a config. Stores nothing. */
export function planPatch(entry: CatalogEntry, stored: JsonText, patch: JsonObject): PlannedPatch {
  const before = currentConfig(entry, stored)
  const { config, changed } = merged(entry, before, patch)
  const own = [...forbiddenFaults(patch, entry), ...boundFaults(entry, before, patch, changed)]
  const checked = own.length > 0 ? own : textOrFaults(config, entry)
  if (typeof checked !== 'string') return { kind: 'refused', faults: checked }
  const values = Object.keys(patch).map((name) => [name, before[name] ?? null] as const)
  return { kind: 'planned', text: checked, changed, before: Object.fromEntries(values) }
}

/**
 * Returns the config after a PATCH, and the top-level fields that it changes. A secret in the PATCH always counts as
 * changed: otherwise responses, events and the history would show whether a guess equals the stored secret (D89).
 */
function merged(
  { configSchema, secrets }: CatalogEntry,
  before: JsonObject,
  patch: JsonObject,
): { readonly config: JsonObject; readonly changed: readonly string[] } {
  const { config } = mergeConfig(configSchema, secrets, before, patch)
  return { config, changed: mergeConfig(configSchema, secrets, maskSecrets(before, secrets), patch).changed }
}

/** Faults for secrets that the PATCH would send to another destination without containing them (D88). */
function boundFaults(
  { configSchema, secrets }: CatalogEntry,
  before: JsonObject,
  patch: JsonObject,
  changed: readonly string[],
): readonly FieldError[] {
  return keptBoundSecrets(boundSecretsOf(configSchema, secrets), before, patch, changed).map(({ path, fields }) => ({
    path: path.map(pointerStep).join(''),
    keyword: 'boundSecret',
    params: { fields },
    message:
      `is bound to ${fields.join(', ')}, which this PATCH changes; ` +
      'send the secret again in the same PATCH, or null to clear it',
  }))
}

/** The config as stored text. @throws {FleetError} INVALID with every fault. */
function validText(config: JsonObject, entry: CatalogEntry): JsonText {
  const checked = textOrFaults(config, entry)
  if (typeof checked !== 'string') throw new FleetError('INVALID', checked)
  return checked
}
