/** @module dashboard/automations/schema-view  Shows a schema as a table with its JSON below. */
import { useMemo, useState } from 'react'
import type { JsonSchema } from '../../protocol/index.ts'
import { CardTable, Cell, Row, RowHead } from '../components/card-table.tsx'
import { Download } from '../components/download.tsx'
import { cutText, prettyJson } from '../components/json-text.ts'
import { JsonView } from '../components/json-view.tsx'
import { rowsOf, type SchemaRow } from './schema-rows.ts'

const SHOWN_CHARACTERS = 400

export function SchemaView({
  title,
  name,
  schema,
}: {
  readonly title: string
  readonly name: string
  readonly schema: JsonSchema
}) {
  const rows = useMemo(() => rowsOf(schema), [schema])
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      {rows.length === 0 ? (
        <p className="soft">No fields.</p>
      ) : (
        <CardTable
          label={`Fields of ${title}`}
          columns={['Field', 'Type', 'Rules', 'Default', 'Description']}
          stale={false}
        >
          {rows.map((row) => (
            <SchemaLine key={row.path} row={row} />
          ))}
        </CardTable>
      )}
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>JSON Schema</summary>
        {isOpen && (
          <>
            <JsonView value={schema} label={`${title} schema`} />
            <Download name={`${name}.schema.json`} media="application/json" make={() => prettyJson(schema)}>
              Save as JSON
            </Download>
          </>
        )}
      </details>
    </>
  )
}

function SchemaLine({
  row: { path, depth, type, required, secret, deprecated, rules, fallback, about },
}: {
  readonly row: SchemaRow
}) {
  return (
    <Row>
      <RowHead of="Field">
        <span className={`depth-${Math.min(depth, 4)}`}>
          <code>
            <bdi>{path}</bdi>
          </code>
        </span>
        {required && <span className="mark">required</span>}
        {secret && <span className="mark">secret, never shown</span>}
        {deprecated && <span className="mark warn">deprecated</span>}
      </RowHead>
      <Cell of="Type">
        <bdi>{cutText(type, SHOWN_CHARACTERS)}</bdi>
      </Cell>
      <Cell of="Rules">
        <bdi>{rules.length === 0 ? '–' : cutText(rules.join(' · '), SHOWN_CHARACTERS)}</bdi>
      </Cell>
      <Cell of="Default">
        {fallback === null ? (
          '–'
        ) : (
          <code>
            <bdi>{cutText(fallback, SHOWN_CHARACTERS)}</bdi>
          </code>
        )}
      </Cell>
      <Cell of="Description">
        <bdi>{about === null ? '–' : cutText(about, SHOWN_CHARACTERS)}</bdi>
      </Cell>
    </Row>
  )
}
