/**
 * Tests the start of the whole operator with a fake API server and a real master whose list of workers is slow: edits
 * do not wait for it, and no worker counts as missing before it is complete.
 */
import type { ServerResponse } from 'node:http'
import { describe, expect, it } from '@jest/globals'
import { eventually } from '../kit/index.ts'
import { wholeOperator } from './whole-operator.ts'

const idOf = (n: number): string => `w${String(n).padStart(3, '0')}`

/** With 300 workers the list of the master has two pages. */
describe('while the workers of a type are listed', () => {
  it('an edit is sent as soon as its worker is listed; the others wait', async () => {
    const ids = Array.from({ length: 300 }, (_, n) => idOf(n))
    const { proxy, declare, start, slotsOf, reasonOf } = await wholeOperator(ids)
    const held: ServerResponse[] = []
    proxy.rule = ({ url = '' }) => (url.includes('after=') ? (response) => void held.push(response) : 'pass')
    for (const workerId of [idOf(0), idOf(299), 'missing']) declare(workerId)
    await start()
    await eventually('the edit of a worker on the first page is in force', async () => (await slotsOf(idOf(0))) === 7)
    await eventually('its status says so', async () => reasonOf(idOf(0)) === 'InSync')
    expect([await slotsOf(idOf(299)), reasonOf(idOf(299)), reasonOf('missing')]).toEqual([1, undefined, undefined])
    proxy.rule = () => 'pass'
    for (const response of held) response.writeHead(503, { 'retry-after': '1' }).end('{"detail":"later"}')
    await eventually('the other edit is in force', async () => (await slotsOf(idOf(299))) === 7)
    await eventually('the missing worker is reported', async () => reasonOf('missing') === 'WorkerNotRegistered')
  })
})
