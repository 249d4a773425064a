/**
 * @module storage/redis/stats
 * The `stats` of the contract: the ring of frames that workers.beat writes. It is in the order of arrival, which need
 * not be the order of the frames' own times, so all of its 240 are looked at.
 */
import { timeOfFrame, type StatsHistory } from '../index.ts'
import type { Caller } from './caller.ts'
import { keysOfType } from './keys.ts'
import { script } from './script.ts'
import { ringKey } from './workers-layout.ts'

const READ = script('stats.read')

export function createStats(caller: Caller): StatsHistory {
  return {
    read: async ({ type, id }, sinceSeconds, limit) => {
      const frames = (await caller.run(READ, [...keysOfType(READ, type), ringKey(type, id)], [id], {
        repeatable: true,
      })) as readonly string[] | null
      if (frames === null) return { kind: 'not_found' }
      return { kind: 'frames', frames: frames.filter((frame) => timeOfFrame(frame) >= sinceSeconds).slice(-limit) }
    },
  }
}
