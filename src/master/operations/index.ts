/** Operations: changes of many workers, or of many dead tasks, that the leading master carries out. */
export { createOperations } from './operations.ts'
