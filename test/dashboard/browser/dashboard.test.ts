// The page in a real browser, against a real master and real workers.
import { afterEach, beforeEach, describe, expect, it as run, jest } from '@jest/globals'
import { ADMIN_TOKEN, WORKER_TOKEN } from '../../e2e/fleet.ts'
import { CHROMIUM, SCOPED_TOKEN, signIn, storedValues, World } from './world.ts'

const it = (name: string, test: () => Promise<void>): void => (CHROMIUM === undefined ? run.skip(`${name}: chromium is not installed`, test) : run(name, test))
jest.setTimeout(90_000)

let world: World

beforeEach(async () => {
  world = new World()
  if (CHROMIUM !== undefined) await world.start()
})

afterEach(async () => {
  await world.stop()
  expect(world.complaints).toEqual([])
})

const HOSTILE = '<img src=x onerror="window.ran = true"><script>window.ran = true</script>\u202Eevil'

describe('signing in', () => {
  it('tells a wrong token from a worker\'s, and keeps neither', async () => {
    const page = await world.open()
    await signIn(page, 'wrong')
    await page.getByText('does not accept this token').waitFor()
    await signIn(page, WORKER_TOKEN)
    await page.getByText('This is a worker token').waitFor()
    await signIn(page, 'two words')
    await page.getByText('A token has no spaces').waitFor()
    expect(await storedValues(page)).toEqual([])
  })

  it('asks for no token again until the person signs out, in any tab', async () => {
    const page = await world.signedIn()
    expect(await storedValues(page)).toEqual([ADMIN_TOKEN])
    await page.reload()
    await page.getByRole('heading', { name: 'Workers' }).waitFor()
    const other = await page.context().newPage()
    await other.goto(world.fleet.url)
    await other.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token').waitFor()
    expect(await storedValues(page)).toEqual([])
  })

  it('with a scoped token shows its types, and asks for nothing else (D19)', async () => {
    const page = await world.signedIn('', SCOPED_TOKEN)
    await page.getByText('scoped: http-request').waitFor()
    await page.getByText('No worker has registered yet.').waitFor()
    await page.getByRole('link', { name: 'Pools' }).click()
    await page.getByText('needs an admin token').waitFor()
    await page.getByRole('link', { name: 'Automations' }).click()
    await page.getByRole('heading', { name: 'http-request' }).waitFor()
    await page.getByRole('link', { name: 'Output', exact: true }).first().click()
    await page.getByRole('link', { name: 'http-request' }).click()
    await page.getByText('The stream is empty').waitFor()
    const own = /^\/api\/v1\/(me$|catalog\/http-request$|automations\/http-request\/)/
    expect(world.asked.filter((path) => !own.test(path))).toEqual([])
  })

  it('says when the master does not answer', async () => {
    const page = await world.open()
    await page.route('**/api/v1/me', (route) => route.abort())
    await signIn(page, ADMIN_TOKEN)
    await page.getByText('The master does not answer').waitFor()
  })
})

describe('the config form', () => {
  it('saves what changed, and follows it until the worker applies it', async () => {
    await world.startWorker('http-request', 'w-1')
    const page = await world.signedIn('#/workers/http-request/w-1')
    await page.getByLabel('slots', { exact: true }).fill('3')
    await page.getByLabel('user_agent', { exact: true }).fill('by hand')
    await page.getByLabel('allow_hosts', { exact: true }).fill('["127.0.0.1"]')
    const patch = page.waitForRequest((request) => request.method() === 'PATCH')
    await page.getByRole('button', { name: 'Save 3 changes' }).click()
    expect((await patch).postDataJSON()).toEqual({ slots: 3, user_agent: 'by hand', allow_hosts: ['127.0.0.1'] })
    expect((await patch).headers()['if-match']).toMatch(/^"[^".]+\.1"$/)
    await page.getByText('Generation 2 is saved. The worker applies it.').waitFor()
    const { body } = await world.fleet.call<{ config: object; config_changed_by: string }>('GET', '/automations/http-request/workers/w-1')
    expect(body).toMatchObject({ config: { slots: 3, user_agent: 'by hand' }, config_changed_by: 'admin dashboard' })
  })

  it('puts what the master refuses beside its field, and keeps the draft (D14)', async () => {
    await world.startWorker('http-request', 'w-1')
    const page = await world.signedIn('#/workers/http-request/w-1')
    await page.getByLabel('slots', { exact: true }).fill('x')
    await page.getByText('expected a whole number, got "x"').waitFor()
    expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    await page.getByLabel('slots', { exact: true }).fill('5000')
    await page.getByLabel('allow_ports', { exact: true }).fill('[80, 0]')
    await page.getByRole('button', { name: 'Save 2 changes' }).click()
    await page.getByText('The master refuses 2 fields').waitFor()
    await page.getByText('/1 must be >= 1').waitFor()
    await page.getByText('must be <= 1024').waitFor()
    expect(await page.getByLabel('slots', { exact: true }).inputValue()).toBe('5000')
  })

  it('shows what somebody else saved under a draft, and overwrites nothing unseen (D15)', async () => {
    await world.startWorker('http-request', 'w-1')
    const page = await world.signedIn('#/workers/http-request/w-1')
    await page.getByLabel('slots', { exact: true }).fill('7')
    await page.route('**/workers/w-1', (route) => route.abort()) // The page learns of the other save by its own conflict.
    await world.fleet.configure('http-request', 'w-1', { slots: 5, user_agent: 'theirs' })
    await page.getByRole('button', { name: 'Save 1 change' }).click()
    await page.getByText('Not saved: the config changed while you edited.').waitFor()
    await page.unroute('**/workers/w-1')
    await page.getByText('Generation 2 was saved while you edited generation 1.').waitFor()
    await page.getByText('You changed too: slots').waitFor()
    await page.getByRole('button', { name: 'Continue on generation 2' }).click()
    await page.getByRole('button', { name: 'Save 1 change' }).click()
    await page.getByText('Generation 3 is saved.').waitFor()
    const { body } = await world.fleet.call<{ config: object }>('GET', '/automations/http-request/workers/w-1')
    expect(body.config).toMatchObject({ slots: 7, user_agent: 'theirs' })
  })

  it('sets, keeps and clears a secret that it never shows (D17)', async () => {
    await world.startWorker('http-request', 'w-1')
    const page = await world.signedIn('#/workers/http-request/w-1')
    const secret = page.getByRole('radiogroup', { name: 'authorization', exact: true })
    await secret.getByLabel('Set', { exact: true }).check()
    await page.getByRole('textbox', { name: 'authorization', exact: true }).fill('canary-7f3a')
    await page.getByRole('button', { name: 'Save 1 change' }).click()
    await page.getByText('Generation 2 is saved.').waitFor()
    await secret.getByText('Keep the stored one').waitFor()
    expect(await page.content()).not.toContain('canary-7f3a')
    await page.getByLabel('slots', { exact: true }).fill('2')
    const patch = page.waitForRequest((request) => request.method() === 'PATCH')
    await page.getByRole('button', { name: 'Save 1 change' }).click()
    expect((await patch).postDataJSON()).toEqual({ slots: 2 })
    await page.getByText('Generation 3 is saved.').waitFor()
    await secret.getByLabel('Clear').check()
    await page.getByRole('button', { name: 'Save 1 change' }).click()
    await page.getByText('Generation 4 is saved.').waitFor()
    await secret.getByText('Leave it unset').waitFor()
  })
})

describe('a draft', () => {
  it('outlives the token it was begun with', async () => {
    await world.startWorker('http-request', 'w-1')
    const page = await world.signedIn('#/workers/http-request/w-1')
    await page.getByLabel('slots', { exact: true }).fill('9')
    await page.route('**/api/**', (route) => route.fulfill({ status: 403, json: { detail: 'the token is not accepted' } }))
    await page.getByText('does not accept this token').waitFor()
    await page.unroute('**/api/**')
    await signIn(page, SCOPED_TOKEN)
    await page.getByText('scoped: http-request').waitFor()
    expect(await page.getByLabel('slots', { exact: true }).inputValue()).toBe('9')
    await page.getByRole('button', { name: 'Save 1 change' }).click()
    await page.getByText('Generation 2 is saved.').waitFor()
  })

  it('of a worker that is managed elsewhere needs a deliberate override (D57)', async () => {
    await world.startWorker('http-request', 'w-1')
    const page = await world.open('#/workers/http-request/w-1')
    await page.route('**/workers/w-1', async (route) => {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, json: { ...(await answer.json() as object), managed_by: 'kubernetes:mail/m-7' } })
    })
    await signIn(page, ADMIN_TOKEN)
    await page.getByText('This config is managed by kubernetes:mail/m-7').waitFor()
    expect(await page.getByLabel('slots', { exact: true }).isDisabled()).toBe(true)
    await page.getByLabel('Change it here all the same').check()
    await page.getByLabel('slots', { exact: true }).fill('2')
    await page.getByRole('button', { name: 'Save 1 change' }).click()
    await page.getByText('Generation 2 is saved.').waitFor()
  })
})

describe('the queue card', () => {
  it('submits a task whose output appears in the stream, from which it is popped', async () => {
    await world.startWorker('http-request', 'w-1')
    const page = await world.signedIn('#/tasks/http-request')
    await page.getByLabel('Payload', { exact: true }).fill(JSON.stringify({ url: `${world.fleet.url}/healthz` }))
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByText(/^Queued as [0-9a-f]{32}\.$/).waitFor()
    await page.getByRole('link', { name: 'output', exact: true }).click()
    await page.getByRole('list', { name: 'Peeked entries' }).getByText('"status": 200').waitFor()
    await page.getByRole('button', { name: 'Pop 10…' }).click()
    await page.getByRole('button', { name: 'Pop 10', exact: true }).click()
    await page.getByText('1 entry taken.').waitFor()
    await page.getByText('The stream is empty').waitFor()
    await page.getByRole('list', { name: 'Popped entries' }).getByText('"status": 200').waitFor()
  })

  it('says what is wrong with a task before and after it is sent', async () => {
    const page = await world.signedIn('#/tasks/http-request')
    await page.getByLabel('Payload', { exact: true }).fill('{')
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByText('Payload: not JSON').waitFor()
    await page.getByLabel('Payload', { exact: true }).fill('{"url": 1}')
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByText('/url must be string').waitFor()
  })

  it('queues once when the button is pressed again after a lost answer', async () => {
    const page = await world.signedIn('#/tasks/http-request')
    await page.getByLabel('Payload', { exact: true }).fill('{"url": "http://example.net/"}')
    await page.route('**/tasks', async (route) => {
      await route.fetch()
      await route.abort()
    }, { times: 1 })
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByText('Perhaps queued:').waitFor()
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByText('Not queued again: this is the task').waitFor()
    await page.getByText('1 waiting').waitFor()
  })

  it('replays dead letters, and clears them only after asking', async () => {
    await world.startWorker('http-request', 'w-1', { allow_ports: [1] })
    for (const n of [1, 2, 3]) await world.fleet.ok('POST', '/automations/http-request/tasks', { task_id: `t-${n}`, payload: { url: `${world.fleet.url}/${n}` } })
    const page = await world.signedIn('#/tasks/http-request')
    const dead = page.getByRole('table', { name: 'Dead letters' })
    await dead.getByText('t-3').waitFor()
    expect(await dead.getByText('is not in allow_ports').count()).toBe(3)
    await world.fleet.configure('http-request', 'w-1', { enabled: false })
    await page.getByLabel('Number to replay').fill('2')
    await page.getByRole('button', { name: 'Replay the oldest 2' }).click()
    await page.getByText('2 tasks went back to the queue.').waitFor()
    await page.getByRole('button', { name: 'Clear all…' }).click()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Clear all…' }).click()
    await page.getByRole('button', { name: /^Clear \d dead letters?$/ }).click()
    await page.getByText(/dead letters? cleared/).waitFor()
    await page.getByText('No task ran out of attempts.').waitFor()
  })
})

describe('acts on a worker', () => {
  it('drain it, and forget it, after saying what happens', async () => {
    const socket = await world.speakAs('http-request', 'w-1', [{ type: 'state', state: 'RUNNING', config_gen: 0, ts: 1, last_error: null }])
    const page = await world.signedIn('#/workers/http-request/w-1')
    await page.getByRole('button', { name: 'Drain…' }).click()
    await page.getByText('A drain cannot be cancelled.').waitFor()
    await page.getByRole('button', { name: 'Drain', exact: true }).click()
    await page.getByText('DRAINING').waitFor()
    socket.close()
    await page.getByText('offline').first().waitFor()
    await page.getByRole('button', { name: 'Forget…' }).click()
    await page.getByText('it registers anew').waitFor()
    await page.getByRole('button', { name: 'Forget', exact: true }).click()
    await page.getByText('No worker has registered yet.').waitFor()
  })
})

describe('hostile text', () => {
  it('is shown as text and runs nothing, wherever a worker or client can put it', async () => {
    const socket = await world.speakAs('http-request', '<b onmouseover=alert(1)>w', [{ type: 'state', state: 'ERROR', config_gen: 0, ts: 1, last_error: HOSTILE }])
    const page = await world.signedIn()
    await page.getByRole('table').getByText('<img src=x onerror=').waitFor()
    await page.getByRole('link', { name: '<b onmouseover=alert(1)>w' }).click()
    await page.getByRole('heading', { name: 'Last error' }).waitFor()
    await page.getByText('<script>window.ran = true</script>').waitFor()
    await world.fleet.ok('POST', '/automations/http-request/tasks', { task_id: HOSTILE, payload: { url: HOSTILE } })
    await page.goto(`${world.fleet.url}/#/tasks/http-request`)
    await page.getByRole('table', { name: 'Waiting tasks' }).getByText('Show').click()
    await page.locator('td pre').getByText('<img src=x').waitFor()
    await page.goto(`${world.fleet.url}/#/output/${encodeURIComponent(HOSTILE)}`)
    await page.getByText('is not an automation this token covers').waitFor()
    expect(await page.evaluate('[typeof window.ran, document.querySelectorAll("img, main script").length]')).toEqual(['undefined', 0])
    socket.close()
  })
})

describe('a master that is away', () => {
  it('leaves the last good data, dated, until it is back', async () => {
    await world.startWorker('http-request', 'w-1')
    const page = await world.signedIn()
    await page.getByRole('link', { name: 'w-1' }).waitFor()
    await page.route('**/api/**', (route) => route.abort())
    await page.getByText('Below are the last good data').waitFor()
    expect(await page.getByRole('link', { name: 'w-1' }).isVisible()).toBe(true)
    await page.unroute('**/api/**')
    await page.getByRole('button', { name: 'Try now' }).click()
    await page.getByText('Below are the last good data').waitFor({ state: 'detached' })
  })
})

describe('the page', () => {
  it('fits a screen of 360 pixels in every place', async () => {
    await world.startWorker('http-request', 'w-1')
    const page = await world.signedIn('', ADMIN_TOKEN, { viewport: { width: 360, height: 740 }, colorScheme: 'dark' })
    for (const hash of ['#/', '#/workers/http-request/w-1', '#/tasks/http-request', '#/output/http-request', '#/pools', '#/automations']) {
      await page.goto(`${world.fleet.url}/${hash}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      expect([hash, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([hash, 360])
    }
  })

  it('works below a path prefix', async () => {
    const page = await world.open('', {}, await world.proxied())
    await signIn(page, ADMIN_TOKEN)
    await page.getByText('No worker has registered yet.').waitFor()
    expect(await page.evaluate('document.styleSheets.length')).toBeGreaterThan(0)
  })

  it('is served with a policy that lets nothing run but its own files', async () => {
    const { headers } = await fetch(`${world.fleet.url}/`)
    const policy = headers.get('content-security-policy') ?? ''
    for (const rule of ['default-src \'none\'', 'script-src \'self\'', 'style-src \'self\'', 'base-uri \'none\'', 'frame-ancestors \'none\'', 'require-trusted-types-for \'script\'']) expect(policy).toContain(rule)
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
  })
})
