/**
 * @module dashboard/diagnosis/attention
 * Lists what needs attention: the problems of the fleet, each with what shows it and what a person can do about it.
 */
import { findProblems, refusesConfig, type FleetFacts, type Problem, type ProblemKind } from '../../diagnosis/index.ts'
import { toConfig, toDead, toForget, toOutput, toQueue, toRollouts, toWorker, toWorkers, type Link } from './links.ts'

/** What a person can do about an item. */
interface Act extends Link {
  /** The permission that it needs; null if the link only shows something. */
  readonly needs: 'operate' | 'configure' | null
}

export interface Attention extends Problem {
  /** What shows the problem. */
  readonly link: Link
  /** The text of this link is a verb. */
  readonly act: Act
}

/** Returns what needs attention, sorted by severity and then by age. */
export const attentionOf = (facts: FleetFacts): readonly Attention[] =>
  findProblems(facts).map((problem) => ({ ...problem, ...linksOf(problem) }))

type Links = Pick<Attention, 'link' | 'act'>
/** A filter of the list of workers. */
const QUERIES = { error: 'state:error', failing: 'error:yes', offline: 'state:offline', behind: 'behind:yes' } as const

/** @returns what shows a problem, which is known by its kind, its type and its only worker. */
export function linksOf({ kind, type, count, affected }: Pick<Problem, 'kind' | 'type' | 'count' | 'affected'>): Links {
  switch (kind) {
    case 'rollout':
      return showing('Show rollout', toRollouts(type))
    case 'error':
    case 'failing':
    case 'offline':
    case 'behind': {
      const [only] = affected
      if (count === 1 && only !== undefined) return workerLinks(kind, only)
      return showing('Show workers', toWorkers('Show workers', `type:${type} ${QUERIES[kind]}`))
    }
    case 'paused':
      return { link: toQueue(type), act: { ...toQueue(type), text: 'Resume', needs: 'operate' } }
    case 'unserved':
    case 'old':
      return showing('Show queue', toQueue(type))
    case 'dead':
      return { link: toDead(type), act: { ...toDead(type, 'Replay'), needs: 'operate' } }
    case 'stream':
      return showing('Show output', toOutput(type))
  }
}

const showing = (text: string, link: Link): Links => ({ link, act: { text, href: link.href, needs: null } })

function workerLinks(kind: ProblemKind, worker: Problem['affected'][number]): Links {
  const { automation_type: type, worker_id: id } = worker
  const link = toWorker(type, id)
  if (kind === 'offline') return { link, act: { ...toForget(type, id), needs: 'operate' } }
  if (kind === 'behind' && !refusesConfig(worker)) return showing('Show worker', link)
  return { link, act: { ...toConfig('Fix config', type, id), needs: 'configure' } }
}

/** @returns the worker, or the workers with the same problem, whose runs fail now; undefined if there is none. */
export const failingNow = (attention: readonly Attention[]): Attention | undefined =>
  attention.find(({ kind, rate }) => kind === 'error' && rate !== null)

/** @returns the tone of the most severe item; undefined if nothing needs attention. */
export const worstTone = (attention: readonly Attention[]): Attention['tone'] | undefined =>
  (['bad', 'warn', 'offline'] as const).find((worst) => attention.some(({ tone }) => tone === worst))
