/** Says when, and of which commit, a run was made. */
import { execFileSync } from 'node:child_process'
import { loadavg } from 'node:os'

/** When and of which commit a run began, and how busy the machine was. */
export function stampOf() {
  const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).trim()
  const isChanged = git('status', '--porcelain', '--', 'src') !== ''
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: `${git('rev-parse', '--short', 'HEAD')}${isChanged ? ' and changes' : ''}`,
    load: loadavg()[0],
  }
}
