/**
 * @module dashboard/why/explain-fleet
 * Why the fleet needs a person: of each thing that needs attention the decisive cause, in the same order (verdict.ts).
 * A thousand workers with one problem are told by the reason that most of them give.
 */
import type { Attention, FleetFacts } from './verdict.ts'
import { explainQueue, explainWorker, mostFrequent, type Cause, type WorkerFacts } from './explain.ts'

/** The list below the sentence has them all. */
const TOLD = 5

export function explainFleet(facts: FleetFacts, attention: readonly Attention[]): readonly Cause[] {
  return attention.slice(0, TOLD).map((item): Cause => ({
    tone: item.tone === 'away' ? 'warn' : item.tone,
    text: `${item.subject}: ${reasonOf(facts, item)}`,
    way: item.way,
  }))
}

function reasonOf({ overview, workers, nowSeconds }: FleetFacts, { kind, type, text, held }: Attention): string {
  switch (kind) {
    case 'error':
    case 'offline':
    case 'behind':
      return workersReason(held, text, nowSeconds)
    case 'unserved':
    case 'old': {
      const queue = overview.automations[type]?.queue
      if (workers === null || queue == null) return `${text}.`
      return (
        explainQueue({ type, queue, workers: workers.filter((worker) => worker.automation_type === type) })[0]?.text ??
        text
      )
    }
    case 'dead':
      return `${text}. Each shows its last error.`
    case 'stream':
      return `${text}.`
  }
}

function workersReason(held: readonly WorkerFacts[], text: string, nowSeconds: number): string {
  const [first, ...others] = held
  if (first !== undefined && others.length === 0) return explainWorker(first, nowSeconds)[0]?.text ?? text
  return `${text}${mostFrequent(held)}`
}
