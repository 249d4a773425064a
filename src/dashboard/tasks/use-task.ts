/** @module dashboard/tasks/use-task  Reads the state of one task, and what the lists of its type show of it. */
import { useRef, useState } from 'react'
import type { TaskListBody, TaskPlace } from '../../protocol/index.ts'
import { useRead, type Read } from '../api/queries.ts'
import { isLive, type ListedTask } from './task-text.ts'

/** The interval for a task that does not change by itself: it is finished, dead or unknown. */
const SETTLED_EVERY_MS = 5_000
/** The pause between two long polls. */
const LIVE_EVERY_MS = 200
/** A long poll ends early only when the task finishes, so this is also the age of any other place. */
const WAIT_SECONDS = 2
const LISTED_EVERY_MS = 60_000
/** Tasks of one page of a list. Several may contain the ID, for example in their payload. */
const LISTED = 100

/** Follows a task: the end of it is shown immediately, by a long poll (D111), other changes within 2 s. */
export function useTaskState(type: string, id: string): Read<TaskPlace> {
  const [everyMs, setEveryMs] = useState(SETTLED_EVERY_MS)
  const isFollowed = useRef(false)
  return useRead(['task', type, id], everyMs, async (api, signal) => {
    const follow = (isOn: boolean): void => {
      isFollowed.current = isOn
      setEveryMs(isOn ? LIVE_EVERY_MS : SETTLED_EVERY_MS)
    }
    const query = isFollowed.current ? { wait_seconds: WAIT_SECONDS } : {}
    follow(false) // In case the read fails.
    const { body } = await api.get<TaskPlace>(['automations', type, 'tasks', id], query, signal)
    follow(isLive(body.place))
    return body
  })
}

/**
 * Reads payload, labels and times of a stored task from the list of its place, which examines at most 5,000 tasks.
 *
 * @param type The automation type.
 * @param id The ID of the task.
 * @param place The place of the task; undefined while it is unknown.
 * @returns the task, or null if it was not among the examined tasks. After the end of the task, the last data stay.
 */
export function useListedTask(
  type: string,
  id: string,
  place: TaskPlace['place'] | undefined,
): Read<ListedTask | null> {
  const isStored = place !== undefined && (isLive(place) || place === 'dead')
  return useRead(
    ['listed-task', type, id, place ?? ''],
    LISTED_EVERY_MS,
    async (api, signal) => {
      const query = { place: place ?? '', text: id, limit: LISTED }
      const { body } = await api.get<TaskListBody>(['automations', type, 'tasks'], query, signal)
      return body.items.find((each) => each.task_id === id) ?? null
    },
    { enabled: isStored, keepsShown: true },
  )
}
