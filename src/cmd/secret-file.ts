/**
 * @module cmd/secret-file
 * A secret that may be rotated while the process runs: the file of its _FILE form is read again every 2 s, by content,
 * since Kubernetes swaps a symlinked folder and file watchers go deaf. Bad new content keeps the last good one (D22, D54).
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
      if (!complained) log.warn(`${name}_FILE cannot be read or is empty; the last good value stays in use`)
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
