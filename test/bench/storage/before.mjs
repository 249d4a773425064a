/**
 * Compares the life cycle of plain tasks with an earlier version of Muster in the same run: features that a task does
 * not use must cost nothing. `--before DIR` names a checkout of that version with its packages; without it, it is the
 * previous release that `hack/install-release.sh` builds.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Unavailable } from '../run.mjs'
import { musterOn } from '../service/subjects.mjs'
import { LIVES, lifeOf } from './life.mjs'
import { openMuster } from './muster.mjs'

const ROOT = join(import.meta.dirname, '../../..')
const STORES = ['memory', 'sqlite', 'redis']
const musterBefore = (store) => `${musterOn(store)}, before`

const previousRelease = () =>
  join(ROOT, '.tools/releases', readFileSync(join(ROOT, 'hack/previous-release'), 'utf8').trim())

const now = (store, shape) => (bench) => cycleOf(bench, musterOn(store), openMuster(store), shape)

const before = (store, shape) => (bench) => {
  const root = bench.before ?? previousRelease()
  if (!existsSync(join(root, 'src/storage')))
    throw new Unavailable('no earlier version is there; run hack/install-release.sh, or use --before')
  return cycleOf(bench, musterBefore(store), openMuster(store, root), shape)
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
    STORES.flatMap((store) => [
      [musterOn(store), now(store, shape)],
      [musterBefore(store), before(store, shape)],
    ]),
  ),
  gates: STORES.map((store) => ({ subject: musterOn(store), over: musterBefore(store), atLeast: 0.97 })),
})

export const beforeRows = [row('before-100', 'hundred'), row('before-1', 'single')]
