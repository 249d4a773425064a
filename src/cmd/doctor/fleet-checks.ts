/** @module cmd/doctor/fleet-checks  Checks the store of the master and the configs of its workers. */
import type { OverviewBody } from '../../protocol/index.ts'
import { fail, ok, skip, warn, type Check } from './check.ts'
import { endOf } from './probe-client.ts'

export const store: Check = {
  name: 'store',
  what: 'whether the state survives a restart of the master',
  needs: ['token'],
  run: ({ me: { backend } }) => {
    if (backend.durable) return ok(`${backend.scheme}, durable${backend.shared ? ', shared by several masters' : ''}`)
    return warn(
      `${backend.scheme} is not durable`,
      'tasks, configs and outputs are lost when the master stops',
      'set SVC_BACKEND_URL of the master to filedb://PATH or kvstore://HOST:PORT; in the chart redis.mode',
    )
  },
}

export const workers: Check = {
  name: 'workers',
  what: 'whether the connected workers run their newest config',
  needs: ['token'],
  run: async (session) => {
    if (!session.me.permissions.includes('read')) return skip('the token has no permission read')
    const reply = await session.overview()
    const overview = reply.kind === 'response' && reply.status === 200 ? (reply.json() as OverviewBody) : undefined
    if (overview === undefined)
      return fail('/overview is not readable', endOf(reply), 'look at the log of the master, which names the cause')
    const types = Object.entries(overview.automations)
    const total = types.reduce((sum, [, of]) => sum + of.workers.total, 0)
    const behind = types.filter(([, of]) => of.workers.behind > 0)
    if (behind.length === 0) return ok(`none of ${total} is behind on its config`)
    const counts = behind.map(([type, of]) => `${of.workers.behind} of ${type}`).join(', ')
    return warn(
      `behind on their config: ${counts}`,
      'they have not confirmed the newest config: they are offline, busy, or reject it',
      behind.map(([type]) => `muster why ${type}`).join('; '),
    )
  },
}
