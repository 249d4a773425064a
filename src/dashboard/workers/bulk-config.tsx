/**
 * @module dashboard/workers/bulk-config
 * Changes the config of many workers: sends one PATCH with the ticked fields per worker. `If-Match` has the generation
 * that was shown, so unseen changes are not overwritten (D15, D47). Managed workers are skipped unless the user
 * includes them (D57).
 */
import { useState } from 'react'
import type { ConfigBody, FieldError, JsonObject, JsonSchema } from '../../protocol/index.ts'
import { useInstalled } from '../api/installed.ts'
import { useSession } from '../api/session.ts'
import { topOf } from '../config/draft.ts'
import { propertiesOf } from '../config/schema.ts'
import { SchemaForm } from '../config/schema-form.tsx'
import { countText } from '../components/numbers.ts'
import { BulkDialog } from './bulk-dialog.tsx'
import { pathOf, type BulkDeps, type BulkProps } from './bulk.ts'
import { faultsOf, NOTHING_TICKED, patchOf, schemaOfMany, schemaOfTicked, tick, type BulkDraft } from './bulk-fields.ts'
import type { WorkerRow } from './row.ts'

export function BulkConfig(props: BulkProps) {
  const { rows } = props
  const { types, schema } = useCommonSchema(rows)
  const [bulk, setBulk] = useState(NOTHING_TICKED)
  const [includesManaged, setIncludesManaged] = useState(false)
  const managed = rows.filter(({ managed_by: by }) => by !== null).length
  const ticked = schemaOfTicked(schema, bulk.ticked)
  const faults = faultsOf(ticked, bulk)
  const saveConfig = useSaveConfig(patchOf(bulk), includesManaged)
  return (
    <BulkDialog {...props} verb="Save config of" act={saveConfig} danger={false} missing={missingOf(bulk, faults)}>
      <p>
        Only the selected fields are changed.
        {types.length > 1 && ' The workers have different types, so only the common fields are listed.'}
      </p>
      <FieldPicker schema={schema} ticked={bulk.ticked} onTick={(name) => setBulk(tick(schema, bulk, name))} />
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
            <input
              type="checkbox"
              checked={includesManaged}
              onChange={(event) => setIncludesManaged(event.target.checked)}
            />{' '}
            Include {managed === 1 ? 'the managed worker' : `the ${countText(managed)} managed workers`}: Kubernetes or
            another manager may revert the change
          </label>
        </p>
      )}
    </BulkDialog>
  )
}

/** @returns The types of the workers, and the schema of the fields that all of them have. */
function useCommonSchema(rows: readonly WorkerRow[]): {
  readonly types: readonly string[]
  readonly schema: JsonSchema
} {
  const { automations } = useInstalled()
  const types = [...new Set(rows.map(({ automation_type: type }) => type))]
  const only = types.length === 1 ? automations.find(({ type }) => type === types[0]) : undefined
  return { types, schema: schemaOfMany(only?.configSchema) }
}

/** @returns The action that saves the patch for one worker. */
function useSaveConfig(patch: JsonObject, includesManaged: boolean): BulkDeps<WorkerRow>['act'] {
  const { api, me } = useSession()
  return async (row) => {
    if (row.managed_by !== null && !includesManaged)
      return { kind: 'skipped', text: `managed by ${row.managed_by.replace(/#.*$/, '')}` }
    const { body } = await api.send<ConfigBody>('PATCH', [...pathOf(row), 'config'], {
      body: patch,
      headers: { 'if-match': `"${me.epoch}.${row.config_gen}"` },
    })
    return { kind: 'done', text: `generation ${body.config_gen} saved` }
  }
}

interface FieldPickerProps {
  readonly schema: JsonSchema
  readonly ticked: readonly string[]
  readonly onTick: (name: string) => void
}

function FieldPicker({ schema, ticked, onTick }: FieldPickerProps) {
  return (
    <fieldset className="bulk-ticks">
      <legend className="soft">Fields to set</legend>
      {Object.keys(propertiesOf(schema)).map((name) => (
        <label key={name}>
          <input type="checkbox" checked={ticked.includes(name)} onChange={() => onTick(name)} />{' '}
          <bdi className="code">{name}</bdi>
        </label>
      ))}
    </fieldset>
  )
}

/** Returns why the selected fields cannot be saved yet; null if they can. */
function missingOf({ ticked }: BulkDraft, faults: readonly FieldError[]): string | null {
  if (ticked.length === 0) return 'Select the fields to set.'
  if (faults.length === 0) return null
  const invalid = new Set(faults.map(({ path }) => topOf(path)))
  return `Invalid or empty: ${[...invalid].join(', ')}`
}
