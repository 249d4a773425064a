import { describe, expect, it } from '@jest/globals'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { head, runMaster, sendRaw, type TestMaster } from '../../kit/running-master.ts'
import { temporaryFolder } from '../../kit/temporary-folder.ts'

async function built(folder = temporaryFolder()): Promise<TestMaster> {
  await mkdir(join(folder, 'assets', 'inner'), { recursive: true })
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>Muster</title>')
  await writeFile(join(folder, 'secret.txt'), 'canary')
  await writeFile(join(folder, 'assets', 'inner', 'deep.js'), 'canary')
  for (const [name, text] of [
    ['main-Ab3_x9-Z.js', 'plain()'],
    ['main-Ab3_x9-Z.js.br', 'brotli'],
    ['main-Ab3_x9-Z.js.gz', 'gzip'],
    ['theme.css', 'body{}'],
    ['main-Ab3_x9-Z.js.map', '{}'],
    ['main-Ab3_x9-Z.js.map.gz', '{}'],
  ] as const)
    await writeFile(join(folder, 'assets', name), text)
  return runMaster({ dashboardDir: folder })
}

describe('the page', () => {
  it('needs no token and has all security headers (D20, S17)', async () => {
    const master = await built()
    const { status, headers, text } = await master.call('GET', '/', { token: '' })
    expect([status, text]).toEqual([200, '<!doctype html><title>Muster</title>'])
    const policy = headers.get('content-security-policy')
    expect(policy).toMatch(/^default-src 'none'; script-src 'self';.*frame-ancestors 'none';/)
    expect(policy).toMatch(/; require-trusted-types-for 'script'; trusted-types muster$/)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
  })

  it('returns 404 with an explanation when the dashboard was not built', async () => {
    const master = await runMaster()
    const { status, text, headers } = await master.call('GET', '/', { token: '' })
    expect([status, headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
    expect(text).toContain('not built')
    expect((await master.call('GET', '/assets/main.js', { token: '' })).status).toBe(404)
  })
})

describe('assets', () => {
  it('are cached without limit when their name contains a hash, and revalidated otherwise', async () => {
    const master = await built()
    const hashed = await master.call('GET', '/assets/main-Ab3_x9-Z.js', {
      token: '',
      headers: { 'accept-encoding': 'identity' },
    })
    expect([hashed.text, hashed.headers.get('content-type'), hashed.headers.get('cache-control')]).toEqual([
      'plain()',
      'text/javascript; charset=utf-8',
      'public, max-age=31536000, immutable',
    ])
    expect((await master.call('GET', '/assets/theme.css', { token: '' })).headers.get('cache-control')).toBe('no-cache')
  })

  it.each([
    ['br, gzip', 'br', 'brotli'],
    ['gzip', 'gzip', 'gzip'],
    ['identity', null, 'plain()'],
  ])('are sent precompressed for Accept-Encoding: %s', async (accepted, encoding, body) => {
    const master = await built()
    const { text } = await sendRaw(
      master.port,
      head('GET', '/assets/main-Ab3_x9-Z.js', [`Accept-Encoding: ${accepted}`], null),
    )
    expect(text.endsWith(body)).toBe(true)
    expect(/^content-encoding: (?<encoding>\S+)\r$/im.exec(text)?.groups?.['encoding'] ?? null).toBe(encoding)
    expect(text).toMatch(/^vary: Accept-Encoding\r$/im)
  })

  it('exclude source maps, and changes of the folder after the start (D71)', async () => {
    const folder = temporaryFolder()
    const master = await built(folder)
    await writeFile(join(folder, 'assets', 'theme.css'), 'changed')
    expect((await master.call('GET', '/assets/theme.css', { token: '' })).text).toBe('body{}')
    for (const name of ['main-Ab3_x9-Z.js.map', 'main-Ab3_x9-Z.js.map.gz'])
      expect((await master.call('GET', `/assets/${name}`, { token: '' })).status).toBe(404)
  })

  it('are only the files directly in the folder, and no path leads out of it', async () => {
    const master = await built()
    for (const path of [
      'nothing.js',
      '..%2fsecret.txt',
      '%2e%2e%2fsecret.txt',
      '..%5csecret.txt',
      'inner%2fdeep.js',
      'inner',
      'theme.css%00',
      '..',
      '%2fetc%2fpasswd',
    ]) {
      const { status, text } = await sendRaw(master.port, head('GET', `/assets/${path}`, [], null))
      expect([path, [404, 422].includes(status), text.includes('canary')]).toEqual([path, true, false])
    }
    expect((await sendRaw(master.port, head('GET', '/assets/../secret.txt'))).status).toBe(404)
  })
})
