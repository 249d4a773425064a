/**
 * @module master/alerts/stored-alert
 * Stores the alerts of each type, so that a new leader continues with them. They are stored as reports
 * (storage/contract/rollouts.ts) of `alerts/TYPE`, which is not the name of a type.
 * @see D200
 */
import type { Alert } from '../../protocol/index.ts'
import type { RolloutHead, Rollouts } from '../../storage/index.ts'

export interface StoredAlert extends Omit<Alert, 'acknowledged'> {
  /** As {@link Problem} has it, to compare with an acknowledgement. */
  readonly mark: string | null
  /** What was sent of it last; null if nothing was. */
  readonly sent: 'firing' | 'resolved' | null
  /** When subject, text, count and severity were written. */
  readonly updated_at: number
}

/** A name that no type has, because of its slash. */
const spaceOf = (type: string): string => `alerts/${type}`
const nameOf = ({ id, type }: StoredAlert): string => id.slice(type.length + 1)
const alertOf = ({ head }: RolloutHead): StoredAlert => JSON.parse(head) as StoredAlert

/** The id of an alert. Two alerts of an item never fire in the same millisecond. */
export const idOf = (type: string, item: string, firedAtMs: number): string =>
  `${type}.${item}.${firedAtMs.toString(36)}`

export class AlertStore {
  readonly #rollouts: Rollouts
  readonly #types: readonly string[]

  constructor(rollouts: Rollouts, types: readonly string[]) {
    this.#rollouts = rollouts
    this.#types = types
  }

  /** @param types All installed types if omitted. */
  async read(types: readonly string[] = this.#types): Promise<readonly StoredAlert[]> {
    return (await this.#rollouts.heads(types.map(spaceOf))).flat().map(alertOf)
  }

  /** @returns false if the type has the maximum number of alerts; nothing was written. */
  async put(alert: StoredAlert): Promise<boolean> {
    const head = JSON.stringify(alert)
    const report = { name: nameOf(alert), head, body: '', reportedAtMs: Math.round(alert.updated_at * 1_000) }
    return (await this.#rollouts.put(spaceOf(alert.type), report)) !== 'full'
  }

  async remove(alert: StoredAlert): Promise<void> {
    await this.#rollouts.remove(spaceOf(alert.type), nameOf(alert))
  }
}
