import { expect, it } from '@jest/globals'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync } from 'node:fs'
import { join } from 'node:path'
import { pipeReader } from '../../../src/cmd/admin/pipe-reader.ts'
import { temporaryFolder } from '../../kit/temporary-folder.ts'

it('detects without a write that a pipe lost its reader, and treats a file as read', async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'pipe')
  spawnSync('bash', ['-c', 'mkfifo "$0"', path])
  const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const reader = spawn('sleep', ['60'], { stdio: [readEnd, 'ignore', 'ignore'] })
  closeSync(readEnd)
  const pipe = openSync(path, constants.O_WRONLY)
  const file = openSync(join(folder, 'file'), 'w')
  try {
    const [isRead, isFileRead] = [pipeReader(pipe), pipeReader(file)]
    expect([isRead(), isFileRead()]).toEqual([true, true])
    reader.kill()
    await once(reader, 'exit')
    expect([isRead(), isFileRead()]).toEqual([false, true])
  } finally {
    reader.kill()
    closeSync(pipe)
    closeSync(file)
  }
})
