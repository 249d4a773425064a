/** @module dashboard/automations/automations-place  What is installed: each automation with its schemas. */
import type { Automation } from '../api/automations.ts'
import { useInstalled } from '../api/installed.ts'
import { Empty } from '../parts/empty.tsx'
import { JsonView } from '../parts/json-view.tsx'
import { formatRoute } from '../route.ts'

export function AutomationsPlace() {
  const { automations } = useInstalled()
  return (
    <>
      <h1>Automations</h1>
      {automations.length === 0 && <Empty><p>This token covers no installed automation.</p></Empty>}
      {automations.map((automation) => <AutomationCard key={automation.type} automation={automation} />)}
    </>
  )
}

function AutomationCard({ automation: { type, kind, className, configSchema, payloadSchema, outputSchema, pools } }: { readonly automation: Automation }) {
  return (
    <section className="card">
      <h2><bdi>{type}</bdi> <span className="count">{kind}{className !== null && <> · <bdi>{className}</bdi></>}</span></h2>
      <p className="links">
        {payloadSchema !== null && <a href={formatRoute({ place: 'tasks', name: type })}>Tasks</a>}
        <a href={formatRoute({ place: 'output', name: type })}>Output</a>
      </p>
      <Schema title="Config" schema={configSchema} />
      {payloadSchema !== null && <Schema title="Task payload" schema={payloadSchema} />}
      {outputSchema !== null && <Schema title="Output" schema={outputSchema} />}
      {pools.map(({ name, payload, tags }) => <Schema key={name} title={`Pool ${name}`} schema={{ tags, payload }} />)}
    </section>
  )
}

function Schema({ title, schema }: { readonly title: string; readonly schema: object }) {
  return <details><summary>{title} schema</summary><JsonView value={schema} label={`${title} schema`} /></details>
}
