/**
 * @module master/alerts/find-problems
 * Finds the problems of which alerts are made: those of the attention list, and runs that fail on workers that are not
 * in ERROR. Dead tasks are a problem only while tasks die.
 */
import {
  ErrorPatience,
  findFailingRuns,
  findProblems,
  withRates,
  type DeadGroupsByType,
  type Problem,
  type RunsByType,
} from '../../diagnosis/index.ts'
import type { RunsBody } from '../../protocol/index.ts'
import { factsOf, overviewBody, type FleetSnapshot } from '../metrics/index.ts'
import { readDeadGroups } from '../queue/index.ts'
import type { MasterDeps } from '../deps.ts'

export interface FinderDeps extends Pick<MasterDeps, 'backend' | 'clock'> {
  readonly snapshot: () => Promise<FleetSnapshot>
  readonly runsOf: (type: string) => Promise<RunsBody>
}

/** Finds problems again and again, because the patience with a worker depends on its past. */
export class ProblemFinder {
  readonly #deps: FinderDeps
  readonly #patience = new ErrorPatience()

  constructor(deps: FinderDeps) {
    this.#deps = deps
  }

  async find(): Promise<readonly Problem[]> {
    const fleet = await this.#deps.snapshot()
    const nowSeconds = this.#deps.clock.wallMs() / 1_000
    const byType = fleet.types.map((numbers) => ({ type: numbers.type, workers: factsOf(numbers) }))
    const workers = byType.flatMap((each) => each.workers)
    this.#patience.update(workers, nowSeconds)
    const overview = overviewBody(fleet)
    const runs = await this.#runs(fleet)
    const problems = withRates(
      findProblems({ overview, workers, patience: this.#patience, nowSeconds }),
      runs,
      await this.#deadGroups(runs),
    )
    const failing = byType.flatMap((each) => {
      const ofType = runs.get(each.type)
      return (ofType && findFailingRuns(each.type, each.workers, ofType, nowSeconds)) ?? []
    })
    return [...problems.filter(({ kind, tone }) => kind !== 'dead' || tone === 'bad'), ...failing]
  }

  async #runs({ types }: FleetSnapshot): Promise<RunsByType> {
    return new Map(await Promise.all(types.map(async ({ type }) => [type, await this.#deps.runsOf(type)] as const)))
  }

  /** Of the types of which tasks die. */
  async #deadGroups(runs: RunsByType): Promise<DeadGroupsByType> {
    const dying = [...runs].filter(([, { died }]) => (died ?? 0) > 0).map(([type]) => type)
    const { tasks } = this.#deps.backend
    return new Map(await Promise.all(dying.map(async (type) => [type, await readDeadGroups(tasks, type)] as const)))
  }
}
