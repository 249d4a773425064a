import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { backendUrl, BACKEND_SETTINGS } from '../../src/cmd/backend.ts'
import { describeSettings, readSettings } from '../../src/cmd/settings.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

describe('the settings of the backend', () => {
  it('accept memory, mem and filedb URLs (D2)', () => {
    expect(
      ['memory://', 'mem://', 'filedb://state/master.db', 'filedb:///var/lib/muster.db'].map((url) => backendUrl(url)),
    ).toEqual([
      { scheme: 'memory' },
      { scheme: 'memory' },
      { scheme: 'filedb', path: 'state/master.db' },
      { scheme: 'filedb', path: '/var/lib/muster.db' },
    ])
  })

  it('reject an unknown scheme and list the known ones (D2)', () => {
    for (const url of ['postgres://h', 'file:///x', 'KVSTORE://h', 'master.db', '']) {
      expect(() => backendUrl(url)).toThrow('memory, mem, filedb, kvstore, kvstores, kvstore+sentinel, kvstore+cluster')
    }
  })

  it('accept every Redis URL, and normalise its scheme (D2)', () => {
    expect(
      [
        'kvstore://h',
        'redis://h',
        'kvstores://h',
        'rediss://h',
        'kvstore+cluster://h,i',
        'kvstore+sentinel://h/main',
      ].map((url) => backendUrl(url).scheme),
    ).toEqual(['kvstore', 'kvstore', 'kvstores', 'kvstores', 'kvstore', 'kvstore'])
  })

  it('reject a password in the flag, accept it in the variable, and never show it (D54)', () => {
    const url = 'kvstore://fleet:hunter2@127.0.0.1:6379'
    for (const argv of [['--backend-url', url], [`--backend-url=${url}`]]) {
      const { faults } = readSettings(BACKEND_SETTINGS, {}, argv)
      expect(faults).toEqual([{ name: 'SVC_BACKEND_URL', problem: expect.stringContaining('SVC_BACKEND_PASSWORD') }])
      expect(JSON.stringify(faults)).not.toContain('hunter2')
    }
    expect(readSettings(BACKEND_SETTINGS, { SVC_BACKEND_URL: url }, []).faults).toEqual([])
    expect(readSettings(BACKEND_SETTINGS, {}, ['--backend-url', 'kvstore://fleet@127.0.0.1']).faults).toEqual([])
    expect(
      JSON.stringify(readSettings(BACKEND_SETTINGS, { SVC_BACKEND_URL: 'kvstore://u:hunter2/@h:x' }, []).faults),
    ).not.toContain('hunter2')
    expect(
      readSettings(BACKEND_SETTINGS, { SVC_BACKEND_SENTINEL_PASSWORD: 'hunter2' }, []).values.backendSentinelPassword,
    ).toBe('hunter2')
    expect(readSettings(BACKEND_SETTINGS, {}, ['--backend-password', 'hunter2']).faults).toEqual([
      { name: '--backend-password', problem: expect.stringContaining('secrets are never flags') },
    ])
  })

  it('read the URL from a file, because it may contain a password (D54)', () => {
    const folder = temporaryFolder()
    const file = join(folder, 'url')
    writeFileSync(file, 'kvstores://fleet:hunter2@redis.example:6380\n')
    expect(readSettings(BACKEND_SETTINGS, { SVC_BACKEND_URL_FILE: file }, [])).toMatchObject({
      faults: [],
      values: { backendUrl: { scheme: 'kvstores', store: { password: 'hunter2' } } },
    })
    expect(
      readSettings(BACKEND_SETTINGS, { SVC_BACKEND_URL_FILE: file, SVC_BACKEND_URL: 'memory://' }, []).faults,
    ).toEqual([{ name: 'SVC_BACKEND_URL', problem: 'and SVC_BACKEND_URL_FILE are both set; unset one of them' }])
    expect(describeSettings(BACKEND_SETTINGS)).toContain('SVC_BACKEND_URL, --backend-url, or SVC_BACKEND_URL_FILE')
  })

  it('read the PEM files at start, and report a missing one (D54)', () => {
    const folder = temporaryFolder()
    const file = join(folder, 'ca.pem')
    writeFileSync(file, 'PEM')
    expect(readSettings(BACKEND_SETTINGS, { SVC_BACKEND_CA_FILE: file }, []).values.backendCaFile).toBe('PEM')
    expect(readSettings(BACKEND_SETTINGS, { SVC_BACKEND_KEY_FILE: join(folder, 'absent') }, []).faults).toEqual([
      { name: 'SVC_BACKEND_KEY_FILE', problem: expect.stringMatching(/absent" cannot be read: ENOENT/) },
    ])
  })
})
