import { expect, it } from '@jest/globals'
import { findRoute } from '../../../src/master/queue/find.ts'
import { RawJson, type RouteRequest } from '../../../src/master/http/route.ts'

it('reads at most 8 types in parallel, and orders the tasks by type (D116)', async () => {
  let reading = 0
  let most = 0
  const types = Array.from({ length: 20 }, (_, at) => `t${String(at).padStart(2, '0')}`)
  const { handle } = findRoute({
    types: () => types.toReversed(),
    describe: async () => {
      most = Math.max(most, (reading += 1))
      await Promise.resolve()
      reading -= 1
      return [{ kind: 'stored', place: 'pending' }]
    },
  })
  const request = { params: { type: '', id: '', task_id: 'a' }, principal: { role: 'admin' } }
  const { body } = await handle(request as unknown as RouteRequest)
  expect(most).toBe(8)
  expect(JSON.parse((body as RawJson).text)).toEqual(
    types.map((type) => ({ automation_type: type, task_id: 'a', place: 'pending' })),
  )
})
