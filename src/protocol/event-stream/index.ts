/**
 * The face of the event stream, apart from that of the protocol: the dashboard takes it by value, and nothing else with
 * it.
 */
export { EventReader } from './event-reader.ts'
