/** Five worker types whose configs are as large and nested as real ones. */
import { defineBatch, Type } from '../../../dist/automation/public.js'

const Rule = Type.Object({
  match: Type.String(),
  action: Type.String({ default: 'keep' }),
  weight: Type.Integer({ default: 1 }),
})
const config = Type.Object({
  rate: Type.Number({ minimum: 0, default: 1 }),
  notes: Type.String({ default: '' }),
  labels: Type.Object(
    { team: Type.String(), region: Type.String(), tier: Type.String() },
    { default: { team: '', region: '', tier: '' } },
  ),
  rules: Type.Array(Rule, { default: [] }),
})
const ofType = (type) => defineBatch({ type, config, payload: Type.Object({}), run: () => {} })

export const [ingest, enrich, score, deliver, archive] = [
  'fleet-ingest',
  'fleet-enrich',
  'fleet-score',
  'fleet-deliver',
  'fleet-archive',
].map(ofType)
