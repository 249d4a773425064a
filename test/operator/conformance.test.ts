import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { answerTo, cleared, CONFORMANCE } from './conformance.ts'
import { EVENTS, FakeApiServer, LEASES, PROBES } from './fake-apiserver.ts'

let fake: FakeApiServer
const server = () => ({ url: fake.url, token: 'secret' })

beforeAll(async () => {
  fake = await new FakeApiServer([PROBES, LEASES, EVENTS]).start()
  fake.token = 'secret'
})
afterEach(() => cleared(server()))
afterAll(() => fake.close())

describe('the fake API server responds as kube-apiserver does:', () => {
  it.each(CONFORMANCE)('$title', async (scenario) => {
    expect(await answerTo(scenario, server())).toEqual([])
  })

  it('an unknown token is rejected', async () => {
    expect(
      await answerTo(
        { title: '', steps: [{ method: 'GET', path: '/apis/coordination.k8s.io/v1/leases', status: 401 }] },
        { ...server(), token: 'wrong' },
      ),
    ).toEqual([])
  })
})

describe('the scenario table', () => {
  it('reports differences', async () => {
    const wrong = {
      title: '',
      steps: [
        {
          method: 'GET' as const,
          path: '/apis/coordination.k8s.io/v1/leases',
          status: 201,
          expected: { kind: 'PodList', metadata: { absent: '<any>' }, items: [1] },
        },
      ],
    }
    expect(await answerTo(wrong, server())).toHaveLength(4)
  })
})
