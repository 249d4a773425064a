/** Damages the append-only file of a redis-server, as a disk could, and starts it again. */
import { cpSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { withRedisServer } from '../kit/redis-server.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'
import { damageOf, RedisProcess, repairAppendOnlyFile } from './redis-process.ts'

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

/** The error of a server that does not start on this folder. */
const startError = (folder: string): Promise<unknown> =>
  RedisProcess.start(folder, 'always').then(
    async (server) => server.end('SIGKILL'),
    (error: unknown) => error,
  )

async function valuesIn(folder: string, ...keys: readonly string[]): Promise<unknown> {
  const server = await RedisProcess.start(folder, 'always')
  const values = await server.command('MGET', ...keys)
  await server.end('SIGKILL')
  return values
}

/** Writes zeros over a part of the last occurrence of this text. */
function zero(path: string, text: string, from: number): void {
  const bytes = readFileSync(path)
  bytes.fill(0, bytes.lastIndexOf(text) + from)
  writeFileSync(path, bytes)
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

    it.each([
      ['in the name of a command', '*1\r\n$5\r\nMULTI', 10, 'Unknown command'],
      ['in place of an argument', '*1\r\n$5\r\nMULTI', 4, 'Bad file format'],
    ])('starts after redis-check-aof, if its log ends with zeros %s', async (_, text, from, message) => {
      const folder = temporaryFolder()
      const killedServer = await RedisProcess.start(folder, 'always')
      await killedServer.command('SET', 'a', valueOf('a'))
      await killedServer.command('EVAL', "redis.call('SET', 'b', 'b'); redis.call('SET', 'c', 'c')", '0')
      await killedServer.end('SIGKILL')
      zero(join(folder, 'appendonlydir', LOG), text, from)
      const error = await startError(folder)
      expect(String(error)).toContain(message)
      expect(damageOf(error)).toBe('in_last_file')
      expect(repairAppendOnlyFile(folder)).toEqual({ kind: 'shortened' })
      expect(await valuesIn(folder, ...KEYS)).toEqual([valueOf('a'), null, null])
      expect(repairAppendOnlyFile(folder)).toEqual({ kind: 'intact' })
    })

    it('lacks older changes at its second start, if a log in front of the last one is cut', async () => {
      const folder = temporaryFolder()
      const server = await RedisProcess.start(folder, 'always', ['--rdb-key-save-delay', '10000000'])
      for (const key of ['a', 'b']) await server.command('SET', key, valueOf(key))
      await server.command('BGREWRITEAOF')
      await server.command('SET', 'c', valueOf('c'))
      await server.end('SIGTERM') // Ends the rewrite too.
      const path = join(folder, 'appendonlydir', LOG)
      truncateSync(path, readFileSync(path).length - 1)
      expect(repairAppendOnlyFile(folder)).toEqual({ kind: 'before_last_file' })
      expect(damageOf(await startError(folder))).toBe('before_last_file')
      expect(await valuesIn(folder, ...KEYS)).toEqual([valueOf('a'), null, valueOf('c')])
    })
  }),
)
