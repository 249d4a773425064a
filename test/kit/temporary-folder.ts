/** Creates folders for tests, and removes them after the last test of the file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from '@jest/globals'

const folders: string[] = []
afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** @returns the path of a new empty folder. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'muster-test-'))
  folders.push(folder)
  return folder
}
