/** @module dashboard/diagnosis/fix-links  Links from a cause to the pages where it can be fixed. */
import type { Cause, Fix, WorkersFilter } from '../../diagnosis/index.ts'
import { formatRoute } from '../route.ts'
import { toDead, toWorker, toWorkers, type Link } from './links.ts'

/** A cause with the links that are shown. */
export interface LinkedCause extends Pick<Cause, 'tone' | 'text'> {
  readonly links: readonly Link[]
}

export const withLinks = ({ tone, text, fixes }: Cause): LinkedCause => ({ tone, text, links: fixes.map(linkOf) })

/** The filter of the list of workers (workers/filter.ts). */
const FILTERS: Readonly<Record<WorkersFilter, string>> = {
  all: '',
  offline: 'state:offline',
  not_enabled: 'enabled:no',
  no_slots: 'slots:<1',
  draining: 'state:draining',
  failing: 'error:yes',
}

export function linkOf(fix: Fix): Link {
  switch (fix.kind) {
    case 'open_worker':
      return toWorker(fix.type, fix.worker)
    case 'show_log':
      return {
        text: 'Show its log',
        href: formatRoute({ page: 'worker', type: fix.type, id: fix.worker, tab: 'logs' }),
      }
    case 'edit_config':
      return {
        text: 'Edit its config',
        href: formatRoute({ page: 'worker', type: fix.type, id: fix.worker, tab: 'config' }),
      }
    case 'show_config_change': {
      const diff = `${fix.generation - 1}..${fix.generation}`
      const route = { page: 'worker', type: fix.type, id: fix.worker, tab: 'history', diff } as const
      return { text: 'Show the change', href: formatRoute(route) }
    }
    case 'drain_worker':
      return {
        text: 'Drain it',
        href: formatRoute({ page: 'worker', type: fix.type, id: fix.worker, act: 'drain' }),
      }
    case 'list_workers':
      return toWorkers(
        fix.filter === 'all' ? 'Show the workers' : 'Show these workers',
        `type:${fix.type} ${FILTERS[fix.filter]}`.trim(),
      )
    case 'replay_dead':
      return toDead(fix.type, 'Replay the dead tasks')
    case 'list_dead':
      return toDead(fix.type)
  }
}
