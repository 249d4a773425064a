/** The registry of workers: records, configs, statistics, drain, and signals to a worker's socket. */
export type { Announce } from './events.ts'
export { EnrolmentChooser, type EnrolmentChoice } from './enrolment-chooser.ts'
export { reservedValue, statsText } from './record.ts'
export { createRegistry, type Registry } from './registry.ts'
export type { SocketSignal } from './signals.ts'
