/** The event stream, and the events that one master publishes for all. */
export { createEvents } from './events.ts'
