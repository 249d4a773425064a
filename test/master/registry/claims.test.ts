/** Claims, which show who manages a config (D31, D51). */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { RegistryFixture } from './fixture.ts'

let fixture: RegistryFixture
beforeEach(async () => {
  fixture = await RegistryFixture.open()
  await fixture.record('w1')
})
afterEach(() => fixture.close())

const put = (managedBy: unknown, id = 'w1') => fixture.call('PUT', `/${id}/claim`, { body: { managed_by: managedBy } })
const claims = async (): Promise<unknown[]> =>
  (await fixture.events()).filter(({ name }) => name === 'worker.claimed').map(({ data }) => data['managed_by'])

describe('a claim', () => {
  it('is returned with the record, shown in it, replaced and removed, and changes no generation', async () => {
    const { status, json } = await put('kubernetes:prod/mailer')
    expect([status, json]).toMatchObject([
      200,
      { worker_id: 'w1', managed_by: 'kubernetes:prod/mailer', config_gen: 0, config: { slots: 1 } },
    ])
    expect(json).toEqual(await fixture.get('/w1'))
    expect((await put('~ another !')).json).toMatchObject({ managed_by: '~ another !' })
    expect(await fixture.get('?view=summary')).toMatchObject([{ managed_by: '~ another !', config_gen: 0 }])
    expect((await fixture.call('DELETE', '/w1/claim')).json).toMatchObject({ managed_by: null, config_gen: 0 })
    expect(await claims()).toEqual(['kubernetes:prod/mailer', '~ another !', null])
  })

  it('may be repeated without an event, and removed when there is none', async () => {
    for (const _ of [1, 2, 3])
      expect((await fixture.call('DELETE', '/w1/claim')).json).toMatchObject({ managed_by: null })
    for (const _ of [1, 2, 3]) expect((await put('a')).json).toMatchObject({ managed_by: 'a' })
    expect(await claims()).toEqual(['a'])
  })

  it('does not prevent a PATCH, and reveals no secret', async () => {
    await put('kubernetes:prod/mailer')
    expect((await fixture.patch('w1', { api_key: 'secret', slots: 3 })).status).toBe(200)
    const { json, text } = await put('b')
    expect(json).toMatchObject({ config_gen: 1, config: { slots: 3, api_key: '********' } })
    expect(text).not.toContain('"secret"')
  })

  it('of an unregistered worker returns 404', async () => {
    for (const { status } of [await put('a', 'w2'), await fixture.call('DELETE', '/w2/claim')]) expect(status).toBe(404)
    expect(await claims()).toEqual([])
  })

  it('is removed with the record', async () => {
    await put('a')
    await fixture.call('DELETE', '/w1')
    await fixture.record('w1')
    expect(await fixture.get('/w1')).toMatchObject({ managed_by: null })
  })
})
