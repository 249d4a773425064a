export { Inspections } from './inspections.ts'
export type { InspectionBody } from './inspection-body.ts'
