/**
 * @module dashboard/workers/bulk-config
 * Changes the config of many workers: sends one PATCH with the ticked fields per worker. `If-Match` has the generation
 * that was shown, so unseen changes are not overwritten (D15, D47). Managed workers are skipped unless the user
 * includes them (D57).
 */
import { useState } from 'react'
import type { ConfigBody, FieldError } from '../../protocol/index.ts'
import { useInstalled } from '../api/installed.ts'
import { useSession } from '../api/session.ts'
import { topOf } from '../config/draft.ts'
import { propertiesOf } from '../config/schema.ts'
import { SchemaForm } from '../config/schema-form.tsx'
import { countText } from '../components/numbers.ts'
import { BulkDialog } from './bulk-dialog.tsx'
import { pathOf, type BulkProps } from './bulk.ts'
import { faultsOf, NOTHING_TICKED, patchOf, schemaOfMany, schemaOfTicked, tick, type BulkDraft } from './bulk-fields.ts'
import type { WorkerRow } from './row.ts'

export function BulkConfig(props: BulkProps) {
  const { rows } = props
  const { api, me } = useSession()
  const { automations } = useInstalled()
  const types = [...new Set(rows.map(({ automation_type: type }) => type))]
  const schema = schemaOfMany(
    types.length === 1 ? automations.find(({ type }) => type === types[0])?.configSchema : undefined,
  )
  const [bulk, setBulk] = useState(NOTHING_TICKED)
  const [overrides, setOverrides] = useState(false)
  const managed = rows.filter(({ managed_by: by }) => by !== null).length
  const ticked = schemaOfTicked(schema, bulk.ticked)
  const faults = faultsOf(ticked, bulk)
  const patch = patchOf(bulk)
  const act = async (row: WorkerRow) => {
    if (row.managed_by !== null && !overrides) return { skipped: `managed by ${row.managed_by.replace(/#.*$/, '')}` }
    const { body } = await api.send<ConfigBody>('PATCH', [...pathOf(row), 'config'], {
      body: patch,
      headers: { 'if-match': `"${me.epoch}.${row.config_gen}"` },
    })
    return { done: `generation ${body.config_gen} saved` }
  }
  return (
    <BulkDialog {...props} verb="Save config of" act={act} danger={false} missing={missingOf(bulk, faults)}>
      <p>
        Only the selected fields are changed.
        {types.length > 1 && ' The workers have different types, so only the common fields are listed.'}
      </p>
      <fieldset className="bulk-ticks">
        <legend className="soft">Fields to set</legend>
        {Object.keys(propertiesOf(schema)).map((name) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={bulk.ticked.includes(name)}
              onChange={() => setBulk(tick(schema, bulk, name))}
            />{' '}
            <bdi className="code">{name}</bdi>
          </label>
        ))}
      </fieldset>
      {bulk.ticked.length > 0 && (
        <SchemaForm
          schema={ticked}
          draft={bulk.draft}
          onDraft={(draft) => setBulk({ ...bulk, draft })}
          faults={faults}
          label="Values to set"
        />
      )}
      {managed > 0 && (
        <p className="notice">
          <label>
            <input type="checkbox" checked={overrides} onChange={(event) => setOverrides(event.target.checked)} />{' '}
            Include {managed === 1 ? 'the managed worker' : `the ${countText(managed)} managed workers`}: Kubernetes or
            another manager may revert the change
          </label>
        </p>
      )}
    </BulkDialog>
  )
}

/** Returns why the selected fields cannot be saved yet; null if they can. */
function missingOf({ ticked }: BulkDraft, faults: readonly FieldError[]): string | null {
  if (ticked.length === 0) return 'Select the fields to set.'
  if (faults.length === 0) return null
  const invalid = new Set(faults.map(({ path }) => topOf(path)))
  return `Invalid or empty: ${[...invalid].join(', ')}`
}
