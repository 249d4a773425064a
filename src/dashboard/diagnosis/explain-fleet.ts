/**
 * @module dashboard/diagnosis/explain-fleet
 * Explains the items of attention.ts: the decisive cause of each, in the same order, and what fixes it. The text of
 * an item with many workers has their most frequent error already.
 */
import {
  explainQueue,
  explainWorker,
  type Cause,
  type FleetFacts,
  type RunsByType,
  type WorkerFacts,
} from '../../diagnosis/index.ts'
import type { RunsBody } from '../../protocol/index.ts'
import type { Attention } from './attention.ts'
import { linkOf, type LinkedCause } from './fix-links.ts'

/** Maximum number of explained items. The attention list below shows all of them. */
const MAX_CAUSES = 5

/** A cause of one item. */
type Reason = Pick<Cause, 'text' | 'fixes'>

/** @returns the types of which {@link explainFleet} reads the runs. */
export const explainedTypes = (attention: readonly Attention[]): readonly string[] =>
  [...new Set(attention.slice(0, MAX_CAUSES).map(({ type }) => type))].toSorted()

export function explainFleet(
  facts: FleetFacts,
  attention: readonly Attention[],
  runs: RunsByType,
): readonly LinkedCause[] {
  return attention.slice(0, MAX_CAUSES).map((item): LinkedCause => {
    const { text, fixes } = reasonOf(facts, item, runs)
    return {
      tone: item.tone === 'offline' ? 'warn' : item.tone,
      text: sentenceOf(item.subject, text),
      links: fixes.length === 0 ? [item.link] : fixes.map(linkOf),
    }
  })
}

/** The text of a worker's cause begins with "It". */
const sentenceOf = (subject: string, text: string): string =>
  text.startsWith('It ') ? `${subject} ${text.slice('It '.length)}` : `${subject}: ${text}`

function reasonOf(facts: FleetFacts, item: Attention, runs: RunsByType): Reason {
  const { kind, text } = item
  switch (kind) {
    case 'error':
    case 'failing':
    case 'offline':
    case 'behind':
      return workersReason(facts, item, runs)
    case 'unserved':
    case 'paused':
    case 'old':
    case 'dead':
      return queueReason(facts, item, runs) ?? { text: withStop(text), fixes: [] }
    case 'rollout':
    case 'stream':
      return { text: withStop(text), fixes: [] }
  }
}

/** Ends a sentence, which may end with an error. */
const withStop = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

function queueReason(
  { overview, workers, nowSeconds }: FleetFacts,
  { kind, type, text }: Attention,
  runs: RunsByType,
): Cause | undefined {
  const queue = overview.automations[type]?.queue
  if (workers === null || queue == null) return undefined
  const ofType = workers.filter((worker) => worker.automation_type === type)
  const [first] = explainQueue({ type, queue, workers: ofType, runs: runs.get(type) ?? null, nowSeconds })
  if (first === undefined || kind !== 'dead') return first
  return first.tone === 'bad' ? { ...first, text: `${withStop(text)} ${first.text}` } : undefined
}

function workersReason({ nowSeconds }: FleetFacts, { affected, text, type }: Attention, runs: RunsByType): Reason {
  const [first, ...others] = affected
  if (first === undefined || others.length > 0) return { text: withStop(text), fixes: [] }
  return workerReason(first, nowSeconds, runs.get(type)) ?? { text, fixes: [] }
}

function workerReason(worker: WorkerFacts, nowSeconds: number, runs: RunsBody | undefined): Reason | undefined {
  const ofWorker = runs?.workers.find(({ worker_id: id }) => id === worker.worker_id) ?? null
  const [cause] = explainWorker(worker, nowSeconds, ofWorker)
  if (cause === undefined || worker.last_error === null) return cause
  return { ...cause, text: `${cause.text} Last error: ${worker.last_error}` }
}
