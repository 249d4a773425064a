/**
 * Checks the dashboard from outside the cluster: in Chromium, by the public name, over TLS. Errors of the page fail the
 * test (watched.ts).
 */
import { expect } from '@jest/globals'
import { CHROMIUM, findHost, look, signedIn } from '../dashboard/browser/watched.ts'
import { HOST } from './authority.ts'
import { ingress } from './cluster.ts'
import type { Public } from './public.ts'

const PATIENCE_MS = 45_000
/** More than the keep-alive comments of an idle stream. */
const EVENT_BYTES = 60

/** @param edit changes the worker; its page has to show `note` afterwards. */
export async function seeDashboard(fleet: Public, id: string, note: string, edit: () => Promise<void>): Promise<void> {
  if (CHROMIUM === undefined) throw new Error('chromium is not installed: run hack/install-debian.sh chromium')
  findHost(HOST, ingress().address, fleet.authority.keyHash)
  const { page } = await signedIn(`${fleet.url}/`, '', fleet.adminToken)
  const network = await page.context().newCDPSession(page)
  const streams = new Set<string>()
  let streamed = 0
  network.on(
    'Network.responseReceived',
    ({ requestId, response }) => response.mimeType === 'text/event-stream' && streams.add(requestId),
  )
  network.on('Network.dataReceived', ({ requestId, dataLength }) => {
    if (streams.has(requestId)) streamed += dataLength
  })
  await network.send('Network.enable')
  await page.reload() // Reload so that the session observes the start of the stream.
  await page.locator('button.live').getByText(/live/).waitFor({ timeout: PATIENCE_MS })
  await page.goto(`${fleet.url}/#/workers`)
  await page.getByRole('link', { name: id, exact: true }).click()
  await page.getByText('RUNNING').filter({ visible: true }).first().waitFor()
  await page.locator('.plot canvas').first().waitFor({ timeout: PATIENCE_MS })
  await look(page, 'cluster-worker')
  await page.goto(`${fleet.url}/#/workers/echo/${id}?tab=config&view=json`)
  await page.locator('.json-text').waitFor()
  const before = streamed
  await edit()
  await page.getByText(note).filter({ visible: true }).first().waitFor({ timeout: PATIENCE_MS })
  expect(streamed - before).toBeGreaterThan(EVENT_BYTES)
  await look(page, 'cluster-config')
}
