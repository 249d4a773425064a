/**
 * Runs the whole contract on three primaries. The servers reject a script whose keys do not share a slot. This test
 * also watches every command on every node, including those inside scripts: a script may use only its declared keys,
 * and all of them must share one hash tag.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { testBackend } from '../contract.ts'
import { startCluster, withRedisServer, type RedisCluster, type RedisServer } from '../../kit/redis-server.ts'
import { backendAt, DURABLE } from './fixture.ts'

/** Commands without a key that scripts may use. */
const KEYLESS = new Set(['INFO', 'TIME', 'PUBLISH', 'SPUBLISH', 'PUBSUB'])
/** `+<time> [<database> <client, or lua>] "<command>" "<argument>" …` */
const LINE = /^\+[\d.]+ \[\d+ (?<source>[^\]]*)\] "(?<line>.*)/s
/** With MONITOR, a server needs seconds to print megabytes, so these tests are not watched. */
const SLOW_TO_WATCH = /\bMiB\b/
/** Long enough for every key of a script with the longest names, escaped. */
const HEAD_BYTES = 131_072

let cluster: RedisCluster
const faults: string[] = []
const stops: (() => void)[] = []
const served = new Set<RedisServer>()

/** The hash tag as MONITOR prints it. Equal tags mean equal slots. */
const tagOf = (key: string): string => /\{[^}]+\}/.exec(key)?.[0] ?? `no tag in ${key}`

/** Starts watching a node. @returns a function that stops it. */
function watch(node: RedisServer): Promise<() => void> {
  let declared = new Set<string>()
  return monitor(node, (source, [command = '', first = '', count = '0', ...rest]) => {
    const name = command.toUpperCase()
    if (name === 'EVALSHA' || name === 'EVAL') {
      declared = new Set(rest.slice(0, Number(count)))
      served.add(node)
      const tags = new Set([...declared].map(tagOf))
      if (tags.size !== 1) faults.push(`a call on the tags ${[...tags].join()}`)
    } else if (source === 'lua' && !KEYLESS.has(name) && !declared.has(first)) {
      faults.push(`${name} on ${first}, which its script did not declare`)
    }
  })
}

/** Runs MONITOR and parses only the start of each line, because arguments may be megabytes long. */
async function monitor(node: RedisServer, on: (source: string, words: readonly string[]) => void): Promise<() => void> {
  const socket = connect(node.port, node.host, () => void socket.write('MONITOR\r\n'))
  await once(socket, 'data') // +OK
  let head = ''
  socket.on('data', (chunk) => {
    for (let from = 0, end = 0; end >= 0; from = end + 1) {
      end = chunk.indexOf('\n', from)
      head += chunk.toString('latin1', from, Math.min(end < 0 ? chunk.length : end, from + HEAD_BYTES - head.length))
      if (end < 0) continue
      const { source = '', line = '' } = LINE.exec(head.replace(/"\r$/, ''))?.groups ?? {}
      on(source, line.split('" "', source === 'lua' ? 2 : undefined))
      head = ''
    }
  })
  return () => socket.destroy()
}

withRedisServer('redis cluster backend', () => {
  beforeAll(async () => {
    cluster = await startCluster(DURABLE)
  }, 60_000)
  afterAll(() => cluster.close())
  beforeEach(async () => {
    if (SLOW_TO_WATCH.test(expect.getState().currentTestName ?? '')) return
    for (const node of cluster.nodes) stops.push(await watch(node))
  })
  afterEach(() => {
    for (const stop of stops.splice(0)) stop()
    expect(faults.splice(0)).toEqual([])
  })

  testBackend('redis cluster', (clock) =>
    Promise.resolve(
      backendAt(`kvstore+cluster://${cluster.nodes.map(({ host, port }) => `${host}:${port}`).join(',')}`, clock),
    ),
  )

  describe('redis cluster backend', () => {
    it('used every node in the tests so far', () => {
      expect(served.size).toBe(3)
    })
  })
})
