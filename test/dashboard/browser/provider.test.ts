// Sign-in by a real identity provider (oidc-provider) in a real browser: sign-in, an act, renewal, sign-out.
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { eventually, freePort } from '../../kit/index.ts'
import { PERSON, startOidcIssuer, type OidcIssuer } from '../../kit/oidc-issuer.ts'
import type { TestMaster } from '../../kit/running-master.ts'
import { startSignInMaster } from '../../master/sign-in/master.ts'
import { it } from './it.ts'
import { allowOrigin, CHROMIUM, look, openPage, storedValues } from './watched.ts'

const RULES = [{ when: { '/email': PERSON }, role: 'admin' }]
/** A page renews such a token after 8 s. */
const TOKEN_SECONDS = 10

let issuer: OidcIssuer
let master: TestMaster
const at = (): string => `${master.url}/`

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  const port = await freePort()
  issuer = await startOidcIssuer({
    redirectUri: `http://127.0.0.1:${port}/`,
    idTokenSeconds: TOKEN_SECONDS,
    host: 'localhost',
  })
  allowOrigin(issuer.url)
  master = await startSignInMaster(issuer.url, {
    port,
    rules: RULES,
    dashboardDir: join(process.cwd(), 'dist/dashboard'),
  })
})
afterAll(async () => {
  await master?.stop()
  await issuer?.stop()
})

async function signInByProvider(hash = ''): Promise<Page> {
  const { page } = await openPage(at(), hash)
  await page.getByRole('button', { name: 'Continue with corp' }).click()
  await page.getByRole('button', { name: `I am ${PERSON}` }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  return page
}

const tokenOf = (page: Page): Promise<string> =>
  page.evaluate("sessionStorage.getItem(Object.keys(sessionStorage).find((key) => key.endsWith(':token')))")

it('signs a person in, who acts under their name; cookies, local storage and address stay empty', async () => {
  const page = await signInByProvider('#/tasks/mailer')
  expect(page.url()).toBe(`${at()}#/tasks/mailer`)
  await page.getByRole('button', { name: 'Pause…' }).click()
  await page.getByRole('button', { name: 'Pause the queue' }).click()
  await page.getByRole('region', { name: 'Paused queues' }).waitFor()
  await page.goto(`${at()}#/activity`)
  await page.getByRole('cell', { name: PERSON }).first().waitFor()
  expect((await master.call('GET', '/api/v1/audit?action=queue')).json).toMatchObject({
    entries: [{ action: 'queue.pause', outcome: 'done', actor: { name: PERSON, kind: 'jwt', issuer: 'corp' } }],
  })
  expect(await page.context().cookies(at())).toEqual([])
  expect(await page.evaluate("Object.values(localStorage).filter((value) => value.includes('ey'))")).toEqual([])
  expect(page.url()).toBe(`${at()}#/activity`)
  await page.goBack()
  expect(page.url()).not.toContain('code=')
})

it('renews the token while the page is open, and shows a bar if that fails', async () => {
  const page = await signInByProvider('#/workers')
  const first = await tokenOf(page)
  await eventually('the token was renewed', async () => (await tokenOf(page)) !== first)
  await page.getByRole('heading', { level: 1, name: 'Workers' }).waitFor()
  issuer.isDown = true
  await page.getByText('Your sign-in ends at').waitFor()
  issuer.isDown = false
  await page.getByRole('button', { name: 'Sign in again' }).first().click()
  await eventually('the person is signed in again', async () => page.url() === `${at()}#/workers`)
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
})

it('signs out at the provider as well', async () => {
  const page = await signInByProvider()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Yes, sign me out' }).click()
  await page.getByRole('button', { name: 'Continue with corp' }).waitFor()
  await look(page, 'sign-in-provider')
  expect(await storedValues(page)).toEqual([])
  await page.getByRole('button', { name: 'Continue with corp' }).click()
  await page.getByRole('button', { name: `I am ${PERSON}` }).waitFor()
})

it('refuses a code that another page brought, and does not exchange it', async () => {
  const exchanges = issuer.exchanges()
  const { page } = await openPage(at(), '?code=stolen&state=x')
  await page.getByText('This sign-in was not started in this tab').waitFor()
  expect([page.url(), issuer.exchanges()]).toEqual([at(), exchanges])
})
