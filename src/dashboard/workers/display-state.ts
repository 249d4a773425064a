/**
 * @module dashboard/workers/display-state
 * Returns the displayed state of a worker: the stored state, or `offline` (no connection), or `late` (connected, but no
 * frame received for over 45 s). The stored state is always shown next to `offline`.
 */
import type { WorkerBody, WorkerState } from '../../protocol/index.ts'

export type StateWord = WorkerState | 'offline' | 'late'
type Tone = 'good' | 'warn' | 'bad' | 'offline' | 'calm'

export interface DisplayState {
  readonly word: StateWord
  /** A symbol, so that the state does not depend on colour only. */
  readonly mark: string
  readonly tone: Tone
  /** The stored state if `word` differs from it. */
  readonly was: WorkerState | null
}

const LATE_AFTER_SECONDS = 45
const LOOKS: Readonly<Record<StateWord, { readonly mark: string; readonly tone: Tone }>> = {
  IDLE: { mark: '○', tone: 'calm' },
  RUNNING: { mark: '●', tone: 'good' },
  ERROR: { mark: '✗', tone: 'bad' },
  DRAINING: { mark: '◐', tone: 'warn' },
  offline: { mark: '◌', tone: 'offline' },
  late: { mark: '◔', tone: 'warn' },
}

export type StateFacts = Pick<WorkerBody, 'state' | 'connected' | 'last_seen'>

export const STATE_WORDS = Object.keys(LOOKS) as readonly StateWord[]

export function stateWord({ state, connected, last_seen }: StateFacts, nowSeconds: number): StateWord {
  if (!connected) return 'offline'
  return nowSeconds - last_seen > LATE_AFTER_SECONDS ? 'late' : state
}

export function displayState(worker: StateFacts, nowSeconds: number): DisplayState {
  const word = stateWord(worker, nowSeconds)
  return { word, ...LOOKS[word], was: word === worker.state ? null : worker.state }
}

type AppliedConfig = Pick<WorkerBody, 'config_gen' | 'applied_config_gen'>

/** Whether the worker runs an older config than the saved one. */
export const isBehind = ({ config_gen, applied_config_gen }: AppliedConfig): boolean =>
  applied_config_gen !== null && applied_config_gen < config_gen

/** `14`; `14 (12 applied)`; `14 (not applied yet)`. */
export function configText({ config_gen, applied_config_gen }: AppliedConfig): string {
  if (applied_config_gen === null) return `${config_gen} (not applied yet)`
  return applied_config_gen === config_gen ? String(config_gen) : `${config_gen} (${applied_config_gen} applied)`
}
