import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { openFilesAdvice, readOpenFileLimit } from '../../src/cmd/open-files.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

describe('the limit of open files', () => {
  it('is read as the system reports it', async () => {
    const path = join(temporaryFolder(), 'limits')
    writeFileSync(
      path,
      'Limit                     Soft Limit           Hard Limit           Units     \n' +
        'Max processes             96327                96327                processes \n' +
        'Max open files            1024                 20000                files     \n',
    )
    expect(await readOpenFileLimit(path)).toBe(1_024)
  })

  it('counts as unlimited where the system does not report it', async () => {
    expect(await readOpenFileLimit(join(temporaryFolder(), 'absent'))).toBe(Infinity)
  })

  it('causes advice when it is too low for the sockets of the master', () => {
    expect(openFilesAdvice(20_000, 50_000)).toContain('raise the limit to 51000')
    expect(openFilesAdvice(51_000, 50_000)).toBeNull()
    expect(openFilesAdvice(Infinity, 100_000)).toBeNull()
  })
})
