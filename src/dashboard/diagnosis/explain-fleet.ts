/**
 * @module dashboard/diagnosis/explain-fleet
 * Explains the items of attention.ts: the decisive cause of each, in the same order. For an item with many workers it
 * shows their most frequent error.
 */
import type { Attention, FleetFacts } from './attention.ts'
import { explainQueue, explainWorker, mostFrequent, type Cause, type WorkerFacts } from './explain.ts'

/** Maximum number of explained items. The attention list below shows all of them. */
const MAX_CAUSES = 5

export function explainFleet(facts: FleetFacts, attention: readonly Attention[]): readonly Cause[] {
  return attention.slice(0, MAX_CAUSES).map((item): Cause => ({
    tone: item.tone === 'offline' ? 'warn' : item.tone,
    text: `${item.subject}: ${reasonOf(facts, item)}`,
    link: item.link,
  }))
}

function reasonOf({ overview, workers, nowSeconds }: FleetFacts, { kind, type, text, affected }: Attention): string {
  switch (kind) {
    case 'error':
    case 'offline':
    case 'behind':
      return workersReason(affected, text, nowSeconds)
    case 'unserved':
    case 'paused':
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
    case 'rollout':
    case 'stream':
      return `${text}.`
  }
}

function workersReason(affected: readonly WorkerFacts[], text: string, nowSeconds: number): string {
  const [first, ...others] = affected
  if (first !== undefined && others.length === 0) return explainWorker(first, nowSeconds)[0]?.text ?? text
  return `${text}${mostFrequent(affected)}`
}
