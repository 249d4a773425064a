/** @module dashboard/diagnosis/links  Links to the pages where a problem can be fixed. */
import { formatRoute } from '../route.ts'

export interface Link {
  readonly text: string
  readonly href: string
}

export const toWorker = (type: string, id: string): Link => ({
  text: `Open ${type}/${id}`,
  href: formatRoute({ page: 'worker', type, id }),
})
export const toConfig = (text: string, type: string, id: string): Link => ({
  text,
  href: formatRoute({ page: 'worker', type, id, tab: 'config' }),
})
/** Opens the dialog that forgets the worker. */
export const toForget = (type: string, id: string): Link => ({
  text: 'Forget',
  href: formatRoute({ page: 'worker', type, id, act: 'forget' }),
})
export const toWorkers = (text: string, q: string): Link => ({ text, href: formatRoute({ page: 'workers', q }) })
export const toQueue = (type: string): Link => ({ text: 'Open queue', href: formatRoute({ page: 'tasks', type }) })
export const toDead = (type: string, text = 'Open dead letters'): Link => ({
  text,
  href: formatRoute({ page: 'tasks', type, tab: 'dead' }),
})
export const toRollouts = (type: string): Link => ({
  text: 'Open rollouts',
  href: formatRoute({ page: 'automations', type }),
})
export const toOutput = (type: string): Link => ({
  text: 'Open output',
  href: formatRoute({ page: 'output', type }),
})
