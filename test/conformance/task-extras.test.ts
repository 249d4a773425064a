/** Labels, retry policy and trace of single tasks (D113), from the submit to every place where a task is shown. */
import { expect, it } from '@jest/globals'
import { API, onEachStore, type ConformanceFixture, type Json } from './fixture.ts'

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const OTHER = '00-aaaabbbbccccddddeeeeffff00001111-1111222233334444-00'
const EXTRAS = {
  labels: { tenant: 'acme', 'order.id': '7 "ü"', empty: '' },
  retry: { base_seconds: 0.5, factor: 3, cap_seconds: 10 },
  traceparent: TRACE,
  tracestate: 'vendor=1',
}

onEachStore('extras of a task', (open) => {
  const withWorker = async (): Promise<ConformanceFixture> => {
    const fixture = await open()
    await fixture.worker('w-1')
    return fixture
  }
  const first = async (fixture: ConformanceFixture, list: 'queue' | 'dead'): Promise<Json> =>
    (await fixture.ok('GET', `/mailer/${list}`))['items'][0]

  it('D113a: shows labels, retry policy and trace where the task is listed, reserved and dead', async () => {
    const fixture = await withWorker()
    const { task_id: id } = await fixture.submit({ ...EXTRAS, priority: 1 })
    expect(await first(fixture, 'queue')).toMatchObject({ id, ...EXTRAS, payload: { to: 'x' }, priority: 1 })
    const [task] = await fixture.reserve('w-1', 1)
    expect(task).toMatchObject({ task_id: id, ...EXTRAS })
    await fixture.settle('w-1', 'release', task)
    const [again] = await fixture.reserve('w-1', 1)
    await fixture.settle('w-1', 'nack', again, { permanent: true })
    expect(await first(fixture, 'dead')).toMatchObject({ id, ...EXTRAS })
    await fixture.ok('POST', '/mailer/dead/replay', {})
    expect((await fixture.reserve('w-1', 1))[0]).toMatchObject({ task_id: id, ...EXTRAS })
  })

  it('D113b: leaves the fields out of tasks without them, and fills in the defaults of a policy', async () => {
    const fixture = await withWorker()
    await fixture.submit({ labels: null, retry: null, traceparent: null, tracestate: null })
    await fixture.submit({ retry: { base_seconds: 600 } })
    await fixture.submit({ retry: {} })
    const [plain, slow, defaults] = await fixture.reserve('w-1', 3)
    for (const field of Object.keys(EXTRAS)) expect(plain).not.toHaveProperty(field)
    expect(slow['retry']).toEqual({ base_seconds: 600, factor: 2, cap_seconds: 600 })
    expect(defaults['retry']).toEqual({ base_seconds: 1, factor: 2, cap_seconds: 300 })
  })

  it('D113c: takes the trace from the headers of a submit, unless the task has one', async () => {
    const fixture = await withWorker()
    const send = (headers: Record<string, string>): Promise<unknown> =>
      fixture.call('POST', `${API}/automations/mailer/tasks/batch`, {
        body: { tasks: [{ payload: { to: 'a' } }, { payload: { to: 'b' }, traceparent: OTHER }] },
        headers,
      })
    await send({ traceparent: TRACE, tracestate: 'vendor=1' })
    await send({ traceparent: TRACE, tracestate: 'x'.repeat(513) })
    for (const wrong of ['nonsense', TRACE.toUpperCase(), TRACE.replace(/-0{2}f\w*-/, `-${'0'.repeat(16)}-`)])
      await send({ traceparent: wrong, tracestate: 'vendor=1' })
    const tasks = await fixture.reserve('w-1', 10)
    expect(tasks.map(({ traceparent, tracestate }) => [traceparent, tracestate])).toEqual([
      [TRACE, 'vendor=1'],
      [OTHER, undefined],
      [TRACE, undefined],
      [OTHER, undefined],
      ...Array.from({ length: 3 }, () => [
        [undefined, undefined],
        [OTHER, undefined],
      ]).flat(),
    ])
    await fixture.call('POST', `${API}/automations/mailer/tasks`, {
      body: { payload: { to: 'a' } },
      headers: { traceparent: TRACE },
    })
    expect(await first(fixture, 'queue')).toMatchObject({ traceparent: TRACE })
  })

  it('D113d: rejects wrong labels, policies and traces with 422, which names the field', async () => {
    const fixture = await withWorker()
    const many = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, '']))
    const bad: readonly [object, string][] = [
      [{ labels: many }, '/labels'],
      [{ labels: { Tenant: 'a' } }, '/labels'],
      [{ labels: { ['k'.repeat(65)]: 'a' } }, '/labels'],
      [{ labels: { tenant: 'a'.repeat(257) } }, '/labels/tenant'],
      [{ labels: { tenant: 7 } }, '/labels/tenant'],
      [{ labels: ['a'] }, '/labels'],
      [{ retry: { base_seconds: 0 } }, '/retry/base_seconds'],
      [{ retry: { factor: 0.5 } }, '/retry/factor'],
      [{ retry: { cap_seconds: 86_401 } }, '/retry/cap_seconds'],
      [{ retry: { base_seconds: 10, cap_seconds: 9 } }, '/retry/cap_seconds'],
      [{ retry: { base: 1 } }, '/retry'],
      [{ traceparent: 'nonsense' }, '/traceparent'],
      [{ traceparent: `00-${'0'.repeat(32)}-00f067aa0ba902b7-01` }, '/traceparent'],
      [{ tracestate: 'vendor=1' }, '/traceparent'],
      [{ traceparent: TRACE, tracestate: 'x'.repeat(513) }, '/tracestate'],
    ]
    for (const [fields, path] of bad) {
      const body = { payload: { to: 'x' }, ...fields }
      const answer = await fixture.call('POST', `${API}/automations/mailer/tasks`, { body })
      expect([answer.status, answer.body.detail[0].path]).toEqual([422, expect.stringContaining(path)])
      const { valid, errors } = await fixture.ok('POST', '/mailer/tasks/validate', body)
      expect([valid, errors[0].path]).toEqual([false, expect.stringContaining(path)])
    }
    const tasks = [...bad.map(([fields]) => fields), EXTRAS].map((fields) => ({ payload: { to: 'x' }, ...fields }))
    const { results } = await fixture.ok('POST', '/mailer/tasks/batch', { tasks })
    expect(results.map(({ error, queued }: Json) => error?.status ?? queued)).toEqual([...bad.map(() => 422), true])
  })
})
