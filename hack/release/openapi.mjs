// The OpenAPI document of this release, as a master serves it.
import { createOpenApi } from '../../src/master/http/openapi.ts'
import { fromMaster } from '../docs/metrics.mjs'

export async function openApi({ version }) {
  const { routes } = await fromMaster()
  const [row] = createOpenApi(
    routes.filter(({ path }) => !path.endsWith('/openapi.json')),
    version,
  ).routes
  const { body } = await row.handle()
  return new Map([['openapi.json', `${JSON.stringify(JSON.parse(body.toString()), null, 2)}\n`]])
}
