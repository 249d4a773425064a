/**
 * @module dashboard/workers/slot-stepper
 * Changes the configured slots of a worker by one per click (D198). Clicks in quick succession are one change of the
 * present config, which names its generation, so that it never overwrites another change.
 */
import { useRef, useState } from 'react'
import type { ConfigBody, WorkerSummary } from '../../protocol/index.ts'
import type { Api } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import { hasPermission, useSession } from '../api/session.ts'
import type { WorkerRow } from './row.ts'

/** So long a change waits for further clicks. */
const SETTLED_MS = 500
/** The range of `slots` (D4). */
const MOST_SLOTS = 1_024

type Stepped = Pick<WorkerRow, 'automation_type' | 'worker_id' | 'config' | 'config_gen' | 'managed_by' | 'draining'>

interface SlotStepperProps {
  readonly worker: Stepped
  /** The running slots, shown between the buttons. */
  readonly running: number | null
  /** Whether the Tab key skips the buttons, because the page of the worker has them too. */
  readonly isInRow: boolean
  readonly onSaved: (body: ConfigBody) => void
}

const configuredSlots = ({ config }: Pick<WorkerRow, 'config'>): number | null =>
  typeof config['slots'] === 'number' ? config['slots'] : null

export function SlotStepper({ worker, running, isInRow, onSaved }: SlotStepperProps) {
  const { me } = useSession()
  const { pending, problem, step } = useSteps(worker, onSaved)
  const { automation_type: type, worker_id: id } = worker
  const slots = configuredSlots(worker)
  const why = whyLocked(worker, hasPermission(me, type, 'configure'))
  const shown = slots === null ? null : slots + pending
  const button = (by: 1 | -1) => (
    <button
      type="button"
      className="quiet step"
      tabIndex={isInRow ? -1 : 0}
      aria-label={`One slot ${by === 1 ? 'more' : 'less'} for ${id}`}
      title={why ?? (by === 1 ? 'One slot more' : 'One slot less')}
      disabled={why !== undefined || shown === null || shown + by < 0 || shown + by > MOST_SLOTS}
      onClick={() => step(by)}
    >
      {by === 1 ? '+' : '−'}
    </button>
  )
  return (
    <span className={isInRow ? 'stepper in-row' : 'stepper'} title={problem ?? undefined}>
      {button(-1)}
      <span className={problem === null ? 'steps' : 'steps bad'} {...(!isInRow && { role: 'status' })}>
        {running ?? '–'}
        {pending !== 0 && ` ${pending > 0 ? '+' : '−'}${Math.abs(pending)}`}
        {problem !== null && <span aria-hidden="true"> ✗</span>}
      </span>
      {button(1)}
      {problem !== null && !isInRow && (
        <span className="bad" role="alert">
          {' '}
          {problem}
        </span>
      )}
    </span>
  )
}

function whyLocked({ managed_by: by, draining }: Stepped, may: boolean): string | undefined {
  if (by !== null) return `Managed by ${by.replace(/#.*$/, '')}: change it there, or override it on the Config tab.`
  if (draining) return 'The worker drains.'
  return may ? undefined : 'This token may not change configs of this type.'
}

interface Steps {
  /** By how many slots the clicks change it; 0 if nothing is pending. */
  readonly pending: number
  readonly problem: string | null
  readonly step: (by: 1 | -1) => void
}

/** The pending clicks are in a ref: further ones may follow before a render. */
function useSteps({ automation_type: type, worker_id: id }: Stepped, onSaved: (body: ConfigBody) => void): Steps {
  const { api } = useSession()
  const [pending, setPending] = useState(0)
  const [problem, setProblem] = useState<string | null>(null)
  const clicks = useRef(0)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const save = async (): Promise<void> => {
    const by = clicks.current
    try {
      if (by !== 0) onSaved(await stepSlots(api, ['automations', type, 'workers', id], by))
    } catch (error) {
      setProblem(problemText(error))
    }
    clicks.current -= by
    setPending(clicks.current)
  }
  const step = (by: 1 | -1): void => {
    clicks.current += by
    setPending(clicks.current)
    setProblem(null)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => void save(), SETTLED_MS)
  }
  return { pending, problem, step }
}

/** Reads the config first: a row of the list may be some seconds old. */
async function stepSlots(api: Api, path: readonly string[], by: number): Promise<ConfigBody> {
  const { body: worker, epoch } = await api.get<WorkerSummary>(path, { view: 'summary' })
  const slots = Math.max(0, Math.min(MOST_SLOTS, (configuredSlots(worker) ?? 0) + by))
  const headers = { 'if-match': `"${epoch ?? ''}.${worker.config_gen}"` }
  return (await api.send<ConfigBody>('PATCH', [...path, 'config'], { body: { slots }, headers })).body
}

function problemText(error: unknown): string {
  const { status, message } = asProblem(error)
  return status === 412 ? 'Not changed: the config has changed meanwhile. Try again.' : `Not changed: ${message}`
}
