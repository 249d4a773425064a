// Locks a file, so that one `up` or `down` of a checkout runs at a time. Both first stop the running cluster, and would
// otherwise stop what the other one is starting.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { ROOT } from './paths.mjs'
import { isRunning, identityOf } from './processes.mjs'

const LOCK = `${ROOT}.tools/cluster-turn`

function holder() {
  try {
    return readFileSync(LOCK, 'utf8')
  } catch {
    return '' // The lock is free.
  }
}

/** Acquires the lock until this process exits. @throws when another running process holds it. */
export function acquireLock() {
  const [pid] = holder().split(' ')
  if (isRunning(holder()))
    throw new Error(
      `the cluster of this checkout is being started or stopped by process ${pid}: wait until it exits, or stop it`,
    )
  mkdirSync(`${ROOT}.tools`, { recursive: true })
  rmSync(LOCK, { force: true })
  writeFileSync(LOCK, identityOf(process.pid), { flag: 'wx' })
  process.once('exit', () => rmSync(LOCK, { force: true }))
}
