/**
 * @module master/rollouts/heads
 * Makes and reads the heads of rollout reports. A report is news if its head is another one than before, so the head
 * consists of what the event and the overview show.
 * @see D148
 */
import type { OverviewRollout, RolloutBody } from '../../protocol/index.ts'
import type { RolloutHead } from '../../storage/index.ts'

/** What a head says. */
export interface Head extends Omit<OverviewRollout, 'name'> {
  readonly revision: string
  readonly attempt: number
}

/** @returns the text that the store compares. */
export function headText({ attempt, paused, phase, set, since, stage, stages, ...body }: RolloutBody): string {
  const head: Head = {
    set: `${set.namespace}/${set.name}`,
    revision: body.update_revision,
    attempt,
    phase,
    paused: paused ?? false,
    since,
    stage,
    stages,
  }
  return JSON.stringify(head)
}

export const headOf = (text: string): Head => JSON.parse(text) as Head

/** @returns what the overview shows of the reports of a type. */
export const overviewOfReports = (heads: readonly RolloutHead[]): OverviewRollout[] =>
  heads.map(({ name, head }) => {
    const { paused, phase, set, since, stage, stages } = headOf(head)
    return { name, set, phase, paused, since, stage, stages }
  })
