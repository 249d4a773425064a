/** The event stream, and what is told to it on behalf of all masters. */
export { createEvents } from './events.ts'
