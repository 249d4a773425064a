/** Damages the append-only file of a redis-server, as a disk could, and starts it again. */
import { cpSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { withRedisServer } from '../kit/redis-server.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'
import { RedisProcess } from './redis-process.ts'

const KEYS = ['a', 'b', 'c']
const valueOf = (key: string): string => `value of ${key}`

/** A folder of a server that was killed after three changes. */
async function killed(rewrites: boolean): Promise<string> {
  const folder = temporaryFolder()
  const server = await RedisProcess.start(folder, 'always')
  for (const key of KEYS) await server.command('SET', key, valueOf(key))
  if (rewrites) await server.command('BGREWRITEAOF')
  if (rewrites) while (/aof_rewrite_in_progress:1/.test(String(await server.command('INFO', 'persistence'))));
  await server.end('SIGKILL')
  return folder
}

/** Starts a server on a copy of the folder whose file was changed, and reads the three values. */
async function valuesAfter(folder: string, file: string, damage: (path: string) => void): Promise<readonly unknown[]> {
  const copy = temporaryFolder()
  cpSync(folder, copy, { recursive: true })
  damage(join(copy, 'appendonlydir', file))
  const server = await RedisProcess.start(copy, 'always')
  const values = (await server.command('MGET', ...KEYS)) as readonly unknown[]
  await server.end('SIGKILL')
  return values
}

function flipBit(path: string, text: string): void {
  const bytes = readFileSync(path)
  const at = bytes.indexOf(text)
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  writeFileSync(path, bytes)
}

withRedisServer('a Redis whose file was damaged', () =>
  describe('a Redis whose file was damaged', () => {
    const [LOG, SNAPSHOT] = ['appendonly.aof.1.incr.aof', 'appendonly.aof.2.base.rdb']

    it('starts with everything before the cut, if the end of its log is cut', async () => {
      const folder = await killed(false)
      const bytes = readFileSync(join(folder, 'appendonlydir', LOG)).length
      for (const cut of [1, 7, 20])
        expect(await valuesAfter(folder, LOG, (path) => truncateSync(path, bytes - cut))).toEqual([
          valueOf('a'),
          valueOf('b'),
          null,
        ])
    })

    it('has every other value, if a bit of one value in its log flipped', async () => {
      const values = await valuesAfter(await killed(false), LOG, (path) => flipBit(path, valueOf('b')))
      expect(values).toEqual([valueOf('a'), 'walue of b', valueOf('c')])
    })

    it.each([
      ['the structure of its log', false, LOG, '*3'],
      ['its snapshot', true, SNAPSHOT, valueOf('b')],
    ])('does not start, if a bit of %s flipped', async (_, rewrites, file, text) => {
      const folder = await killed(rewrites)
      await expect(valuesAfter(folder, file, (path) => flipBit(path, text))).rejects.toThrow('ended at its start')
    })
  }),
)
