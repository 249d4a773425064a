/**
 * Compares the life cycle of plain tasks with an earlier version of Muster in the same run: features that a task does
 * not use must cost nothing. `--before DIR` names a checkout of that version with its packages; without it, it is the
 * previous release that `hack/install-release.sh` builds.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Unavailable } from '../run.mjs'
import { LIVES, lifeOf } from './life.mjs'
import { openMuster } from './muster.mjs'

const ROOT = join(import.meta.dirname, '../../..')
const STORES = { memory: 'memory', sqlite: 'SQLite', redis: 'Redis' }

const previousRelease = () =>
  join(ROOT, '.tools/releases', readFileSync(join(ROOT, 'hack/previous-release'), 'utf8').trim())

const now = (store, shape) => (bench) => cycleOf(bench, `Muster, ${STORES[store]}`, openMuster(store), shape)

const before = (store, shape) => (bench) => {
  const root = bench.before ?? previousRelease()
  if (!existsSync(join(root, 'src/storage')))
    throw new Unavailable('no earlier version is there; run hack/install-release.sh, or use --before')
  return cycleOf(bench, `before, ${STORES[store]}`, openMuster(store, root), shape)
}

const cycleOf = async (bench, name, open, shape) => (await lifeOf(bench, name, open, LIVES[shape])).cycle

const row = (id, shape) => ({
  id,
  level: 'storage',
  title: `life cycle beside an earlier version, ${LIVES[shape].name}`,
  unit: 'tasks/s',
  better: 'higher',
  note: 'plain tasks, without features that were added since; as in the rows of life cycles',
  subjects: Object.fromEntries(
    Object.entries(STORES).flatMap(([store, name]) => [
      [`Muster, ${name}`, now(store, shape)],
      [`before, ${name}`, before(store, shape)],
    ]),
  ),
  gates: Object.values(STORES).map((name) => ({ subject: `Muster, ${name}`, over: `before, ${name}`, atLeast: 0.97 })),
})

export const beforeRows = [row('before-100', 'hundred'), row('before-1', 'single')]
