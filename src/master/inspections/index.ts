export { Inspections } from './inspections.ts'
export type { PieceReader } from './piece-reader.ts'
