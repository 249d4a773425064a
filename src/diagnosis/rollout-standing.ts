/** @module diagnosis/rollout-standing  Names how a rollout stands, for its card and for the overview (D148). */
import type { OverviewRollout } from '../protocol/index.ts'

export interface Standing {
  /** `bad` and `warn` need a person. */
  readonly tone: 'good' | 'calm' | 'warn' | 'bad'
  readonly mark: string
  readonly word: string
  /** Continues "the rollout …". */
  readonly clause: string
}

const standing = (tone: Standing['tone'], mark: string, word: string, clause: string): Standing => ({
  tone,
  mark,
  word,
  clause,
})

const STANDINGS: Readonly<Record<OverviewRollout['phase'], Standing>> = {
  Writing: standing('calm', '●', 'Writing configs', 'writes configs'),
  Acknowledging: standing('calm', '●', 'Waiting for workers', 'waits for workers'),
  Baking: standing('calm', '●', 'Baking', 'bakes'),
  WaitingForApproval: standing('warn', '▲', 'Waiting for approval', 'waits for approval'),
  Inconclusive: standing('warn', '▲', 'Inconclusive', 'is inconclusive'),
  Failed: standing('bad', '✗', 'Failed', 'has failed'),
  RollingBack: standing('bad', '✗', 'Rolling back', 'is rolling back'),
  RolledBack: standing('bad', '✗', 'Rolled back', 'was rolled back'),
  Complete: standing('good', '✓', 'Complete', 'is complete'),
}
const PAUSED = standing('warn', '▲', 'Paused', 'is paused')

/** A pause has no effect on a rollout that has failed or is complete. */
export function standingOf({ phase, paused }: Pick<OverviewRollout, 'phase' | 'paused'>): Standing {
  const known = STANDINGS[phase]
  return paused && known.tone !== 'bad' && known.tone !== 'good' ? PAUSED : known
}
