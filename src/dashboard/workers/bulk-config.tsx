/**
 * @module dashboard/workers/bulk-config
 * Changes the config of many workers of one type with an operation (D189): only the ticked fields. Managed workers are
 * left out unless the user includes them (D57).
 */
import { useState } from 'react'
import type { FieldError, JsonSchema } from '../../protocol/index.ts'
import { useAutomation } from '../api/installed.ts'
import { topOf } from '../config/draft.ts'
import { propertiesOf } from '../config/schema.ts'
import { SchemaForm } from '../config/schema-form.tsx'
import { countText, plural } from '../components/numbers.ts'
import { formatRoute } from '../route.ts'
import { faultsOf, NOTHING_TICKED, patchOf, schemaOfTicked, tick, type BulkDraft } from './bulk-fields.ts'
import { BulkOperation } from './bulk-operation.tsx'
import { firstType, isManaged, leftOutText, ofType, setsOf } from './bulk-targets.ts'
import type { BulkProps } from './bulk.ts'
import type { WorkerRow } from './row.ts'
import { TypeChoice } from './type-choice.tsx'

const NO_FIELDS: JsonSchema = { type: 'object', properties: {} }

export function BulkConfig({ rows, onClose }: BulkProps) {
  const [type, setType] = useState(() => firstType(rows))
  const [bulk, setBulk] = useState(NOTHING_TICKED)
  const [includesManaged, setIncludesManaged] = useState(false)
  const schema = useAutomation(type)?.configSchema ?? NO_FIELDS
  const ofThisType = ofType(rows, type)
  const targets = includesManaged ? ofThisType : ofThisType.filter((row) => !isManaged(row))
  const ticked = schemaOfTicked(schema, bulk.ticked)
  const faults = faultsOf(ticked, bulk)
  const changeType = (next: string): void => {
    setType(next)
    setBulk(NOTHING_TICKED) // Another type has other fields.
  }
  return (
    <BulkOperation
      verb="Save config of"
      type={type}
      rows={targets}
      change={{ kind: 'patch', patch: patchOf(bulk) }}
      missing={missingOf(bulk, faults, targets)}
      onClose={onClose}
    >
      <TypeChoice rows={rows} type={type} onType={changeType} />
      <LeftOut text={leftOutText(rows, type, targets)} />
      <p>Only the selected fields are changed.</p>
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
      <ManagedWorkers rows={ofThisType} type={type} isIncluded={includesManaged} onInclude={setIncludesManaged} />
    </BulkOperation>
  )
}

function LeftOut({ text }: { readonly text: string | null }) {
  return text === null ? null : <p className="notice">{text}</p>
}

interface ManagedWorkersProps {
  readonly rows: readonly WorkerRow[]
  readonly type: string
  readonly isIncluded: boolean
  readonly onInclude: (isIncluded: boolean) => void
}

/** Workers that are managed elsewhere, and where a FleetWorkerSet rolls out changes. */
function ManagedWorkers({ rows, type, isIncluded, onInclude }: ManagedWorkersProps) {
  const managed = rows.filter(isManaged).length
  const sets = setsOf(rows)
  if (managed === 0) return null
  return (
    <div className="notice">
      {sets.map(({ name, count }) => (
        <p key={name}>
          FleetWorkerSet <bdi>{name}</bdi> manages {plural(count, 'worker')}: change its config there, and follow{' '}
          <a href={formatRoute({ page: 'automations', type })}>its rollout</a>.
        </p>
      ))}
      <p>
        <label>
          <input type="checkbox" checked={isIncluded} onChange={(event) => onInclude(event.target.checked)} />{' '}
          {managed === 1 ? 'Include the managed worker' : `Include the ${countText(managed)} managed workers`}:
          Kubernetes or another manager may revert the change
        </label>
      </p>
    </div>
  )
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

/** Returns why the selected fields cannot be previewed yet; null if they can. */
function missingOf({ ticked }: BulkDraft, faults: readonly FieldError[], targets: readonly WorkerRow[]): string | null {
  if (targets.length === 0) return 'All selected workers are managed elsewhere.'
  if (ticked.length === 0) return 'Select the fields to set.'
  if (faults.length === 0) return null
  const invalid = new Set(faults.map(({ path }) => topOf(path)))
  return `Invalid or empty: ${[...invalid].join(', ')}`
}
