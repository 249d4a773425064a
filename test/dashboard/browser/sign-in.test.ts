// Sign-in, sign-out and token scopes in a real browser, against a master in this process.
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { ADMIN_TOKEN, WORKER_TOKEN } from '../../e2e/fleet.ts'
import { it } from './it.ts'
import { MAILER_TOKEN, ManyWorkers } from './many-workers.ts'
import { CHROMIUM, look, openPage, signedIn, signIn, storedValues } from './watched.ts'

const many = new ManyWorkers()
const at = (): string => `${many.url}/`

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  await many.start()
  await many.add('mailer', 3)
})
afterAll(() => many.stop())

describe('signing in', () => {
  it('shows different errors for a wrong token and a worker token, and stores neither', async () => {
    const { page } = await openPage(at())
    await look(page, 'sign-in')
    await signIn(page, 'wrong')
    await page.getByText('does not accept this token').waitFor()
    await look(page, 'sign-in-refused')
    await signIn(page, WORKER_TOKEN)
    await page.getByText('This is a worker token').waitFor()
    await signIn(page, 'two words')
    await page.getByText('A token contains no spaces').waitFor()
    await signIn(page, '')
    await page.getByText('Enter a token').waitFor()
    expect(await storedValues(page)).toEqual([])
  })

  it('shows an error if the master does not respond', async () => {
    const { page } = await openPage(at())
    await page.route('**/api/v1/me', (route) => route.abort())
    await signIn(page, ADMIN_TOKEN)
    await page.getByText('The master is not responding').waitFor()
    expect(await storedValues(page)).toEqual([])
  })

  it('stores the token for all tabs of the browser if requested', async () => {
    const { page } = await openPage(at())
    await page.getByLabel('Stay signed in on this browser').check()
    await signIn(page, ADMIN_TOKEN)
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    expect(await page.evaluate('[localStorage.length, sessionStorage.length]')).toEqual([1, 0])
    const other = await page.context().newPage()
    await other.goto(at())
    await other.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token', { exact: true }).waitFor()
    expect(await storedValues(page)).toEqual([])
  })

  it('stores the token for one tab otherwise', async () => {
    const { page } = await openPage(at())
    await signIn(page, ADMIN_TOKEN)
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    expect(await page.evaluate('[localStorage.length, sessionStorage.length]')).toEqual([0, 1])
    const other = await page.context().newPage()
    await other.goto(at())
    await other.getByLabel('Token', { exact: true }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token', { exact: true }).waitFor()
    expect(await storedValues(page)).toEqual([])
  })

  it('works with the keyboard, and never shows the token in the URL or the page', async () => {
    const { page } = await openPage(at(), '#/workers?q=m-1')
    await page.getByLabel('Token', { exact: true }).focus()
    await page.keyboard.type(ADMIN_TOKEN)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'm-1' }).waitFor()
    expect([page.url().includes(ADMIN_TOKEN), (await page.content()).includes(ADMIN_TOKEN)]).toEqual([false, false])
    expect(page.url()).toContain('#/workers?q=m-1')
  })
})

describe('a scoped token', () => {
  it('shows its types and requests nothing else (D19)', async () => {
    const { page, asked } = await signedIn(at(), '', MAILER_TOKEN)
    await page.getByText('scoped: mailer').waitFor()
    await page.getByText('workers are connected').or(page.getByText('All')).first().waitFor()
    for (const [place, heading] of [
      ['Workers', 'Workers'],
      ['Tasks', 'Tasks'],
      ['Output', 'Output'],
      ['Automations', 'Automations'],
      ['Settings', 'Settings'],
    ] as const) {
      await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: place, exact: true }).click()
      await page.getByRole('heading', { level: 1, name: heading }).waitFor()
    }
    await page.getByRole('link', { name: 'Pools', exact: true }).click()
    await page.getByText('needs an admin token').or(page.getByText('need an admin token')).first().waitFor()
    const plain = '(me|sign-in|overview|history|acknowledgements|alerts|events|operations|catalog/mailer)$'
    const own = new RegExp(`^/api/v1/(${plain}|automations/mailer/)`)
    expect(asked.filter((path) => !own.test(path))).toEqual([])
  })
})

describe('a token that is revoked while the page is open', () => {
  it('causes a sign-in above the page, which continues where it was', async () => {
    const { page } = await signedIn(at(), '#/workers')
    await page.getByRole('link', { name: 'm-1' }).waitFor()
    await page.getByLabel('Filter workers').fill('m-2')
    await page.route('**/api/**', (route) => route.fulfill({ status: 403, json: { detail: 'unknown token' } }))
    await page.getByText('This token is no longer accepted. Sign in with another one.').waitFor()
    await look(page, 'sign-in-again')
    await page.unroute('**/api/**')
    await signIn(page, MAILER_TOKEN)
    await page.getByText('scoped: mailer').waitFor()
    expect(await page.getByLabel('Filter workers').inputValue()).toBe('m-2')
    await page.getByRole('link', { name: 'm-2' }).waitFor()
  })
})
