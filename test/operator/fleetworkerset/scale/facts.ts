/** Workers of pods, as the decisions about scaling see them. */
import type { PodWorker } from '../../../../src/operator/fleetworkerset/scale/plan.ts'

export const worker = (more: Partial<PodWorker> = {}): PodWorker => ({
  isConnected: true,
  isCordoned: false,
  isOwn: true,
  tasksHeld: 1,
  isIdle: false,
  ...more,
})
/** Cordoned, and holds tasks. */
export const busy = (tasksHeld = 1): PodWorker => worker({ isCordoned: true, tasksHeld })
/** Cordoned, and holds none. */
export const idle = (): PodWorker => worker({ isCordoned: true, tasksHeld: 0, isIdle: true })
