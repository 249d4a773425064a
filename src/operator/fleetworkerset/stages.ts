/**
 * @module operator/fleetworkerset/stages
 * Computes the limits of the stages of a rollout, and the order in which workers get the new config. Pure.
 */
import { hash } from 'node:crypto'
import { compareText } from '../../runtime/index.ts'
import type { Stage } from './rollout-schema.ts'

/** A stage as a rollout enters it. */
export interface StageLimit {
  /** From 1. */
  readonly stage: number
  /** At most so many workers have the new config. `undefined`: all of them, in the last stage. */
  readonly limit: number | undefined
}

/**
 * Selects the stage that follows `stage`; 0 for the first one. A stage that would give the config to no further worker
 * is left out. Before the last stage one online worker keeps the current config, for comparison.
 *
 * @param limit The limit of the present stage; 0 before the first one.
 * @param online Number of online workers.
 */
export function stageAfter(stages: readonly Stage[], stage: number, limit: number, online: number): StageLimit {
  for (const [index, { workers }] of stages.entries()) {
    if (index < stage) continue
    const found = Math.min(limitOf(workers, online), online - 1)
    if (found > limit) return { stage: index + 1, limit: found }
  }
  return { stage: stages.length + 1, limit: undefined }
}

/** A percentage is rounded up, so that each stage has a worker. */
const limitOf = (workers: number | string, online: number): number =>
  typeof workers === 'number' ? workers : Math.max(1, Math.ceil((Number.parseInt(workers, 10) / 100) * online))

/** A worker that may get the new config next. */
export interface Candidate {
  readonly id: string
  readonly isHealthy: boolean
  /** The value of the label by which a stage spreads; empty if it has none. */
  readonly spread: string
}

/** Enough that no two workers of a set have the same rank. */
const RANK_DIGITS = 16

/** @returns the place of a worker in a rollout. It differs from revision to revision, so no worker is always first. */
export const rankOf = (uid: string, revision: string, id: string): string =>
  hash('sha256', `${uid}/${revision}/${id}`, 'hex').slice(0, RANK_DIGITS)

/**
 * Orders candidates: healthy workers first, since a worker in ERROR proves nothing about a config; then, so that each
 * stage has workers of many values of the label, the first one of each value, the second one of each, and so on.
 */
export function inOrder<T extends Candidate>(candidates: readonly T[], rank: (id: string) => string): readonly T[] {
  const ranked = candidates
    .map((each) => ({ each, rank: rank(each.id) }))
    .toSorted((a, b) => Number(b.each.isHealthy) - Number(a.each.isHealthy) || compareText(a.rank, b.rank))
  const isSpread = candidates.some(({ spread }) => spread !== candidates[0]?.spread)
  if (!isSpread) return ranked.map(({ each }) => each)
  const turns = new Map<string, number>()
  return ranked
    .map(({ each }, place) => {
      const group = `${each.isHealthy} ${each.spread}`
      const turn = turns.get(group) ?? 0
      turns.set(group, turn + 1)
      return { each, place, turn }
    })
    .toSorted((a, b) => Number(b.each.isHealthy) - Number(a.each.isHealthy) || a.turn - b.turn || a.place - b.place)
    .map(({ each }) => each)
}
