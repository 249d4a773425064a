/**
 * @module dashboard/dead/group-requests
 * The requests that replay or remove a group of dead tasks. More than 500 tasks are replayed by an operation, which the
 * master carries out and which continues when the page is closed (D194).
 */
import type { OperationBody, OperationShown, RemovedGroupBody, ReplayedGroupBody } from '../../protocol/index.ts'
import type { Api } from '../api/client.ts'
import { curlCommand, musterCommand, type Command } from '../components/commands.ts'
import { readN } from '../components/item-count.ts'
import { countText, plural } from '../components/numbers.ts'
import { operationPath } from '../operations/path.ts'
import type { DeadAction } from './actions.ts'

export interface GroupTarget {
  readonly type: string
  readonly group: string
  /** Number of its tasks. */
  readonly count: number
  /** Unix seconds; tasks that died then or later are not affected. */
  readonly before: number
}

/** Tasks a second; undefined: as fast as possible. */
export type Pace = number | undefined

const MOST_IMMEDIATE = 500
/** The limit of an operation. */
const MOST_PER_SECOND = 1_000

export const isOperation = (action: DeadAction, count: number): boolean => action === 'replay' && count > MOST_IMMEDIATE

/** @returns null if the text is no pace for a replay of this many tasks. */
export function readPace(text: string, count: number): Pace | null {
  if (text.trim() === '') return undefined
  const n = readN(text)
  return n !== null && isOperation('replay', count) && n > MOST_PER_SECOND ? null : n
}

export function paceText(count: number, pace: Pace | null): string {
  const isLarge = isOperation('replay', count)
  if (pace === null) return `Enter 1 to ${isLarge ? '1,000' : '10,000'}, or nothing.`
  if (pace === undefined && !isLarge) return 'Empty: all are pending immediately.'
  const seconds = Math.ceil(count / (pace ?? MOST_PER_SECOND))
  const time = seconds < 120 ? plural(seconds, 'second') : plural(Math.ceil(seconds / 60), 'minute')
  return pace === undefined ? `Empty: 1,000 a second, so it takes about ${time}.` : `Takes about ${time}.`
}

/** The body of the operation that replays a group. */
const operationOf = ({ group, before }: GroupTarget, pace: Pace): OperationBody => ({
  kind: 'replay',
  group,
  before,
  per_second: pace ?? MOST_PER_SECOND,
})

const createdText = ({ operation, total }: OperationShown): string =>
  `Operation ${operation} replays ${countText(total)} tasks. It continues when you close this page.`

const pathOf = ({ type, group }: GroupTarget, action: DeadAction): readonly string[] => [
  'automations',
  type,
  'dead',
  'groups',
  group,
  action,
]

const replayBody = ({ before }: GroupTarget, pace: Pace) => ({
  before,
  ...(pace !== undefined && { per_second: pace }),
})

/**
 * Replays or removes the tasks of a group. It takes several requests if the master carries out a part of one.
 *
 * @returns what was done, in a sentence.
 * @throws {Problem} A part may be done.
 */
export async function runOnGroup(
  api: Pick<Api, 'send'>,
  action: DeadAction,
  target: GroupTarget,
  pace: Pace,
): Promise<string> {
  const { type, count, before } = target
  if (isOperation(action, count)) {
    const { body } = await api.send<OperationShown>('POST', operationPath(type), { body: operationOf(target, pace) })
    return createdText(body)
  }
  const path = pathOf(target, action)
  let hasMore = true
  if (action === 'replay') {
    let [replayed, delaySeconds] = [0, 0]
    while (hasMore) {
      const body = { ...replayBody(target, pace), ...(pace !== undefined && { delay_seconds: delaySeconds }) }
      const { body: step } = await api.send<ReplayedGroupBody>('POST', path, { body })
      replayed += step.replayed
      delaySeconds = step.delay_seconds
      hasMore = step.more
    }
    return `${plural(replayed, 'task')} requeued.`
  }
  let removed = 0
  while (hasMore) {
    const { body } = await api.send<RemovedGroupBody>('POST', path, { body: { before } })
    removed += body.removed
    hasMore = body.more
  }
  return `${plural(removed, 'task')} removed.`
}

/** The commands that do the same. @param base As in `curlCommand`. */
export function groupCommands(base: URL, action: DeadAction, target: GroupTarget, pace: Pace): readonly Command[] {
  const { type, group, before, count } = target
  const options = ['--group', group, '--before', String(before)]
  const paced = pace === undefined ? [] : ['--per-second', String(pace)]
  if (isOperation(action, count)) {
    const body = operationOf(target, pace)
    return [
      curlCommand(base, { method: 'POST', path: operationPath(type), body }),
      musterCommand(base, 'operations', 'create', type, 'replay', ...options, '--per-second', String(body.per_second)),
    ]
  }
  const curl = { method: 'POST', path: pathOf(target, action) } as const
  return action === 'replay'
    ? [
        curlCommand(base, { ...curl, body: replayBody(target, pace) }),
        musterCommand(base, 'dead', 'replay', type, ...options, ...paced),
      ]
    : [curlCommand(base, { ...curl, body: { before } }), musterCommand(base, 'dead', 'remove', type, ...options)]
}
