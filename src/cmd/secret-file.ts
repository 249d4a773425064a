/**
 * @module cmd/secret-file
 * Reloads a secret that may be rotated while the process runs. Reads the file of its _FILE variable every 2 s and
 * compares the content: Kubernetes replaces a symlinked folder, after which file watchers receive no more events. While
 * the file is missing or empty, the last good value stays in use (D22, D54).
 */
import { readFile } from 'node:fs/promises'
import type { Log, Timers } from '../runtime/index.ts'
import type { Environment } from './settings.ts'

const REREAD_MS = 2_000

export interface WatchedSecret {
  readonly current: () => string
  readonly stop: () => void
}

export function watchedSecret(
  name: string,
  initial: string,
  environment: Environment,
  timers: Timers,
  log: Log,
): WatchedSecret {
  const file = environment[`${name}_FILE`]
  let current = initial
  if (file === undefined || file === '') return { current: () => current, stop: () => {} }
  let complained = false
  const reread = async (): Promise<void> => {
    const text = await readFile(file, 'utf8').then(
      (content) => content.trim(),
      () => '',
    )
    if (text === '') {
      if (!complained) log.warn(`${name}_FILE cannot be read or is empty; keeping the last good value`)
      complained = true
      return
    }
    complained = false
    if (text === current) return
    current = text
    log.info(`${name} was rotated`)
  }
  const cancel = timers.every(REREAD_MS, () => void reread())
  return { current: () => current, stop: cancel }
}
