/**
 * @module dashboard/palette/entries
 * Lists what the command palette offers, and finds the entries that match a few letters.
 */
import { formatRoute, type Route } from '../route.ts'
import type { SavedView } from '../views/saved-views.ts'
import type { WorkerRow } from '../workers/row.ts'
import { matchScore } from './match.ts'

/** An act that has no address. */
export type Act = 'find' | 'keys' | 'live' | 'save-view' | 'sign-out' | 'theme-system' | 'theme-light' | 'theme-dark'

export interface Entry {
  readonly key: string
  readonly text: string
  /** What kind of entry it is. */
  readonly kind: 'page' | 'view' | 'task type' | 'worker' | 'act' | 'task'
  readonly to:
    | { readonly kind: 'hash'; readonly hash: string }
    | { readonly kind: 'act'; readonly act: Act; readonly text: string }
}

export const MAX_FOUND = 12

const hashEntry = (kind: Entry['kind'], text: string, hash: string): Entry => ({
  key: `${kind} ${hash} ${text}`,
  text,
  kind,
  to: { kind: 'hash', hash },
})

const actEntry = (text: string, act: Act): Entry => ({
  key: `act ${act}`,
  text,
  kind: 'act',
  to: { kind: 'act', act, text: '' },
})

const PAGES: readonly Entry[] = [
  hashEntry('page', 'Overview', '#/'),
  hashEntry('page', 'Workers', '#/workers'),
  hashEntry('page', 'Tasks', '#/tasks'),
  hashEntry('page', 'Output', '#/output'),
  hashEntry('page', 'Operations', '#/operations'),
  hashEntry('page', 'Activity', '#/activity'),
  hashEntry('page', 'Pools', '#/pools'),
  hashEntry('page', 'Automations', '#/automations'),
  hashEntry('page', 'Settings', '#/settings'),
]

export interface PaletteFacts {
  readonly route: Route
  readonly types: readonly { readonly type: string; readonly hasTasks: boolean }[]
  readonly views: readonly SavedView[]
  readonly canSaveView: boolean
  readonly isPaused: boolean
}

/** All entries without workers: acts of the open page first, then saved views, pages, task types and other acts. */
export function entriesOf({ route, types, views, canSaveView, isPaused }: PaletteFacts): readonly Entry[] {
  return [
    ...(route.page === 'worker' ? workerActs(route.type, route.id) : []),
    ...views.map(({ name, hash }) => hashEntry('view', name, hash)),
    ...PAGES,
    ...(canSaveView ? [actEntry('Save this view…', 'save-view')] : []),
    actEntry('Find a task by its ID…', 'find'),
    actEntry(isPaused ? 'Resume live updates' : 'Pause live updates', 'live'),
    ...types.flatMap(typeEntries),
    actEntry('Keyboard shortcuts', 'keys'),
    actEntry('Theme: system', 'theme-system'),
    actEntry('Theme: light', 'theme-light'),
    actEntry('Theme: dark', 'theme-dark'),
    actEntry('Sign out', 'sign-out'),
  ]
}

function workerActs(type: string, id: string): readonly Entry[] {
  const worker = { page: 'worker', type, id } as const
  return [
    hashEntry('act', `Edit the config of ${id}`, formatRoute({ ...worker, tab: 'config' })),
    hashEntry('act', `Config history of ${id}`, formatRoute({ ...worker, tab: 'history' })),
    hashEntry('act', `Slots of ${id}`, formatRoute({ ...worker, tab: 'slots' })),
    hashEntry('act', `Pause ${id}…`, formatRoute({ ...worker, act: 'pause' })),
    hashEntry('act', `Drain ${id}…`, formatRoute({ ...worker, act: 'drain' })),
    hashEntry('act', `Forget ${id}…`, formatRoute({ ...worker, act: 'forget' })),
  ]
}

function typeEntries({ type, hasTasks }: PaletteFacts['types'][number]): readonly Entry[] {
  const of = (text: string, hash: string): Entry => hashEntry('task type', `${type}: ${text}`, hash)
  return [
    ...(hasTasks
      ? [
          of('queue', formatRoute({ page: 'tasks', type })),
          of('all tasks', formatRoute({ page: 'tasks', type, tab: 'all' })),
          of('dead letters', formatRoute({ page: 'tasks', type, tab: 'dead' })),
          of('submit a task', formatRoute({ page: 'tasks', type, tab: 'submit' })),
        ]
      : []),
    of('workers', formatRoute({ page: 'workers', q: `type:${type}` })),
    of('output', formatRoute({ page: 'output', type })),
    of('automation', formatRoute({ page: 'automations', type })),
  ]
}

/** Texts that are IDs of tasks rather than names: UUIDs and other long IDs. */
const TASK_ID = /^(?=.*\d)[\w.:-]{16,}$/
const LEAST_ID = 2

const taskEntry = (id: string): Entry => ({
  key: 'task',
  text: `Open the task ${id}`,
  kind: 'task',
  to: { kind: 'act', act: 'find', text: id },
})

/**
 * Finds what matches, the best first. The text may be the ID of a task: its entry is the last one, and the first if the
 * text looks like an ID and no worker has this name.
 *
 * @returns at most {@link MAX_FOUND} entries; without a text the first ones.
 */
export function foundEntries(text: string, entries: readonly Entry[], workers: Iterable<WorkerRow>): readonly Entry[] {
  const query = text.trim()
  if (query === '') return entries.slice(0, MAX_FOUND)
  const scored = entries.flatMap((entry) => {
    const score = matchScore(query, entry.text)
    return score === null ? [] : [{ score, entry }]
  })
  const best = [...scored, ...bestWorkers(query, workers)].toSorted((a, b) => b.score - a.score)
  const found = best.slice(0, MAX_FOUND - 1).map(({ entry }) => entry)
  if (query.length < LEAST_ID || /\s/.test(query)) return found
  return TASK_ID.test(query) && (best[0]?.score ?? 0) < CONTAINED
    ? [taskEntry(query), ...found]
    : [...found, taskEntry(query)]
}

/** Scores above are of entries that contain the text. */
const CONTAINED = 800

interface Scored {
  readonly score: number
  readonly entry: Entry
}

/** The best workers of any number: entries are made of these only. */
function bestWorkers(query: string, workers: Iterable<WorkerRow>): readonly Scored[] {
  const best: { readonly score: number; readonly row: WorkerRow }[] = []
  let least = -Infinity
  for (const row of workers) {
    const score = matchScore(query, `${row.automation_type}/${row.worker_id}`)
    if (score === null || (best.length >= MAX_FOUND && score <= least)) continue
    best.push({ score, row })
    best.sort((a, b) => b.score - a.score)
    best.splice(MAX_FOUND)
    least = best.at(-1)?.score ?? -Infinity
  }
  return best.map(({ score, row: { automation_type: type, worker_id: id } }) => ({
    score,
    entry: hashEntry('worker', `${type}/${id}`, formatRoute({ page: 'worker', type, id })),
  }))
}
