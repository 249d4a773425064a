/** @module dashboard/dead/use-groups  Reads the groups of dead tasks, and the tasks of one, when they change. */
import { useEffect, useRef, useState } from 'react'
import type { DeadGroupBody, DeadGroupsBody } from '../../protocol/index.ts'
import { useFeedState } from '../api/live.ts'
import { useRead, type Read } from '../api/queries.ts'
import { useOverview } from '../workers/use-workers.ts'
import { countOf, newestTasks, type DeadItem } from './groups.ts'
import { pollEveryMs, rereadAfterMs } from './reading.ts'

/**
 * Reads the groups again when the number of dead tasks changes. An event reports the change; one from before the event
 * stream opened is in the overview.
 */
export function useDeadGroups(type: string): Read<DeadGroupsBody> {
  const [characters, setCharacters] = useState(0)
  const isLive = useFeedState().kind === 'live'
  const read = useRead(['dead', type], pollEveryMs(isLive), async (api, signal) => {
    const { body } = await api.get<DeadGroupsBody>(['automations', type, 'dead', 'groups'], {}, signal)
    setCharacters(JSON.stringify(body).length)
    return body
  })
  const { refresh, data, atMs = 0 } = read
  const counted = useOverview().data?.automations[type]?.queue?.dead
  const isOutdated = isLive && data !== undefined && counted !== undefined && counted !== countOf(data.groups)
  useEffect(() => {
    if (!isOutdated) return undefined
    const timer = setTimeout(refresh, Math.max(0, atMs + rereadAfterMs(characters) - Date.now()))
    return () => clearTimeout(timer)
  }, [isOutdated, atMs, characters, refresh])
  return read
}

/** Reads the newest `n` tasks of a group, again whenever the list of groups shows that it has changed. */
export function useGroupTasks(type: string, group: DeadGroupBody, n: number): Read<readonly DeadItem[]> {
  const isLive = useFeedState().kind === 'live'
  const { group: name, count, last_died_at: lastDiedAt } = group
  const read = useRead(
    ['dead', type, name, n],
    pollEveryMs(isLive),
    (api, signal) => newestTasks(api, type, { group: name, n }, signal),
    { keepsShown: true },
  )
  const { refresh } = read
  const version = `${count} ${lastDiedAt}`
  const seen = useRef(version)
  useEffect(() => {
    if (seen.current === version) return
    seen.current = version
    refresh()
  }, [version, refresh])
  return read
}
