// One at a time: `up` and `down` of a checkout begin by ending what is there, and would end what the other is just
// building.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { ROOT } from './place.mjs'
import { isRunning, identityOf } from './processes.mjs'

const TURN = `${ROOT}.tools/cluster-turn`

function holder() {
  try {
    return readFileSync(TURN, 'utf8')
  } catch {
    return '' // The lock is free.
  }
}

/** @throws when another process has the turn. It is given back when this one ends, however that is. */
export function takeTurn() {
  const [pid] = holder().split(' ')
  if (isRunning(holder()))
    throw new Error(
      `the cluster of this checkout is being started or ended just now, by process ${pid}: wait for it, or end it first`,
    )
  mkdirSync(`${ROOT}.tools`, { recursive: true })
  rmSync(TURN, { force: true })
  writeFileSync(TURN, identityOf(process.pid), { flag: 'wx' })
  process.once('exit', () => rmSync(TURN, { force: true }))
}
