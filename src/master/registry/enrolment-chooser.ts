/**
 * @module master/registry/enrolment-chooser
 * Chooses the config of a worker that registers for the first time: that of the first enrolment rule, by name, that
 * selects it, else the defaults (D4).
 *
 *   register with version of the rules ── the worker is known, or the version is that of the store ──▶ registered
 *        ▲                            └── another version is stored ──▶ nothing is written ──▶ the rules are read again
 *        └───────────────────────────────────────────────────────────────────────────────────────┘
 *
 * So each master applies a changed rule from the next register on, without a message between masters, and a type
 * without rules costs no call. A rule whose config is invalid for the installed automation enrols no worker.
 * @see D141
 */
import {
  FleetError,
  selectsWorker,
  type FieldError,
  type JsonObject,
  type JsonText,
  type WorkerLabels,
} from '../../protocol/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import type { Backend, EnrolmentRule, Registration } from '../../storage/index.ts'
import { enrolledConfig, type RuleBody } from './enrolled-config.ts'

/** What a worker without a record gets. */
export interface EnrolmentChoice extends Pick<Registration, 'defaults' | 'rules' | 'enrolment'> {
  /** The rule that selects the worker; absent if none does. */
  readonly rule?: { readonly name: string; readonly revision: string; readonly error?: FleetError }
}

interface CompiledRule {
  readonly selects: (id: string, labels: WorkerLabels) => boolean
  readonly choice: EnrolmentChoice
}

interface CompiledRules {
  readonly version: string
  readonly rules: readonly CompiledRule[]
}

const NO_RULES: CompiledRules = { version: '', rules: [] }

export class EnrolmentChooser {
  readonly #backend: Pick<Backend, 'enrolments' | 'revisions'>
  /** The rules of each type as they were read last. */
  readonly #known = new Map<string, CompiledRules>()
  /** The reads that are under way, by type. */
  readonly #reads = new Map<string, Promise<void>>()

  constructor(backend: Pick<Backend, 'enrolments' | 'revisions'>) {
    this.#backend = backend
  }

  choose(entry: CatalogEntry, id: string, labels: WorkerLabels): EnrolmentChoice {
    const { version, rules } = this.#known.get(entry.type) ?? NO_RULES
    const rule = rules.find(({ selects }) => selects(id, labels))
    return rule?.choice ?? { defaults: JSON.stringify(entry.defaults), rules: version }
  }

  /**
   * Reads the rules again, unless another version than `seen` was read meanwhile.
   *
   * @throws {FleetError} of the store.
   */
  refresh(entry: CatalogEntry, seen: string): Promise<void> {
    const { type } = entry
    if ((this.#known.get(type) ?? NO_RULES).version !== seen) return Promise.resolve()
    const read = this.#reads.get(type) ?? this.#read(entry).finally(() => this.#reads.delete(type))
    this.#reads.set(type, read)
    return read
  }

  async #read(entry: CatalogEntry): Promise<void> {
    const { version, rules } = await this.#backend.enrolments.list(entry.type)
    const names = [...new Set(rules.map(({ revision }) => revision))]
    const configs = await this.#backend.revisions.get(entry.type, names)
    const fieldsOf = new Map(names.map((name, at) => [name, configs[at] ?? null]))
    this.#known.set(entry.type, {
      version,
      rules: rules.map((rule) => compileRule(entry, version, rule, fieldsOf.get(rule.revision) ?? null)),
    })
  }
}

/** @param fields The config of the revision; null if it was dropped after the rule was removed by another call. */
function compileRule(entry: CatalogEntry, version: string, rule: EnrolmentRule, fields: JsonText | null): CompiledRule {
  const { name, revision, variant, managedBy } = rule
  const { id_patterns: idPatterns, match_labels: matchLabels, patch } = JSON.parse(rule.body) as RuleBody
  const selects = (id: string, labels: WorkerLabels): boolean =>
    selectsWorker({ idPatterns, matchLabels }, { id, labels })
  const config = fields === null ? [unstored(revision)] : enrolledConfig(entry, JSON.parse(fields) as JsonObject, patch)
  if (typeof config === 'string') {
    const enrolment = { revision, variant, managedBy }
    return { selects, choice: { defaults: config, rules: version, enrolment, rule: { name, revision } } }
  }
  const error = new FleetError('INVALID', config)
  const defaults = JSON.stringify(entry.defaults)
  return { selects, choice: { defaults, rules: version, rule: { name, revision, error } } }
}

const unstored = (revision: string): FieldError => ({
  path: '',
  message: `revision ${revision} is not stored`,
  keyword: 'revision',
  params: {},
})
