/**
 * @module cmd/dev/greeting
 * Formats what `muster dev` prints after its start: new tokens, once, and three commands to try.
 */
import { join, relative } from 'node:path'
import type { Catalog } from '../../automation/index.ts'
import type { DevState } from './state.ts'

export function tokenBlock({ fresh, adminToken, workerToken, adminTokenFile, workerTokenFile }: DevState): string {
  const files = `stored in ${show(adminTokenFile)} and ${show(workerTokenFile)}`
  if (!fresh) return `  tokens: unchanged since the first start, ${files}`
  return [
    '',
    `  ==== generated tokens, shown only once, ${files} ====`,
    `  admin   ${adminToken}`,
    `  worker  ${workerToken}`,
    `  ${'='.repeat(66)}`,
    '',
  ].join('\n')
}

/**
 * Formats three commands to try with the installed automations: list the workers, submit a task, peek at the output.
 */
export function tryBlock(catalog: Catalog, url: string, tokenFile: string): string {
  const auth = `-H "Authorization: Bearer $(cat ${show(tokenFile)})"`
  const types = [...catalog.keys()]
  const batch = catalog.has('http-request')
    ? 'http-request'
    : types.find((type) => catalog.get(type)?.kind === 'BatchAutomation')
  const payload = batch === 'http-request' ? JSON.stringify({ url: `${url}/healthz` }) : '{ … }'
  return [
    `  Dashboard: ${url}/   In another terminal:`,
    `    curl -s ${auth} ${url}/api/v1/automations/${types[0]}/workers`,
    ...(batch === undefined
      ? []
      : [
          `    curl -s ${auth} -H 'Content-Type: application/json' ` +
            `-d '{"payload":${payload}}' ${url}/api/v1/automations/${batch}/tasks`,
        ]),
    `    curl -s ${auth} '${url}/api/v1/automations/${batch ?? types[0]}/output/peek?n=3'`,
  ].join('\n')
}

const show = (path: string): string => (path.startsWith('/') ? path : join('.', relative(process.cwd(), path)))
