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
  offline: { mark: '⊘', tone: 'offline' },
  late: { mark: '◔', tone: 'warn' },
}

/** The colour of a state. */
export const displayTone = (word: StateWord): string => LOOKS[word].tone

export type StateFacts = Pick<WorkerBody, 'state' | 'connected' | 'last_seen' | 'departure'> & {
  readonly read_at?: number
}

export const STATE_WORDS = Object.keys(LOOKS) as readonly StateWord[]

/** A worker is late as of the time when its row was read: the page does not know what it has sent since then. */
export function stateWord({ state, connected, last_seen, read_at }: StateFacts, nowSeconds: number): StateWord {
  if (!connected) return 'offline'
  return Math.min(nowSeconds, read_at ?? nowSeconds) - last_seen > LATE_AFTER_SECONDS ? 'late' : state
}

export function displayState(worker: StateFacts, nowSeconds: number): DisplayState {
  const word = stateWord(worker, nowSeconds)
  return { word, ...LOOKS[word], was: word === worker.state ? null : worker.state }
}

/**
 * What stands behind the word, in parentheses: `drained`; `lost, was RUNNING`; empty for nothing. A worker that ended
 * on purpose has no other state worth showing.
 */
export function stateNote({ departure = null, connected }: StateFacts, was: WorkerState | null): string {
  const kind = connected ? null : (departure?.kind ?? null)
  if (kind === 'drained' || kind === 'stopped') return kind
  return [kind, was === null ? null : `was ${was}`].filter((each) => each !== null).join(', ')
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

/** What a worker is listed by: its trouble, the worst first, or none (D177). */
const SEVERITIES = ['ERROR', 'offline', 'late', 'behind', 'DRAINING', 'ended', 'none'] as const
type Severity = (typeof SEVERITIES)[number]

type SeverityFacts = StateFacts & AppliedConfig & Pick<WorkerBody, 'ended' | 'draining'>

function severityOf(worker: SeverityFacts, nowSeconds: number): Severity {
  const word = stateWord(worker, nowSeconds)
  switch (word) {
    case 'offline':
      return worker.ended === true || worker.draining || worker.state === 'DRAINING' ? 'ended' : 'offline'
    case 'IDLE':
    case 'RUNNING':
      return isBehind(worker) ? 'behind' : 'none'
    case 'ERROR':
    case 'late':
    case 'DRAINING':
      return word
  }
}

/** 0 for the worst. IDLE and RUNNING are equal, because workers change between them all the time. */
export const severityRank = (worker: SeverityFacts, nowSeconds: number): number =>
  SEVERITIES.indexOf(severityOf(worker, nowSeconds))
