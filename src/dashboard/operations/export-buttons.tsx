/** @module dashboard/operations/export-buttons  Saves what became of each worker of an operation as NDJSON or CSV. */
import type { OperationShown } from '../../protocol/index.ts'
import type { Api } from '../api/client.ts'
import { useAction } from '../api/use-action.ts'
import { saveFile } from '../components/download.tsx'
import { ErrorPanel } from '../components/error-panel.tsx'
import { operationPath } from './path.ts'

const FORMATS = { ndjson: 'application/x-ndjson', csv: 'text/csv' } as const
const WITHIN_MS = 30_000

export function ExportButtons({ operation }: { readonly operation: OperationShown }) {
  const save = useAction(async (api, format: keyof typeof FORMATS) => {
    const text = await readResults(api, operation, format)
    saveFile(`${operation.type}-operation-${operation.operation}.${format}`, FORMATS[format], text)
  })
  return (
    <>
      <button type="button" disabled={save.busy} onClick={() => void save.run('ndjson')}>
        Export NDJSON
      </button>
      <button type="button" disabled={save.busy} onClick={() => void save.run('csv')}>
        Export CSV
      </button>
      {save.problem !== null && <ErrorPanel problem={save.problem} title="Not exported:" />}
    </>
  )
}

async function readResults(api: Api, { type, operation }: OperationShown, format: string): Promise<string> {
  const path = operationPath(type, operation, 'results')
  const { body } = await api.stream(path, {}, AbortSignal.timeout(WITHIN_MS), { format })
  return new Response(body).text()
}
