/** `muster alerts` against a real master, whose store has the alerts. */
import { describe, expect, it } from '@jest/globals'
import { runMaster } from '../../kit/running-master.ts'
import { cells, muster } from './fixture.ts'

const NOW = Date.now() / 1_000
const stored = (part: object) => ({
  kind: 'unserved',
  item: 'unserved',
  severity: 'critical',
  text: '3 tasks are waiting, but no worker can take them',
  count: 3,
  mark: null,
  since: NOW - 90,
  fired_at: NOW - 60,
  resolved_at: null,
  sent: null,
  updated_at: NOW,
  ...part,
})

async function withAlerts() {
  const master = await runMaster()
  const put = (type: string, name: string, part: object) =>
    master.backend.rollouts.put(`alerts/${type}`, {
      name,
      head: JSON.stringify(stored({ id: `${type}.${name}`, type, subject: type, ...part })),
      body: '',
      reportedAtMs: 0,
    })
  await put('mailer', 'unserved.a', {})
  await put('mailer', 'unserved.0', { resolved_at: NOW - 3_600 })
  await put('probe', 'offline.b', { kind: 'offline', item: 'offline', severity: 'warning', text: 'offline' })
  return master
}

describe('muster alerts', () => {
  it('lists the alerts that fire, and with --all those that were resolved', async () => {
    const { url } = await withAlerts()
    const firing = await muster(url, 'alerts')
    expect(firing).toMatchObject({ code: 0 })
    expect(firing.err).toContain('2 firing')
    expect(cells(firing.out).map((row) => row.slice(0, 4))).toEqual([
      ['STATUS', 'SEVERITY', 'KIND', 'SUBJECT'],
      ['firing', 'critical', 'unserved', 'mailer'],
      ['firing', 'warning', 'offline', 'probe'],
    ])
    const all = await muster(url, 'alerts mailer --all')
    expect(cells(all.out).map(([status]) => status)).toEqual(['STATUS', 'firing', 'resolved'])
  })

  it('prints the bodies of the API, and names those that are acknowledged', async () => {
    const master = await withAlerts()
    await master.call('PUT', '/api/v1/automations/mailer/acknowledgements/unserved', { body: { count: 3 } })
    const { out } = await muster(master.url, 'alerts mailer -o json')
    expect(JSON.parse(out)).toMatchObject({ alerts: [{ id: 'mailer.unserved.a', acknowledged: true, count: 3 }] })
    expect((await muster(master.url, 'alerts mailer')).out).toMatch(/^acknowledged/m)
  })
})
