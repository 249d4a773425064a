/**
 * @module master/control/registrations
 * Stores the registrations of workers in batches. A worker that registers for the first time gets the config that its
 * enrolment rule names (D141), else the defaults.
 */
import { FleetError, type Enrolled, type WorkerLabels } from '../../protocol/index.ts'
import { compareText, truncateError, type Batcher, type LogThrottle } from '../../runtime/index.ts'
import type { RegisterResult, Registration } from '../../storage/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import type { MasterDeps } from '../deps.ts'
import { createBatcher } from '../queue/index.ts'
import { EnrolmentChooser, type EnrolmentChoice } from '../registry/index.ts'

/** How often the rules are read for one register. They change only while calls change them. */
const MAX_READS = 5
/** Size of the configs in one call of the store. */
const MAX_CALL_BYTES = 4_194_304
/** Length limit of the reason in the log and in the event. */
const MAX_REASON_CHARS = 500

/** A worker that registers, before its config is chosen. */
export interface Registrant extends Omit<Registration, 'defaults' | 'rules' | 'enrolment' | 'labels'> {
  readonly labels: WorkerLabels
}

/** What the event of a new worker has because of its enrolment rule. */
interface EnrolmentNews {
  readonly enrolment?: Enrolled
  readonly config_revision?: string
  readonly managed_by?: string | null
}

export type Registered = Extract<RegisterResult, { kind: 'registered' }> & { readonly news: EnrolmentNews }
type StoredRegistration = Registered | Extract<RegisterResult, { kind: 'full' }>

export class Registrations {
  readonly #master: MasterDeps
  readonly #logThrottle: LogThrottle
  readonly #chooser: EnrolmentChooser
  readonly #batcher: Batcher<Registration, RegisterResult>

  constructor(master: MasterDeps, logThrottle: LogThrottle) {
    this.#master = master
    this.#logThrottle = logThrottle
    this.#chooser = new EnrolmentChooser(master.backend)
    this.#batcher = createBatcher(
      (items) => master.backend.workers.register(items),
      ({ defaults }) => defaults.length,
      MAX_CALL_BYTES,
    )
  }

  /** @throws {FleetError} of the store, or if the rules changed with each attempt. */
  async store(entry: CatalogEntry, { labels, ...registrant }: Registrant): Promise<StoredRegistration> {
    for (let reads = 0; ; reads += 1) {
      const choice = this.#chooser.choose(entry, registrant.id, labels)
      const { defaults, rules, enrolment } = choice
      const item = { ...registrant, labels: labelsText(labels), defaults, rules, enrolment }
      const [result] = await this.#batcher.add([item])
      if (result === undefined || result instanceof Error) throw result ?? new TypeError('the store returned no result')
      if (result.kind === 'full') return result
      if (result.kind === 'registered')
        return { ...result, news: result.previous === null ? this.#newsOf(registrant, choice) : {} }
      if (reads === MAX_READS) throw new FleetError('OVERLOADED', 'the enrolment rules changed with each attempt')
      await this.#chooser.refresh(entry, rules ?? '')
    }
  }

  #newsOf({ type, id }: Pick<Registrant, 'type' | 'id'>, { rule, enrolment }: EnrolmentChoice): EnrolmentNews {
    if (rule === undefined) return {}
    const { name, revision, error } = rule
    if (enrolment !== undefined) {
      const { variant, managedBy } = enrolment
      return { enrolment: { rule: name }, config_revision: `${revision}/${variant}`, managed_by: managedBy }
    }
    const reason = truncateError(error?.message ?? '', MAX_REASON_CHARS)
    this.#logThrottle.run(`enrolment ${type}/${name}`, (suppressed) =>
      this.#master.log.warn('an enrolment rule has an invalid config; new workers get the default config', {
        automation_type: type,
        worker_id: id,
        rule: name,
        revision,
        reason,
        suppressed,
      }),
    )
    return { enrolment: { rule: name, error: reason } }
  }
}

/** The labels as they are stored: with ordered keys, so that equal labels are equal text. Undefined for none. */
function labelsText(labels: WorkerLabels): string | undefined {
  const pairs = Object.entries(labels).toSorted(([a], [b]) => compareText(a, b))
  return pairs.length === 0 ? undefined : JSON.stringify(Object.fromEntries(pairs))
}
